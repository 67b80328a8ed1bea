"""Where a text only talks about calls: in code, and in closed thinking."""

from __future__ import annotations

import re
from bisect import bisect_left

# Opened and closed thinking, as models write it. Harmony's also ends where the next message begins.
THINKING = "|".join(
    rf"(?<!`){opener}"
    for opener in (
        r"<think(?:ing)?>", r"\[THINK\]", "◁think▷", "<seed:think>", r"<\|channel>thought\b",
        r"<\|channel\|>analysis<\|message\|>",
    )
)  # fmt: skip
_END = r"</think(?:ing)?>|\[/THINK\]|◁/think▷|</seed:think>"
THOUGHT = re.compile(rf"{_END}|<channel\|>|<\|(?:end|start|channel)\|>")
NEXT_MESSAGE = ("<|start|>", "<|channel|>")
_LONE_END = re.compile(_END)
_ANY_START = re.compile(THINKING)
FENCE = r"(?m:(?P<fence>```+|~~~+)(?P<language>[^`\n]*)$)"
_LINE_START = re.compile(r"(?:.*\n)?[ \t]{0,3}", re.DOTALL)
TICKS = r"(?P<ticks>`+)"
_RUNS = re.compile(r"`+")


def begin_of_answer(text: str) -> int:
    """Return where the answer begins: behind thinking, whose opening tag the server may have removed."""
    if opened := _ANY_START.match(text.lstrip()):
        closed = THOUGHT.search(text, len(text) - len(text.lstrip()) + opened.end())
        # What begins the next message of Harmony may be the opener of a call.
        return 0 if closed is None or closed[0] in NEXT_MESSAGE else closed.end()
    end = _LONE_END.search(text)
    if (
        end is None
        or text[end.start() - 1 : end.start()] == "`"
        or text[end.end() : end.end() + 1] == "`"
    ):
        return 0
    start = _ANY_START.search(text, 0, end.start())
    return 0 if start else end.end()


class Code:
    """Finds the ends of code spans and fences in a text, in linear time."""

    __slots__ = ("_runs", "_text", "_unclosed")

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: dict[int, list[int]] | None = None
        self._unclosed: dict[str, int] = {}  # by character: the shortest fence without an end

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
        return opened.end() if "\n\n" in self._text[opened.end() : end] else end + len(ticks)

    def fence(self, opened: re.Match[str]) -> tuple[str, int] | None:
        """Return the body of a fence and its end; None if it is none, as nothing closes it."""
        fence, start = opened["fence"], opened.start()
        if not _LINE_START.fullmatch(self._text[max(0, start - 4) : start]):
            return None
        if len(fence) >= self._unclosed.get(fence[0], len(fence) + 1):
            return None
        closed = re.compile(rf"(?m)^[ \t]{{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*$")
        end = closed.search(self._text, opened.end())
        if end is None:
            self._unclosed[fence[0]] = len(fence)
            return None
        return self._text[opened.end() : end.start()], end.end()
