"""The options of pytest: one table makes the command line, the ini keys, and the docs."""

from __future__ import annotations

import re
import sys
from typing import Any
from typing import NamedTuple

import pytest

from ..text import near
from ..text import read_number
from ..verdicts.options import JUDGING
from ..verdicts.options import OUTPUTS
from ..verdicts.options import Option
from ..verdicts.options import filled
from ..verdicts.options import number

# The most trials of --tooleval-trials=auto.
DEFAULT_MOST = 10
_PREFIX = "tooleval_"


class ShardNumber(NamedTuple):
    """Shard `number` (from 1) of the `of` shards of a run."""

    number: int
    of: int


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        # A gate must not pass because a CI variable is empty.
        raise ValueError("a name is empty")
    return names


def _shard(text: str) -> ShardNumber:
    found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text, re.ASCII)
    if not (found and 1 <= int(found[1]) <= int(found[2])):
        raise ValueError("expected K/N, the K-th of N shards, such as 2/4")
    return ShardNumber(int(found[1]), int(found[2]))


def _trials(text: str) -> tuple[int | None, int | None]:
    """The number of trials, and the most of `auto`; one of them is None."""
    from ..suite.model import MAX_TRIALS

    auto, colon, most = text.partition(":")
    count = (most if colon else str(DEFAULT_MOST)) if auto == "auto" else text
    if not (count.isdecimal() and 1 <= int(count) <= MAX_TRIALS):
        raise ValueError(f"expected 1 to {MAX_TRIALS}, auto, or auto:MAX")
    return (None, int(count)) if auto == "auto" else (int(count), None)


def _rule(text: str) -> str:
    from ..suite.model import MAX_TRIALS

    if text in ("mean", "all", "any"):
        return text
    needed, _, total = text.partition("/")
    if not (needed.isdecimal() and total.isdecimal() and 1 <= int(needed) <= int(total) <= MAX_TRIALS):
        raise ValueError(f"expected mean, all, any, or K/N such as 4/5 (N up to {MAX_TRIALS})")
    return f"{int(needed)}/{int(total)}"


def _threshold(text: str) -> tuple[str, float | None]:
    from ..record.metrics import LIMITS

    name, equals, bound = text.rpartition("=")
    name = name.strip() if equals else "overall"
    value = None if bound.strip() == "null" else read_number(bound)
    most = sys.float_info.max if name in LIMITS else 1.0
    if not name or (value is not None and not 0.0 <= value <= most):
        raise ValueError(
            "expected [METRIC=]VALUE with a value from 0 to 1, such as 0.8 or tool_selection=1.0; a "
            "limit such as max_calls=3; or null for none, such as no_extra_calls=null"
        )
    return name, value


_NO_MODEL = {"transcripts": "transcripts are judged without asking a model"}
_MODELS = (
    Option(
        "model",
        "models to evaluate: names of config tables, litellm's names, builtin/lexical; repeatable",
        "NAME[,NAME...]",
        read=_names,
        many=True,
        ini=True,
        excludes=_NO_MODEL,
    ),
    Option(
        "transcripts",
        "judge transcripts (chat messages, traces), and ask no model; repeatable",
        "FILE|FOLDER",
        read=filled("the name of a file or folder"),
        many=True,
        ini=True,
    ),
    Option("judge", "the model that judges by rubrics ($judge)", "NAME", filled("a model"), ini=True),
    Option("user", "the model that plays users", "NAME", filled("a model"), ini=True),
    Option(
        "allow-tools",
        "real tools that may run: live_tools, and those of agents; * allows read-only live_tools",
        "NAME[,NAME...]",
        read=_names,
        many=True,
    ),
    Option(
        "shard",
        "run shard K of N of the cases, for `tooleval merge`; needs a JSON report",
        "K/N",
        read=_shard,
        excludes={each.key: f"pass --{each.name} to `tooleval merge` instead" for each in JUDGING},
    ),
)
_ASKING = (
    Option(
        "trials",
        "trials of each case (default: the suite's, else 1); auto: until the verdict is clear",
        "N|auto[:MAX]",
        read=_trials,
        ini=True,
    ),
    Option(
        "temperature",
        "temperature of every case (default: the suite's, else 0)",
        "T",
        read=number("0 to 2", lambda degree: 0 <= degree <= 2),
    ),
    Option(
        "tool-choice",
        "tool_choice of every case (default: the suite's, else required)",
        choices=("required", "auto", "none"),
    ),
    Option(
        "concurrency",
        "requests at a time, over all models (default: 32)",
        "N",
        read=number("a whole number of at least 1", lambda count: count >= 1 and count.is_integer()),
        default="32",
    ),
    Option(
        "timeout",
        "seconds to wait for one answer (default: 120)",
        "SECONDS",
        read=number("seconds above 0", lambda seconds: seconds > 0),
        default="120",
    ),
)
_VERDICT = (
    Option(
        "threshold",
        "minimum score of a metric, or a limit; null removes one; repeatable",
        "[METRIC=]VALUE",
        read=_threshold,
        many=True,
    ),
    Option("pass", "how trials decide: mean (default), all, any, or K/N, such as 4/5", "RULE", _rule),
    *JUDGING,
)
_ANSWERS = (
    Option(
        "cassette",
        "record answers in FOLDER, and replay them from there",
        "FOLDER",
        read=filled("the name of a folder"),
        ini=True,
    ),
    Option(
        "record",
        "new (default) asks for what is missing, none only replays, all asks again",
        choices=("none", "new", "all"),
        default="new",
        ini=True,
        needs="cassette",
    ),
    Option(
        "resume",
        "reuse the answers of the last run, and ask for what is missing",
        excludes=_NO_MODEL,
    ),
    Option(
        "max-cost",
        "stop asking after spending this much; the remaining cases are errors",
        "USD",
        read=number("US dollars above 0", lambda usd: usd > 0),
    ),
    Option("estimate", "print calls, tokens and a price range, and ask nothing", excludes=_NO_MODEL),
)
# For programs that start pytest.
_EVENTS = Option("events", "write a line of JSON for each event, as it happens", "FILE|FD")

