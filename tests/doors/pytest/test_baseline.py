"""`--tooleval-baseline`: a drop that is no chance fails the run; the history and files as baselines."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main
from pytest_tooleval.history import History
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import KeptCase
from pytest_tooleval.record.run import SCORING_VERSION, Run

from .project import Project, call, case, right, wrong
from .test_scorers import conftest

CASES = 30

FAILS = "(fatal, because of --tooleval-fail-inconclusive)"
GATE = "--tooleval-fail-under=overall=0.5"
BAD_GATE, GOOD = "--tooleval-fail-under=overall=0.1", "--tooleval-baseline=good"


def many(wrong_ones: int, **fields: Any) -> list[dict[str, Any]]:
    """30 cases, of which the first ones are wrong."""
    return [(wrong if i < wrong_ones else right)(f"c{i}", **fields) for i in range(CASES)]


@pytest.fixture
def before(project: Project) -> Project:
    """A project with a run in old.json and in the history in which all 30 cases passed."""
    project.suite(*many(0))
    assert project.run("--tooleval-report=old.json").ret == 0
    return project


def test_a_drop_fails_the_run(before: Project) -> None:
    assert before.run("--tooleval-baseline=old.json", "--tooleval-report=out.json").ret == 0
    assert not before.document()["baseline"]["failed"]
    history = History(before.path / ".tooleval")
    history.tag(history.find("latest"), "release-1")
    before.suite(*many(10))
    files = ("--junitxml=out.xml", "--tooleval-report=out.json", "--tooleval-report=out.md")
    for baseline in ("@release-1", "latest~1", "old.json"):
        result = before.run(f"--tooleval-baseline={baseline}", GATE, *files)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        worse = "  worse than *: 10 cases newly broken*"
        result.stdout.fnmatch_lines(["agent FAILED: 20 of 30 cases passed, 10 tolerated", worse])
        comparison = before.document()["baseline"]
        assert comparison["failed"]
        assert comparison["cases"]["same"] == CASES
        assert comparison["old"]["name"] == baseline
    suite = ET.parse(before.path / "out.xml").getroot()[0]
    assert suite.get("failures") == "1"
    overall = next(m for m in comparison["models"][0]["metrics"] if m["metric"] == "overall")
    assert overall["drop"] == pytest.approx(10 * 0.4 / 30)
    assert overall["verdict"] == "failed"
    assert before.run("--tooleval-baseline=old.json", GATE, "--tooleval-max-drop=0.4").ret == 0


def test_what_thirty_answers_cannot_tell_is_inconclusive(before: Project) -> None:
    before.suite(*many(1))
    options = ("--tooleval-baseline=old.json", GATE)
    told = (
        "perhaps worse than old.json: c0 newly broken; drops up to 0.15 not ruled out; "
        "more trials or cases may decide; "
        "passing trials 1.00 -> 0.97, -3.3 points (-18.9 to 0)"
    )
    result = before.run(*options, "--junitxml=out.xml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "agent INCONCLUSIVE (not fatal; *): 29 of 30 cases passed, 1 tolerated",
            f"  {told}",
            "newly broken (tolerated)  1/1 -> 0/1  *::c0[[]agent] - *",
            "*29 passed, 1 failed (tolerated), 1 gate inconclusive*",
        ]
    )
    (skipped,) = ET.parse(before.path / "out.xml").getroot().iterfind(".//*[@name='baseline']/skipped")
    assert " not ruled out; more trials or cases" in str(skipped.get("message"))
    result = before.run(*options, "--tooleval-fail-inconclusive")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  {told} {FAILS}", "*1 gate failed*"])


def test_few_answers_of_which_none_got_worse_are_no_alarm(project: Project) -> None:
    project.suite(*(right(f"c{i}") for i in range(6)))
    assert project.run("--tooleval-report=old.json").ret == 0
    options = ("--tooleval-baseline=old.json", "--tooleval-report=out.md", "--tooleval-github=always")
    result = project.run(*options)
    assert result.ret == 0
    told = "no drop from old.json seen, too few answers to rule out drops up to 0.45"
    rates = "; passing trials 1.00 -> 1.00, 0 points (-64 to 0)"
    result.stdout.fnmatch_lines([f"agent passed: *; {told}{rates}", "*= * passed in *"])
    assert f"; {told}{rates}`" in (project.path / "out.md").read_text()
    result.stdout.no_fnmatch_line("::warning*")
    result = project.run(*options, "--tooleval-fail-inconclusive")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  {told}; more trials or cases may decide{rates} {FAILS}"])


def test_cases_that_changed_are_told_and_not_compared(before: Project) -> None:
    cases = many(0)
    cases[0]["expected_params"] = {"city": "Rome"}
    cases[1]["id"] = "renamed"
    added = case("added", {"calls": [call(city="Paris")]})
    before.suite(*cases[:1], *cases[1:29], added)
    result = before.run(
        "--tooleval-baseline=old.json", "--tooleval-report=out.json", "--tooleval-fail-under=overall=0"
    )
    assert result.ret == 0
    found = before.document()["baseline"]["cases"]
    assert [one["case"] for one in found["changed"]] == ["c0"]
    assert [one["case"] for one in found["removed"]] == ["c29"]
    assert [one["case"] for one in found["added"]] == ["added"]
    assert [(one["old_case"], one["case"]) for one in found["renamed"]] == [("c1", "renamed")]
    assert found["same"] == 28  # the renamed one, too


SELECTIONS = {
    ("-k", "a0"): (1, 4, 3),
    ("a.tooleval.json",): (2, 2, 2),
    ("-m", "odd"): (2, 4, 2),
    ("a.tooleval.json::a0",): (1, 2, 3),
    ("-k", "a0", "-n1"): (1, 4, 3),
}


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_what_is_not_selected_is_not_removed(project: Project, selection: tuple[str, ...]) -> None:
    """Nor left out of a gate's number of cases, wherever it lies; what is gone was removed."""
    gone = right("gone")
    for file in "ab":
        cases = [right(f"{file}0"), right(f"{file}1", tags=["odd"])]
        project.suite(*cases, *([gone] if file == "a" else []), file=f"{file}.tooleval.json", name=file)
    project.suite(right("c0"), file="c.tooleval.json")
    project.run("--tooleval-report=old.json")
    project.suite(right("a0"), right("a1", tags=["odd"]), file="a.tooleval.json", name="a")
    (project.path / "c.tooleval.json").unlink()

    options = ("--tooleval-baseline=old.json", "--tooleval-fail-under=0.5", "--tooleval-report=out.json")
    result = project.run(*selection, *options)
    ran, of, left_out = SELECTIONS[selection]
    assert result.ret == 0
    part = f"{ran} of {of} cases" if of > ran else f"{ran} cases"
    result.stdout.fnmatch_lines([f"agent passed: *pass_rate: 1.00 >= 0.50, over {part}*"])
    found = project.document()["baseline"]["cases"]
    assert ([each["case"] for each in found["removed"]], found["added"]) == (["gone", "c0"], [])
    assert (found["same"], found["not_selected"]) == (ran, left_out)
    # The whole run after a partial one.
    project.run("--tooleval-baseline=out.json", "--tooleval-report=next.json")
    found = project.document("next.json")["baseline"]["cases"]
    assert found["removed"] == []
    assert len(found["added"]) + found["not_selected"] == 4 - ran


