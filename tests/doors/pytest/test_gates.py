"""Gates over all cases: single misses do not fail the run, a failed gate does, everywhere."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest

from .project import Project, call, case, raising, right, wrong


@pytest.fixture
def three(project: Project) -> Project:
    """Two right cases and one with 0.6: a mean of 0.87, two thirds passed."""
    project.suite(right("a", tags=["smoke"]), wrong("b"), right("c"))
    return project


def test_a_gate_that_holds_lets_misses_pass(three: Project) -> None:
    rules = ("overall=0.8", "model=agent:overall=0.8")
    options = [f"--tooleval-fail-under={rule}" for rule in rules]
    result = three.run(*options, "-x", "--tooleval-report=out.json", model="agent,builtin/lexical")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "=* FAILURES (counted) *",
            '  + city  "London" *',
            "agent passed: 2 of 3 cases passed, 1 tolerated; overall: 0.87 >= 0.80, over 3 cases*",
            'failed (tolerated)  weather.tooleval.json::b?agent? - city: expected "Paris", got "London"',
            "*5 passed, 1 failed (tolerated)*",
        ]
    )
    result.stdout.no_fnmatch_line("*= FAILURES =*")
    assert three.rows()["b[agent]"]["tolerated"]
    document = three.document()
    assert document["run"]["exitstatus"] == 0
    names = ["overall of agent", "overall of builtin/lexical", "overall of agent"]
    assert [(gate["name"], gate["failed"]) for gate in document["gates"]] == [(n, False) for n in names]


def test_a_failure_that_no_gate_judges_fails_the_run(project: Project) -> None:
    project.suite(right("a", tags=["smoke"]))
    project.suite(wrong("b"), file="b.tooleval.json", name="Quiet")
    gate = "--tooleval-fail-under=tag=smoke:0.9"
    result = project.run(gate)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAILED b.tooleval.json::b*", "agent FAILED: 1 of 2 cases passed"])
    result.assert_outcomes(passed=1, failed=1)
    # One gate that judges it is enough.
    assert project.run(gate, "--tooleval-fail-under=model=agent:0.5").ret == pytest.ExitCode.OK


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_gate_that_fails_is_a_failure(three: Project, workers: Sequence[str]) -> None:
    """And every plugin is told so."""
    three.write(
        "conftest.py",
        """
        def pytest_sessionfinish(exitstatus):
            print("finish:", int(exitstatus))

        def pytest_terminal_summary(terminalreporter, exitstatus):
            terminalreporter.write_line(f"summary: {int(exitstatus)}")
        """,
    )
    files = ("--junitxml=out.xml", "--tooleval-report=out.json")
    result = three.run("-s", "--tooleval-fail-under=overall=0.9", *files, *workers)
    result.stdout.fnmatch_lines(["*finish: 1", "summary: 1"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "agent FAILED: 2 of 3 cases passed; overall: 0.87 < 0.90, over 3 cases",
            "*2 passed, 1 failed (counted by a failed gate), 1 gate failed*",
        ]
    )
    suite = ET.parse(three.path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    (tolerated,) = suite.iterfind(".//testcase/skipped")
    assert tolerated.get("message") == (
        'failed (judged by a gate): city: expected "Paris", got "London"'
    )
    found = [one for one in suite.iter("testcase") if one.find("failure") is not None]
    assert [one.get("name") for one in found] == ["gate overall of agent"]
    assert three.document()["run"]["exitstatus"] == 1


def test_what_is_no_miss_of_the_model_stays_what_it_is(project: Project) -> None:
    """A suite that cannot be scored, a broken hook, an expected failure and an unexpected pass."""
    unscored = {"overall": None, "completion": 0.5}
    strict = {"reason": "known", "strict": True}
    project.suite(
        right("unscored", thresholds=unscored),
        right("a"),
        right("hooked"),
        wrong("expected", xfail="known"),
        right("unexpected", xfail=strict),
    )
    project.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            if item.name.startswith("hooked"):
                raise RuntimeError("the hook is broken")
            return (yield)
        """
    )
    result = project.run("--tooleval-fail-over=errors=5", "--tooleval-fail-under=overall=0.1")
    result.assert_outcomes(passed=1, errors=1, failed=2, xfailed=1)
    result.stdout.no_fnmatch_line("failed (tolerated)*")


def test_with_confidence_a_gate_may_be_inconclusive(three: Project) -> None:
    options = ("--tooleval-fail-under=overall=0.9", "--tooleval-report=out.json")
    message = "overall: 0.87 (0.44 to 0.98 at 95%) needs 0.90, over 3 cases, 1 of which FAILED; *"
    result = three.run(*options, "--tooleval-confidence=0.95")
    assert result.ret == 0
    headline = "agent INCONCLUSIVE (not fatal; --tooleval-fail-inconclusive makes it so): 2 of 3 *"
    result.stdout.fnmatch_lines([headline, f"  {message}", "*1 gate inconclusive*"])
    gate = three.document()["gates"][0]
    assert (gate["confidence"], round(gate["value"], 2), round(gate["high"], 2)) == (0.95, 0.87, 0.98)
    assert (gate["verdict"], gate["failed"]) == ("inconclusive", False)
    three.write("pytest.ini", "[pytest]\ntooleval_fail_inconclusive = true\n")
    result = three.run(*options, "--tooleval-confidence=0.95")
    assert result.ret == 1
    fatal = f"  {message} (fatal, because of --tooleval-fail-inconclusive)"
    result.stdout.fnmatch_lines(["agent FAILED: 2 of 3 *", fatal])


