"""Third-party scorers, in conftest files and plugins."""

from __future__ import annotations

import pytest

from .project import Project, right

CONFTEST = """
from pytest_tooleval import Score


class Brevity:
    metrics = ("brevity",)

    def score(self, case, transcript):
        {body}


def pytest_tooleval_register_scorers(register):
    register(Brevity())
"""


def conftest(body: str = 'return {"brevity": Score(0.25, "one word too many")}') -> str:
    return CONFTEST.replace("{body}", body)


@pytest.fixture
def scored(project: Project) -> Project:
    project.write("conftest.py", conftest())
    project.suite(right("a"))
    return project


def test_the_metric_is_in_table_and_document(scored: Project) -> None:
    options = ("--tooleval-report=out.json", "--junitxml=out.xml", "-ojunit_family=xunit1")
    result = scored.run("-v", *options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["model *brevity*", "agent *0.25*"])
    row = scored.rows()["a[agent]"]
    assert row["scores"]["brevity"] == 0.25
    assert row["trials"][0]["scores"]["brevity"]["explanation"] == "one word too many"
    brevity = scored.document()["models"][0]["metrics"]["brevity"]
    assert (brevity["mean"], brevity["n"]) == (0.25, 1)
    assert 0 <= brevity["low"] < 0.25 < brevity["high"] <= 1
    assert 'name="tooleval.score.brevity" value="0.25"' in (scored.path / "out.xml").read_text()


def test_a_conftest_holds_for_its_folder_only(project: Project) -> None:
    project.write("inside/conftest.py", conftest())
    project.suite(right("a"), file="inside/a.tooleval.json")
    project.suite(right("b"), file="outside/b.tooleval.json")
    project.run("--tooleval-report=out.json").assert_outcomes(passed=2)
    rows = project.rows()
    assert "brevity" in rows["a[agent]"]["scores"]
    assert "brevity" not in rows["b[agent]"]["scores"]


def test_a_scorer_that_misbehaves_makes_errors(project: Project) -> None:
    project.write("conftest.py", conftest("1 / 0"))
    project.suite(right("a"))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(errors=1)
    message = "*Brevity*raised ZeroDivisionError: division by zero at *conftest.py:8"
    result.stdout.fnmatch_lines([message])
    assert project.rows()["a[agent]"]["outcome"] == "error"


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ("register(Brevity)", "*got the class, expected an instance: *Brevity()*"),
        ("1 / 0", "*ZeroDivisionError*"),
    ],
)
def test_a_scorer_that_cannot_be_registered(project: Project, registers: str, message: str) -> None:
    project.write("conftest.py", conftest().replace("register(Brevity())", registers))
    project.suite(right("a"))
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
    assert "INTERNALERROR" not in result.stdout.str()
    assert project.calls == []


def test_a_conftest_works_without_the_plugin_when_marked_optional(scored: Project) -> None:
    """Which can be switched off, and then collects no suite."""
    text = conftest().replace("def pytest_tool", "@pytest.hookimpl(optionalhook=True)\ndef pytest_tool")
    scored.write("conftest.py", "import pytest\n" + text)
    scored.write("test_plain.py", "def test_plain(): pass\n")
    scored.run("-p", "no:tooleval", model=None).assert_outcomes(passed=1)


def test_scorers_work_under_xdist(scored: Project) -> None:
    pytest.importorskip("xdist")
    result = scored.run("-n2", "--tooleval-report=out.json")
    result.assert_outcomes(passed=1)
    assert scored.rows()["a[agent]"]["scores"]["brevity"] == 0.25
