"""The options of a run's verdict and reports, for pytest and `tooleval merge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Literal
from typing import NamedTuple

from ..errors import ConfigError
from .presets import PRESETS


class Option(NamedTuple):
    """A command line option, by its name without prefix. Without `metavar` and `choices` it is a flag.

    `between` are the limits of a number. With `ini`, the type of its key, it can be set in the ini file.
    """

    name: str
    help: str
    metavar: str = ""
    many: bool = False
    type: Callable[[str], Any] = str
    between: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    default: Any = None
    ini: Literal["", "string", "args", "bool"] = ""

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    def check(self, number: float) -> None:
        """Raise ConfigError for a number beyond its limits."""
        if self.between and not self.between[0] <= number <= self.between[1]:
            least, most = self.between
            raise ConfigError(
                f"--tooleval-{self.name}: expected a number from {least:g} to {most:g}, got {number:g}"
            )


def read_number(text: str) -> float:
    """The number; -1 if it is not one, which no range includes."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def strict_text(strict: bool) -> str:
    """The end of the message of an inconclusive verdict: whether it fails the run."""
    if strict:
        return " (fatal, because of --tooleval-fail-inconclusive)"
    return " (not fatal; --tooleval-fail-inconclusive makes it so)"


JUDGING = (
    Option("preset", "set the usual options of a gate at once", choices=tuple(PRESETS), ini="string"),
    Option(
        "fail-under",
        "gate on the share of cases that pass, or the mean of a metric; repeatable",
        "[SCOPE:][METRIC=]VALUE",
        many=True,
        ini="args",
    ),
    Option(
        "fail-over",
        "gate on errors=2%, or on an average trial's cost_usd, latency_s, calls or tokens; repeatable",
        "[SCOPE:]NAME=VALUE",
        many=True,
        ini="args",
    ),
    Option(
        "confidence",
        "judge gates by the interval at this confidence, such as 0.95",
        "C",
        type=float,
        between=(0.5, 0.9999),
    ),
    Option("fail-inconclusive", "fail on inconclusive verdicts", ini="bool"),
    Option(
        "baseline",
        "fail on a significant drop from an earlier run: a JSON file, good, @TAG, ...",
        "FILE|RUN",
    ),
    Option(
        "baseline-model",
        "compare this run's model NEW with the baseline's model OLD; repeatable",
        "OLD=NEW",
        many=True,
    ),
    Option(
        "max-drop",
        "allow drops from the baseline of up to X (default: 0)",
        "X",
        type=float,
        between=(0.0, 1.0),
    ),
)
OUTPUTS = (
    Option(
        "report",
        "write a report: .json, .html, .md or .csv, or any name after json:, html:, ...; repeatable",
        "[FORMAT:]FILE",
        many=True,
    ),
    Option(
        "github",
        "annotations and summary of GitHub Actions (default: auto)",
        choices=("auto", "always", "never"),
        default="auto",
    ),
    Option("no-history", "do not keep this run in .tooleval/history.db"),
)
