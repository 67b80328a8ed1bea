"""Matches the transcripts of `--tooleval-transcripts` with cases."""

from __future__ import annotations

from collections.abc import Sequence

from ..imports.conversation import Conversation, unread_text
from ..imports.transcripts.given import find_transcripts
from ..record.transcript import text_of
from ..secrets import redacted
from ..suite.model import Suite
from ..text import counted, printable, shown

_SHOWN = 20


class GivenTranscripts:
    """The given transcripts, and which of them match no case so far."""

    def __init__(self, given: Sequence[Conversation]) -> None:
        self._given = given
        self._left = {id(each): f"{each.place}: {_named(each)}" for each in given}
        self._misnamed = {id(each): f"{each.place}: {_named(each)}" for each in given if each.case}

    def of_suite(self, suite: Suite) -> dict[str, list[Conversation]]:
        """The transcripts of a suite's cases, by case id; cases with none are left out."""
        found = find_transcripts(suite, self._given)
        for given in found.of_case.values():
            for each in given:
                self._left.pop(id(each), None)
                self._misnamed.pop(id(each), None)
        for each, why in found.unclear:
            self._misnamed.pop(id(each), None)
            if id(each) in self._left:
                self._left[id(each)] = f"{each.place}: {why}"
        return found.of_case

    def misnamed(self) -> list[str]:
        """A line for each transcript that names an unknown case: a gate may lack its result."""
        return [printable(line) for line in self._misnamed.values()]

    def unread(self) -> list[str]:
        """A line for each file with items of unknown types, which were kept but not scored."""
        of_file: dict[str, list[str]] = {}
        for each in self._given:
            of_file.setdefault(each.at.path, []).extend(each.unread)
        texts = {path: unread_text(kinds) for path, kinds in of_file.items()}
        return [f"{printable(path)}: {text}; kept, not scored" for path, text in texts.items() if text]

    def left(self) -> list[str]:
        """Lines about transcripts without a matching case; empty if there are none."""
        if not self._left:
            return []
        lines = [f"no case: {printable(line)}" for line in self._left.values()]
        more = [f"no case: {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        total = f"{len(lines)} of {counted(len(self._given), 'transcript')} NOT JUDGED: no case matches"
        return [total, *lines[:_SHOWN], *more]


def _named(given: Conversation) -> str:
    if given.case:
        return f"these suites have no case {shown(given.case)}"
    prompt = next((text_of(each) for each in given.messages if each.get("role") == "user"), "")
    return f'no case has its id or begins with "{shown(redacted(prompt))}"'
