"""The kinds of models behind labels, and their settings."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from ...errors import ErrorKind, ModelError
from .known import INSTALL, has_litellm, provider_of
from .modules import fingerprint_of, imported_modules, own_module
from .providers import PROVIDERS, UNKNOWN_PROVIDER, Protocol, Provider
from .traits import needs_responses

if TYPE_CHECKING:
    from ...worlds.world import WorldSpec

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
_M = TypeVar("_M", bound="_Model")


@dataclass(frozen=True)
class _Model:
    """What all models have. It has the name of the key's variable, never the key.

    `requests_per_minute`, `tokens_per_minute` and `max_concurrency` are limits; None means no limit.
    `timeout` is in seconds per request. The parameters in `omit` are never sent. With `text_calls`,
    calls are also read in texts. `tool_prefix` stands before each tool's name on the wire; cases leave
    it out.
    """

    label: str
    _: KW_ONLY
    api_base: str | None = None
    api_key_env: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    text_calls: bool = True
    tool_prefix: str = ""
    timeout: float | None = None
    max_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    source: str = ""
    folder: Path | None = None

    @property
    def base(self) -> str | None:
        """The address in the table or the environment; None for the provider's own."""
        return self.api_base

    @property
    def key_variable(self) -> str | None:
        """The variable for the key; None if unknown, or if litellm may log in without one."""
        return self.api_key_env

    def modules(self, world: WorldSpec | None) -> Mapping[str, str]:
        """The project's modules that an agent and its world import, with their fingerprints."""
        return {}

    def key(self) -> str | None:
        """The API key, if its variable is known. Raises ModelError if that is empty."""
        variable = self.key_variable
        return None if variable is None else self._value_of(variable, "the API key")

    def require(self) -> None:
        """Raise ModelError if a key or the client is known to be missing."""
        self.key()

    @property
    def missing(self) -> str | None:
        """The message about a missing key or client; None if neither is known to be missing."""
        try:
            self.require()
        except ModelError as error:
            return error.message
        return None

    def _value_of(self, variable: str, what: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value:
            needed = f"set it to {what} for model {self.label!r}"
            text = f"the environment variable {variable} is not set; {needed}"
            raise self.unusable(text, "credentials")
        return value

    def with_share(self: _M, count: int, number: int) -> _M:
        """The model with part `number` (from 0) of its limits, which are divided by `count`."""
        divided = functools.partial(share, count=count, number=number)
        return dataclasses.replace(
            self,
            max_concurrency=self.max_concurrency and divided(self.max_concurrency),
            requests_per_minute=self.requests_per_minute and divided(self.requests_per_minute),
            tokens_per_minute=self.tokens_per_minute and divided(self.tokens_per_minute),
        )

    @property
    def place(self) -> str:
        """Where this model is configured."""
        return self.source or f"--tooleval-model={self.label}"

    def unusable(self, text: str, kind: ErrorKind = "bad_request") -> ModelError:
        """The error for a model that no case can ask as it is configured."""
        return ModelError(f"{text} ({self.place})", kind=kind, fatal=True)


@dataclass(frozen=True)
class Builtin(_Model):
    """The built-in model, which costs nothing."""

    identity = LEXICAL


@dataclass(frozen=True)
class CallableModel(_Model):
    """A function or a class in Python, such as an agent.

    A Python test passes the agent itself as `function`. Then `callable` only names it, and
    `fingerprint` stands for its code and whatever else its answers depend on. `imports` are
    the modules that it imports, if they are known already.
    """

    callable: str
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    fingerprint: str = ""
    imports: Mapping[str, str] | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def identity(self) -> str:
        """With a hash of its module, so that a changed agent is queried again."""
        if self.function is not None:
            return f"callable:{self.callable}@{self.fingerprint}"
        module = own_module(self.callable, self.folder)
        return f"callable:{self.callable}" + (f"@{fingerprint_of(module[0])}" if module else "")

    def modules(self, world: WorldSpec | None) -> Mapping[str, str]:
        if self.folder is None or world is None:
            return self._modules
        read = functools.partial(imported_modules, world.target, self.folder)
        return {**world.memory.once(("modules", self.folder, world.target), read), **self._modules}

    @functools.cached_property
    def _modules(self) -> Mapping[str, str]:
        if self.imports is not None:
            return self.imports
        return imported_modules(self.callable, self.folder) if self.folder else {}


@dataclass(frozen=True)
class DeployedAgent(_Model):
    """An agent at the address `url`.

    `headers` are the variables of its headers, and `request` is the template of what is sent. `answer`
    is the API whose format it answers in, or the JSON Pointers of text and calls. `conversation` is the
    JSON Pointer of the conversation's id. With `sequential`, each call is its own reply, made after the
    answer to the one before it.
    """

    url: str
    request: Mapping[str, Any]
    answer: str | Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)
    conversation: str | None = None
    sequential: bool = False

    @functools.cached_property
    def identity(self) -> str:
        """With a hash of its settings."""
        parts = [self.request, self.answer, self.conversation]
        form = json.dumps([*parts, *([True] if self.sequential else ())], sort_keys=True)
        return f"url:{self.url}@{hashlib.sha256(form.encode()).hexdigest()[:12]}"

    def header_values(self) -> dict[str, str]:
        """The headers with their values. Raises ModelError if a variable is empty."""
        what = "the value of the header"
        return {name: self._value_of(each, f"{what} {name}") for name, each in self.headers.items()}

    def require(self) -> None:
        self.header_values()


