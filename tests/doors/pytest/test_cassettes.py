"""Recording answers and replaying them."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main

from .project import TIME_TOOL, WEATHER_TOOL, Project, call, case, raising, right, wrong

CASSETTE = "--tooleval-cassette=tapes"


def entries(project: Project, name: str = "tapes/weather.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in (project.path / name).read_text().splitlines() if line]


def test_what_is_recorded_is_not_asked_again(project: Project) -> None:
    """New cases are recorded beside old ones, and errors not at all."""
    project.suite(right("a"), wrong("b"), raising("c"))
    project.run(CASSETTE).assert_outcomes(passed=1, failed=1, errors=1)
    assert len(entries(project)) == 2
    project.forget_calls()
    project.suite(right("a"), wrong("b"))
    result = project.run(CASSETTE, "--tooleval-record=none", "--tooleval-report=out.json")
    result.assert_outcomes(passed=1, failed=1)
    assert project.calls == []
    assert project.rows()["a[agent]"]["trials"][0]["cached"] is True
    result.stdout.fnmatch_lines(["agent: 2 of 2 answers replayed from the cassette*"])
    project.suite(right("a"), right("new"))
    project.run(CASSETTE).assert_outcomes(passed=2)
    assert project.calls == ["new"]
    # Another question has another answer.
    project.run(CASSETTE, "--tooleval-temperature=0.9")
    project.run(CASSETTE, "--tooleval-trials=2")
    assert sorted(project.calls) == ["a", "a", "new", "new", "new"]


def test_custom_tools_are_recorded(project: Project) -> None:
    tools = [{"type": "custom", "custom": {"name": "sh", "description": "Run a command."}}]
    script = {"calls": [call("sh", input="ls")]}
    project.suite(case("ls", script, expected_tool="sh", expected_params={"input": "ls"}), tools=tools)
    project.run(CASSETTE).assert_outcomes(passed=1)
    project.run(CASSETTE, "--tooleval-record=none").assert_outcomes(passed=1)
    assert project.calls == ["ls"]
    result = project.run(CASSETTE, "--tooleval-record=none", "--tooleval-temperature=0.9")
    result.stdout.fnmatch_lines(["*recorded question differs in sampling.temperature: 0.0 → 0.9*"])


def test_replaying_does_not_load_the_agent(project: Project) -> None:
    project.suite(right("a"))
    agent = project.path / "my_agent.py"
    agent.write_text(agent.read_text() + '\nlog("imported.log", 1)\n')
    project.run(CASSETTE)
    assert project.log("imported") == [1]
    project.run_subprocess(CASSETTE, "--tooleval-record=none").assert_outcomes(passed=1)
    assert project.log("imported") == [1]


def explained(path: Path) -> str:
    arguments = ["cassette", "explain", "tapes/weather.jsonl", str(path), "--model=agent"]
    return CliRunner().invoke(main, arguments).output


def test_an_answer_of_older_code_is_missing(project: Project) -> None:
    suite = project.suite(right("a"), right("b"))
    (project.path / "kit").mkdir()
    for path in ("kit/__init__.py", "kit/tools.py", "kit/prompts.py", "other.py"):
        (project.path / path).write_text("")
    (project.path / "kit/tools.py").write_text("from . import prompts")
    agent = project.path / "my_agent.py"
    agent.write_text("from kit.tools import __name__ as _\n" + agent.read_text())
    none, estimate = [CASSETTE, "--tooleval-record=none"], [CASSETTE, "--tooleval-estimate"]
    project.run(CASSETTE).assert_outcomes(passed=2)
    project.write("other.py", "# changed\n")
    project.run(*none).assert_outcomes(passed=2)
    project.run(*estimate).stdout.re_match_lines([r"agent +2 +2 +0 .*"])
    project.forget_calls()
    project.write("kit/prompts.py", "# changed\n")
    for options in ([], ["--tooleval-fail-under=0.5"], ["-n2"]):
        result = project.run(*none, *options)
        result.assert_outcomes(errors=2)
        result.stdout.fnmatch_lines(["*changed since the recording: kit/prompts.py; *=new asks and *"])
    assert explained(suite).startswith("changed since the recording: kit/prompts.py\n  2 conversations")
    project.run(*estimate).stdout.re_match_lines([r"agent +2 +0 +2 .*"])
    assert project.calls == []
    result = project.run(CASSETTE, "--tooleval-fail-under=0.5", "-n2")
    result.assert_outcomes(passed=2)
    assert sorted(project.calls) == ["a", "b"]
    again = "weather.jsonl: asked again what was recorded before a change of kit/prompts.py"
    assert result.stdout.str().count(again) == 1
    for options in (none, [CASSETTE]):
        assert "asked again" not in project.run(*options, "--tooleval-fail-under=0.5").stdout.str()
    assert sorted(project.calls) == ["a", "b"]


def test_a_resumed_run_asks_older_code_again(project: Project) -> None:
    project.write("prompts.py", "")
    agent = project.path / "my_agent.py"
    agent.write_text("import prompts\n" + agent.read_text())
    project.suite(right("a"))
    project.run()
    project.run("--tooleval-resume").assert_outcomes(passed=1)
    project.write("prompts.py", "# changed\n")
    project.run("--tooleval-resume").stdout.fnmatch_lines(["*asked again * a change of prompts.py"])
    assert project.calls == ["a", "a"]


def test_an_answer_with_an_older_world_is_missing(project: Project) -> None:
    project.write("shop.py", "import price\nclass Shop:\n    def look(self): return price.EURO\n")
    project.write("price.py", "EURO = 1\n")
    project.write("bot.py", "def answer(messages, tools, call_tool): return call_tool('look', {})\n")
    project.write("tooleval.toml", '[models.agent]\ncallable = "bot:answer"\n')
    turns = [{"prompt": "How much?", "expected_tool": "look", "expected_text": ["1"]}]
    suite = {"name": "S", "world": "shop:Shop", "test_cases": [{"id": "c", "turns": turns}]}
    project.write("s.tooleval.json", json.dumps(suite))
    project.run(CASSETTE).assert_outcomes(passed=1)
    project.run(CASSETTE, "--tooleval-record=none").assert_outcomes(passed=1)
    project.write("price.py", "EURO = 22\n")
    result = project.run(CASSETTE, "--tooleval-record=none")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*changed since the recording: price.py; *"])
    project.run_subprocess(CASSETTE).assert_outcomes(failed=1)  # it is 22 now


def packaged(project: Project) -> None:
    """An agent in a package in `src`, with modules beside it, in the root folder and elsewhere."""
    agent = (
        (project.path / "my_agent.py").read_text().replace("__file__).parent", "__file__).parents[2]")
    )
    for name, text in {
        "app/agent.py": "from . import prompts\nimport common, installed\n" + agent,
        "app/__init__.py": "",
        "app/prompts.py": "",
        "../common.py": "",
        "../venv/site-packages/installed.py": "",
    }.items():
        project.write(f"src/{name}", text)
    project.write("pytest.ini", "[pytest]\npythonpath = . src venv/site-packages\n")
    project.write("tooleval.toml", '[models.agent]\ncallable = "app.agent:answer"\n')


def test_the_modules_of_a_package_are_those_of_the_project_under_xdist(project: Project) -> None:
    packaged(project)
    project.suite(right("a"), right("b"))
    project.run(CASSETTE).assert_outcomes(passed=2)
    first, second = entries(project)
    names = ["common.py", "src/app/__init__.py", "src/app/prompts.py"]
    assert sorted(first["digests"]) == names  # type: ignore[call-overload]
    assert "digests" not in second  # it may be long
    assert first["modules"] == second["modules"]
    for name in (*names, "venv/site-packages/installed.py"):
        project.write(name, "# changed\n")
    project.write(names[0], "# changed\n")
    result = project.run(CASSETTE, "--tooleval-record=none", "-n", "2")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"*changed since the recording: {', '.join(names)}; *"])


def test_a_cassette_may_be_moved_and_recorded_again(project: Project) -> None:
    project.suite(right("a"))
    project.write("prompts.py", "")
    agent = project.path / "my_agent.py"
    agent.write_text("import prompts\n" + agent.read_text())
    project.run(CASSETTE)
    (project.path / "far" / "away").mkdir(parents=True)
    (project.path / "tapes").rename(project.path / "far" / "away" / "tapes")
    moved = "--tooleval-cassette=far/away/tapes"
    project.run(moved, "--tooleval-record=none").assert_outcomes(passed=1)
    project.write("prompts.py", "# changed\n")
    result = project.run(moved, "--tooleval-record=all")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*asked again*")
    project.run(moved, "--tooleval-record=none").assert_outcomes(passed=1)


def test_a_changed_description_is_told_once_with_the_cases_that_it_concerns(project: Project) -> None:
    cases = [right(f"c{number}") for number in range(13)]
    project.suite(*cases)
    project.run(CASSETTE).assert_outcomes(passed=13)
    function = {**WEATHER_TOOL["function"], "description": "Read the weather."}
    tools = [{**WEATHER_TOOL, "function": function}, TIME_TOOL]
    suite = project.suite(*cases, tools=tools)
    change = (
        "changed since the recording: get_weather.description: "
        f'"{WEATHER_TOOL["function"]["description"]}" → "Read the weather."'
    )
    result = project.run(CASSETTE, "--tooleval-record=none")
    result.assert_outcomes(errors=13)
    errors, _, summary = result.stdout.str().partition("= tool calling =")
    assert errors.count(change) == 1
    assert errors.count("\nthe same as for c0[agent]") == 12
    assert "c0, c1, c2, c3, c4, c5, c6, c7 and 5 more: no recorded answer" in summary
    assert summary.count(change) == 1
    names = ", ".join(f"c{number}[agent]" for number in range(13))
    assert explained(suite).splitlines()[:2] == [change, f"  13 conversations: {names}"]


def test_ini_keys_are_the_defaults(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\ntooleval_cassette = from_ini\ntooleval_record = none\n")
    project.suite(right("a"))
    project.run().assert_outcomes(errors=1)
    project.run("--tooleval-record=new").assert_outcomes(passed=1)
    assert (project.path / "from_ini/weather.jsonl").exists()
    project.run().assert_outcomes(passed=1)


def test_suites_of_one_name_in_two_folders_have_two_cassettes(project: Project) -> None:
    project.suite(right("a"), file="one/same.tooleval.json")
    project.suite(right("b"), file="two/same.tooleval.json")
    project.run(CASSETTE).assert_outcomes(passed=2)
    assert len(entries(project, "tapes/one/same.jsonl")) == 1
    assert len(entries(project, "tapes/two/same.jsonl")) == 1


def test_a_damaged_line_is_named_and_asked_again(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.run(CASSETTE)
    tape = project.path / "tapes/weather.jsonl"
    lines = tape.read_text().splitlines()
    tape.write_text(lines[0] + "\n" + lines[1][:50] + "\n")
    project.forget_calls()
    result = project.run(CASSETTE)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cassette *weather.jsonl: line 2 cannot be read*"])
    assert len(project.calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [(), ("--tooleval-record=none",), ("--tooleval-record=all",), ("-n2",)]
)
def test_a_line_of_another_version_ends_the_run_before_anything_is_asked(
    project: Project, options: tuple[str, ...]
) -> None:
    """Also where the cassette, or one of several, is a folder."""
    project.suite(right("a"), right("b"))
    project.suite(right("c"), file="other.tooleval.json")
    project.run(CASSETTE)
    project.forget_calls()
    tape = project.path / "tapes/weather.jsonl"
    tape.write_text(tape.read_text().replace('"version": 3', '"version": 4', 1))
    other = project.path / "tapes/other.jsonl"
    other.unlink()
    other.mkdir()
    result = project.run(CASSETTE, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines_random(
        [
            "*cassette *weather.jsonl has version 4 of the format, but *; delete it and record again",
            "*cassette *other.jsonl cannot be read: *",
        ]
    )
    assert "INTERNALERROR" not in result.stdout.str()
    assert project.calls == []
    project.run(
        CASSETTE, *options, "--deselect=weather.tooleval.json", "-k", "nothing"
    ).assert_outcomes()


def test_the_tools_on_a_cassette_of_another_version(project: Project) -> None:
    source = {"mcp": {"stdio": "python server.py"}}
    path = project.suite(right("a"), tools_from=source)
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "tools"}))
    project.write("tapes/weather.jsonl", '{"version": 2, "key": "x", "answer": {}}\n')
    result = project.run(CASSETTE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*weather.jsonl has version 2 of the format*"])


def test_answers_survive_a_run_that_was_stopped(project: Project) -> None:
    project.suite(right("a"), wrong("b"), right("c", delay=30))
    project.run(CASSETTE, "-x")
    assert len(entries(project)) == 2


def test_a_rerun_asks_anew(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.suite(wrong("a"), raising("b"))
    project.run(CASSETTE)
    project.forget_calls()
    options = ("--junitxml=out.xml", "-ojunit_family=xunit1", "--tooleval-report=out.json")
    result = project.run(CASSETTE, "--reruns=2", *options)
    assert result.parseoutcomes() == {"failed": 1, "errors": 1, "rerun": 4}
    assert sorted(project.calls) == ["a"] * 2 + ["b"] * 3
    assert len(project.document()["cases"]) == 2
    for one in ET.parse(project.path / "out.xml").getroot().iter("testcase"):
        names = [each.get("name") for each in one.iter("property")]
        assert len(names) == len(set(names)) > 0


@contextmanager
def started(project: Project, name: str) -> Iterator[subprocess.Popen[str]]:
    """A run that has come to its first case."""
    with project.started(CASSETTE, f"--tooleval-events={name}.jsonl") as process:
        project.wait_for(f"{name}.jsonl", "case_started", process)
        yield process


def test_two_runs_at_once_ask_each_question_once(project: Project) -> None:
    cases = [case(f"c{i}", {"calls": [call(city="Paris")], "until": "go"}) for i in range(60)]
    project.suite(*cases)
    with started(project, "first") as first, started(project, "second") as second:
        project.write("go", "")
        outputs = [each.communicate(timeout=120)[0] for each in (first, second)]
    assert all("60 passed" in output for output in outputs), outputs
    assert sorted(project.calls) == sorted(f"c{i}" for i in range(60))
    assert len(entries(project)) == 60
    project.run(CASSETTE, "--tooleval-record=none").assert_outcomes(passed=60)


def test_a_run_that_is_killed_leaves_its_questions_to_the_others(project: Project) -> None:
    project.suite(case("a", {"calls": [call(city="Paris")], "until": "go"}))
    with started(project, "first") as first:
        project.wait_for("calls.log", "Paris", first)
        with started(project, "second") as second:
            assert project.calls == ["a"]
            first.kill()
            project.write("go", "")
            assert "1 passed" in second.communicate(timeout=120)[0]
    assert project.calls == ["a", "a"]


def test_each_question_is_asked_once_under_xdist(project: Project) -> None:
    same = right("a", delay=1)
    project.suite(same, {**same, "id": "b"})
    project.run("-n", "2").assert_outcomes(passed=2)
    assert project.calls == ["a"]


def test_a_recorded_text_of_a_case_that_forbids_calls_replays(project: Project) -> None:
    nothing = {"expected_tool": None, "expected_params": None, "forbidden_calls": ["get_time"]}
    project.suite(case("thanks", {"text": "You are welcome."}, **nothing))
    for mode in ("new", "none"):
        result = project.run("--tooleval-cassette=tapes", f"--tooleval-record={mode}")
        result.assert_outcomes(passed=1)
