"""Which parts of tool schemas a model's provider refuses or ignores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ..errors import ModelError
from ..suite.explain import field_path
from ..suite.provider_schemas import Provider
from ..suite.provider_schemas import Trouble
from ..suite.provider_schemas import troubles
from ..text import first_few
from ..text import printable
from .models.prices import provider_of
from .models.spec import ModelSpec


class ToolSchemas:
    """Checks the tools in questions to one model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._providers = _providers(spec)
        # Another host with a provider's protocol may accept what the provider refuses.
        self._refuses = not spec.base or provider_of(spec.model) == "azure"
        self._known: dict[str, list[Trouble]] = {}

    def changes(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """The parts of schemas that the model is not shown, as fallbacks. ModelError if refused."""
        changes = {}
        for tool in tools if self._providers else ():
            function = tool["function"]
            found = self._troubles(function)
            refused = next((one for one in found if self._providers & {*one.refused}), None)
            if refused is not None and self._refuses:
                raise self._refusal(function["name"], refused)
            hidden = [one for one in found if self._providers & {*one.hidden}]
            if hidden:
                fields = [field_path(one.at[1:]) or field_path(one.at) for one in hidden]
                without = f"a schema without {first_few(fields, 5)}"
                changes[f"tools.{printable(function['name'])}"] = without
        return changes

    def _troubles(self, function: Mapping[str, Any]) -> list[Trouble]:
        key = json.dumps(function)
        if key not in self._known:
            self._known[key] = list(troubles(function))
        return self._known[key]

    def _refusal(self, name: str, refused: Trouble) -> ModelError:
        provider = sorted(self._providers & {*refused.refused})[0]
        place = f"tool {printable(name)}, {field_path(refused.at)}"
        return ModelError(
            f"{provider} refuses {refused.what} ({place}), so it was not asked; `tooleval "
            "validate` shows the line",
            kind="bad_request",
        )


def _providers(spec: ModelSpec) -> frozenset[Provider]:
    """The providers whose rules apply to a model's tools; empty when unknown."""
    if spec.callable:
        return frozenset()
    provider = str(spec.extra.get("custom_llm_provider") or provider_of(spec.model))
    claude = "claude" in spec.model
    if provider in ("openai", "azure"):
        return frozenset({"OpenAI"})
    if provider == "anthropic" or (claude and provider.startswith("vertex_ai")):
        return frozenset({"Anthropic"})
    if spec.protocol == "gemini":
        return frozenset({"Gemini"})
    if provider == "gemini" or (provider.startswith("vertex_ai") and "gemini" in spec.model):
        return frozenset({"Gemini", "Vertex AI"})
    if provider.startswith("bedrock"):
        return frozenset({"Bedrock", "Anthropic"} if claude else {"Bedrock"})
    return frozenset()