@pytest.mark.parametrize("option", [(), ("--tooleval-estimate",), ("-n2",)])
def test_a_gate_that_cannot_pass_is_named_before_anything_is_asked(
    project: Project, option: Sequence[str]
) -> None:
    project.suite(*(right(f"c{i}") for i in range(13)), right("skipped", skip=True))
    options = ("--tooleval-fail-under=85%", "--tooleval-trials=5", "--tooleval-confidence=95%")
    lines = project.run(*options, *option, model="agent,other").outlines
    (said,) = (line for line in lines if line.startswith("tooleval: pass_rate of agent: inconclusive "))
    assert "even if all of its 13 cases pass" in said
    starts = ("weather.", "tool calling: estimate", "2 workers [")
    first = next(i for i, line in enumerate(lines) if line.lstrip("=").lstrip().startswith(starts))
    assert lines.index(said) < first


def test_a_run_cut_short_is_not_judged(project: Project) -> None:
    project.suite(raising("a"), right("b"))
    result = project.run("-x", "--tooleval-fail-under=overall=0.8", "--tooleval-report=out.json")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["gates and baseline were not judged: the run was cut short"])
    assert project.document()["gates"] == []


def test_the_gate_of_the_ini_file_says_nothing_of_other_tests(three: Project) -> None:
    three.write("pytest.ini", "[pytest]\ntooleval_fail_under = overall=0.9 tool_selection=1\n")
    three.write("test_other.py", "def test_it(): pass\n")
    result = three.run()
    assert result.ret == 1
    lines = ["agent FAILED: 2 of 3 cases passed; overall: 0.87 < 0.90*", "  tool_selection: 1.00 >= *"]
    result.stdout.fnmatch_lines(lines, consecutive=True)
    missed = "no tool calling case was collected: tooleval_fail_under of the ini file judged nothing"
    alone = three.run("test_other.py")
    assert alone.ret == 0
    alone.stdout.no_fnmatch_line(missed)
    # A run of everything says that its suites are gone.
    for suite in three.path.glob("*.tooleval.json"):
        suite.rename(suite.with_suffix(".off"))
    everything = three.run()
    assert everything.ret == 0
    everything.stdout.fnmatch_lines([missed])
    # One asked for does not pass without a case.
    result = three.run("test_other.py", "--tooleval-fail-under=overall=0.9")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no case of any model was evaluated*"])


@pytest.mark.parametrize(
    ("rule", "message", "workers"),
    [
        ("under=tag=smok:0.9", 'no collected case has the tag "smok", did you mean smoke?', ()),
        ("under=tag=smok:0.9", 'no collected case has the tag "smok", did you mean smoke?', ("-n1",)),
        ("over=model=agnt:errors=1", 'no collected case has the model "agnt", did you mean agent?', ()),
        ("under=suite=zzz:0.9", 'no collected case has the suite "zzz"; there is *', ()),
    ],
)
def test_a_scope_that_no_case_has_is_told_before_asking(
    three: Project, rule: str, message: str, workers: tuple[str, ...]
) -> None:
    result = three.run(f"--tooleval-fail-{rule}", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{rule.rpartition(':')[0]}: {message}"])
    assert three.calls == []


def test_github_gets_annotations_and_a_summary(three: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(three.path / "summary.md"))
    result = three.run("--tooleval-fail-under=overall=0.9")
    gate = "::error title=*gate*overall of agent*::*0.87 < 0.90*"
    result.stdout.fnmatch_lines([gate, "::warning file=weather.tooleval.json,line=*"])
    assert "0.87" in (three.path / "summary.md").read_text()
    quiet = three.run("--tooleval-fail-under=overall=0.9", "--tooleval-github=never")
    quiet.stdout.no_fnmatch_line("::*")
    for option in ("-q", "--tooleval-report=out.json"):
        three.run(option).stdout.fnmatch_lines(["::error file=weather.tooleval.json,line=*"])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(three.path))
    result = three.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["GITHUB_STEP_SUMMARY: cannot be written: *"])


def test_files_of_one_name_outside_the_root_are_told_apart(project: Project) -> None:
    rome = {**right("x"), "expected_params": {"city": "Rome"}}
    project.suite(rome, file="a/weather.tooleval.json")
    project.suite(right("x"), file="b/weather.tooleval.json", name="Other")
    project.write("ci/pytest.ini", "[pytest]\n")
    project.write("ci/tooleval.toml", '[models.agent]\ncallable = "my_agent:answer"\n')
    project.write("ci/conftest.py", "")
    (project.path / "my_agent.py").rename(project.path / "ci/my_agent.py")
    (project.path / "script.json").rename(project.path / "ci/script.json")
    result = project.run("-c", "ci/pytest.ini", "a", "b", "--tooleval-fail-under=overall=0.9")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["agent FAILED: *; overall: 0.80 < 0.90, over 2 cases"])


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--setup-only"])
def test_what_only_shows_judges_and_keeps_nothing(project: Project, option: str) -> None:
    project.suite(right("a"), right("b", skip=True))
    result = project.run(option, "--tooleval-fail-under=overall=0.9", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.OK
    assert project.calls == []
    assert not (project.path / "out.json").exists()
    assert not (project.path / ".tooleval/heads").exists()


@pytest.mark.parametrize("gate", ["overall=0.1", "0"])
def test_no_gate_tolerates_a_forbidden_call(project: Project, gate: str) -> None:
    calls = [call(city="Paris"), call("get_time")]
    loose = {"overall": 0.1, "no_extra_calls": None}
    project.suite(
        right("a"), case("b", {"calls": calls}, thresholds=loose), forbidden_calls=["get_time"]
    )
    result = project.run(f"--tooleval-fail-under={gate}", "--tooleval-pass=1/3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "agent FAILED: 1 of 2 cases passed, 1 with a forbidden call, which no gate tolerates",
            "forbidden  *b?agent? - called get_time, which is forbidden*",
        ]
    )
