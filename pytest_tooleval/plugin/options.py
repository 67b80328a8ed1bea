"""The command line and the ini keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ..verdicts.options import DEFAULT_GITHUB
from ..verdicts.options import JUDGING
from ..verdicts.options import OUTPUTS
from ..verdicts.options import Option

# The most trials of --tooleval-trials=auto.
DEFAULT_MOST = 10
RECORD_MODES = ("none", "once", "new", "all")
DEFAULTS: dict[str, Any] = {
    "tooleval_concurrency": 32,
    "tooleval_timeout": 120.0,
    "tooleval_github": DEFAULT_GITHUB,
}


# What `pytest --help` calls the groups.
GROUPS = {
    "tooleval": "what to evaluate",
    "tooleval-asking": "how to ask",
    "tooleval-verdict": "what passes",
    "tooleval-answers": "recorded answers and cost",
    "tooleval-outputs": "reports",
}


def add_options(parser: pytest.Parser) -> None:
    adders = (_add_models, _add_asking, _add_verdict, _add_answers, _add_outputs)
    for (name, title), add in zip(GROUPS.items(), adders, strict=True):
        add(parser.getgroup(name, f"tooleval: {title}"))
    parser.addini(
        "tooleval_models", "models to evaluate when --tooleval-model is not given", type="args"
    )
    parser.addini("tooleval_transcripts", "default of --tooleval-transcripts", type="args")
    parser.addini("tooleval_judge", "default of --tooleval-judge")
    parser.addini("tooleval_user", "default of --tooleval-user")
    parser.addini("tooleval_trials", "default of --tooleval-trials")
    parser.addini("tooleval_cassette", "default of --tooleval-cassette")
    parser.addini("tooleval_record", "default of --tooleval-record")
    parser.addini("tooleval_gate", "default of --tooleval-gate")
    parser.addini("tooleval_fail_under", "default of --tooleval-fail-under", type="args")
    parser.addini("tooleval_budget", "default of --tooleval-budget", type="args")
    parser.addini("tooleval_max_errors", "default of --tooleval-max-errors")
    parser.addini("tooleval_strict", "default of --tooleval-strict", type="bool")
    parser.addini(
        "tooleval_junit_properties",
        "whether cases have properties (model, scores, ...) in the file of --junitxml (default: not "
        "with the junit_family xunit2, pytest's default, whose schema has none)",
        type="bool",
        default=None,
    )
    parser.addini("tooleval_history", "whether runs are saved to the history", type="bool", default=True)


def _add_models(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tooleval-model",
        action="append",
        metavar="NAME[,NAME...]",
        help="a name from the config, a litellm name, or baseline/lexical; repeatable",
    )
    group.addoption(
        "--tooleval-transcripts",
        action="append",
        metavar="FILE|FOLDER",
        help="judge recorded runs (chat transcripts, traces) and ask no model; repeatable",
    )
    group.addoption("--tooleval-judge", metavar="NAME", help="the model that judges by rubrics ($judge)")
    group.addoption("--tooleval-user", metavar="NAME", help="the model that plays users")
    group.addoption(
        "--tooleval-allow-tools",
        action="append",
        default=[],
        metavar="NAME[,NAME...]",
        help="live_tools that may run on their MCP servers; * allows the read-only ones",
    )
    group.addoption(
        "--tooleval-shard",
        metavar="K/N",
        help="run part K of N of the cases, for `tooleval merge`; needs --tooleval-json",
    )


def _add_asking(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tooleval-trials",
        type=lambda text: int(text) if text.removeprefix("-").isdecimal() else text,
        metavar="N|auto[:MAX]",
        help="ask each case N times (default: the suite's, else 1); auto: until the verdict is clear",
    )
    group.addoption(
        "--tooleval-temperature",
        type=float,
        metavar="T",
        help="temperature of every case (default: the suite's, else 0)",
    )
    group.addoption(
        "--tooleval-reasoning",
        metavar="EFFORT",
        help="reasoning effort: none, minimal, low, medium, high, xhigh or max",
    )
    group.addoption(
        "--tooleval-tool-choice",
        choices=("required", "auto", "none"),
        help="tool_choice of every case (default: the suite's, else required)",
    )
    group.addoption(
        "--tooleval-concurrency",
        type=int,
        default=DEFAULTS["tooleval_concurrency"],
        metavar="N",
        help="requests at a time, over all models (default: 32)",
    )
    group.addoption(
        "--tooleval-timeout",
        type=float,
        default=DEFAULTS["tooleval_timeout"],
        metavar="SECONDS",
        help="time for one answer (default: 120)",
    )


def _add_verdict(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tooleval-threshold",
        action="append",
        default=[],
        metavar="[METRIC=]VALUE",
        help="lowest score that passes, or a budget; null removes one; repeatable",
    )
    group.addoption(
        "--tooleval-pass",
        metavar="RULE",
        help="how trials make a verdict: mean (default), all, any, or K/N, such as 4/5",
    )
    group.addoption(
        "--tooleval-early-stop",
        action="store_true",
        help="ask trials one by one, and stop once the case's verdict is certain",
    )
    _add(group, JUDGING)


def _add_answers(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tooleval-cassette",
        metavar="FOLDER",
        help="keep answers in FOLDER, and replay them from there",
    )
    group.addoption(
        "--tooleval-record",
        choices=RECORD_MODES,
        help="new (default) asks what is missing, none asks nothing, all asks again; once: "
        "new without a file, else none",
    )
    group.addoption(
        "--tooleval-resume",
        action="store_true",
        help="reuse the answers of the last run, and ask only for what is missing",
    )
    group.addoption(
        "--tooleval-max-cost",
        type=float,
        metavar="USD",
        help="stop asking after spending this much; the remaining cases are errors",
    )
    group.addoption(
        "--tooleval-estimate",
        action="store_true",
        help="print calls, tokens and a price range, and ask nothing",
    )


def _add_outputs(group: pytest.OptionGroup) -> None:
    _add(group, OUTPUTS)
    group.addoption(
        "--tooleval-events",
        metavar="FILE|FD",
        help="write a line of JSON for each event, as it happens",
    )


def _add(group: pytest.OptionGroup, options: Sequence[Option]) -> None:
    for option in options:
        settings: dict[str, Any] = {"help": option.help.replace("%", "%%"), "default": option.default}
        if option.choices:
            settings["choices"] = option.choices
        elif option.metavar:
            settings["metavar"] = option.metavar
            settings["type"] = float if option.between else str
            settings["action"] = "append" if option.many else "store"
        else:
            settings.update(action="store_true", default=False)
        group.addoption(f"--tooleval-{option.name}", **settings)


def given_options(config: pytest.Config) -> dict[str, Any]:
    """The tooleval options that differ from their defaults, for the record."""
    given = {name: value for name, value in vars(config.option).items() if name.startswith("tooleval_")}
    return {
        name.removeprefix("tooleval_").replace("_", "-"): value
        for name, value in sorted(given.items())
        # Who followed a run says nothing of its results.
        if value not in (None, False, []) and value != DEFAULTS.get(name) and name != "tooleval_events"
    }
