"""Where a text only talks about calls: in code, and in closed thinking."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

# Opened and closed thinking, as models write it. Harmony's also ends where the next message begins.
THINKING = "|".join(
    rf"(?<!`){opener}"
    for opener in (
        r"<think(?:ing)?>", r"\[THINK\]", "◁think▷", "<seed:think>", r"<\|channel>thought\b",
        r"<\|channel\|>analysis<\|message\|>",
    )
)  # fmt: skip
_END = r"</think(?:ing)?>|\[/THINK\]|◁/think▷|</seed:think>"
_CLOSED = re.compile(rf"{_END}|<channel\|>")
_OF_HARMONY = re.compile(r"<\|channel\|>")
_ENDS = re.compile(rf"{_CLOSED.pattern}|<\|(?:end|start|channel)\|>")
_NEXT_MESSAGE = ("<|start|>", "<|channel|>")
_LONE_END = re.compile(_END)
_ANY_START = re.compile(THINKING)
FENCE = r"(?m:(?P<fence>```+|~~~+)(?P<language>[^`\n]*)$)"
_LINE_START = re.compile(r"(?:.*\n)?[ \t]{0,3}", re.DOTALL)
TICKS = r"(?P<ticks>`+)"
# What THINKING, FENCE and TICKS begin with.
STARTS = r"<|\[|◁|`|~"
_RUNS = re.compile(r"`+")
_CLOSER = re.compile(r"(?m)^[ \t]{0,3}(?P<run>```+|~~~+)[ \t\r]*$")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


def end_of_thought(text: str, opened: re.Match[str]) -> int | None:
    """Return where thinking ends; None if it never does.

    Its own end counts, whatever tokens of Harmony are in it. Harmony's ends where the next message
    begins, which may be the opener of a call.
    """
    closed = None if _OF_HARMONY.match(opened[0]) else _CLOSED.search(text, opened.end())
    closed = closed or _ENDS.search(text, opened.end())
    if closed is None:
        return None
    return closed.start() if closed[0] in _NEXT_MESSAGE else closed.end()


def begin_of_answer(text: str) -> int:
    """Return where the answer begins: behind thinking, whose opening tag the server may have removed."""
    if opened := _ANY_START.match(text, len(text) - len(text.lstrip())):
        closed_at = end_of_thought(text, opened)
        return 0 if closed_at is None or text.startswith(_NEXT_MESSAGE, closed_at) else closed_at
    end = _LONE_END.search(text)
    if (
        end is None
        or text[end.start() - 1 : end.start()] == "`"
        or (text.startswith("`", end.end()) and not text.startswith("```", end.end()))
    ):
        return 0
    start = _ANY_START.search(text, 0, end.start())
    return 0 if start else end.end()


class _Closer(NamedTuple):
    """A line that may close a fence, its length, and that of the longest from here on."""

    begin: int
    end: int
    length: int
    longest: int


class Code:
    """Finds the ends of code spans and fences in a text, in linear time."""

    __slots__ = ("_closers", "_runs", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: dict[int, list[int]] | None = None
        self._closers: dict[str, list[_Closer]] | None = None

    def span_end(self, opened: re.Match[str]) -> int:
        """Return the end of a code span; of its opening ticks if nothing closes it."""
        ticks = opened["ticks"]
        if self._runs is None:
            self._runs = {}
            for run in _RUNS.finditer(self._text):
                self._runs.setdefault(len(run[0]), []).append(run.start())
        places = self._runs.get(len(ticks), [])
        index = bisect_left(places, opened.end())
        if index == len(places):
            return opened.end()
        end = places[index]
        # A blank line ends the paragraph, and so the span.
        ends = _BLANK_LINE.search(self._text, opened.end(), end)
        return opened.end() if ends else end + len(ticks)

    def fence(self, opened: re.Match[str]) -> tuple[str, int] | None:
        """Return the body of a fence and its end; None if it is none, as nothing closes it."""
        fence, start = opened["fence"], opened.start()
        if not _LINE_START.fullmatch(self._text[max(0, start - 4) : start]):
            return None
        closed = self._closed(fence, opened.end())
        if closed is None:
            return None
        begin, end = closed
        return self._text[opened.end() : begin], end

    def _closed(self, fence: str, start: int) -> tuple[int, int] | None:
        """Return the place of the first line from `start` that closes a fence."""
        if self._closers is None:
            self._closers = {"`": [], "~": []}
            longest = {"`": 0, "~": 0}
            for line in reversed([*_CLOSER.finditer(self._text)]):
                run = line["run"]
                longest[run[0]] = max(longest[run[0]], len(run))
                self._closers[run[0]].append(_Closer(*line.span(), len(run), longest[run[0]]))
            for places in self._closers.values():
                places.reverse()
        places = self._closers[fence[0]]
        index = bisect_left(places, (start,))
        if index == len(places) or places[index].longest < len(fence):
            return None
        while places[index].length < len(fence):
            index += 1
        return places[index][:2]
