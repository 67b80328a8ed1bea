"""Which score passes: thresholds of the suite, of the case and of the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .project import Project
from .project import call
from .project import case
from .project import failed
from .project import right
from .project import wrong


@pytest.mark.parametrize(
    ("suite", "one", "options", "outcome"),
    [
        (None, None, [], "failed"),
        ({"overall": 0.6}, None, [], "passed"),
        ({"overall": 0.61}, None, [], "failed"),
        ({"tool_selection": 1.0}, None, [], "passed"),
        ({"overall": 0.5, "parameter_accuracy": 1.0}, None, [], "failed"),
        (None, {"overall": 0.6}, [], "passed"),
        ({"overall": 0.1}, {"overall": 1.0}, [], "failed"),
        ({"parameter_accuracy": 1.0}, {"overall": 0.5}, [], "failed"),
        (None, None, ["0.5"], "passed"),
        ({"overall": 0.1}, {"overall": 0.1}, ["0.9"], "failed"),
        ({"overall": 1.0}, None, ["overall=0.6"], "passed"),
        # The command line adds to the default and takes nothing away.
        (None, None, ["tool_selection=1.0"], "failed"),
        (None, None, ["tool_selection=1.0", "overall=0.6"], "passed"),
        (None, None, ["tool_selection=1.0", "parameter_accuracy=0.5"], "failed"),
        (None, None, ["0.9", "0.5"], "passed"),
        (None, None, ["0"], "passed"),
    ],
)
def test_the_narrowest_threshold_holds(
    project: Project,
    suite: dict[str, float] | None,
    one: dict[str, float] | None,
    options: list[str],
    outcome: str,
) -> None:
    of_case: dict[str, Any] = {"thresholds": one} if one else {}
    of_suite: dict[str, Any] = {"thresholds": suite} if suite else {}
    project.suite(wrong("a", **of_case), **of_suite)
    result = project.run(*(f"--tooleval-threshold={option}" for option in options))
    result.assert_outcomes(**{outcome: 1})


def test_each_missed_metric_is_named(project: Project) -> None:
    project.suite(wrong("a"), thresholds={"overall": 0.9, "parameter_accuracy": 0.5})
    result = project.run()
    result.stdout.fnmatch_lines([failed("overall 0.60 < 0.90, parameter_accuracy 0.00 < 0.50")])


@pytest.mark.parametrize("value", ["", "high", "1.5", "-0.1", "nan", "inf", "=0.5", "overall=", "a=b"])
def test_a_bad_value_is_a_usage_error(project: Project, value: str) -> None:
    project.suite(right("a"))
    result = project.run(f"--tooleval-threshold={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --tooleval-threshold={value}: expected*from 0 to 1*"])
    assert project.calls == []


def test_an_unknown_metric_is_a_collection_error_that_lists_the_known(project: Project) -> None:
    project.suite(right("a"))
    result = project.run("--tooleval-threshold=tool_selektion=1.0")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*tool_selektion*unknown metric*tool_selection*"])
    assert "Traceback" not in result.stdout.str()
    assert project.calls == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--tooleval-concurrency", "0"),
        ("--tooleval-timeout", "0"),
        ("--tooleval-timeout", "nan"),
        ("--tooleval-trials", "0"),
        ("--tooleval-temperature", "3"),
        ("--tooleval-temperature", "nan"),
        ("--tooleval-temperature", "warm"),
        ("--tooleval-concurrency", "many"),
        ("--tooleval-tool-choice", "maybe"),
        ("--tooleval-record", "sometimes"),
    ],
)
def test_other_bad_values_are_usage_errors(project: Project, option: str, value: str) -> None:
    project.suite(right("a"))
    result = project.run(f"{option}={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert option in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_the_command_line_wins_over_suite_and_case(project: Project) -> None:
    project.write(
        "seen.py",
        """
        import json
        from pathlib import Path

        def answer(messages, tools, tool_choice, temperature):
            Path(__file__).with_name("seen.json").write_text(json.dumps([tool_choice, temperature]))
            return "no calls"
        """,
    )
    project.write("tooleval.toml", '[models.seen]\ncallable = "seen:answer"\n')
    project.suite(right("a", tool_choice="auto", temperature=0.2), tool_choice="none", temperature=0.1)

    def seen() -> Any:
        return json.loads((project.path / "seen.json").read_text())

    project.run(model="seen")
    assert seen() == ["auto", 0.2]
    project.run("--tooleval-tool-choice=required", "--tooleval-temperature=0.7", model="seen")
    assert seen() == ["required", 0.7]


def test_a_score_that_floats_miss_by_a_hair_passes(project: Project) -> None:
    params = dict.fromkeys("abc", "x")
    script = {"calls": [call(a="x")]}
    tool = {"type": "function", "function": {"name": "get_weather"}}
    one = case("a", script, expected_params=params, thresholds={"overall": 0.6 + 0.4 / 3})
    project.suite(one, tools=[tool])
    project.run().assert_outcomes(passed=1)
