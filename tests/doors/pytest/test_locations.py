"""Where a case is said to be, and JUnit files."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from .project import Project, failed, raising, right, wrong


def line_of(project: Project, text: str, file: str = "weather.tooleval.json") -> int:
    lines = (project.path / file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_reports_name_the_line_on_which_the_case_begins(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"), right("d", skip="later"))
    line = line_of(project, '"id": "b"') - 1
    result = project.run("--tooleval-report=out.json", "--tb=short")
    result.stdout.fnmatch_lines([f"weather.tooleval.json:{line}: b on agent"])
    row = project.rows()["b[agent]"]
    assert (row["file"], row["line"]) == ("weather.tooleval.json", line)
    result = project.run("--tb=line", "-rsfE")
    reason = 'city: expected "Paris", got "London"'
    result.stdout.fnmatch_lines([f"weather.tooleval.json:{line}: {reason}"])
    assert "assistant" not in result.stdout.str()
    result.stdout.fnmatch_lines_random(
        [
            "SKIPPED*weather.tooleval.json*later",
            failed(reason, "b[[]agent]"),
            "ERROR weather.tooleval.json::c[[]agent] - agent: my_agent:answer*",
        ]
    )


def test_items_know_their_place_for_editors(project: Project) -> None:
    project.suite(right("a"), right("b"))
    items, _ = project.pytester.inline_genitems("--tooleval-model=agent")
    assert [item.location for item in items] == [
        ("weather.tooleval.json", line_of(project, f'"id": "{id}"') - 2, f"{id}[agent]") for id in "ab"
    ]
    assert [item.path for item in items] == [project.path / "weather.tooleval.json"] * 2


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
