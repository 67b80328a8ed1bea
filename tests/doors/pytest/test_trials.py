"""Several trials of a case: rules for the verdict, pass@k and pass^k."""

from __future__ import annotations

from typing import Any

import pytest

from .project import Project, call, case, right, wrong

# A trial that passes, one that fails and one without an answer.
P, F, E = {"calls": [call(city="Paris")]}, {"calls": [call(city="London")]}, {"error": "out of order"}
RULE: dict[str, Any] = {"pass": "2/3"}


def test_pass_at_k_is_in_the_table_and_in_reports(project: Project) -> None:
    project.suite(case("a", [P, F, P], trials=3))
    files = ("--junitxml=out.xml", "-ojunit_family=xunit1", "--tooleval-report=out.json")
    result = project.run("-v", "--tooleval-fail-under=pass^1=0.6", *files)
    result.stdout.fnmatch_lines(["model *pass@3  pass^3*", "agent *1.00    0.00*"])
    result.stdout.fnmatch_lines(["agent passed: *; pass^1: 0.67 >= 0.60*"])
    reliability = project.document()["models"][0]["reliability"]
    assert reliability["trials"] == 3
    assert reliability["pass@k"] == pytest.approx({"1": 2 / 3, "2": 1.0, "3": 1.0})
    assert reliability["pass^k"] == pytest.approx({"1": 2 / 3, "2": 1 / 3, "3": 0.0})
    assert 'name="tooleval.passes" value="2/3"' in (project.path / "out.xml").read_text()


@pytest.mark.parametrize(
    ("options", "a", "b"),
    [
        ((), ("2/3", 3), ("any", 2)),
        (("--tooleval-trials=5",), ("2/3", 3), ("any", 5)),
        (("--tooleval-preset=nightly",), ("2/3", 3), ("any", 5)),
        # A stricter rule keeps the trials of the file, and a counted one brings its own.
        (("--tooleval-pass=all",), ("all", 3), ("all", 2)),
        (("--tooleval-preset=strict",), ("all", 3), ("all", 2)),
        (("--tooleval-pass=1/2",), ("1/2", 2), ("1/2", 2)),
        (("--tooleval-pass=2/4", "-otooleval_trials=5"), ("2/4", 4), ("2/4", 4)),
    ],
)
def test_the_rule_of_the_file(
    project: Project, options: tuple[str, ...], a: tuple[str, int], b: tuple[str, int]
) -> None:
    project.suite(right("a", **RULE), right("b"), trials=2, **{"pass": "any"})
    project.run(*options, "--tooleval-report=out.json")
    rows = project.rows()
    found = [(rows[name]["pass_rule"], len(rows[name]["trials"])) for name in ("a[agent]", "b[agent]")]
    assert found == [a, b]


def test_reliability_says_which_cases_it_is_of(project: Project) -> None:
    project.suite(right("a", trials=3), right("b", trials=3), wrong("c"))
    result = project.run("-v")
    result.stdout.fnmatch_lines(["agent: pass@3 and pass^3 are over 2 of 3 cases; *"])
    assert "pass@3" not in project.run().stdout.str()  # nor is the column there
    project.suite(right("a"), right("b"))
    assert "pass@3 and" not in project.run("-v", "--tooleval-trials=3").stdout.str()
