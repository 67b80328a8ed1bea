"""Where a case is said to be, JUnit files, and output that would harm a terminal or an XML file."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from .project import Project
from .project import call
from .project import case
from .project import raising
from .project import right
from .project import wrong

HOSTILE = (
    "\x1b[31mred\x1b[0m \x00\x07\x08 \u202egnp.exe \u2028 ]]> </failure> \ud83d \ufffe \x9b2J \r end"
)


def line_of(project: Project, text: str, file: str = "weather.tooleval.json") -> int:
    lines = (project.path / file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_reports_name_the_line_on_which_the_case_begins(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    line = line_of(project, '"id": "b"') - 1
    result = project.run("--tooleval-report=out.json", "--tb=short")
    result.stdout.fnmatch_lines([f"weather.tooleval.json:{line}: b on agent"])
    row = project.rows()["b[agent]"]
    assert (row["file"], row["line"]) == ("weather.tooleval.json", line)


def test_items_know_their_place_for_editors(project: Project) -> None:
    project.suite(right("a"), right("b"))
    items, _ = project.pytester.inline_genitems("--tooleval-model=agent")
    assert [item.location for item in items] == [
        ("weather.tooleval.json", line_of(project, f'"id": "{id}"') - 2, f"{id}[agent]") for id in "ab"
    ]
    assert [item.path for item in items] == [project.path / "weather.tooleval.json"] * 2


def test_the_one_line_style_names_the_place(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    result = project.run("--tb=line")
    result.stdout.fnmatch_lines(['*city: expected "Paris", got "London"*'])


def test_skips_are_listed_with_their_file(project: Project) -> None:
    project.suite(right("a", skip="later"))
    project.run("-rs").stdout.fnmatch_lines(["SKIPPED*weather.tooleval.json*later"])


def test_junit_keeps_to_its_schema(project: Project) -> None:
    """The one of Jenkins' xUnit plugin, as of xunit2, has nothing else in a test case."""
    project.suite(wrong("a"), right("b"), raising("c"), right("d", skip="later"))
    known = {"skipped", "error", "failure", "system-out", "system-err"}
    for family, properties in (("xunit2", False), ("xunit1", True)):
        gate = ("--tooleval-fail-under=0.9", "--tooleval-fail-over=errors=1")
        project.run("--junitxml=out.xml", f"-ojunit_family={family}", "-rA", *gate)
        cases = list(ET.parse(project.path / "out.xml").getroot().iter("testcase"))
        found = {child.tag for one in cases for child in one}
        assert len(cases) == 5
        assert found - known == ({"properties"} if properties else set())


def test_junits_times_are_those_of_the_cases(project: Project) -> None:
    """Not of the tests, which find the answers of others asked at the same time."""
    project.suite(*(right(id, delay=0.2) for id in "abc"))
    project.run("--junitxml=out.xml", "--tooleval-report=out.json", "--tooleval-trials=2")
    cases = ET.parse(project.path / "out.xml").getroot().iter("testcase")
    for one in cases:
        trials = project.rows()[str(one.get("name"))]["trials"]
        assert float(str(one.get("time"))) >= sum(trial["latency_s"] for trial in trials) - 0.001


