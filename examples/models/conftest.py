"""Your own scorer and your own variant, for all suites of this folder, and what its failures are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval import ConfigError, ResolvedCase, Score, Scorer, Transcript, VariantContext, text_of

_ABOUT = "recorded answers from small models; failures are expected here"

# E-mail addresses, and codes such as BA178 or QX7T4M: what a model must have read somewhere.
_IDENTIFIER = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{4,8}\b")


class Grounded:
    """`grounded`: the share of identifiers in the arguments that the conversation holds.

    An address or a flight number that stands neither in the prompt nor in the answer of a tool was
    made up. None, "does not apply", when the arguments hold no identifier.
    """

    metrics = ("grounded",)

    def score(self, case: Any, transcript: Transcript) -> dict[str, Score]:
        known = "\n".join(text_of(message) for message in transcript.prompt).casefold()
        found: dict[str, bool] = {}
        for reply in transcript.replies:
            for call in reply.calls:
                for identifier in _identifiers(call.arguments):
                    found.setdefault(identifier, identifier.casefold() in known)
            known += "\n".join(text_of(message) for message in reply.tool_answers).casefold()
        if not found:
            return {"grounded": Score(None, "no identifiers in the arguments")}
        made_up = [identifier for identifier, is_known in found.items() if not is_known]
        text = f"made up: {', '.join(made_up)}" if made_up else "every identifier was given"
        return {"grounded": Score(1 - len(made_up) / len(found), text)}


def _identifiers(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _IDENTIFIER.findall(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _identifiers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _identifiers(inner)


def pytest_tooleval_register_scorers(register: Callable[[Scorer], None]) -> None:
    register(Grounded())


def typos(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
    """`typos:N`: N words of the question have two letters swapped; it needs at least one long word."""
    if not condition.argument.isdecimal():
        raise ConfigError("expected typos:N, such as typos:2")
    *before, last = case.messages
    words = re.split(r"(\W+)", text_of(last))
    # Neither names nor codes, which a person would copy.
    places = [place for place, word in enumerate(words) if word.islower() and len(word) > 3]
    if not places:
        return None
    condition.random(case).shuffle(places)  # the same order for all N
    for place in places[: int(condition.argument)]:
        first, second, third, *rest = words[place]
        words[place] = "".join([first, third, second, *rest])
    return structs.replace(case, messages=(*before, {**last, "content": "".join(words)}))


def pytest_tooleval_variants(register: Callable[..., None]) -> None:
    register("typos", typos)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.get_terminal_writer().line(_ABOUT)
