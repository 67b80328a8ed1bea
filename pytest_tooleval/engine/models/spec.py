"""What to call under a model's label."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import Literal
from typing import get_args

from .prices import provider_of
from .traits import needs_responses

LEXICAL = "baseline/lexical"

# Sampling parameters that a model's table may set by name; everything else goes under `extra`.
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "thinking")
# How much a model may reason before it answers, by OpenAI's names, which litellm translates.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
# Parameters of litellm itself: whoever sets one of these means litellm.
_LITELLM_EXTRAS = frozenset(
    "additional_drop_params allowed_openai_params api_version custom_llm_provider organization".split()
)


@dataclass(frozen=True)
class ModelSpec:
    """What to call under a label. Holds the name of the key's variable, never the key.

    `requests_per_minute`, `tokens_per_minute` and `max_concurrency` are upper limits, None for
    none; `timeout` is in seconds per call. `omit` names parameters that must never be sent.
    """

    label: str
    model: str = ""
    callable: str | None = None
    api: str | None = None
    api_base: str | None = None
    api_key_env: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    timeout: float | None = None
    max_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    source: str = ""
    folder: Path | None = None

    @property
    def lean(self) -> bool:
        """Whether the calls go over our own client for OpenAI's protocols instead of litellm."""
        if self.api is not None:
            return self.api == "openai"
        litellms = _LITELLM_EXTRAS.intersection(self.extra)
        provider = provider_of(self.model)
        if provider == "azure":  # whose Responses API has no versions
            return self._over_azures_responses and litellms <= {"api_version"}
        return provider == "openai" and not litellms

    @property
    def base(self) -> str | None:
        """The address that is asked: the table's or the environment's; None for the provider's own."""
        if self.api_base or not self.lean:
            return self.api_base
        azure = provider_of(self.model) == "azure"
        names = ("AZURE_API_BASE",) if azure else ("OPENAI_BASE_URL", "OPENAI_API_BASE")
        return next((value for name in names if (value := os.environ.get(name, "").strip())), None)

    @property
    def _over_azures_responses(self) -> bool:
        """Whether Azure wants it so, and there is a key: without one litellm knows how to log in."""
        key = self.api_key_env or (not self.api_base and os.environ.get("AZURE_API_KEY"))
        wanted = self.model.startswith("azure/responses/") or needs_responses(self.model)
        return bool(key) and wanted

    @functools.cached_property
    def identity(self) -> str:
        """What is asked, apart from its label: part of the cassette's key.

        Of an agent its module's source is a part, so that changed code is asked anew.
        """
        if not self.callable:
            return self.model
        return f"callable:{self.callable}{_fingerprint(self.callable, self.folder)}"

    @property
    def place(self) -> str:
        """Where a user would change this model."""
        return self.source or f"--tooleval-model={self.label}"


def _fingerprint(target: str, folder: Path | None) -> str:
    """`@` and the start of the SHA-256 of the module's file; empty where there is no such file."""
    module = target.partition(":")[0].replace(".", "/")
    for place in (folder, *map(Path, sys.path)):
        for name in (f"{module}.py", f"{module}/__init__.py"):
            file = place / name if place is not None else None
            if file is not None and file.is_file():
                return "@" + hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    return ""
