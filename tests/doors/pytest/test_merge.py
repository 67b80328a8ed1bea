"""`tooleval merge`: shards joined are the run that they are shards of, row by row."""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nightly import ALL

from pytest_tooleval.cli import main
from pytest_tooleval.history import History
from pytest_tooleval.record.run import SCORING_VERSION

from .project import Project, right, unreachable, wrong

pytestmark = pytest.mark.slow

MODELS = "agent,other"
FILES = ("--tooleval-report=whole.json", "--junitxml=whole.xml")
# One call for each case, by what its prompt says, without a look at a script.
_AGENT = """
def answer(messages, tools):
    prompt = messages[-1]["content"]
    city = "London" if "wrong" in prompt else "Paris"
    call = {"name": "get_weather", "arguments": '{"city": "%s"}' % city}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}
"""


def merge(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["merge", *arguments])


def run_shards(project: Project, of: int, *options: str, model: str | None = "agent") -> None:
    """All shards, into the folder `shards`; each passes."""
    for number in range(1, of + 1):
        files = (f"--tooleval-report=shards/{number}.json", f"--tooleval-shard={number}/{of}")
        result = project.run(*files, *options, model=model)
        assert result.ret == 0, result.stdout.str()


def replayed(project: Project, count: int) -> None:
    """A cassette of many cases on two models: right, wrong, skipped, xfail, with trials and with tags.

    Of some no answer is recorded, which is an error in a replay.
    """
    project.write("my_agent.py", _AGENT)
    cases = []
    for i in range(count):
        fields: dict[str, Any] = {"tags": ["smoke"]} if i % 5 == 0 else {}
        fields |= {"skip": "not now"} if i % 41 == 0 else {}
        fields |= {"xfail": "known"} if i % 26 == 0 else {}
        fields |= {"trials": 3} if i % 10 == 1 else {}
        fields |= {"weight": 2.0} if i % 17 == 0 else {}
        cases.append(right(f"{'wrong' if i % 13 == 0 else 'right'}{i}", **fields))
    half = count // 2
    project.suite(*cases[:half])
    project.suite(*cases[half:], file="more/other.tooleval.json", name="Other")
    # Both models are the same agent, and share its answers.
    project.run("--tooleval-cassette=tapes", "--tooleval-history=off", "-q")
    for tape in (project.path / "tapes").rglob("*.jsonl"):
        lines = tape.read_text().splitlines(keepends=True)
        tape.write_text("".join(line for line in lines if "37)" not in line))


def same_run(whole: dict[str, Any], merged: dict[str, Any]) -> None:
    for part in ("cases", "models", "suites", "gates"):
        assert merged[part] == whole[part], part
    # Each names itself.
    assert {**(merged["baseline"] or {}), "new": 0} == {**(whole["baseline"] or {}), "new": 0}
    fields = "total exitstatus models git selected partial cached_answers_from shard"
    for field in fields.split():
        assert merged["run"][field] == whole["run"][field], field
    assert merged["run"]["spent"].keys() == whole["run"]["spent"].keys()
    options = [
        {k: v for k, v in each["run"]["options"].items() if k not in ("report", "history")}
        for each in (whole, merged)
    ]
    assert options[0] == options[1]


def same_junit(project: Project) -> None:
    """What both files say, but for times."""

    def said(name: str) -> dict[tuple[str, ...], Any]:
        text = (project.path / name).read_text(encoding="utf-8").replace(f"{project.path}/", "")
        suite = ET.fromstring(text)[0]
        counts = {("", "", each): suite.get(each) for each in ("tests", "failures", "errors", "skipped")}
        return counts | {
            (str(case.get("classname")), str(case.get("name"))): [
                (each.tag, dict(each.attrib), each.text, [dict(child.attrib) for child in each])
                for each in case
            ]
            for case in suite
        }

    assert said("merged.xml") == said("whole.xml")


GATES = ("fail-under=0.98", "fail-under=tag=smoke:0.5", "fail-over=errors=5%", "confidence=0.9")


