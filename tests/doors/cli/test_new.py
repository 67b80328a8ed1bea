from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_tooleval.cli import main
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_suite

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["new", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def written(file: str) -> dict[str, Any]:
    assert lint_suite(load_suite(file)) == []
    made: dict[str, Any] = json.loads(Path(file).read_text("utf-8"))
    return made


def test_an_example_is_written() -> None:
    done = run()
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "wrote weather.tooleval.json: 1 tool, 1 case",
        "run it, offline: pytest weather.tooleval.json --tooleval-model=builtin/lexical",
        "after a change: tooleval validate weather.tooleval.json",
    ]
    (case,) = written("weather.tooleval.json")["test_cases"]
    assert case["expected_params"] == {"city": "Paris"}


def test_the_example_passes_with_the_built_in_model(pytester: pytest.Pytester) -> None:
    run("a b.tooleval.json")
    arguments = ("-p", "tooleval", "-p", "no:asyncio", "--tooleval-model=builtin/lexical")
    done = pytester.runpytest_inprocess(*arguments, "a b.tooleval.json")
    done.assert_outcomes(passed=1)


def test_a_first_test_in_python_passes_at_once(pytester: pytest.Pytester) -> None:
    done = run("tests/test_a b.py")
    assert done.output.splitlines() == [
        "wrote tests/test_a b.py: an agent, its world, 2 tests",
        "run it, offline: pytest 'tests/test_a b.py'",
        "see what it would not notice: tooleval mutate 'tests/test_a b.py'",
    ]
    text = Path("tests/test_a b.py").read_text("utf-8")
    pytester.runpytest_subprocess("-p", "no:asyncio", "tests").assert_outcomes(passed=2)
    mutated = CliRunner().invoke(main, ["mutate", "tests"])
    assert mutated.output.startswith("tests/test_a b.py: 0 of "), mutated.output
    done = run("tests/test_a b.py")
    assert (done.exit_code, "already exists" in done.output) == (2, True)
    assert Path("tests/test_a b.py").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("weather.py", "named test_*.py or *_test.py: write test_weather.py"),
        ("s.json", "pytest collects files that end in .tooleval.json: write s.tooleval.json"),
    ],
)
def test_a_file_that_pytest_would_not_collect(file: str, says: str) -> None:
    done = run(file)
    assert (done.exit_code, says in done.output) == (2, True), done.output
    assert not Path(file).exists()


def test_it_is_written_where_pytest_collects_it() -> None:
    Path("pytest.ini").write_text("[pytest]\ntestpaths = evals tests\n")
    Path("tests").mkdir()
    assert "wrote tests/weather.tooleval.json: 1 tool, 1 case\nrun it" in run().output
    Path("src").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("src")
        assert "wrote weather.tooleval.json: " in run().output
    elsewhere = run("other.tooleval.json").output
    assert "other.tooleval.json: pytest alone does not collect it, as testpaths is tests: " in elsewhere
    Path("build").mkdir()
    assert "pytest does not search the folder build" in run("build/a.tooleval.json").output


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_nothing_is_overwritten(kind: str) -> None:
    file = Path("weather.tooleval.json")
    if kind == "file":
        file.write_text("mine", encoding="utf-8")
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("nowhere")
    for arguments in ([], [str(file)]):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "already exists" in done.output or "is a directory" in done.output
    assert kind != "file" or file.read_text("utf-8") == "mine"
    assert not Path("nowhere").exists()
