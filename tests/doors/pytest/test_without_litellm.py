"""A plain install: no litellm, and nothing that it brings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mock_server import MockServer

from .project import Project, right

pytestmark = pytest.mark.slow

NEEDS = "cohere_chat/command-r: needs litellm; pip install 'pytest-tooleval[[]litellm[]]'*"


@pytest.fixture(autouse=True)
def without_litellm(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
    project.suite(right("a"))


def run(project: Project, model: str) -> pytest.RunResult:
    return project.run_subprocess("-p", "without_litellm", model=model)


def test_a_model_of_our_protocols_runs(project: Project) -> None:
    with MockServer() as server:
        project.write("tooleval.toml", f'[models.m]\nmodel = "groq/m"\napi_base = "{server.base_url}"\n')
        run(project, "m").assert_outcomes(passed=1)


def test_another_one_names_the_command_before_anything_is_asked(project: Project) -> None:
    result = run(project, "cohere_chat/command-r")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {NEEDS}"])
    result = run(project, "agent,cohere_chat/command-r")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*{NEEDS}"])


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        (
            "grok/m",
            [
                "*'grok/m', did you mean groq/m*",
                "  no provider 'grok' is known, did you mean groq?; litellm knows more: pip*",
            ],
        ),
        (
            "claud",
            ["*unknown model 'claud'*", "  no known model has this name; write it with the provider: *"],
        ),
    ],
)
def test_an_unknown_provider_may_be_one_of_litellms(
    project: Project, model: str, lines: list[str]
) -> None:
    result = run(project, model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(lines)


def test_a_check_says_it_once(project: Project) -> None:
    check = "main(['models', 'check', 'cohere_chat/m'])"
    code = f"import without_litellm; from pytest_tooleval.cli import main; {check}"
    result = project.pytester.run(sys.executable, "-c", code)
    result.stdout.fnmatch_lines(["the defaults: cohere_chat/m: needs litellm; *"])
    result.stdout.no_fnmatch_line("*seed 7*")
