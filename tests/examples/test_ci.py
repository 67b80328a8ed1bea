"""The recipes for several jobs: their steps, run as a shell would on machines of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.encoding import read_document

pytestmark = pytest.mark.slow

yaml = pytest.importorskip("yaml")

CI = Path(__file__).parents[2] / "examples" / "ci"
CASES = 45


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with suites in `evals`, whose model is a function that gets one case wrong."""
    folder = tmp_path / "checkout"
    (folder / "evals").mkdir(parents=True)
    suite = json.loads((CI.parent / "weather" / "weather.tooleval.json").read_text(encoding="utf-8"))
    suite = {
        "name": "Weather",
        "tools": suite["tools"],
        "test_cases": [
            {"id": f"c{i}", "prompt": f"{i}: no weather, thanks", "expected_tool": None}
            for i in range(CASES)
        ],
    }
    (folder / "evals" / "weather.tooleval.json").write_text(json.dumps(suite))
    (folder / "tooleval.toml").write_text('[models.claude]\ncallable = "my_model:answer"\n')
    (folder / "my_model.py").write_text(
        "def answer(messages, tools):\n"
        "    call = {'name': 'get_weather', 'arguments': '{\"city\": \"Paris\"}'}\n"
        "    wrong = [{'id': '1', 'type': 'function', 'function': call}]\n"
        "    calls = wrong if messages[-1]['content'].startswith('7:') else []\n"
        "    return {'role': 'assistant', 'content': 'You are welcome.', 'tool_calls': calls}\n"
    )
    return folder


def shell(command: str, folder: Path, **variables: str) -> int:
    """The exit status of a command in the shell of a CI service, which stops at the first failure."""
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    hidden = ("GITHUB_", "CI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment = {**kept, "PATH": scripts, **variables}
    if command.startswith("python -m pip install"):
        return 0  # what is to be tried
    done = subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, check=False)
    return done.returncode


def judged(folder: Path) -> None:
    document = read_document(folder / "results.json", RowsDocument)
    assert document.run.total.cases == document.run.selected == CASES
    assert document.run.total.failed == 1
    [gate, errors] = document.gates
    assert (gate.verdict, errors.verdict) == ("passed", "passed")
    assert document.run.exitstatus == 0
    assert (folder / "report.html").exists()
    assert (folder / "junit.xml").exists()


def test_the_workflow_of_shards_for_github(checkout: Path, tmp_path: Path) -> None:
    jobs = yaml.safe_load((CI / "github-shards.yml").read_text(encoding="utf-8"))["jobs"]
    artifacts = tmp_path / "artifacts"
    for number in jobs["shard"]["strategy"]["matrix"]["shard"]:
        machine = tmp_path / f"machine{number}"
        shutil.copytree(checkout, machine)
        for step in filled(jobs["shard"]["steps"], {"matrix.shard": str(number)}):
            github_step(step, machine, artifacts)
    judge = tmp_path / "judge"
    judge.mkdir()
    for step in filled(jobs["verdict"]["steps"], {}):
        github_step(step, judge, artifacts)
    judged(judge)
    assert {path.name for path in (artifacts / "tooleval-nightly").iterdir()} == {
        *("results.json", "report.html", "junit.xml")
    }
    # A job that was lost fails the one that judges.
    shutil.rmtree(judge / "shards" / "tooleval-shard-2")
    [merge] = [step["run"] for step in jobs["verdict"]["steps"] if "merge" in step.get("run", "")]
    assert shell(merge, judge) == 2


def filled(steps: list[dict[str, Any]], values: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The steps with `${{ ... }}` filled in as GitHub does it."""

    def value(found: re.Match[str]) -> str:
        return "a-key" if found[1].startswith("secrets.") else values[found[1]]

    text = re.sub(r"\$\{\{ (.+?) \}\}", value, json.dumps(steps))
    yield from json.loads(text)


def github_step(step: dict[str, Any], machine: Path, artifacts: Path) -> None:
    given = step.get("with", {})
    action = step.get("uses", "").partition("@")[0]
    if action == "actions/upload-artifact":
        folder = artifacts / given["name"]
        folder.mkdir(parents=True)
        for name in given["path"].split():
            shutil.copy(machine / name, folder)
    elif action == "actions/download-artifact":
        for folder in artifacts.glob(given["pattern"]):
            shutil.copytree(folder, machine / given["path"] / folder.name)
    elif action:
        assert action in ("actions/checkout", "actions/setup-python")
    else:
        assert shell(step["run"], machine, **step.get("env", {})) == 0


@pytest.mark.nightly
def test_the_pipeline_of_shards_for_gitlab(checkout: Path, tmp_path: Path) -> None:
    found = yaml.safe_load((CI / "gitlab-shards.yml").read_text(encoding="utf-8"))
    assert found["stages"] == [found["shard"]["stage"], found["verdict"]["stage"]]
    before = found["default"]["before_script"]
    judge = tmp_path / "judge"
    shutil.copytree(checkout, judge)
    total = found["shard"]["parallel"]
    for number in range(1, total + 1):
        machine = tmp_path / f"machine{number}"
        shutil.copytree(checkout, machine)
        variables = {"CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(total)}
        for command in [*before, *found["shard"]["script"]]:
            assert shell(command, machine, **variables) == 0
        for name in found["shard"]["artifacts"]["paths"]:
            shutil.copytree(machine / name, judge / name, dirs_exist_ok=True)
    for command in [*before, *found["verdict"]["script"]]:
        assert shell(command, judge) == 0
    judged(judge)
    assert all((judge / name).exists() for name in found["verdict"]["artifacts"]["paths"])
