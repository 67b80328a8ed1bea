"""The options of a run's verdict and reports, for pytest and `tooleval merge`."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from ..text import near
from ..text import read_number
from .presets import PRESETS

Read = Callable[[str], Any]


class Option(NamedTuple):
    """A command line option, by its name without prefix. Without `metavar` and `choices` it is a flag.

    `read` makes a value of the text; a ValueError says what was expected. With `ini`, the ini file can
    set it, under `key`. `needs` is another option, by its key; `excludes` has others, and why.
    """

    name: str
    help: str
    metavar: str = ""
    read: Read = str
    many: bool = False
    choices: tuple[str, ...] = ()
    default: str | None = None
    ini: bool = False
    needs: str = ""
    excludes: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return not (self.metavar or self.choices)

    def value(self, text: str) -> Any:
        if self.choices and text not in self.choices:
            raise ValueError(f"expected {', '.join(self.choices)}{near(text, self.choices)}")
        return self.read(text)


def number(expected: str, fits: Callable[[float], bool]) -> Read:
    """Reads a number that fits."""

    def read(text: str) -> float:
        value = read_number(text)
        if not fits(value):
            raise ValueError(f"expected {expected}")
        return value

    return read


def filled(expected: str) -> Read:
    """Reads a text that is not empty, as a variable of CI may be."""

    def read(text: str) -> str:
        if not text.strip():
            raise ValueError(f"expected {expected}, got nothing")
        return text.strip()

    return read


def _under(text: str) -> Any:
    from .rules import read_rule

    return read_rule(text, over=False)


def _over(text: str) -> Any:
    from .rules import read_rule

    return read_rule(text, over=True)


def _pair(text: str) -> tuple[str, str]:
    # litellm's names contain no `=`.
    old, _, new = (part.strip() for part in text.partition("="))
    if not (old and new):
        raise ValueError("expected OLD=NEW, two models")
    return old, new


def strict_text(strict: bool) -> str:
    """The end of the message of an inconclusive verdict: whether it fails the run."""
    if strict:
        return " (fatal, because of --tooleval-fail-inconclusive)"
    return " (not fatal; --tooleval-fail-inconclusive makes it so)"


JUDGING = (
    Option("preset", "apply a gate preset", choices=tuple(PRESETS), ini=True),
    Option(
        "fail-under",
        "fail if the pass rate, or the mean of a metric, is lower; repeatable",
        "[SCOPE:][METRIC=]VALUE",
        read=_under,
        many=True,
        ini=True,
    ),
    Option(
        "fail-over",
        "fail if errors, or the mean cost_usd, latency_s, calls or tokens, are higher; repeatable",
        "[SCOPE:]NAME=VALUE",
        read=_over,
        many=True,
        ini=True,
    ),
    Option(
        "confidence",
        "judge --tooleval-fail-under by the interval at this confidence, such as 0.95",
        "C",
        read=number("a number from 0.5 to 0.9999", lambda value: 0.5 <= value <= 0.9999),
        needs="fail_under",
    ),
    Option("fail-inconclusive", "fail on inconclusive verdicts", ini=True),
    Option(
        "baseline",
        "fail on a significant drop from an earlier run: a JSON report, good, @TAG, ...",
        "FILE|RUN",
        read=filled("a file or the name of a run"),
    ),
    Option(
        "baseline-model",
        "compare the baseline's model OLD with this run's model NEW; repeatable",
        "OLD=NEW",
        read=_pair,
        many=True,
        needs="baseline",
    ),
    Option(
        "max-drop",
        "allow drops from the baseline of up to X (default: 0)",
        "X",
        read=number("a number from 0 to 1", lambda value: 0 <= value <= 1),
        needs="baseline",
    ),
)
HISTORY = Option(
    "history",
    "save the run in .tooleval/history.db (default: on)",
    choices=("on", "off"),
    default="on",
    ini=True,
)
OUTPUTS = (
    Option(
        "report",
        "write a report, formatted by its ending (.json, .html, .md, .csv) or FORMAT; repeatable",
        "[FORMAT:]FILE",
        many=True,
    ),
    Option(
        "github",
        "annotations and summary of GitHub Actions (default: auto)",
        choices=("auto", "always", "never"),
        default="auto",
    ),
    HISTORY,
)
