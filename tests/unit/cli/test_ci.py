"""No option of pytest or its plugins is taken for one of `tooleval ci run`."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import ci
from pytest_tooleval.project.child import RunExit

VALUES = ("h", "help", "weather", "not heavy", "no:cacheprovider", "=hot", " h", "error::Hm", "h/b=1")


@pytest.fixture(scope="module")
def options() -> list[list[str]]:
    """Every option of pytest and of the plugins that are installed, and each short one with values."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True
    )
    names = sorted(set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", done.stdout)) - {"--help"})
    short = [name for name in names if not name.startswith("--")]
    found = [[name] for name in names] + [[f"{name}=h"] for name in names if name.startswith("--")]
    found += [[name + value] for name in short for value in VALUES]
    return found + [[name, value] for name in ("-k", "-m", "--deselect") for value in ("-h", *VALUES)]


def test_options_of_pytest_reach_it_as_they_are(
    options: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.chdir(str(tmp_path))
    got: list[list[str]] = []

    def run(arguments: list[str], **_: object) -> RunExit:
        got.append(arguments)
        return RunExit(0, "")

    monkeypatch.setattr(ci, "run_pytest", run)
    assert len(options) > 200
    for given in (*options, ["--", "--help"]):
        done = CliRunner().invoke(ci.run, ["evals", *given])
        assert done.exit_code == 1, "pytest wrote no results"
        ours = ["--tooleval-report=tooleval-results.json", "--tooleval-report=tooleval-report.html"]
        assert got.pop() == ["evals", *(each for each in given if each != "--"), *ours]
