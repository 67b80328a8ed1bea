"""What is published together says the same, and the workflows try what the package promises."""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_tooleval
from pytest_tooleval.cli import main

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_one_version_in_all_places() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == pytest_tooleval.__version__
    # Until the first release, nothing has a date.
    released = re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"), re.MULTILINE)
    day = citation.get("date-released")
    assert ([(citation["version"], str(day))] if day else []) == released[:1]


def test_one_sentence_says_what_it_is() -> None:
    sentence = yaml.safe_load(text("mkdocs.yml").partition("site_description:")[2].partition("\n")[0])
    assert f'description = "{sentence.rstrip(".")}"' in text("pyproject.toml")
    assert text("README.md").split("\n\n")[1] == sentence
    assert f"description: {sentence}" in text("docs/index.md")
    assert inspect.cleandoc(main.help or "").partition("\n\n")[0].replace("\n", " ") == sentence


def test_all_promised_pythons_are_tried() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", text("pyproject.toml"))
    tests = yaml.safe_load(text(".github/workflows/test.yml"))["jobs"]["tests"]
    assert tests["strategy"]["matrix"]["python"] == promised
    minors = ",".join(python.partition(".")[2] for python in promised)
    assert f"py3{{{minors}}}-pytest{{84,latest}}-{{xdist,noxdist}}" in text("tox.ini")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_given_no_more_than_they_need(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    jobs = [line for line in lines[lines.index("jobs:") :] if re.fullmatch(r"  [\w-]+:", line)]
    assert len(jobs) == len(set(jobs)), "GitHub refuses a name that stands twice"
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] in ({}, {"contents": "read"})
    steps: list[dict[str, Any]] = [
        *itertools.chain(*(job.get("steps", []) for job in workflow["jobs"].values()))
    ]
    for step in steps:
        action = step.get("uses", "")
        # GitHub's own for its pages by the major version, as their documentation has them.
        assert not action or re.fullmatch(r"\S+@[0-9a-f]{40}|actions/\S*pages\S*@v\d+", action), action
        if action.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What others may have written stays data.
        assert "github.event." not in step.get("run", "")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