NOTHING = "nothing to compare, no case of agent is the same in both runs: "


def test_nothing_to_compare_fails_only_with_a_baseline_that_the_user_named(before: Project) -> None:
    before.suite(*many(0, expected_params={"city": {"$any_of": ["Paris", "Rome"]}}))
    result = before.run("--tooleval-baseline=old.json")
    assert result.ret == 1
    changed = f"{NOTHING}30 with another prompt or expectation"
    failed = "agent FAILED: 30 of 30 cases passed; nothing to compare with old.json"
    result.stdout.fnmatch_lines([failed, f"compared with old.json *; {changed}", "*1 gate failed*"])
    result = before.run("--tooleval-baseline=good", "--tooleval-fail-inconclusive")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"baseline INCONCLUSIVE: compared with good *; {changed}"])
    # From now on there is something to compare with.
    before.run("--tooleval-baseline=good", "--tooleval-report=out.json")
    assert before.document()["baseline"]["verdict"] == "passed"


# Judged by the same thresholds and pass rule


def compared(project: Project, *options: str) -> dict[str, Any]:
    """The only model in the comparison with old.json."""
    project.run("--tooleval-baseline=old.json", "--tooleval-report=out.json", *options)
    (model,) = project.document()["baseline"]["models"]
    return dict(model)