def test_replayed_cases_of_two_models(project: Project) -> None:
    replayed(project, 44)
    options = ("--tooleval-cassette=tapes", "--tooleval-record=none", "-q")
    gates = [f"--tooleval-{gate}" for gate in GATES]
    whole = project.run(*options, *gates, *FILES, "--tooleval-history=off", model=MODELS)
    assert whole.ret == 1
    document = project.document("whole.json")
    assert document["run"]["selected"] == len(document["cases"]) == 88
    outcomes = {row["outcome"] for row in document["cases"]}
    assert outcomes == {"passed", "failed", "error", "skipped"}
    assert {gate["verdict"] for gate in document["gates"]} == {"passed", "failed"}
    own = ("--report=merged.json", "--junitxml=merged.xml", *(f"--{gate}" for gate in GATES))
    for of, workers in ((3, ()), (2, ("-n", "2"))) if ALL else ((3, ()),):
        shutil.rmtree(project.path / "shards", ignore_errors=True)
        run_shards(project, of, *options, *workers, model=MODELS)
        merged = merge("shards", *own)
        assert merged.exit_code == whole.ret, merged.stderr
        same_run(document, project.document("merged.json"))
        same_junit(project)


JUDGED = [
    (),
    ("fail-under=0.3", "fail-over=errors=1"),
    ("fail-under=suite:tool_selection=0.5", "fail-over=calls=0.5", "fail-inconclusive"),
    ("preset=pr", "fail-over=errors=0"),
    ("baseline=old.json", "max-drop=0.9", "fail-under=0.2", "fail-over=errors=50%"),
    ("baseline=@release-1", "fail-under=overall=0.1", "confidence=0.95", "fail-over=errors=9"),
]


def test_gates_baselines_and_exit_status(project: Project) -> None:
    cases = [right(f"c{i}", trials=2) for i in range(7)]
    project.suite(*cases, right("e"), right("f", xfail="known"), right("s", skip="not now"))
    assert project.run("--tooleval-report=old.json").ret == 0
    history = History(project.path / ".tooleval")
    history.tag(history.find("latest"), "release-1")
    project.script("What is the weather in Paris? (c1)", calls=[])
    project.script("What is the weather in Paris? (f)", calls=[])
    project.script("What is the weather in Paris? (e)", error="no answer")
    asked = ("--tooleval-cassette=tapes", "--tooleval-variant=bare")
    options = (*asked, "--tooleval-history=off")
    project.run(*options)
    run_shards(project, 3, *asked)
    for gates in JUDGED:
        whole = project.run(*(f"--tooleval-{gate}" for gate in gates), *options, *FILES)
        own = [f"--{gate}" for gate in (*gates, "history=off")]
        merged = merge("shards", *own, "--report=merged.json", "--junitxml=merged.xml")
        assert merged.exit_code == whole.ret, merged.stderr
        same_run(project.document("whole.json"), project.document("merged.json"))
        same_junit(project)


def test_one_run_in_the_history_with_its_reports_and_annotations(project: Project) -> None:
    project.write(
        "tooleval.toml",
        """
        [models.agent]
        callable = "my_agent:answer"
        """,
    )
    project.suite(right("a"), wrong("b"), right("c"), unreachable("d"))
    run_shards(project, 2)
    files = ("--report=out.html", "--report=out.csv", "--report=out.md", "--report=out.json")
    result = merge("shards/1.json", "shards/2.json", "--github=always", *files)
    assert result.exit_code == 1
    assert "::error file=weather.tooleval.json" in result.stdout
    why = "2 cases failed or without an answer"
    assert result.stdout.endswith(f"2 shards joined: FAILED: {why}\n")
    assert [line.removeprefix("wrote ") for line in result.stdout.splitlines() if "wrote " in line] == [
        "out.html",
        "out.csv",
        "out.md",
        "out.json",
    ]
    (project.path / "shards" / ".old").mkdir()
    shutil.copy(project.path / "shards" / "1.json", project.path / "shards" / ".old")
    judged = merge("shards", "--fail-under=0.6", "--history=off")
    why = "gate pass_rate of agent; 1 case failed or without an answer, tolerated by no gate"
    assert "fail-under=0.6" in judged.stdout
    assert judged.stdout.endswith(f"2 shards joined: FAILED: {why}\n")
    document = project.document()
    assert f"saved as {document['run']['id']}; view: tooleval show" in result.stdout
    # A job that is repeated makes the same run, whose answers count once; the last verdict counts.
    saved = f"saved as {document['run']['id']}; view: tooleval show"
    assert saved in merge("shards", "--fail-over=errors=100%", "--fail-under=0.3").stdout
    (kept,) = History(project.path / ".tooleval").runs()
    assert kept.exitstatus == 0
    assert saved in merge("shards").stdout
    (kept,) = History(project.path / ".tooleval").runs()
    assert (kept.cases, kept.selected, kept.failed, kept.errors) == (4, 4, 1, 1)
    assert (kept.status, kept.exitstatus) == ("finished", 1)
    parts = [project.document(f"shards/{number}.json")["run"] for number in (1, 2)]
    answers = sum(part["spent"]["agent"]["answers"] for part in parts)
    assert document["run"]["spent"]["agent"]["answers"] == answers == 3
    assert document["run"]["started"] == min(part["started"] for part in parts)
    assert (project.path / "out.html").exists()
    assert len((project.path / "out.csv").read_text().splitlines()) == 5
    # As good as a run by itself: it may be pinned, and compared with.
    project.suite(right("a"), right("b"))
    run_shards(project, 2)
    assert merge("shards").exit_code == 0
    good = History(project.path / ".tooleval")
    assert good.find("good") == good.find("latest")