@dataclass(frozen=True)
class HttpModel(_Model):
    """A model of a provider, which our own clients or litellm query.

    `stream` asks for a stream of events, as some servers have nothing else.
    """

    model: str
    api: str | None = None
    stream: bool = False

    @property
    def identity(self) -> str:
        return self.model

    @property
    def provider(self) -> Provider:
        """The model's provider; a row without a name if it is unknown."""
        provider = self.extra.get("custom_llm_provider") or provider_of(self.model)
        return PROVIDERS.get("openai" if self.api == "openai" else str(provider), UNKNOWN_PROVIDER)

    @property
    def protocol(self) -> Protocol | None:
        """The protocol of our own client; None for models that only litellm can query."""
        row = self.provider
        if self.api is not None or not row.protocol:
            return "openai" if self.api == "openai" else None
        ours = self.model.startswith(row.prefix) and not self._logs_in and self._is_translated
        return row.protocol if ours else None

    @property
    def base(self) -> str | None:
        if self.api_base or not self.protocol:
            return self.api_base
        return os.environ.get(self.base_variable, "").strip() or None

    @property
    def is_elsewhere(self) -> bool:
        """Whether another host than the provider's is asked, which may have other models and rules."""
        return self.base is not None and self.provider.name != "azure"

    @property
    def base_variable(self) -> str:
        """The environment variable for the address."""
        return _set_or_usual(self.provider.bases) or ""

    @property
    def key_variable(self) -> str | None:
        """If there are several, it is the first that is set, or else the usual one."""
        if self.api_key_env or self.api_base:
            return self.api_key_env
        row = self.provider
        variable = _set_or_usual((*row.keys, *row.logins))
        is_needed = not (row.logs_in or row.keyless)
        return variable if is_needed or (variable and _is_set(variable)) else None

    def require(self) -> None:
        if self.protocol is None and not has_litellm():
            raise self.unusable(f"{self.model}: needs litellm; {INSTALL}")
        self.key()

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


# An agent's own requests to its model are unknown.
Agent = CallableModel | DeployedAgent
# `identity` stands for the model in cassette keys.
ModelSpec = HttpModel | Agent | Builtin
# By the key of a table that names what is asked.
SPEC_KINDS: Mapping[str, type[ModelSpec]] = {
    "model": HttpModel,
    "callable": CallableModel,
    "url": DeployedAgent,
}


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def _set_or_usual(variables: Sequence[str]) -> str | None:
    """The first of these variables that is set, or else the first one."""
    return next(filter(_is_set, variables), next(iter(variables), None))


def share(total: int, count: int, number: int) -> int:
    """Part `number` (from 0) of `total` in `count` parts, which differ by at most 1; at least 1."""
    return max(1, total // count + (number < total % count))
