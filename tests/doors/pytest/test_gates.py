"""Gates over all cases: single misses do not fail the run, a failed gate does, everywhere."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest

from .project import Project
from .project import call
from .project import case
from .project import raising
from .project import right
from .project import wrong


def gates(project: Project) -> dict[str, bool]:
    """The gates of out.json by name, and whether they passed."""
    return {gate["name"]: not gate["failed"] for gate in project.document()["gates"]}


@pytest.fixture
def three(project: Project) -> Project:
    """Two right cases and one with 0.6: a mean of 0.87, two thirds passed."""
    project.suite(right("a", tags=["smoke"]), wrong("b"), right("c"))
    return project


def test_without_a_metric_the_share_of_cases_that_pass_is_gated(three: Project) -> None:
    result = three.run("--tooleval-fail-under=0.7")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["agent FAILED: 2 of 3 cases passed; pass_rate: 0.67 < 0.70, over 3 cases"]
    )
    assert three.run("--tooleval-fail-under=0.66").ret == 0
    assert three.run("--tooleval-fail-under=66%").ret == 0


def test_a_gate_that_holds_lets_misses_pass(three: Project) -> None:
    result = three.run("--tooleval-fail-under=overall=0.8", "--tooleval-report=out.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "=* FAILURES (tolerated) *",
            '  + city  "London" *',
            "agent passed: 2 of 3 cases passed, 1 tolerated; overall: 0.87 >= 0.80, over 3 cases",
            'failed (tolerated)  weather.tooleval.json::b?agent? - city: expected "Paris", got "London"',
            "*2 passed, 1 failed (tolerated)*",
        ]
    )
    result.stdout.no_fnmatch_line("*= FAILURES =*")
    assert three.rows()["b[agent]"]["tolerated"]
    assert three.document()["run"]["exitstatus"] == 0
    assert gates(three) == {"overall of agent": True}


@pytest.mark.parametrize(
    "gate", ["tag=smoke:0.9", "tag:0.9", "suite=Weather:0.5", "parameter_accuracy=0.9"]
)
def test_a_failure_that_no_gate_judges_fails_the_run(project: Project, gate: str) -> None:
    project.suite(right("a", tags=["smoke"]))
    talkative = case("b", {"calls": [call(city="Paris")]}, expected_tool=None)
    del talkative["expected_params"]  # so it has no accuracy of parameters
    project.suite(talkative, file="b.tooleval.json", name="Quiet")
    result = project.run(f"--tooleval-fail-under={gate}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAILED b.tooleval.json::b*", "agent FAILED: 1 of 2 cases passed"])
    result.assert_outcomes(passed=1, failed=1)
    # One gate that judges it is enough.
    both = (f"--tooleval-fail-under={each}" for each in (gate, "model=agent:0.5"))
    assert project.run(*both).ret == pytest.ExitCode.OK


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
    run = three.run_subprocess if workers else three.run
    options = (
        "-s",
        "--tooleval-fail-under=overall=0.9",
        "--junitxml=out.xml",
        "--tooleval-report=out.json",
    )
    result = run(*options, *workers)
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
    assert tolerated.get("message") == 'tolerated: city: expected "Paris", got "London"'
    found = [one for one in suite.iter("testcase") if one.find("failure") is not None]
    assert [one.get("name") for one in found] == ["gate overall of agent"]
    assert three.document()["run"]["exitstatus"] == 1


def test_each_model_has_its_own_gate(three: Project) -> None:
    three.run(
        "--tooleval-fail-under=overall=0.8", "--tooleval-report=out.json", model="agent,builtin/lexical"
    )
    assert gates(three) == {"overall of agent": True, "overall of builtin/lexical": True}


PASSED = {
    "tool_selection=1": "tool_selection of agent",
    "pass_rate=0.6": "pass_rate of agent",
    "pass^1=0.6": "pass^1 of agent",
    "suite=Weather:overall=0.8": "overall of agent, suite Weather",
    "tag:overall=1": "overall of agent, tag smoke",
    "tag=smoke:pass_rate=1": "pass_rate of agent, tag smoke",
}
FAILED = {
    "parameter_accuracy=0.7": "parameter_accuracy of agent",
    "pass_rate=0.7": "pass_rate of agent",
    "pass@1=0.7": "pass@1 of agent",
    "suite:overall=0.9": "overall of agent, suite Weather",
    "model=agent:overall=0.9": "overall of agent",
}


@pytest.mark.parametrize(("asked", "ret"), [(PASSED, 0), (FAILED, 1)])
def test_scopes_and_metrics(three: Project, asked: dict[str, str], ret: int) -> None:
    result = three.run(
        *(f"--tooleval-fail-under={gate}" for gate in asked), "--tooleval-report=out.json"
    )
    assert gates(three) == dict.fromkeys(asked.values(), ret == 0)
    assert len(three.document()["gates"]) == len(asked)
    assert result.ret == ret


def test_a_selection_is_told(three: Project) -> None:
    chosen = [f"weather.tooleval.json::{case}[agent]" for case in "ab"]
    result = three.run("--tooleval-fail-under=overall=0.9", *chosen)
    result.stdout.fnmatch_lines(["agent FAILED: *; overall: 0.80 < 0.90, over 2 of 3 cases"])


def test_a_gate_of_1_is_decided_whatever_the_confidence(three: Project) -> None:
    gates = ("--tooleval-fail-under=tag=smoke:1", "--tooleval-confidence=0.95")
    three.suite(right("a", tags=["smoke"]), right("b", tags=["smoke"]))
    result = three.run(*gates, "--tooleval-fail-inconclusive")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*pass_rate, tag smoke: 1.00 >= 1.00, over 2 cases"])


def test_a_gate_on_several_trials_is_about_all_cases(project: Project) -> None:
    project.suite(right("a", trials=3), right("b"), right("c"))
    result = project.run("--tooleval-fail-under=pass^3=0.9")
    assert result.ret == 1
    told = (
        "*pass^3: 1.00 >= 0.90, over 1 of 3 cases (3 trials); 2 cases had fewer trials than pass^3 needs"
    )
    result.stdout.fnmatch_lines([told])


def test_errors_block_a_gate(project: Project) -> None:
    project.suite(right("a"), right("b"), raising("c"))
    result = project.run("--tooleval-fail-under=overall=0.5", "--tooleval-report=out.json")
    assert result.ret == 1
    result.assert_outcomes(passed=2, errors=1)
    lines = [
        "agent ERROR: 2 of 3 cases passed, 1 without an answer",
        "  overall: 1.00 >= 0.50, over 2 of 3 cases; 1 case without an answer*",
        "*2 passed, 1 error, 1 gate failed*",
    ]
    result.stdout.fnmatch_lines(lines)


@pytest.mark.parametrize(("allowed", "ret"), [("1", 0), ("0", 1), ("50%", 0), ("20%", 1)])
@pytest.mark.parametrize("gate", [(), ("--tooleval-fail-under=overall=0.5",)])
def test_errors_may_be_allowed(project: Project, allowed: str, ret: int, gate: Sequence[str]) -> None:
    project.suite(right("a"), right("b"), raising("c"))
    result = project.run(f"--tooleval-fail-over=errors={allowed}", "--tooleval-report=out.json", *gate)
    assert result.ret == ret
    assert project.rows()["c[agent]"]["outcome"] == "error"
    word = "counted by a failed gate" if ret else "tolerated"
    result.stdout.fnmatch_lines([f"*2 passed*1 error ({word})*"])
    assert gates(project)["errors of agent"] is (ret == 0)


def test_a_suite_that_cannot_be_scored_stays_an_error(project: Project) -> None:
    project.suite(right("a", thresholds={"overall": None, "completion": 0.5}), right("b"))
    result = project.run("--tooleval-fail-over=errors=5", "--tooleval-fail-under=overall=0.1")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 1


def test_with_confidence_a_gate_may_be_inconclusive(three: Project) -> None:
    options = ("--tooleval-fail-under=tool_selection=0.9", "--tooleval-report=out.json")
    assert three.run(*options).ret == 0
    message = (
        "tool_selection: 1.00 (0.44 to 1.00 at 95%) needs 0.90, over 3 cases, 1 of which FAILED; "
        "about 32 more cases like these would decide"
    )
    result = three.run(*options, "--tooleval-confidence=0.95")
    assert result.ret == 0
    headline = "agent INCONCLUSIVE (not fatal; --tooleval-fail-inconclusive makes it so): 2 of 3 *"
    result.stdout.fnmatch_lines([headline, f"  {message}", "*1 gate inconclusive*"])
    gate = three.document()["gates"][0]
    assert (gate["confidence"], gate["value"], gate["high"]) == (0.95, 1.0, 1.0)
    assert (gate["verdict"], gate["failed"], gate["more_trials"]) == ("inconclusive", False, None)
    three.write("pytest.ini", "[pytest]\ntooleval_fail_inconclusive = true\n")
    result = three.run(*options, "--tooleval-confidence=0.95")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["agent FAILED: 2 of 3 *", f"  {message} (fatal, because of --tooleval-fail-inconclusive)"]
    )


OPEN = (
    "tooleval: gate pass_rate 0.85, 13 cases, 5 trials, all answered: under 0.69 fails, "
    "anything else is inconclusive; passing takes 22 cases"
)


@pytest.mark.parametrize("option", [(), ("--tooleval-estimate",), ("-n2",)])
def test_what_a_gate_can_decide_is_said_before_anything_is_asked(
    project: Project, option: Sequence[str]
) -> None:
    project.suite(*(right(f"c{i}") for i in range(13)), right("skipped", skip=True))
    run = project.run_subprocess if "-n2" in option else project.run
    options = ("--tooleval-fail-under=0.85", "--tooleval-trials=5")
    lines = run(*options, *option, "--tooleval-confidence=0.95", model="agent,other").outlines
    assert lines.count(OPEN) == 1
    starts = ("weather.", "tool calling: estimate", "2 workers [")
    first = next(i for i, line in enumerate(lines) if line.lstrip("=").lstrip().startswith(starts))
    assert lines.index(OPEN) < first
    assert OPEN not in project.run(*options).outlines


def test_each_suite_and_metric_can_decide_for_itself(project: Project) -> None:
    project.suite(*(right(f"c{i}") for i in range(8)), name="Eight")
    project.suite(right("one", trials=3, weight=2), right("two"), file="two.tooleval.json", name="Two")
    result = project.run("--tooleval-fail-under=suite:overall=0.6", "--tooleval-confidence=0.95")
    result.stdout.fnmatch_lines(
        [
            "tooleval: gate overall of suite Two 0.6, 2 cases, 1 to 3 trials, all answered: "
            "anything may be inconclusive; passing takes 6 cases",
            "tooleval: gate overall of suite Eight 0.6, 8 cases, 1 trial, all answered: "
            "under 0.25 fails, over 1.00 passes, in between may be inconclusive",
        ]
    )


def test_with_confidence_a_gate_fails_where_the_interval_is_below_it(project: Project) -> None:
    project.suite(*(wrong(f"c{i}") for i in range(5)))
    result = project.run("--tooleval-fail-under=parameter_accuracy=0.9", "--tooleval-confidence=0.95")
    assert result.ret == 1
    lines = ["agent FAILED: *", "  parameter_accuracy: 0.00 (0.00 to 0.43 at 95%) < 0.90, over 5 cases"]
    result.stdout.fnmatch_lines(lines)


def test_first_failure_does_not_end_a_run_with_a_gate(three: Project) -> None:
    result = three.run("-x", "--tooleval-fail-under=overall=0.8")
    result.stdout.fnmatch_lines(["*2 passed, 1 failed (tolerated)*"])


def test_a_run_cut_short_is_not_judged(project: Project) -> None:
    project.suite(raising("a"), right("b"))
    result = project.run("-x", "--tooleval-fail-under=overall=0.8", "--tooleval-report=out.json")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["gates and baseline were not judged: the run was cut short"])
    assert project.document()["gates"] == []


def test_xfail_stays_pytests_own(project: Project) -> None:
    project.suite(wrong("a", xfail="known"), right("b"))
    result = project.run("--tooleval-fail-under=overall=0.5")
    result.assert_outcomes(xfailed=1, passed=1)
    result.stdout.no_fnmatch_line("failed (tolerated)*")


def test_the_gate_of_the_ini_file(three: Project) -> None:
    three.write("pytest.ini", "[pytest]\ntooleval_fail_under = overall=0.9 tool_selection=1\n")
    result = three.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["agent FAILED: 2 of 3 cases passed; overall: 0.87 < 0.90*"])
    assert three.run("--tooleval-fail-under=overall=0.5").ret == 0


def test_the_gate_of_the_ini_file_says_nothing_of_other_tests(three: Project) -> None:
    three.write("pytest.ini", "[pytest]\ntooleval_fail_under = overall=0.9\n")
    three.write("test_other.py", "def test_it(): pass\n")
    assert three.run("test_other.py").ret == 0


def test_a_gate_asked_for_does_not_pass_without_a_case(three: Project) -> None:
    three.write("test_other.py", "def test_it(): pass\n")
    result = three.run("test_other.py", "--tooleval-fail-under=overall=0.9")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no case of any model was evaluated*"])


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("tag=smok", "no case has this tag, did you mean smoke?"),
        ("model=agnt", "no case has this model, did you mean agent?"),
        ("suite=zzz", "no case has this suite; there is *"),
    ],
)
@pytest.mark.parametrize("gate", ["under={}:0.9", "over={}:errors=1"])
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_scope_that_no_case_has_is_told_before_asking(
    three: Project, scope: str, message: str, gate: str, workers: Sequence[str]
) -> None:
    three.suite(right("smoky", tags=["smoke"]))
    result = three.run(f"--tooleval-fail-{gate.format(scope)}", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{scope}: {message}"])
    assert three.calls == []


def test_collecting_judges_nothing(three: Project) -> None:
    assert three.run("--collect-only", "--tooleval-fail-under=overall=0.9").ret == 0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--tooleval-fail-under=90", "expected [[]SCOPE:][[]METRIC=]VALUE"),
        ("--tooleval-fail-under=", "expected [[]SCOPE:][[]METRIC=]VALUE"),
        ("--tooleval-fail-under=case:0.9", "scopes are model, suite, tag"),
        ("--tooleval-fail-under=suite=:0.9", "expected [[]SCOPE:][[]METRIC=]VALUE"),
        ("--tooleval-fail-under=pass@=0.9", "a number of trials after pass@"),
        ("--tooleval-fail-under=nan", "a value from 0 to 1"),
        ("--tooleval-fail-under=redundancy_penalty=0.5", "lower is better"),
        ("--tooleval-fail-under=cost_usd=0.5", "use --tooleval-fail-over"),
        ("--tooleval-fail-under=suit:0.9", "did you mean suite?"),
        ("--tooleval-fail-over=errors=inf", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=errors=-1", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=errors=", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=errors=1.5", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=errors=101%", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=cost=1", "did you mean cost_usd?"),
        ("--tooleval-fail-over=calls=-1", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=calls=2%", "expected [[]SCOPE:]NAME=VALUE"),
        ("--tooleval-fail-over=overall=1", "names are calls, tokens, cost_usd, latency_s and errors"),
        ("--tooleval-confidence=0.9", "needs --tooleval-fail-under="),
        ("--tooleval-confidence=95", "from 0.5 to 0.9999"),
    ],
)
def test_what_cannot_be_read(three: Project, option: str, message: str) -> None:
    result = three.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert three.calls == []


def test_github_gets_annotations_and_a_summary(three: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(three.path / "summary.md"))
    result = three.run("--tooleval-fail-under=overall=0.9")
    result.stdout.fnmatch_lines(
        [
            "::error title=*gate*overall of agent*::*0.87 < 0.90*",
            "::warning file=weather.tooleval.json,line=*",
        ]
    )
    assert "0.87" in (three.path / "summary.md").read_text()
    quiet = three.run("--tooleval-fail-under=overall=0.9", "--tooleval-github=never")
    quiet.stdout.no_fnmatch_line("::*")


@pytest.mark.parametrize("option", ["-q", "--tooleval-report=out.json"])
def test_github_gets_annotations_of_a_plain_run(
    three: Project, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(three.path / "summary.md"))
    three.run(option).stdout.fnmatch_lines(["::error file=weather.tooleval.json,line=*"])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(three.path))
    result = three.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["GITHUB_STEP_SUMMARY: cannot be written: *"])


def test_suites_of_one_name_are_judged_apart(project: Project) -> None:
    project.suite(*(right(id) for id in "abcd"))
    project.suite(wrong("e"), file="below/weather.tooleval.json")
    result = project.run("--tooleval-fail-under=suite:overall=0.8", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    name = project.document()["suites"][0]["suite"]
    assert gates(project) == {
        f"overall of agent, suite {name} (weather.tooleval.json)": True,
        f"overall of agent, suite {name} (below/weather.tooleval.json)": False,
    }


def test_a_gate_is_written_whole_where_its_name_has_dots(three: Project) -> None:
    three.write("tooleval.toml", '[models."gpt-4.1"]\ncallable = "my_agent:answer"\n')
    result = three.run("-v", "--tooleval-fail-under=overall=0.95", model="gpt-4.1")
    result.stdout.fnmatch_lines(
        ["gpt-4.1 FAILED: 2 of 3 cases passed; overall: 0.87 < 0.95, over 3 cases"]
    )


def test_weights_next_to_nothing_are_weights(project: Project) -> None:
    project.suite(right("a", weight=1e-170), wrong("b", weight=1e-170))
    result = project.run("--tooleval-fail-under=overall=0.7")
    result.stdout.fnmatch_lines(["agent passed: *; overall: 0.80 >= 0.70, over 2 cases"])


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        ("tooleval_fail_under = x", "tooleval_fail_under: x: expected *"),
        ("tooleval_fail_over = errors=5x", "tooleval_fail_over: errors=5x: expected *"),
        ("tooleval_history = maybe", "tooleval_history: invalid truth value *maybe*"),
    ],
)
def test_a_wrong_value_of_the_ini_file_is_named_as_such(three: Project, ini: str, message: str) -> None:
    three.write("pytest.ini", f"[pytest]\n{ini}\n")
    result = three.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_a_broken_hook_is_no_miss(three: Project) -> None:
    three.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            if item.name.startswith("a"):
                raise RuntimeError("the hook is broken")
            return (yield)
        """
    )
    result = three.run("--tooleval-fail-under=overall=0.1")
    result.assert_outcomes(passed=1, failed=1)


