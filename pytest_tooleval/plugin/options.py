"""The command line and the ini keys."""

from __future__ import annotations

from typing import Any

import pytest

# The most trials of --tooleval-trials=auto.
DEFAULT_MOST = 10
RECORD_MODES = ("none", "once", "new", "all")
DEFAULTS: dict[str, Any] = {
    "tooleval_concurrency": 32,
    "tooleval_timeout": 120.0,
    "tooleval_github": "auto",
}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tooleval", "evaluation of LLM tool calling (pytest-tooleval)")
    group.addoption(
        "--tooleval-model",
        action="append",
        metavar="NAME[,NAME...]",
        help="model to evaluate: a name from [tool.tooleval.models], a litellm name such as "
        "openai/gpt-4o, or baseline/lexical; may be repeated",
    )
    group.addoption(
        "--tooleval-transcripts",
        action="append",
        metavar="FILE|FOLDER",
        help="judge runs that are recorded there and ask no model: chat transcripts, spans of "
        "OpenTelemetry (OTLP JSON), results of tau2; may be repeated",
    )
    group.addoption(
        "--tooleval-judge",
        metavar="NAME",
        help="the model that judges by the rubrics ($judge) of the suites",
    )
    group.addoption(
        "--tooleval-user",
        metavar="NAME",
        help="the model that plays the user of cases with a user that names none itself",
    )
    group.addoption(
        "--tooleval-threshold",
        action="append",
        default=[],
        metavar="[METRIC=]VALUE",
        help="for every case: the least score (0 to 1) that passes, of METRIC (default: overall); or "
        "the most that a trial may take, of max_calls, max_tokens_used, max_cost_usd or max_latency_s; "
        "null takes either away",
    )
    group.addoption(
        "--tooleval-temperature",
        type=float,
        metavar="T",
        help="sampling temperature for every case (default: the suite's, else 0)",
    )
    group.addoption(
        "--tooleval-reasoning",
        metavar="EFFORT",
        help="how much all models that can reason do so: none, minimal, low, medium, high, xhigh or max "
        "(default: as their tables say, else as they do by themselves)",
    )
    group.addoption(
        "--tooleval-tool-choice",
        choices=("required", "auto", "none"),
        help="tool_choice for every case (default: the suite's, else required)",
    )
    group.addoption(
        "--tooleval-trials",
        type=lambda text: int(text) if text.removeprefix("-").isdecimal() else text,
        metavar="N|auto[:MAX]",
        help="how often each case is asked (default: the suite's, else 1); auto asks in rounds "
        "until the comparison with the baseline and gates with --tooleval-confidence are decided, "
        "MAX times at most (default: 10)",
    )
    group.addoption(
        "--tooleval-pass",
        metavar="RULE",
        help="how the trials of a case make its verdict: mean (default: the mean scores against the "
        "thresholds), all, any, or K/N: N trials, of which at least K must pass",
    )
    group.addoption(
        "--tooleval-early-stop",
        action="store_true",
        help="ask the trials of a case one after another, and no more once its verdict is decided",
    )
    group.addoption(
        "--tooleval-fail-under",
        action="append",
        metavar="[SCOPE:][METRIC=]VALUE",
        help="least share (0 to 1) of the cases of each model that pass, or of each suite or tag, or "
        "least mean of METRIC; single misses then no longer fail the run, the gate does; may be "
        "repeated",
    )
    group.addoption(
        "--tooleval-max-errors",
        metavar="N|P%",
        help="how many cases may have no answer without failing the run",
    )
    group.addoption(
        "--tooleval-budget",
        action="append",
        metavar="NAME=VALUE",
        help="most that the trials of each model may take on average: max_calls, max_tokens_used, "
        "max_cost_usd or max_latency_s; may be repeated",
    )
    group.addoption(
        "--tooleval-confidence",
        type=float,
        metavar="C",
        help="with --tooleval-fail-under: the interval at this confidence, such as 0.95, must lie above "
        "the value to pass and below it to fail; else the gate is inconclusive",
    )
    group.addoption(
        "--tooleval-strict",
        action="store_true",
        help="a gate or a comparison with a baseline that is inconclusive fails the run",
    )
    group.addoption(
        "--tooleval-baseline",
        metavar="FILE|RUN",
        help="compare with an earlier run, a file of --tooleval-json or a run of the history such as "
        "good, the last whole one whose gates passed, and fail on a significant drop",
    )
    group.addoption(
        "--tooleval-baseline-model",
        action="append",
        metavar="OLD=NEW",
        help="compare model NEW of this run with model OLD of the baseline; may be repeated",
    )
    group.addoption(
        "--tooleval-max-drop",
        type=float,
        metavar="X",
        help="with a baseline: drops of a mean up to this (0 to 1, default 0) never fail the run",
    )
    group.addoption(
        "--tooleval-allow-tools",
        action="append",
        default=[],
        metavar="NAME[,NAME...]",
        help="which live_tools of the suites may really run on their MCP servers; * for those that the "
        "server says only read (only on the command line)",
    )
    group.addoption(
        "--tooleval-concurrency",
        type=int,
        default=DEFAULTS["tooleval_concurrency"],
        metavar="N",
        help="requests under way at a time, over all models (default: 32)",
    )
    group.addoption(
        "--tooleval-timeout",
        type=float,
        default=DEFAULTS["tooleval_timeout"],
        metavar="SECONDS",
        help="time allowed for one answer (default: 120)",
    )
    group.addoption(
        "--tooleval-json", metavar="FILE", help="write the results of all cases to FILE as JSON"
    )
    group.addoption("--tooleval-html", metavar="FILE", help="write a report to FILE as one HTML page")
    group.addoption(
        "--tooleval-markdown",
        metavar="FILE",
        help="write a summary to FILE as Markdown, for a pull request",
    )
    group.addoption("--tooleval-csv", metavar="FILE", help="write one line per trial to FILE as CSV")
    group.addoption(
        "--tooleval-events",
        metavar="FILE|FD",
        help="write what happens, as it happens, to FILE or to an inherited file descriptor, a line of "
        "JSON each",
    )
    group.addoption(
        "--tooleval-github",
        choices=("auto", "always", "never"),
        default=DEFAULTS["tooleval_github"],
        help="annotations and a step summary for GitHub Actions (default: auto, when running there)",
    )
    group.addoption(
        "--tooleval-no-history",
        action="store_true",
        help="do not keep this run in .tooleval/history.db (ini: tooleval_history = false)",
    )
    group.addoption(
        "--tooleval-cassette",
        metavar="FOLDER",
        help="keep answers in FOLDER and replay them from there",
    )
    group.addoption(
        "--tooleval-record",
        choices=RECORD_MODES,
        help="with a cassette: none replays only, once records only if there is no file yet, "
        "new (default) records what is missing, all asks everything again",
    )
    group.addoption(
        "--tooleval-resume",
        action="store_true",
        help="take over the answers of the last run, which was killed or had errors, and ask only for "
        "what is missing",
    )
    group.addoption(
        "--tooleval-max-cost",
        type=float,
        metavar="USD",
        help="stop asking once the answers have cost this much; the cases left are errors",
    )
    group.addoption(
        "--tooleval-estimate",
        action="store_true",
        help="print calls, prompt tokens and a price range per model, and ask nothing",
    )
    parser.addini(
        "tooleval_models", "models to evaluate when --tooleval-model is not given", type="args"
    )
    parser.addini("tooleval_transcripts", "default of --tooleval-transcripts", type="args")
    parser.addini("tooleval_judge", "default of --tooleval-judge")
    parser.addini("tooleval_user", "default of --tooleval-user")
    parser.addini("tooleval_trials", "default of --tooleval-trials")
    parser.addini("tooleval_cassette", "default of --tooleval-cassette")
    parser.addini("tooleval_record", "default of --tooleval-record")
    parser.addini("tooleval_fail_under", "default of --tooleval-fail-under", type="args")
    parser.addini("tooleval_budget", "default of --tooleval-budget", type="args")
    parser.addini("tooleval_max_errors", "default of --tooleval-max-errors")
    parser.addini("tooleval_strict", "default of --tooleval-strict", type="bool")
    parser.addini("tooleval_history", "whether runs are kept in the history", type="bool", default=True)


def given_options(config: pytest.Config) -> dict[str, Any]:
    """The tooleval options that differ from their defaults, for the record."""
    given = {name: value for name, value in vars(config.option).items() if name.startswith("tooleval_")}
    return {
        name.removeprefix("tooleval_").replace("_", "-"): value
        for name, value in sorted(given.items())
        # Who followed a run says nothing of its results.
        if value not in (None, False, []) and value != DEFAULTS.get(name) and name != "tooleval_events"
    }
