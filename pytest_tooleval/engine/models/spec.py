"""The model behind a label, and its settings."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from .known import provider_of
from .modules import digest_of, imported_modules, own_module
from .providers import PROVIDERS, UNKNOWN, Protocol, Provider
from .traits import needs_responses

LEXICAL = "builtin/lexical"

# The sampling parameters of a model's table; all others go under `extra`.
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "thinking")
# How much a model reasons before it answers, in OpenAI's terms, which litellm translates.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
# litellm's budgets of reasoning tokens for efforts.
EFFORT_TOKENS = dict(zip(EFFORTS, (0, 128, 1024, 2048, 4096, 8192, 16384), strict=True))
# Parameters of litellm itself. Using one selects litellm.
_LITELLM_EXTRAS = frozenset(
    "additional_drop_params allowed_openai_params api_version custom_llm_provider organization".split()
)


@dataclass(frozen=True)
class ModelSpec:
    """A model and how to query it. It has the name of the key's variable, never the key.

    `requests_per_minute`, `tokens_per_minute` and `max_concurrency` are limits; None means no limit.
    `timeout` is in seconds per request. The parameters in `omit` are never sent. With `text_calls`,
    calls are also read in texts. `tool_prefix` stands before each tool's name on the wire; cases leave
    it out. `stream` asks for a stream of events, as some servers have nothing else.

    For an agent at an address, `url` is the address, `headers` are the variables of its headers, and
    `request` is the template of what is sent. `answer` is the API whose format it answers in, or the
    JSON Pointers of text and calls. `conversation` is the JSON Pointer of the conversation's id. With
    `sequential`, each call is its own reply, made after the answer to the one before it.

    For an agent that a Python test passes, `function` is the agent itself, `callable` only names it, and
    `digest` stands for its code and whatever else its answers depend on. `imports` are its `modules`, if
    they are known already.
    """

    label: str
    model: str = ""
    callable: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)
    answer: str | Mapping[str, str] = ""
    conversation: str | None = None
    sequential: bool = False
    api: str | None = None
    api_base: str | None = None
    api_key_env: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    text_calls: bool = True
    tool_prefix: str = ""
    stream: bool = False
    timeout: float | None = None
    max_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    source: str = ""
    folder: Path | None = None
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    digest: str = ""
    imports: Mapping[str, str] | None = field(default=None, compare=False, repr=False)

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent, whose own requests to its model are unknown."""
        return bool(self.callable or self.url)

    @property
    def target(self) -> str:
        """The callable, the address, or the model's name."""
        return self.callable or self.url or self.model

    @property
    def provider(self) -> Provider:
        """The model's provider; a row without a name if it is unknown."""
        if self.is_agent:
            return UNKNOWN
        asked = self.extra.get("custom_llm_provider") or provider_of(self.model)
        return PROVIDERS.get("openai" if self.api == "openai" else str(asked), UNKNOWN)

    @property
    def protocol(self) -> Protocol | None:
        """The protocol of our own client; None for models that need another client."""
        row = self.provider
        if self.api is not None or not row.protocol:
            return "openai" if self.api == "openai" else None
        ours = self.model.startswith(row.own) and not self._logs_in and self._is_translated
        return row.protocol if ours else None

    @property
    def needs_litellm(self) -> bool:
        """Whether only litellm can query it."""
        return not (self.is_agent or self.protocol or self.model == LEXICAL)

    @property
    def name_at_provider(self) -> str:
        """The model's name without that of its provider."""
        prefix, _, name = self.model.partition("/")
        row = self.provider
        return name if prefix in (row.name, *row.also) else self.model

    @property
    def base(self) -> str | None:
        """The address in the table or the environment; None for the provider's own."""
        if self.api_base or not self.protocol:
            return self.api_base
        return os.environ.get(self.base_variable, "").strip() or None

    @property
    def base_variable(self) -> str:
        """The environment variable for the address."""
        return _set_or_usual(self.provider.bases) or ""

    @property
    def key_variable(self) -> str | None:
        """The variable for the key; None if unknown, or if litellm may log in without one.

        If there are several, it is the first that is set, or else the usual one.
        """
        if self.api_key_env or self.api_base:
            return self.api_key_env
        row = self.provider
        variable = _set_or_usual((*row.keys, *row.logins))
        is_needed = not (row.logs_in or row.keyless)
        return variable if is_needed or (variable and _is_set(variable)) else None

    @property
    def _is_translated(self) -> bool:
        """Whether our client can query the model, and knows all parameters under `extra`."""
        row, extra = self.provider, set(self.extra)
        if row.name == "azure":  # its Responses API has no versions
            wanted = self.model.startswith("azure/responses/") or needs_responses(self.model)
            return wanted and not _LITELLM_EXTRAS & (extra - {"api_version"})
        return extra <= row.extra if row.extra is not None else not _LITELLM_EXTRAS & extra

    @property
    def _logs_in(self) -> bool:
        """Whether litellm gets a key by logging in."""
        row = self.provider
        if self.api_key_env or (self.api_base and not row.logs_in):
            return False
        has_key = not self.api_base and any(map(_is_set, row.keys))
        return not has_key and (row.logs_in or any(map(_is_set, row.logins)))

    @functools.cached_property
    def identity(self) -> str:
        """The model as part of cassette keys.

        An agent's identity includes a hash of its module or settings, so that a changed agent is
        queried again.
        """
        if self.url:
            parts = [self.request, self.answer, self.conversation]
            form = json.dumps([*parts, *([True] if self.sequential else ())], sort_keys=True)
            return f"url:{self.url}@{hashlib.sha256(form.encode()).hexdigest()[:12]}"
        if not self.callable:
            return self.model
        if self.function is not None:
            return f"callable:{self.callable}@{self.digest}"
        own = own_module(self.callable, self.folder)
        return f"callable:{self.callable}" + (f"@{digest_of(own[0])}" if own else "")

    @functools.cached_property
    def modules(self) -> Mapping[str, str]:
        """The project's modules that an agent imports, with their digests."""
        if self.imports is not None:
            return self.imports
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


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def _set_or_usual(variables: Sequence[str]) -> str | None:
    """The first of these variables that is set, or else the first one."""
    return next(filter(_is_set, variables), next(iter(variables), None))


def share(total: int, count: int, number: int) -> int:
    """Part `number` (from 0) of `total` in `count` parts, which differ by at most 1; at least 1."""
    return max(1, total // count + (number < total % count))