def test_gates_of_the_ini_file_are_judged_by_the_merge(project: Project) -> None:
    project.suite(*[right(f"c{i}") for i in range(9)], wrong("w"))
    ini = "[pytest]\ntooleval_preset = pr\ntooleval_fail_under = 0.95\ntooleval_history = off\n"
    project.write("pytest.ini", ini)
    whole = project.run("--tooleval-history=off", *FILES)
    run_shards(project, 2)
    merged = merge("shards", "--report=merged.json", "--junitxml=merged.xml")
    assert merged.exit_code == whole.ret == 1
    assert "NOT COMPARED with a baseline" in merged.stdout
    assert project.document("whole.json")["gates"] == project.document("merged.json")["gates"]
    assert merge("shards", "--fail-under=0.8").exit_code == 0
    assert "--preset=nightly replaces pr\n" in merge("shards", "--preset=nightly").stdout
    assert not (project.path / ".tooleval" / "heads").exists()


def test_what_fails_beside_the_cases_fails_the_merge(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.write("test_plain.py", "def test_plain(): assert 0")
    for number in (1, 2):
        files = (f"--tooleval-report=shards/{number}.json", f"--tooleval-shard={number}/2")
        assert project.run(*files).ret == 1
    merged = merge("shards")
    assert merged.exit_code == 1
    assert "shards/2.json (shard 2/2): failed for reasons other" in merged.stdout


def _edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_shards_that_cannot_be_joined(project: Project) -> None:
    cases = [right(f"c{i}") for i in range(6)]
    project.suite(*cases)
    run_shards(project, 3)
    shards, good = project.path / "shards", project.path / "good"
    shutil.copytree(shards, good)
    third = shards / "3.json"

    def refused(message: str, *arguments: str) -> None:
        result = merge(*(arguments or ("shards",)), "--report=merged.json")
        assert result.exit_code == 2, result.stdout
        assert message in result.stderr
        assert not (project.path / "merged.json").exists()
        shutil.copytree(good, shards, dirs_exist_ok=True)

    first = "shards/1.json"
    refused("shard 2/3 is missing", first, "shards/3.json")
    refused(f"{first} (shard 1/3): already in {first}", "shards", first)
    commit = {"commit": "abc", "branch": None, "dirty": False}
    _edit(third, lambda each: each["run"].update(git=commit))
    refused(f"shards/3.json (shard 3/3): commit: abc, but none in {first}")
    _edit(third, lambda each: each["run"].update(scoring_version=0))
    refused(
        f"shards/3.json (shard 3/3): version of the scoring rules: 0, but {SCORING_VERSION} in {first}"
    )
    _edit(third, lambda each: each["run"]["models"][0].update(identity="callable:other"))
    refused("shards/3.json (shard 3/3): models: agent=callable:other, but callable:my_agent")
    project.run("--tooleval-report=shards/3.json", "--tooleval-shard=3/3", "--tooleval-trials=2")
    refused(f"shards/3.json (shard 3/3): options: trials=2, but none in {first}")
    project.run("--tooleval-report=shards/3.json", "--tooleval-shard=3/3", "-k", "not c0")
    refused(f"shards/3.json (shard 3/3): a different selection of cases than {first}")
    project.run("--tooleval-report=shards/3.json", "--tooleval-shard=3/4")
    refused(f"shards/3.json (shard 3/4): number of shards: 4, but 3 in {first}")
    project.suite(*cases, right("c6"))
    project.run("--tooleval-report=shards/3.json", "--tooleval-shard=3/3")
    refused(f"shards/3.json (shard 3/3): weather.tooleval.json differs from the one of {first}")
    project.run("--tooleval-report=shards/3.json")
    refused("shards/3.json: not a shard; run pytest with --tooleval-shard")
    project.run("--tooleval-report=shards/3.json", "--tooleval-shard=3/3", "gone")
    refused("shards/3.json: shard 3/3 ended before it selected cases (exit status 4)")
    _edit(third, lambda each: each["cases"][0].update(outcome="fine"))
    refused("shards/3.json: not a JSON report: Invalid enum value 'fine'")
    _edit(third, lambda each: each["cases"][0]["trials"][0].update(scores=5))
    refused("shards/3.json: not a JSON report: Expected `object`, got `int`")
    _edit(third, lambda each: each["cases"][0].update(nodeid=each["cases"][1]["nodeid"]))
    refused("together they have 5 of 6 cases")
    third.write_text("{}")
    refused("shards/3.json: not a JSON report")
    refused("Error: none: cannot be read", "none")
    refused("--fail-under=2: a share is at most 1", "shards", "--fail-under=2")
    for what, options in {"a shard": [], "the baseline": [f"--baseline={first}"]}.items():
        written = f"--report=html:{first}"
        refused(f"{written}: is {what}; name another file", "shards", written, *options)
    refused("run the shards with --tooleval-pass=all", "shards", "--preset=strict")
    refused("needs --fail-under=", "shards", "--confidence=0.9")
    refused("--confidence=2: expected 0.5 to 0.9999", "shards", "--fail-under=1", "--confidence=2")


def test_a_shard_that_was_cut_short(project: Project) -> None:
    project.suite(*[right(f"c{i}") for i in range(6)])
    run_shards(project, 2)
    project.write(
        "conftest.py",
        """
        def pytest_runtest_setup(item):
            if "c3" in item.name:
                raise KeyboardInterrupt
        """,
    )
    result = project.run_subprocess("--tooleval-report=shards/2.json", "--tooleval-shard=2/2")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    merged = merge("shards")
    assert merged.exit_code == 2
    assert "shards/2.json (shard 2/2): cut short after 2 of 4 cases" in merged.stderr


def test_recorded_runs_that_no_case_has_fail_the_gates(project: Project) -> None:
    project.suite(right("a"), right("b"))
    call = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    said = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    runs = [{"case": case, "model": "agent", "messages": [said]} for case in ("a", "b", "gone")]
    project.write("runs.jsonl", "".join(json.dumps(run) + "\n" for run in runs))
    transcripts = "--tooleval-transcripts=runs.jsonl"
    whole = project.run(transcripts, "--tooleval-fail-under=1", *FILES, model=None)
    run_shards(project, 2, transcripts, model=None)
    merged = merge("shards", "--fail-under=1", "--report=merged.json", "--junitxml=merged.xml")
    assert merged.exit_code == whole.ret == 1
    same_junit(project)
    assert 'name="transcripts"' in (project.path / "merged.xml").read_text()


def test_a_file_that_cannot_be_written(project: Project) -> None:
    project.suite(right("a"))
    run_shards(project, 1)
    (project.path / "file").write_text("")
    below = merge("shards", "--report=file/out.html")
    assert below.exit_code == 2
    assert "--report=file/out.html: cannot write to" in below.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_only_written_reports_are_named(project: Project) -> None:
    project.suite(right("a"))
    run_shards(project, 1)
    full = merge("shards", "--report=json:/dev/full", "--report=out.csv")
    assert full.exit_code == 4
    assert "--report=json:/dev/full: cannot be written: No space left" in full.stdout
    assert [line for line in full.stdout.splitlines() if "wrote" in line] == ["wrote out.csv"]