def test_both_runs_are_judged_by_the_thresholds_of_today(project: Project) -> None:
    half = [case(f"c{i}", {"calls": [call(city="London")]}) for i in range(CASES)]
    project.suite(*half, thresholds={"overall": 0.5})
    assert project.run("--tooleval-report=old.json").ret == 0
    for thresholds, passing in (({"overall": 0.5}, 1.0), ({"overall": 1.0}, 0.0)):
        project.suite(*half, thresholds=thresholds)
        found = compared(project, GATE)
        assert (found["cases"], found["worse"]) == (CASES, [])
        assert (found["metrics"][0]["old"], found["metrics"][0]["new"]) == (passing, passing)
    # Named on the command line, as by a preset.
    assert compared(project, GATE, "--tooleval-pass=all", "--tooleval-threshold=overall=0.5")["cases"]


def test_no_threshold_excuses_forbidden_calls(project: Project) -> None:
    both = {"calls": [call(city="Paris"), call("get_time")]}
    forbidden = [case(f"f{i}", both, forbidden_calls=["get_time"]) for i in range(10)]
    twice = {"calls": [call(city="Paris")] * 2}
    costly = [case(f"b{i}", twice, thresholds={"max_calls": 1}) for i in range(10)]
    silent = {"returns": {"role": "assistant", "content": None, "finish_reason": "tool_calls"}}
    unusable = [case(f"u{i}", silent) for i in range(10)]
    project.suite(*forbidden, *costly, *unusable)
    project.run("--tooleval-report=old.json")
    found = compared(
        project, "--tooleval-threshold=overall=0.1", "--tooleval-threshold=no_extra_calls=0"
    )
    assert (found["metrics"][0]["old"], found["metrics"][0]["new"]) == (0.0, 0.0)


def test_both_runs_are_judged_by_the_limits_of_today(project: Project) -> None:
    limited = [right(f"a{i}", thresholds={"max_calls": 0}) for i in range(10)]
    for before, now, passing in (
        ([right(f"a{i}") for i in range(10)], limited, 0.0),
        (limited, [right(f"a{i}") for i in range(10)], 1.0),
    ):
        project.suite(*before)
        project.run("--tooleval-report=old.json")
        project.suite(*now)
        found = compared(project)
        assert (found["metrics"][0]["old"], found["metrics"][0]["new"]) == (passing, passing)


def test_a_case_without_a_metric_of_a_threshold_is_not_comparable(project: Project) -> None:
    cases = many(0)
    project.suite(*cases)
    project.run("--tooleval-report=old.json")
    project.write("conftest.py", conftest('return {"brevity": Score(0.5)}'))
    cases[0]["thresholds"] = {"brevity": 0.9}
    project.suite(*cases)
    result = project.run("--tooleval-baseline=old.json", "--tooleval-fail-under=0.5")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*1 case not comparable: old.json has no brevity, which has a threshold; run it again*"]
    )
    cases[0]["thresholds"] = {}
    project.suite(*cases)
    assert compared(project)["cases"] == CASES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tooleval-baseline=weather.tooleval.json"], "not a JSON report"),
        (["--tooleval-baseline=wrong.json"], "wrong.json: a result document of version 1; *"),
        (["--tooleval-baseline=old.json", "--tooleval-baseline-model=gpt=agent"], "has no model gpt"),
        # After which the same command would pass.
        (
            ["--tooleval-baseline=old.json", "--tooleval-report=./old.json"],
            "--tooleval-report=./old.json: is the baseline; name another file",
        ),
    ],
)
def test_what_cannot_be_compared(before: Project, options: list[str], message: str) -> None:
    wrong = {"version": 1, "run": {}, "cases": [{"case": 5}]}
    before.write("wrong.json", json.dumps(wrong))
    before.forget_calls()
    result = before.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in result.stderr.str()
    assert before.calls == []


def test_a_drop_is_no_good_run_for_the_next_one(before: Project) -> None:
    """Nor is a selection, a run of another file or of another model."""
    before.suite(*many(0), file="other.tooleval.json", name="Other")
    assert before.run(BAD_GATE, GOOD).ret == 0
    before.run("other.tooleval.json")
    before.run(model="other")
    before.suite(*many(10))
    for _ in range(2):
        result = before.run(BAD_GATE, GOOD)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            ["  worse than good: 20 cases newly broken*", "compared with good *: 60 cases in both"]
        )
        before.run("weather.tooleval.json::c29[agent]")


