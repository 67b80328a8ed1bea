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

Thresholds = dict[str, float | None]
# By the options of the command line: thresholds of the suite, of the case, and what comes of both.
OUTCOMES: dict[tuple[str, ...], list[tuple[Thresholds, Thresholds, str]]] = {
    (): [
        ({}, {}, "failed"),
        ({"overall": 0.6}, {}, "passed"),
        ({"overall": 0.61}, {}, "failed"),
        ({"tool_selection": 1.0}, {}, "failed"),
        ({"tool_selection": 1.0, "overall": None}, {}, "passed"),
        ({"overall": 0.5, "parameter_accuracy": 1.0}, {}, "failed"),
        ({}, {"overall": 0.6}, "passed"),
        ({"overall": 0.1}, {"overall": 1.0}, "failed"),
        ({"parameter_accuracy": 1.0}, {"overall": 0.5}, "failed"),
        ({"overall": None, "tool_selection": 1.0}, {"overall": 1.0}, "failed"),
    ],
    ("0.9",): [({"overall": 0.1}, {"overall": 0.1}, "failed")],
    ("0.5",): [({}, {}, "passed")],
    ("0.9", "0.5"): [({}, {}, "passed")],
    ("0",): [({}, {}, "passed")],
    ("overall=0.6",): [({"overall": 1.0}, {}, "passed")],
    ("tool_selection=1.0",): [({}, {}, "failed")],
    ("tool_selection=1.0", "overall=null"): [({}, {}, "passed")],
    ("tool_selection=1.0", "overall=0.6"): [({}, {}, "passed")],
    ("tool_selection=1.0", "parameter_accuracy=0.5"): [({}, {}, "failed")],
}


@pytest.mark.parametrize("options", OUTCOMES, ids=str)
def test_the_narrowest_threshold_holds(project: Project, options: tuple[str, ...]) -> None:
    for number, (suite, one, _) in enumerate(OUTCOMES[options]):
        name = f"s{number}"
        project.suite(
            wrong(name, thresholds=one), file=f"{name}.tooleval.json", name=name, thresholds=suite
        )
    project.run(*(f"--tooleval-threshold={option}" for option in options), "--tooleval-report=out.json")
    found = [row["outcome"] for row in project.rows().values()]
    assert found == [outcome for *_, outcome in OUTCOMES[options]]


def test_the_reason_says_what_was_wrong(project: Project) -> None:
    project.suite(wrong("a"), thresholds={"overall": 0.9})
    result = project.run()
    result.stdout.fnmatch_lines([failed('city: expected "Paris", got "London"')])


@pytest.mark.parametrize(
    ("calls", "metric", "reason"),
    [
        (
            [call(city="Paris"), call("get_time")],
            "no_extra_calls",
            "called get_time: not expected",
        ),
        ([call(city="Paris", color="red")], "arguments_valid", 'the tool has no parameter "color"'),
    ],
)
def test_a_further_call_and_an_invented_argument_fail_by_default(
    project: Project, calls: list[dict[str, Any]], metric: str, reason: str
) -> None:
    project.suite(case("a", {"calls": calls}))
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f'*to let it pass: "thresholds": {{"{metric}": null}}', failed(reason)])
    project.suite(case("a", {"calls": calls}, thresholds={metric: None}))
    project.run().assert_outcomes(passed=1)


def test_a_forbidden_call_fails_the_run_under_every_rule_and_gate(project: Project) -> None:
    calls = [call(city="Paris"), call("get_time")]
    loose = {"overall": 0.1, "no_extra_calls": None}
    project.suite(
        right("a"), case("b", {"calls": calls}, thresholds=loose), forbidden_calls=["get_time"]
    )
    result = project.run("--tooleval-fail-under=overall=0.1", "--tooleval-pass=1/3")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([failed("called get_time, which is forbidden*")])


def test_a_forbidden_call_is_said_to_fail_the_run_beside_a_gate_that_passes(project: Project) -> None:
    calls = [call(city="Paris"), call("get_time")]
    project.suite(right("a"), case("b", {"calls": calls}), forbidden_calls=["get_time"])
    result = project.run("--tooleval-fail-under=0")
    result.stdout.fnmatch_lines(
        [
            "agent FAILED: 1 of 2 cases passed, 1 with a forbidden call, which no gate tolerates",
            "forbidden  *b?agent? - called get_time*",
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_expected_failure_does_not_hide_a_forbidden_call(project: Project) -> None:
    calls = [call(city="Paris"), call("get_time")]
    project.suite(case("a", {"calls": calls}, xfail="known"), forbidden_calls=["get_time"])
    result = project.run()
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(
        ["forbidden  *a?agent?* - expected to fail: known; called get_time, which is forbidden"]
    )


def test_limits(project: Project) -> None:
    twice = [call(city="Paris"), call(city="Paris")]
    both = [{"tool": "get_weather"}, {"tool": "get_weather"}]
    one = case("a", {"calls": twice}, expected_calls=both, thresholds={"max_calls": 2})
    one = {
        name: value for name, value in one.items() if name not in ("expected_tool", "expected_params")
    }
    project.suite(one)
    project.run("--tooleval-threshold=max_latency_s=60").assert_outcomes(passed=1)
    result = project.run("--tooleval-threshold=max_calls=1", "--tooleval-report=out.json")
    result.stdout.fnmatch_lines([failed("max_calls: 2, at most 1 allowed")])
    row = project.rows()["a[agent]"]
    assert (row["limits"], row["trials"][0]["failure"]) == ({"max_calls": 1.0}, "over_limit")
    result = project.run("--tooleval-fail-over=calls=1", "--tooleval-fail-over=latency_s=60")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*calls: 2 on average over 1 trial, at most 1 allowed"])
    result = project.run("--tooleval-threshold=max_cost_usd=1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*max_cost_usd: the price of the answer is unknown*"])


@pytest.mark.parametrize(
    "value", ["", "high", "1.5", "-0.1", "nan", "inf", "=0.5", "overall=", "a=b", "max_calls=inf"]
)
def test_a_bad_value_is_a_usage_error(project: Project, value: str) -> None:
    project.suite(right("a"))
    result = project.run(f"--tooleval-threshold={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --tooleval-threshold={value}: expected*from 0 to 1*"])
    assert project.calls == []


@pytest.mark.parametrize("workers", [(), ("-n2",)])
@pytest.mark.parametrize("option", ["threshold", "fail-under"])
def test_an_unknown_metric_is_one_usage_error(
    project: Project, option: str, workers: tuple[str, ...]
) -> None:
    project.suite(right("a"))
    project.suite(right("b"), file="other.tooleval.json", name="Other")
    result = project.run_subprocess(f"--tooleval-{option}=overal=0.8", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"ERROR: --tooleval-{option}=overal=0.8: unknown metric overal, did you mean overall*"
    result.stderr.fnmatch_lines([message])
    assert result.stderr.str().count("unknown metric") == 1
    assert "unknown metric" not in result.stdout.str()
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
