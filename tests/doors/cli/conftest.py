"""What the tests of pull requests share."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import tool

from .stand_in import GitHub, Job, served

AGENT = """
import json
from pathlib import Path

def answer(messages, tools):
    city = json.loads(Path("answers.json").read_text())[messages[-1]["content"]]
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
"""


@pytest.fixture
def github() -> Iterator[GitHub]:
    with served() as forge:
        yield forge


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository `origin`, in which the agent has `Oslo` wrong, and its `baseline.json`."""
    folder = tmp_path_factory.mktemp("made")
    origin = Job(folder / "origin", GitHub())
    origin.folder.mkdir()
    cases = [
        {
            "id": city,
            "prompt": f"Weather in {city}?",
            "expected_tool": "get_weather",
            "expected_params": {"city": city},
        }
        for city in ("Paris", "Oslo")
    ]
    suite = {"name": "Weather", "tools": [tool("get_weather")], "test_cases": cases}
    for name, text in {
        "agent.py": AGENT,
        "tooleval.toml": '[models.agent]\ncallable = "agent:answer"\n',
        "weather.tooleval.json": json.dumps(suite),
        ".gitignore": ".tooleval\ntooleval-*\n__pycache__\n",
    }.items():
        (origin.folder / name).write_text(text)
    origin.answers(Paris="Paris", Oslo="Rome")
    origin.git("init", "-q", "-b", "main")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tooleval-model=agent", "--tooleval-cassette=tapes",
         f"--tooleval-report={folder}/baseline.json"],
        cwd=origin.folder, check=False, capture_output=True,
    )  # fmt: skip
    origin.git("add", ".")
    origin.git("commit", "-q", "-m", "main")
    return folder


@pytest.fixture
def job(tmp_path: Path, made: Path, github: GitHub) -> Job:
    """A clone of it, on the branch of a pull request."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    clone = Job(tmp_path / "clone", github)
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", clone.folder], check=True)
    clone.git("checkout", "-q", "-b", "feature")
    return clone