def test_junit_holds_scores_as_properties(project: Project) -> None:
    project.suite(wrong("a"), right("b"), raising("c"))
    project.run("--junitxml=out.xml", "-ojunit_family=xunit1")
    suite = ET.parse(project.path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    cases = {one.get("name"): one for one in suite.iter("testcase")}
    properties = {p.get("name"): p.get("value") for p in cases["a[agent]"].iter("property")}
    assert float(properties["tooleval.score.overall"] or "") == pytest.approx(0.6)
    assert float(properties["tooleval.score.tool_selection"] or "") == 1.0
    assert properties["tooleval.model"] == "agent"
    assert (properties["tooleval.suite"], properties["tooleval.case"]) == ("Weather", "a")
    assert "tooleval.passes" not in properties
    failure = cases["a[agent]"].find("failure")
    assert failure is not None
    assert failure.get("message") == 'city: expected "Paris", got "London"'
    assert "0.60  needs 1.00" in (failure.text or "")
    error = cases["c[agent]"].find("error")
    assert error is not None
    assert "the agent is broken" in (error.get("message") or "") + (error.text or "")
    assert not [p for p in cases["c[agent]"].iter("property") if "score" in (p.get("name") or "")]


@pytest.mark.parametrize(
    "script",
    [
        {"text": HOSTILE},
        {"calls": [call(city=HOSTILE)]},
        {"calls": [{"name": HOSTILE, "arguments": "{}"}]},
        {"calls": [{"name": "get_weather", "arguments": HOSTILE}]},
        {"calls": [{"name": "get_weather", "arguments": json.dumps({HOSTILE: 1})}]},
        {"calls": [{"name": "get_weather", "arguments": {"city": [[HOSTILE]]}}]},
        {"error": HOSTILE},
        {"returns": [HOSTILE]},
        {"returns": {"content": HOSTILE, "tool_calls": HOSTILE}},
        {"calls": [{"name": "get_weather", "arguments": '{"city":' * 3000 + "1" + "}" * 3000}]},
        {"calls": [{"name": "get_weather", "arguments": '{"city":' * 900 + "1" + "}" * 900}]},
        {"calls": [{"name": "get_weather", "arguments": '{"city": NaN}'}]},
        {"calls": [{"name": "get_weather", "arguments": '{"city": ' + "9" * 6000 + "}"}]},
        {"calls": [{"name": "x" * 100_000, "arguments": "y" * 100_000}]},
    ],
    ids=lambda script: str(list(script))[2:-2],
)
def test_hostile_output_stays_text(project: Project, script: dict[str, object]) -> None:
    project.suite(case("a", script), case("b", script, expected_tool=None, expected_params=None))
    result = project.run("--junitxml=out.xml", "--tooleval-report=out.json", "-vv", "-rA", "--color=no")
    outcomes = result.parseoutcomes()
    assert sum(outcomes.get(word, 0) for word in ("failed", "errors", "passed")) == 2
    shown = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in shown
    for harmful in ("\x1b", "\x00", "\x07", "\x08", "\u202e", "\u2028", "\x9b", "\r"):
        assert harmful not in shown
    assert max(len(line) for line in result.outlines) < 2000
    ET.parse(project.path / "out.xml")
    rows = project.rows()
    assert set(rows) == {"a[agent]", "b[agent]"}
    assert (project.path / "out.json").read_bytes().isascii()


def test_hostile_suite_text_stays_text(project: Project) -> None:
    project.suite(
        {**wrong("a"), "prompt": f"Weather? {HOSTILE}".replace("\ud83d", "")},
        name="Suite \x1b[31m\u202e",
    )
    result = project.run("-vv", "-rA", "--junitxml=out.xml", "--color=no", "--tooleval-report=out.json")
    result.assert_outcomes(failed=1)
    for harmful in ("\x1b", "\u202e", "\x9b"):
        assert harmful not in result.stdout.str()
    ET.parse(project.path / "out.xml")


def test_a_hostile_skip_reason_stays_text(project: Project) -> None:
    project.suite(right("a", skip="\x1b[31mred"), wrong("b", xfail="\x1b[31mred"))
    result = project.run("-rsx", "-v", "--color=no")
    result.assert_outcomes(skipped=1, xfailed=1)
    assert "\x1b" not in result.stdout.str()


@pytest.mark.parametrize("levels", [150, 700, 950, 3000])
@pytest.mark.parametrize("place", ["arguments", "content"])
@pytest.mark.parametrize("cassette", [False, True])
def test_objects_nested_deeply_lose_no_results(
    project: Project, levels: int, place: str, cassette: bool
) -> None:
    project.write(
        "deep.py",
        f"""
        def answer(messages, tools):
            deep = []
            for _ in range({levels}):
                deep = [deep]
            if {place!r} == "content":
                return {{"content": deep}}
            call = {{"name": "get_weather", "arguments": {{"city": deep}}}}
            return {{"tool_calls": [{{"id": "c", "type": "function", "function": call}}]}}
        """,
    )
    project.write("tooleval.toml", '[models.deep]\ncallable = "deep:answer"\n')
    project.suite(right("a"))
    args = ("--tooleval-report=out.json", *(("--tooleval-cassette=tapes",) if cassette else ()))
    result = project.run(*args, model="deep")
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 1
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "encoder.py" not in result.stdout.str()
    assert project.rows()["a[deep]"]["outcome"] in ("failed", "error")
