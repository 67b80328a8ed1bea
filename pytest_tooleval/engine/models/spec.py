"""What a model's label stands for."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import Literal
from typing import get_args

from .modules import digest_of
from .modules import imported_modules
from .modules import own_module
from .prices import provider_of
from .traits import needs_responses

LEXICAL = "builtin/lexical"

# The sampling parameters of a model's table; all others go under `extra`.
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "thinking")
# How much a model reasons before it answers, in OpenAI's terms, which litellm translates.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
# litellm's budgets of reasoning tokens for efforts.
EFFORT_TOKENS = dict(zip(EFFORTS, (0, 128, 1024, 2048, 4096, 8192, 16384), strict=True))
# The protocols of our own clients.
Protocol = Literal["openai", "anthropic", "gemini"]
# Parameters of litellm itself, which select litellm.
_LITELLM_EXTRAS = frozenset(
    "additional_drop_params allowed_openai_params api_version custom_llm_provider organization".split()
)
# The `extra` parameters that our clients translate; any other one selects litellm.
_TRANSLATED: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"extra_headers", "extra_body", "stop", "top_k", "parallel_tool_calls"}),
    "gemini": frozenset({"extra_headers", "extra_body", "stop", "top_k"}),
}
# Environment variables for another address than the provider's own.
_BASES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "azure": ("AZURE_API_BASE",),
    "anthropic": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    "gemini": ("GEMINI_API_BASE",),
}


@dataclass(frozen=True)
class ModelSpec:
    """A model and how to ask it. It has the name of the key's variable, never the key.

    `requests_per_minute`, `tokens_per_minute` and `max_concurrency` are limits, None for none; `timeout`
    is in seconds per call. The parameters in `omit` are never sent.
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
    def protocol(self) -> Protocol | None:
        """The protocol of our own client; None if litellm asks the model."""
        if self.api is not None:
            return "openai" if self.api == "openai" else None
        litellms = _LITELLM_EXTRAS.intersection(self.extra)
        provider = provider_of(self.model)
        if provider == "azure":  # its Responses API has no versions
            return "openai" if self._uses_azure_responses and litellms <= {"api_version"} else None
        if provider == "openai":
            return None if litellms else "openai"
        if provider == "anthropic" and not self._logs_in and self._is_translated(provider):
            return "anthropic"
        if self.model.startswith("gemini/gemini-") and self._is_translated("gemini"):
            return "gemini"
        return None

    @property
    def base(self) -> str | None:
        """The address in the table or the environment; None for the provider's own."""
        if self.api_base or not self.protocol:
            return self.api_base
        return os.environ.get(self.base_variable, "").strip() or None

    @property
    def base_variable(self) -> str:
        """The environment variable for the address."""
        azure = self.api is None and provider_of(self.model) == "azure"
        names = _BASES["azure" if azure else self.protocol or "openai"]
        return next((name for name in names if os.environ.get(name, "").strip()), names[0])

    def _is_translated(self, provider: str) -> bool:
        return _TRANSLATED[provider].issuperset(self.extra)

    @property
    def _logs_in(self) -> bool:
        """Whether litellm gets Anthropic's key by logging in."""
        keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        given = self.api_key_env or self.api_base or any(map(os.environ.get, keys))
        return not given and bool(os.environ.get("ANTHROPIC_FEDERATION_RULE_ID"))

    @property
    def _uses_azure_responses(self) -> bool:
        """Whether Azure needs it and there is a key; without a key, litellm can log in."""
        key = self.api_key_env or (not self.api_base and os.environ.get("AZURE_API_KEY"))
        wanted = self.model.startswith("azure/responses/") or needs_responses(self.model)
        return bool(key) and wanted

    @functools.cached_property
    def identity(self) -> str:
        """The model in the key of a cassette.

        For an agent it includes a hash of its module, so that changed code is asked again.
        """
        if not self.callable:
            return self.model
        own = own_module(self.callable, self.folder)
        return f"callable:{self.callable}" + (f"@{digest_of(own[0])}" if own else "")

    @functools.cached_property
    def modules(self) -> Mapping[str, str]:
        """The modules of its project that an agent imports, with their digests."""
        return imported_modules(self.callable, self.folder) if self.callable and self.folder else {}

    def part(self, count: int, number: int) -> ModelSpec:
        """The model with part `number` (from 0) of its limits, which are divided by `count`."""

        def own(limit: int | None) -> int | None:
            return None if limit is None else share(limit, count, number)

        return dataclasses.replace(
            self,
            max_concurrency=own(self.max_concurrency),
            requests_per_minute=own(self.requests_per_minute),
            tokens_per_minute=own(self.tokens_per_minute),
        )

    @property
    def place(self) -> str:
        """Where this model is configured."""
        return self.source or f"--tooleval-model={self.label}"


def share(total: int, count: int, number: int) -> int:
    """Part `number` (from 0) of `total` in `count` parts, which differ by at most 1; at least 1."""
    return max(1, total // count + (number < total % count))
