"""Which score passes: thresholds of suite, case and command line; and mistakes in options."""

from __future__ import annotations

from typing import Any

import pytest

from .project import Project, call, case, failed, right, wrong


def test_the_narrowest_threshold_holds(project: Project) -> None:
    """That of the command line, then the case's, then the suite's."""
    project.suite(
        wrong("suite"), wrong("case", thresholds={"overall": 1.0}), thresholds={"overall": 0.5}
    )
    project.run().assert_outcomes(passed=1, failed=1)
    typed = ("--tooleval-threshold=tool_selection=1.0", "--tooleval-threshold=overall=null")
    project.run(*typed).assert_outcomes(passed=2)
    result = project.run("--tooleval-threshold=0.9")
    result.assert_outcomes(failed=2)
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
    project.suite(case("a", {"calls": calls}), case("b", {"calls": calls}, thresholds={metric: None}))
    result = project.run()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f'*to let it pass: "thresholds": {{"{metric}": null}}', failed(reason)])


@pytest.mark.parametrize("options", [(), ("--tooleval-fail-under=0.1",), ("-n1",)], ids=str)
def test_an_expected_failure_does_not_excuse_a_forbidden_call(
    project: Project, options: tuple[str, ...]
) -> None:
    """Neither by the suite's mark nor by a hook's."""
    script = {"calls": [call(city="Paris"), call("get_time")]}
    cases = [case("a", script, xfail="known"), case("b", script), case("c", script), right("d")]
    project.suite(*cases, wrong("e", xfail=True), forbidden_calls=["get_time"])
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[2].add_marker(pytest.mark.xfail(reason="known"))
        """,
    )
    result = project.run(*options, "--tooleval-report=out.json")
    result.assert_outcomes(failed=3, passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*1 of 5 cases passed, 1 expected to fail*, 3 with a forbidden call*",
            *(f"forbidden  *{id}?agent?* - called get_time, which is forbidden" for id in "abc"),
        ]
    )
    rows = [row for row in project.rows().values() if row["outcome"] == "failed"]
    assert [row["tolerated"] for row in rows] == [False, False, False, True]


def test_limits(project: Project) -> None:
    twice = [call(city="Paris"), call(city="Paris")]
    both = [{"tool": "get_weather"}, {"tool": "get_weather"}]
    one = case("a", {"calls": twice}, expected_calls=both, thresholds={"max_calls": 2})
    one = {
        name: value for name, value in one.items() if name not in ("expected_tool", "expected_params")
    }
    project.suite(one)
    gates = ("--tooleval-fail-over=calls=1", "--tooleval-fail-over=latency_s=60")
    result = project.run("--tooleval-threshold=max_latency_s=60", *gates)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*calls: 2 on average over 1 trial, at most 1 allowed"])
    result = project.run("--tooleval-threshold=max_calls=1", "--tooleval-report=out.json")
    result.stdout.fnmatch_lines([failed("max_calls: 2, at most 1 allowed")])
    row = project.rows()["a[agent]"]
    assert (row["limits"], row["trials"][0]["failure"]) == ({"max_calls": 1.0}, "over_limit")
    result = project.run("--tooleval-threshold=max_cost_usd=1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*max_cost_usd: the price of the answer is unknown*"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--tooleval-threshold=high", "--tooleval-threshold=high: expected*from 0 to 1*"),
        ("-otooleval_history=false", "tooleval_history: false: expected a folder, a URL *or off"),
        (
            "--tooleval-history=s3://me:hunter2@b",
            "*--tooleval-history=s3://...: the URL has credentials*",
        ),
        (
            "--tooleval-threshold=overal=0.8",
            "--tooleval-threshold=overal=0.8: unknown metric overal, did *",
        ),
        (
            "--tooleval-fail-under=overal=0.8",
            "--tooleval-fail-under=overal=0.8: unknown metric overal, did*",
        ),
        ("--tooleval-fail-under=overal=0.8 -n2", "*: unknown metric overal, did you mean overall*"),
    ],
)
def test_a_mistake_in_an_option_is_one_usage_error_before_anything_is_asked(
    project: Project, option: str, message: str
) -> None:
    project.suite(right("a"))
    project.suite(right("b"), file="other.tooleval.json", name="Other")
    result = project.run(*option.split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert result.stderr.str().count("ERROR") == 1
    assert "unknown metric" not in result.stdout.str()
    assert "Traceback" not in result.stderr.str()
    assert project.calls == []
