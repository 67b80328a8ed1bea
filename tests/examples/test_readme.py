"""The README does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SITE = "https://pytest-tooleval.github.io/pytest-tooleval/latest/"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SUITE = re.findall(r"^```json.*?\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
GUIDE = (ROOT / "docs/guides/python.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python.*?\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
[SCORES] = (each for each in PYTHON if "score_calls(" in each)
[SCORER] = (each for each in PYTHON if "register_scorers" in each)

# It writes the unit as the tool's new schema says.
_AGENT = """
class Weather:
    def get_weather(self, city: str, units: str = "celsius") -> str:
        return "20"

def agent(messages, tools, call_tool):
    call_tool("get_weather", {"city": "Tokyo", "units": "F"})
    return "It is 68 degrees."
"""


def test_it_opens_with_two_commands_that_need_no_key() -> None:
    commands = re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)
    assert [command.split(" && ")[-1] for command in commands] == [
        ".venv/bin/pytest examples/weather --tooleval-model=builtin/lexical -v",
        ".venv/bin/pytest -n auto --dist=worksteal",
    ]
    assert '/bin/pytest" -n auto --dist=worksteal' in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_mutating_the_suite_finds_what_the_docs_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = (ROOT / "docs/guides/mutation.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```", docs, re.MULTILINE | re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    Path("weather.tooleval.json").write_text(SUITE, encoding="utf-8")

    assert CliRunner().invoke(main, ["mutate", "."]).output == shown


def test_the_scorer_is_a_metric_that_can_have_a_threshold(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("weather.tooleval.json").write_text(SUITE, encoding="utf-8")
    pytester.makeconftest(SCORER)
    result = pytester.runpytest(
        "-v", "--tooleval-model=builtin/lexical", "--tooleval-threshold=short_answers=1"
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["* short_", "model * answers*"])


def test_the_public_api_works_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("weather.tooleval.json").write_text(SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(SCORES, {})
    assert capsys.readouterr().out.startswith("False 0.6 ")


def test_the_test_in_python_fails_as_shown(pytester: pytest.Pytester) -> None:
    shown = re.findall(r"```python\n(.*?)^```\n\n```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    [(code, failure)] = shown
    pytester.makepyfile(my_app=_AGENT, test_weather=code)
    result = pytester.runpytest("-p", "no:asyncio")
    result.stdout.fnmatch_lines([failure.strip().replace("E  ", "E *")])
    home = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert code.partition("def ")[2] in home
    assert failure in home


def test_links_are_whole_and_lead_somewhere() -> None:
    """PyPI shows the README, too, where a link to a file of the repository leads nowhere."""
    for link in re.findall(r"\]\(([^)]+)\)", README):
        if link.startswith(("https://img.shields.io/", "https://pypi.org/project/pytest-tooleval/")):
            continue
        target, _, heading = link.partition("#")
        if target.startswith(SITE):
            page = ROOT / "docs" / target.removeprefix(SITE)
            text = next(
                file.read_text(encoding="utf-8")
                for file in (page / "index.md", page.with_suffix(".md"))
                if file.is_file()
            )
            assert not heading or re.search(rf"^#+ {heading}$", text, re.MULTILINE | re.IGNORECASE), link
        else:
            _, found, path = target.replace("/actions/workflows/", "/main/.github/workflows/").partition(
                "/main/"
            )
            path = path.removesuffix("/badge.svg")
            assert found, link
            assert (ROOT / path).exists(), link


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