# The groups of `pytest --help`: titles and options.
GROUPS = {
    "tooleval": ("what to evaluate", _MODELS),
    "tooleval-asking": ("how to ask", _ASKING),
    "tooleval-verdict": ("what passes", _VERDICT),
    "tooleval-answers": ("recorded answers and cost", _ANSWERS),
    "tooleval-outputs": ("reports", (*OUTPUTS, _EVENTS)),
}
OPTIONS = {option.key: option for _, options in GROUPS.values() for option in options}


def add_options(parser: pytest.Parser) -> None:
    for name, (title, options) in GROUPS.items():
        group = parser.getgroup(name, f"tooleval: {title}")
        for option in options:
            group.addoption(f"--tooleval-{option.name}", **_for_argparse(option))
            if option.ini:
                switch = option.is_flag or option.choices == ("on", "off")
                type = "args" if option.many else "bool" if switch else "string"
                help = f"default of --tooleval-{option.name}"
                parser.addini(_PREFIX + option.key, help, type=type, default=None)  # type: ignore[arg-type]


def _for_argparse(option: Option) -> dict[str, Any]:
    help = option.help.replace("%", "%%")
    if option.is_flag:
        return {"help": help, "action": "store_true"}
    metavar = option.metavar or "|".join(option.choices)
    return {"help": help, "action": "append" if option.many else "store", "metavar": metavar}


def typed_options(config: pytest.Config) -> dict[str, Any]:
    """What the command line sets, by key."""
    found = {key: config.getoption(_PREFIX + key, None) for key in OPTIONS}
    return {key: value for key, value in found.items() if value not in (None, False)}


def ini_options(config: pytest.Config) -> dict[str, Any]:
    """What the ini file sets, by key. UsageError for a key that does not exist."""
    _check_keys(config)
    found: dict[str, Any] = {}
    for key in (key for key, option in OPTIONS.items() if option.ini):
        try:
            value = config.getini(_PREFIX + key)
        except (TypeError, ValueError, pytest.UsageError) as error:
            raise pytest.UsageError(f"{_PREFIX}{key}: {error}") from None
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif isinstance(value, list):  # `a, b`
            value = [text.strip(",") for text in value if text.strip(",")]
        if value:
            found[key] = value
    return found


def _check_keys(config: pytest.Config) -> None:
    """pytest only warns of keys that do not exist."""
    known = [key for key, option in OPTIONS.items() if option.ini]
    unknown = [key for key in sorted(config._get_unknown_ini_keys()) if key.startswith(_PREFIX)]
    if unknown:
        key = unknown[0].removeprefix(_PREFIX)
        if key in OPTIONS:
            hint = f"; use --tooleval-{OPTIONS[key].name}, on the command line or in addopts"
        else:
            hint = near(key, known, _PREFIX) or f"; expected one of {_PREFIX}{', '.join(known)}"
        raise pytest.UsageError(f"{config.inipath}: unknown key {unknown[0]}{hint}")
