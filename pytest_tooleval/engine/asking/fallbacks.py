"""Fallbacks for defaults that a provider refuses: `auto` instead of `required`, no temperature.

Only a refusal causes a fallback, which then applies to the model for the rest of the run. Parameters
that the user has set never change, and their refusal is an error. There are three exceptions:
`max_tokens` is sent under its new name, `auto` replaces the words `required` and `none` of
`tool_choice`, and callables without a parameter `reasoning_effort` are called without it. Words replace
the images in tools' answers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Set

from msgspec import structs

from ...errors import ModelError
from ...record.images import in_words
from ..clients.refused_parameter import MAX_COMPLETION_TOKENS
from ..exchange.chat import ChatRequest, sent_parameters
from ..exchange.errors import ParameterRefused
from ..models.known import known_entry
from ..models.providers import FORCED
from ..models.spec import HttpModel, ModelSpec

# Replacements for refused parameters. Parameters without one are left out.
_INSTEAD: Mapping[str, str | None] = {"tool_choice": "auto", "max_tokens": MAX_COMPLETION_TOKENS}
_IMAGES = "images"
_WORDS = "texts such as [image: image/png, 12 kB], because this model takes none from tools"
# Some models take only strings, or no message of the user's after a tool's.
_REFUSES_IMAGES = re.compile(r"image|vision|multi-?modal|\bstring\b|\broles?\b", re.IGNORECASE)


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
        refused = self._certain | tried
        if isinstance(self._spec, HttpModel):
            refused |= _listed(self._spec.model) | _ignored(self._spec, sent)
        instead = {
            name: _INSTEAD.get(name)
            for name, value in sent.items()
            if _key(name, value) in refused and _may_change(name, value, set_by)
        }
        if instead:
            request = _replaced(request, instead)
        if _IMAGES in refused and (plain := _in_words(request)) is not None:
            return plain, {**instead, _IMAGES: _WORDS}
        return request, instead

    def learn(self, refusal: ParameterRefused, set_by: Mapping[str, str], tried: set[str]) -> None:
        """Add a refusal to `tried`. Raises if there is no fallback."""
        key = _key(refusal.parameter, refusal.value)
        if not _may_change(refusal.parameter, refusal.value, set_by):
            raise refusal.user_error(set_by[refusal.parameter], self._spec)
        if key in tried:  # also refused without it, so that was not the reason
            raise refusal
        tried.add(key)

    def learn_images(self, request: ChatRequest, refusal: ModelError, tried: set[str]) -> None:
        """Add images in tools' answers to `tried`. Raises if they cannot be why it was refused."""
        may_be = refusal.kind in ("bad_request", "server") and _REFUSES_IMAGES.search(refusal.message)
        if not may_be or _in_words(request) is None:
            raise refusal
        tried.add(_IMAGES)

    def confirm(self, tried: Set[str]) -> None:
        """Keep these refusals for later requests, because the fallbacks led to an answer."""
        self._certain |= tried


def _key(parameter: str, value: object) -> str:
    """The unit of refusal: one value of `tool_choice`, or else the whole parameter."""
    return f"{parameter} {value}" if parameter == "tool_choice" else parameter


def _may_change(parameter: str, value: object, set_by: Mapping[str, str]) -> bool:
    is_word = parameter == "tool_choice" and value in ("required", "none")
    return is_word or parameter not in set_by or parameter == "max_tokens"


def _replaced(request: ChatRequest, instead: Mapping[str, str | None]) -> ChatRequest:
    sampling = {name: value for name, value in request.sampling.items() if name not in instead}
    if "max_tokens" in instead:
        sampling[MAX_COMPLETION_TOKENS] = request.sampling["max_tokens"]
    choice = instead.get("tool_choice") or request.tool_choice
    return structs.replace(request, sampling=sampling, tool_choice=choice)


def _in_words(request: ChatRequest) -> ChatRequest | None:
    """The request with words for the images in tools' answers; None if there are none."""
    plain = [*map(in_words, request.messages)]
    return None if plain == [*request.messages] else structs.replace(request, messages=plain)


@functools.cache
def _listed(model: str) -> frozenset[str]:
    """The model's refusals according to its entry among the known models."""
    entry = known_entry(model) or {}
    flags = {"supports_sampling_params": "temperature", "supports_forced_tool_use": FORCED}
    return frozenset(key for flag, key in flags.items() if entry.get(flag) is False)


def _ignored(spec: HttpModel, sent: Mapping[str, object]) -> frozenset[str]:
    """The values of `tool_choice` that litellm or the provider would silently drop."""
    thinking, effort = sent.get("thinking"), sent.get("reasoning_effort")
    thinks = effort not in (None, "none") or (
        isinstance(thinking, Mapping) and thinking.get("type") == "enabled"
    )
    provider = spec.provider
    dropped = (what for word, what in provider.ignores_thinking if thinks and word in spec.model)
    return frozenset((*provider.ignores, *dropped))
