"""What reports of other plugins say of cases, of what is tolerated and of gates."""

from __future__ import annotations

import html
import json
import re

import pytest
from doors.pytest.project import Project, raising, right, wrong

from .plugins import loaded

GATE = "--tooleval-fail-under=0.9"


@pytest.fixture
def mixed(project: Project) -> Project:
    """Of each model a case that passes, one that fails and is tolerated, and one without an answer."""
    project.suite(right("a"), wrong("b"), raising("c"))
    return project


def run(project: Project, name: str, *options: str, model: str = "agent") -> pytest.RunResult:
    try:
        plugins = loaded(name)
    except LookupError:
        pytest.skip(f"{name} is not installed")
    result = project.run_subprocess(*plugins, *options, model=model)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    return result


def test_html_shows_gates(mixed: Project) -> None:
    run(mixed, "pytest-html", GATE, "--html=out.html")
    [blob] = re.findall(r'data-jsonblob="([^"]*)"', (mixed.path / "out.html").read_text())
    tests = json.loads(html.unescape(blob))["tests"]
    found = {name.partition("::")[2]: [row["result"] for row in rows] for name, rows in tests.items()}
    assert found == {
        "a[agent]": ["Passed"],
        "b[agent]": ["Skipped"],
        "c[agent]": ["Error"],
        "gate pass_rate of agent": ["Failed"],
    }


def test_allure_tells_models_and_errors_apart(mixed: Project) -> None:
    run(mixed, "allure-pytest", GATE, "--alluredir=allure", model="agent,other")
    results = [json.loads(path.read_text()) for path in (mixed.path / "allure").glob("*-result.json")]
    status = {one["name"]: one["status"] for one in results}
    assert status["a[other]"] == "passed"
    assert status["b[other]"] == "failed"
    assert status["c[other]"] == "broken"
    # Of results with one id it shows the last, and the others as its retries.
    assert len({one["historyId"] for one in results}) == len(results) == 6


def test_md_report_has_a_row_for_each(mixed: Project) -> None:
    report = ("--md-report", "--md-report-color=never", "-v")
    result = run(mixed, "pytest-md-report", GATE, *report)
    result.stdout.re_match_lines(
        [
            r"\|\s*filepath\s*\|\s*function\s*\| passed \| failed \| error \| skipped \|.*",
            r"\| weather.tooleval.json \| a +\| +1 \| +0 \| +0 \| +0 \|.*",
            r"\| weather.tooleval.json \| c +\| +0 \| +0 \| +1 \| +0 \|.*",
            r"\| tooleval +\| tooleval gate pass_rate of agent +\| +0 \| +1 \| +0 \| +0 \|.*",
            r"\| weather.tooleval.json \| b +\| +0 \| +0 \| +0 \| +1 \|.*",
        ]
    )


def test_rich_ends_with_our_table(mixed: Project) -> None:
    mixed.write("conftest.py", "import sys\nsys.stdout.isatty = lambda: True\n")
    result = run(mixed, "pytest-rich", GATE, "--rich", "--color=no")
    result.stdout.fnmatch_lines(["*= tool calling =*", "agent *1/2*", "agent FAILED: *"])


def test_gates_are_annotated_once(mixed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    second = "--tooleval-fail-under=tool_selection=1"
    result = run(mixed, "pytest-github-actions-annotate-failures", GATE, second)
    lines = [*result.outlines, *result.errlines]
    told = [line for line in lines if line.startswith("::error")]
    # Each gate as a line by the plugin; the error, of which that says nothing, by us.
    assert len([line for line in told if "file=tooleval" in line]) == 2
    assert len(told) == 3
    assert sum("::error" in line for line in lines) == 3
