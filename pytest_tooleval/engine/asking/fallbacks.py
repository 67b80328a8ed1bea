"""Fallbacks for defaults that a provider refuses: `auto` instead of `required`, no temperature.

Only a refusal causes a fallback, which then applies to the model for the rest of the run. Parameters
that the user has set never change, and their refusal is an error. There are three exceptions:
`max_tokens` is sent under its new name, `auto` replaces `none` if a provider has no `none`, and
callables without a parameter `reasoning_effort` are called without it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Set

from msgspec import structs

from ...errors import ModelError
from ..clients.base import ChatRequest, sent_parameters
from ..models.prices import listed
from ..models.providers import FORCED
from ..models.spec import ModelSpec

MAX_COMPLETION_TOKENS = "max_completion_tokens"
# Replacements for refused parameters. Parameters without one are left out.
_INSTEAD: Mapping[str, str | None] = {"tool_choice": "auto", "max_tokens": MAX_COMPLETION_TOKENS}

# A thinking mode excludes forced calls (DeepSeek, Claude). Google and Amazon phrase it differently.
_NAMES_TOOL_CHOICE = re.compile(
    r"tool[ _-]?choice|thinking[ _-]?mode|forced? (tool|function)|function[ _]?calling[ _]?config",
    re.IGNORECASE,
)
# Groq's error when the model did not obey, which is the model's failure, not a refusal.
_NOT_OBEYED = re.compile(r"tool_use_failed|did not call a tool", re.IGNORECASE)
_REFUSED = re.compile(
    r"n[o']t (be )?(support|allow|permit|accept|recogni|available|specified|set|both)"
    r"|unsupported|deprecated|unknown|unrecogni[sz]ed|unexpected|no longer|removed"
    r"|may only|only \S+ is|only the default|must be|invalid|extra inputs|strictly",
    re.IGNORECASE,
)
# Tools also have parameters, and one may be called temperature.
_ABOUT_TOOLS = re.compile(r"schema|propert|tools?[.\[]|function_declarations", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"n[o']t supported|unsupported|deprecated|unknown|unrecogni|unexpected", re.IGNORECASE
)
_STATUSES = (None, 400, 404, 422, 501)


class ParameterRefused(ModelError):
    """The provider, or litellm on its behalf, refused a parameter of the request."""

    def __init__(self, message: str, parameter: str, value: object) -> None:
        super().__init__(f"the provider refused the request: {message}", kind="bad_request")
        self.parameter = parameter
        self.value = value

    def named(self, place: str, spec: ModelSpec) -> ModelError:
        """The error for a parameter that the user has set in `place`, with ways to fix it."""
        way = "leave it out" if place.startswith("--") else "remove it there"
        if spec.source and place != spec.source and self.parameter != "tool_choice":
            way += f', or set omit = ["{self.parameter}"] in {spec.source}'
        text = f"{self.message} ({self.parameter} is set by {place}: {way})"
        return ModelError(text, kind="bad_request")


def refused_parameter(status: int | None, text: str, sent: Mapping[str, object]) -> str | None:
    """The parameter that a request was refused for; None if there was another reason."""
    if status not in _STATUSES:
        return None
    choice = sent.get("tool_choice")
    forced = choice in ("required", "none") or isinstance(choice, Mapping)
    if forced and _NAMES_TOOL_CHOICE.search(text) and not _NOT_OBEYED.search(text):
        return "tool_choice"
    if "max_tokens" in sent and MAX_COMPLETION_TOKENS in text:
        return "max_tokens"
    if not _REFUSED.search(text) or _ABOUT_TOOLS.search(text):
        return None
    names = (name for name in sent if name not in ("tool_choice", "max_tokens"))
    found = next((name for name in names if _named(name).search(text)), None)
    # Make sure that the parameter is refused, rather than a value that is too large.
    renamed = "max_tokens" in sent and _named("max_tokens").search(text) and _UNKNOWN.search(text)
    return found or ("max_tokens" if renamed else None)


@functools.cache
def _named(parameter: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(parameter)}(?!\w)")


class Fallbacks:
    """The known refusals of one model.

    `set_by` maps the parameters that the user has set to where they are set. `tried` contains the
    refusals of one request so far; they apply to other requests once an answer confirms them.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._certain: set[str] = set()

    def apply(
        self, request: ChatRequest, set_by: Mapping[str, str], tried: Set[str] = frozenset()
    ) -> tuple[ChatRequest, dict[str, str | None]]:
        """The request as this model accepts it, and the replaced parameters (None: left out)."""
        sent = sent_parameters(request)
        ignored = _ignored(self._spec, sent)
        refused = self._certain | tried | _listed(self._spec.model) | ignored
        instead: dict[str, str | None] = {}
        for name, value in sent.items():
            key = _key(name, value)
            if key not in refused:
                continue
            if _is_default(name, value, set_by):
                instead[name] = _INSTEAD.get(name)
            elif key in ignored:
                error = ParameterRefused(f"{self._spec.model} ignores {name}", name, value)
                raise error.named(set_by[name], self._spec)
        return (_replaced(request, instead) if instead else request), instead

    def learn(self, refusal: ParameterRefused, set_by: Mapping[str, str], tried: set[str]) -> None:
        """Add a refusal to `tried`. Raises if there is no fallback."""
        key = _key(refusal.parameter, refusal.value)
        if not _is_default(refusal.parameter, refusal.value, set_by):
            raise refusal.named(set_by[refusal.parameter], self._spec)
        if key in tried:  # also refused without it, so that was not the reason
            raise refusal
        tried.add(key)

    def confirm(self, tried: Set[str]) -> None:
        """Keep these refusals for later requests, because the fallbacks led to an answer."""
        self._certain |= tried


def _key(parameter: str, value: object) -> str:
    """The unit of refusal: one value of `tool_choice`, or else the whole parameter."""
    return f"{parameter} {value}" if parameter == "tool_choice" else parameter


def _is_default(parameter: str, value: object, set_by: Mapping[str, str]) -> bool:
    return (
        parameter not in set_by
        or parameter == "max_tokens"
        or (parameter, value) == ("tool_choice", "none")
    )


def _replaced(request: ChatRequest, instead: Mapping[str, str | None]) -> ChatRequest:
    sampling = {name: value for name, value in request.sampling.items() if name not in instead}
    if "max_tokens" in instead:
        sampling[MAX_COMPLETION_TOKENS] = request.sampling["max_tokens"]
    choice = instead.get("tool_choice") or request.tool_choice
    return structs.replace(request, sampling=sampling, tool_choice=choice)


@functools.cache
def _listed(model: str) -> frozenset[str]:
    """The model's refusals according to litellm's price list."""
    entry = listed(model) or {}
    flags = {"supports_sampling_params": "temperature", "supports_forced_tool_use": FORCED}
    return frozenset(key for flag, key in flags.items() if entry.get(flag) is False)


def _ignored(spec: ModelSpec, sent: Mapping[str, object]) -> frozenset[str]:
    """The parameters that litellm would silently drop."""
    if spec.protocol:
        return frozenset()
    thinking, effort = sent.get("thinking"), sent.get("reasoning_effort")
    thinks = effort not in (None, "none") or (
        isinstance(thinking, Mapping) and thinking.get("type") == "enabled"
    )
    provider = spec.provider
    found = (what for word, what in provider.ignores_thinking if thinks and word in spec.model)
    return frozenset((*provider.ignores, *found))
