"""The command line and the ini keys."""

from __future__ import annotations

from typing import Any

import pytest

from ..verdicts.options import JUDGING
from ..verdicts.options import OUTPUTS
from ..verdicts.options import Option

# The most trials of --tooleval-trials=auto.
DEFAULT_MOST = 10
RECORD_MODES = ("none", "new", "all")

_MODELS = (
    Option(
        "model",
        "a name from the config, a litellm name, or builtin/lexical; repeatable",
        "NAME[,NAME...]",
        many=True,
    ),
    Option(
        "transcripts",
        "judge transcripts (chat messages, traces) and ask no model; repeatable",
        "FILE|FOLDER",
        many=True,
        ini="args",
    ),
    Option("judge", "the model that judges by rubrics ($judge)", "NAME", ini="string"),
    Option("user", "the model that plays users", "NAME", ini="string"),
    Option(
        "allow-tools",
        "real tools that may run: live_tools, and those of agents; * allows read-only live_tools",
        "NAME[,NAME...]",
        many=True,
    ),
    Option("shard", "run part K of N of the cases, for `tooleval merge`; needs a JSON report", "K/N"),
)
_ASKING = (
    Option(
        "trials",
        "ask each case N times (default: the suite's, else 1); auto: until the verdict is clear",
        "N|auto[:MAX]",
        type=lambda text: int(text) if text.removeprefix("-").isdecimal() else text,
        ini="string",
    ),
    Option("temperature", "temperature of every case (default: the suite's, else 0)", "T", type=float),
    Option("reasoning", "reasoning effort: none, minimal, low, medium, high, xhigh or max", "EFFORT"),
    Option(
        "tool-choice",
        "tool_choice of every case (default: the suite's, else required)",
        choices=("required", "auto", "none"),
    ),
    Option(
        "concurrency", "requests at a time, over all models (default: 32)", "N", type=int, default=32
    ),
    Option("timeout", "time for one answer (default: 120)", "SECONDS", type=float, default=120.0),
)
_VERDICT = (
    Option(
        "threshold",
        "lowest score that passes, or a limit; null removes one; repeatable",
        "[METRIC=]VALUE",
        many=True,
    ),
    Option("pass", "how trials make a verdict: mean (default), all, any, or K/N, such as 4/5", "RULE"),
    *JUDGING,
)
_ANSWERS = (
    Option("cassette", "keep answers in FOLDER, and replay them from there", "FOLDER", ini="string"),
    Option(
        "record",
        "new (default) asks what is missing, none asks nothing, all asks again",
        choices=RECORD_MODES,
        ini="string",
    ),
    Option("resume", "reuse the answers of the last run, and ask only for what is missing"),
    Option(
        "max-cost",
        "stop asking after spending this much; the remaining cases are errors",
        "USD",
        type=float,
    ),
    Option("estimate", "print calls, tokens and a price range, and ask nothing"),
)
# For programs that start pytest; they do not affect the results.
_PROGRAMS = (
    Option("events", "write a line of JSON for each event, as it happens", "FILE|FD"),
    Option("stop-on-eof", "end the run like Ctrl-C when standard input ends"),
)

# The groups of `pytest --help`: titles and options.
GROUPS = {
    "tooleval": ("what to evaluate", _MODELS),
    "tooleval-asking": ("how to ask", _ASKING),
    "tooleval-verdict": ("what passes", _VERDICT),
    "tooleval-answers": ("recorded answers and cost", _ANSWERS),
    "tooleval-outputs": ("reports", (*OUTPUTS, *_PROGRAMS)),
}
OPTIONS = {option.key: option for _, options in GROUPS.values() for option in options}


def add_options(parser: pytest.Parser) -> None:
    for name, (title, options) in GROUPS.items():
        group = parser.getgroup(name, f"tooleval: {title}")
        for option in options:
            group.addoption(f"--tooleval-{option.name}", **_settings(option))
    for option in OPTIONS.values():
        if option.ini:
            help = f"default of --tooleval-{option.name}"
            parser.addini(f"tooleval_{option.key}", help, type=option.ini)
    parser.addini(
        "tooleval_models", "models to evaluate when --tooleval-model is not given", type="args"
    )
    parser.addini(
        "tooleval_junit_properties",
        "whether cases have properties (model, scores, ...) in the file of --junitxml (default: not "
        "with the junit_family xunit2, pytest's default, whose schema has none)",
        type="bool",
        default=None,
    )
    parser.addini("tooleval_history", "whether runs are saved to the history", type="bool", default=True)


def _settings(option: Option) -> dict[str, Any]:
    """The arguments of argparse."""
    settings: dict[str, Any] = {"help": option.help.replace("%", "%%"), "default": option.default}
    if option.choices:
        return {**settings, "choices": option.choices}
    if not option.metavar:
        return {**settings, "default": False, "action": "store_true"}
    action = "append" if option.many else "store"
    return {**settings, "metavar": option.metavar, "type": option.type, "action": action}


def given_options(config: pytest.Config) -> dict[str, Any]:
    """The options that differ from their defaults, for the record."""
    given = {option: config.getoption(f"tooleval_{option.key}") for option in OPTIONS.values()}
    return {
        option.name: value
        for option, value in sorted(given.items(), key=lambda pair: pair[0].key)
        if value not in (None, option.default) and value is not False and option not in _PROGRAMS
    }