def test_two_models_against_one(before: Project) -> None:
    before.suite(*many(10))
    pairs = ["--tooleval-baseline-model=agent=agent", "--tooleval-baseline-model=agent=other"]
    options = ("--tooleval-baseline=old.json", "--tooleval-report=out.json", GATE)
    assert before.run(*options, *pairs, model="agent,other").ret == 1
    models = before.document()["baseline"]["models"]
    assert [(one["old"], one["new"]) for one in models] == [("agent", "agent"), ("agent", "other")]


# Across versions of the scoring rules


def rewrite(project: Project, change: Callable[[dict[str, Any]], object]) -> None:
    """Change old.json."""
    document = project.document("old.json")
    change(document)
    (project.path / "old.json").write_text(json.dumps(document))


METRICS = {"overall", "tool_selection", "parameter_accuracy", "arguments_valid", "no_extra_calls"}


def under_older_rules(document: dict[str, Any], version: int = 0) -> None:
    """The record as rules would have made it that took any city."""
    document["run"].update(scoring_version=version, id="20200101-000000-older")
    for row in document["cases"]:
        row.update(outcome="passed", passes=row["answered"], reason="", tolerated=False)
        row["scores"] |= dict.fromkeys(METRICS.intersection(row["scores"]), 1.0)
        for trial in row["trials"]:
            trial.update(passed=True, failure=None, mistake="")
            for metric in METRICS.intersection(trial["scores"]):
                trial["scores"][metric]["value"] = 1.0


def into_history(project: Project) -> None:
    """Store old.json as a run, with the tag `older`."""
    document = msgspec.convert(project.document("old.json"), Document)
    run = msgspec.convert(msgspec.to_builtins(document.run), Run)
    history = History(project.path / ".tooleval")
    writer = history.begin(run)
    writer.add(KeptCase(case.row(), to_json(case)) for case in document.cases)
    writer.finish(run)
    history.tag(run.id, "older")


@pytest.fixture
def older(project: Project) -> Project:
    """A project whose old.json, and @older in the history, passed 30 cases by rules of no version.

    By the rules of today ten of them are wrong.
    """
    project.suite(*many(10))
    gate = "--tooleval-fail-under=overall=0.5"
    assert project.run("--tooleval-report=old.json", gate).ret == 0
    assert project.document("old.json")["run"]["scoring_version"] == SCORING_VERSION
    rewrite(project, under_older_rules)
    into_history(project)
    return project


@pytest.mark.parametrize(
    ("baseline", "more"), [("old.json", ()), ("@older", ()), ("old.json", ("-n", "2"))]
)
def test_a_baseline_of_other_scoring_rules_is_not_comparable(
    older: Project, baseline: str, more: tuple[str, ...]
) -> None:
    options = (f"--tooleval-baseline={baseline}", GATE, "--tooleval-report=out.json")
    result = older.run(*options, "--tooleval-report=out.md", *more)
    assert result.ret == 0
    lacks = f"{baseline} has scores of other rules (version unknown, this run has {SCORING_VERSION})"
    told = f"30 cases not comparable: {lacks}; run it again (--tooleval-cassette=FOLDER"
    assert told in result.stdout.str()
    found = older.document()["baseline"]
    assert (found["verdict"], found["failed"]) == ("inconclusive", False)
    assert [each["why"] for each in found["cases"]["incomparable"]] == [lacks] * CASES
    assert "of other rules" in (older.path / "out.md").read_text()
    assert older.run(*options, "--tooleval-fail-inconclusive").ret == 1


def test_the_command_compares_no_runs_of_different_rules(older: Project) -> None:
    assert older.run("--tooleval-report=new.json", GATE).ret == 0
    # Two runs of unknown rules are not known to be alike.
    older.path.joinpath("twin.json").write_text(
        older.path.joinpath("old.json").read_text().replace("000000-older", "000000-twin")
    )
    for old, new in (("old.json", "new.json"), ("@older", "latest"), ("twin.json", "@older")):
        done = CliRunner().invoke(main, ["compare", old, new])
        assert done.exit_code == 0, done.output
        assert "comparison INCONCLUSIVE: 30 cases not comparable: " in done.output
