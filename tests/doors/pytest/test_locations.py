"""Where a case is said to be, and JUnit files."""

from __future__ import annotations

import xml.etree.ElementTree as ET

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


def test_junits_times_are_those_of_the_cases(project: Project) -> None:
    """Not of the tests, which find the answers of others asked at the same time."""
    project.suite(*(right(id, delay=0.2) for id in "abc"))
    project.run("--junitxml=out.xml", "--tooleval-report=out.json", "--tooleval-trials=2")
    cases = ET.parse(project.path / "out.xml").getroot().iter("testcase")
    for one in cases:
        trials = project.rows()[str(one.get("name"))]["trials"]
        assert float(str(one.get("time"))) >= sum(trial["latency_s"] for trial in trials) - 0.001
