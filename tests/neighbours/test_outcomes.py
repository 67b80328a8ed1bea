"""Each neighbour, plain, with a gate and under `-n 2`: the outcomes are as without it."""

from __future__ import annotations

import pytest
from doors.pytest.project import Project, raising, right, wrong
from nightly import ALL

from .plugins import NEIGHBOURS, loaded

WAYS = {
    "plain": [],
    "gate": ["--tooleval-fail-under=suite:0.9", "--tooleval-fail-over=errors=1"],
    "workers": ["-pxdist", "-n2", "--tooleval-fail-under=suite:0.9", "--tooleval-fail-over=errors=1"],
}

# Two stand for all, but at night: one that runs cases again, and one with hooks of its own.
NAMES = NEIGHBOURS if ALL else ("pytest-html", "pytest-rerunfailures")
# What came of each way without a neighbour.
_alone: dict[str, object] = {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_outcomes_are_as_without(project: Project, name: str, way: str) -> None:
    try:
        plugins = loaded(name)
    except LookupError:
        pytest.skip(f"{name} is not installed")
    project.suite(right("a"), wrong("b"), raising("c"), right("d", skip="later"), wrong("e", xfail=True))
    project.suite(*(right(f"c{i}") for i in range(4)), file="more.tooleval.json", name="More")
    project.write("test_plain.py", "def test_plain(): pass\n")
    if way not in _alone:
        project.run_subprocess(*WAYS[way], "--tooleval-report=out.json")
        _alone[way] = _verdicts(project)
    options = [*WAYS[way], "--tooleval-report=out.json", *plugins, *NEIGHBOURS[name].split()]
    result = project.run_subprocess(*options)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert _verdicts(project) == _alone[way]


def _verdicts(project: Project) -> object:
    document = project.document()
    cases = [(row["nodeid"], row["outcome"], row["scores"]) for row in document["cases"]]
    return cases, [(gate["name"], gate["verdict"]) for gate in document["gates"]]
