"""JSON reports: the document that every report is made from."""

from __future__ import annotations

import sys

import pytest

from .project import Project, raising, right, wrong


def test_it_has_the_options_that_were_given(project: Project) -> None:
    project.suite(right("one"))
    project.run("--tooleval-report=out.json", "--tooleval-temperature=0", "--tooleval-github=auto")
    assert project.document()["run"]["options"] == {
        "github": "auto",
        "model": ["agent"],
        "report": ["out.json"],
        "temperature": "0",
    }


def test_it_is_written_whatever_came_of_the_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From where pytest was started, with its folders, and whole in place of an earlier one."""
    project.write("pytest.ini", "[pytest]\n")
    (project.path / "sub").mkdir()
    monkeypatch.chdir(project.path / "sub")
    project.write("sub/reports/today/out.json", "x" * 100_000)
    report = "--tooleval-report=reports/today/out.json"
    project.run("--co", report)
    assert (project.path / "sub/reports/today/out.json").read_text().startswith("xxx")
    project.suite(raising("a"), wrong("b"), file="sub/a.tooleval.json")
    result = project.run(report)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["results: *reports/today/out.json"])
    assert len(project.rows("sub/reports/today/out.json")) == 2
    assert [path.name for path in project.path.glob("sub/reports/today/*")] == ["out.json"]
    project.write("sub/a.tooleval.json", "{")
    project.run(report)
    assert project.document("sub/reports/today/out.json")["cases"] == []
    (project.path / "sub/a.tooleval.json").unlink()
    project.write("sub/test_plain.py", "def test_plain(): pass\n")
    project.run("--tooleval-report=out.json").assert_outcomes(passed=1)
    document = project.document("sub/out.json")
    assert (document["cases"], document["models"]) == ([], [])


_ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no such path on this system")


@pytest.mark.parametrize(
    ("path", "asked"),
    [("a-file/out.json", []), pytest.param("/proc/nowhere/out.json", ["a"], marks=_ON_LINUX)],
)
def test_an_unwritable_path_is_a_clear_error(project: Project, path: str, asked: list[str]) -> None:
    """What can be known beforehand is said before anything is asked."""
    project.write("a-file", "")
    project.suite(right("a"))
    result = project.run(f"--tooleval-report=json:{path}")
    output = result.stdout.str() + result.stderr.str()
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR), output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert f"--tooleval-report=json:{path}" in output
    assert project.calls == asked
