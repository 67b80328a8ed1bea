"""The table of known models, made from litellm's list: `python tools/known_models.py` writes it anew.

With `--check`, shows what differs from the table, and fails if anything does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from typing import Any

from pytest_tooleval.engine.models.known import TABLE, known_models, litellm_models
from pytest_tooleval.engine.models.providers import PROVIDERS

# Prices by length of the prompt and by service tier, as `cost_usd` reads them.
_PRICE = re.compile(
    r"(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost"
    r"|cache_creation_input_token_cost(_above_1hr)?)(_above_\d+k_tokens)?(_flex|_priority)?"
    r"|output_cost_per_reasoning_token|(in|out)put_cost_per_audio_token"
)
# What the request depends on. False says the same as nothing, but for the last two.
_TRAITS = (
    "default_reasoning_effort",
    "max_output_tokens",
    "supports_adaptive_thinking",
    "supports_legacy_thinking",
    "supports_reasoning",
    "supports_tool_search",
    "supports_xhigh_reasoning_effort",
    "thinking_always_on",
)
_REFUSALS = ("supports_forced_tool_use", "supports_sampling_params")
_MODES = ("chat", "responses", "completion", None)
_CHAT = "/v1/chat/completions"


def entry_of(listed: Mapping[str, Any]) -> dict[str, Any]:
    """What we use of an entry in litellm's list."""
    entry = {"litellm_provider": listed["litellm_provider"]}
    entry |= {key: value for key, value in listed.items() if _PRICE.fullmatch(key) and value is not None}
    entry |= {key: listed[key] for key in _TRAITS if listed.get(key)}
    entry |= {key: False for key in _REFUSALS if listed.get(key) is False}
    if listed.get("mode") == "responses" or _CHAT not in listed.get("supported_endpoints", [_CHAT]):
        entry["mode"] = "responses"
    return entry


def made() -> dict[str, dict[str, Any]]:
    """The entries of models that our own clients speak to."""
    found = {}
    for name, listed in litellm_models().items():
        provider = PROVIDERS.get(str(listed.get("litellm_provider")))
        if provider is not None and provider.protocol and listed.get("mode") in _MODES:
            found[name] = entry_of(listed)
    return dict(sorted(found.items()))


def main() -> None:
    models = made()
    known = known_models()
    changed = [name for name in {**known, **models} if known.get(name) != models.get(name)]
    for name in sorted(changed):
        print(f"{name}: {known.get(name)} -> {models.get(name)}")
    if "--check" in sys.argv:
        sys.exit(bool(changed))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in models.items())
    head = f'"date": "{date.today()}",\n"litellm": "{version("litellm")}"'
    TABLE.write_text(f'{{\n{head},\n"models": {{\n{lines}\n}}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