def test_an_unexpected_pass_stays_a_failure(project: Project) -> None:
    project.suite(right("a", xfail={"reason": "known", "strict": True}), right("b"))
    project.run("--tooleval-fail-under=overall=0.1").assert_outcomes(passed=1, failed=1)


def test_a_failed_gate_is_not_remembered_as_a_failed_test(three: Project) -> None:
    result = three.run("-x", "--tooleval-fail-under=overall=0.9")
    assert "stopping after" not in result.stdout.str()
    # What made it fail is.
    again = three.run("--lf", "--lfnf=none", "--tooleval-fail-under=overall=0.1")
    again.stdout.fnmatch_lines(["*rerun previous 1 failure*", "failed (tolerated)  *::b[[]agent]*"])
    again = three.run("--lf", "--lfnf=none", "--tooleval-fail-under=overall=0.1")
    again.stdout.fnmatch_lines(["*no previously failed tests*"])


def test_reports_that_share_a_file(three: Project) -> None:
    result = three.run("--tooleval-report=json:one", "--tooleval-report=csv:one")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--tooleval-report=json:one and --tooleval-report=csv:one name the same file*"]
    )


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


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_what_only_shows_fixtures_judges_and_keeps_nothing(project: Project, option: str) -> None:
    project.suite(right("a"), right("b", skip=True))
    result = project.run(option, "--tooleval-fail-under=overall=0.9", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.OK
    assert project.calls == []
    assert not (project.path / "out.json").exists()
    assert not (project.path / ".tooleval/history.db").exists()


def test_stepwise_does_not_remember_a_gate(project: Project) -> None:
    project.suite(wrong("a"), right("b"))
    for _ in range(2):
        result = project.run("--sw", "--tooleval-fail-under=overall=0.9")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert "continuing from this test" not in result.stdout.str()
        assert project.calls == ["a", "b"]
        project.forget_calls()


def test_a_share_of_passed_cases_counts_weights_and_says_so(project: Project) -> None:
    project.suite(right("a", weight=3), wrong("b"), right("c"))
    result = project.run("--tooleval-fail-under=pass_rate=0.7")
    result.stdout.fnmatch_lines(
        ["agent passed: *; pass_rate: 0.80 >= 0.70, over 3 cases, of which 2 passed (cases have*"]
    )


def test_a_share_of_errors_is_a_number_in_reports(project: Project) -> None:
    project.suite(right("a"), right("b"), raising("c"), wrong("d"))
    project.run("--tooleval-fail-over=errors=30%", "--tooleval-report=out.json")
    assert [gate["needed"] for gate in project.document()["gates"]] == [1]


def test_only_what_a_failed_gate_judges_is_counted_by_it(project: Project) -> None:
    project.suite(right("a"), {**wrong("b"), "tags": ["slow"]}, {**wrong("c"), "tags": ["smoke"]})
    gates = ("--tooleval-fail-under=tag=slow:0", "--tooleval-fail-under=tag=smoke:1")
    project.run(*gates).stdout.fnmatch_lines(
        [
            "agent FAILED: 1 of 3 cases passed, 1 tolerated; pass_rate, tag smoke: *",
            "failed (tolerated) * *::b[[]agent] *",
            "failed (counted by a failed gate) *::c[[]agent] *",
            "*1 passed, 1 failed (tolerated), 1 failed (counted by a failed gate), 1 gate failed*",
        ]
    )
