"""The examples run as their README says: in a process of their own, with every connection refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.engine.models.names import resolve_models
from pytest_tooleval.engine.models.tables import read_tables
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_document

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MODELS = EXAMPLES / "models"
ROUTING = MODELS / "cassettes" / "routing.jsonl"
SUITES = sorted([*EXAMPLES.glob("*.tooleval.json"), *EXAMPLES.glob("*/*.tooleval.json")])

# Refuses connections and look-ups of names, and says at the end whether litellm was imported.
_OFFLINE = """
import socket
import sys


def refuse(*arguments, **keywords):
    raise RuntimeError("the examples must not use the network")


socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse


def pytest_unconfigure():
    print("litellm imported:", "litellm" in sys.modules)
"""

# Passed and failed cases. A change here means that recorded answers are scored differently.
RECORDED = {
    "needle-3": {
        "Personal assistant": (12, 4),
        "Smart home": (6, 1),
        "Airline agent": (1, 4),
        "Agent skills": (12, 8),
        "test_with_fixture": (1, 0),
    },
    "qwen2.5-coder-1.5b": {
        "Personal assistant": (8, 8),
        "Smart home": (2, 5),
        "Airline agent": (1, 4),
        "Agent skills": (17, 3),
        "test_with_fixture": (1, 0),
    },
}


class Examples:
    """Runs pytest on the examples, offline and without keys."""

    def __init__(self, folder: Path) -> None:
        self.json = folder / "results.json"
        (folder / "examples_offline.py").write_text(_OFFLINE, encoding="utf-8")
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
            "COLUMNS": "160",
        }

    def run(self, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        options = [
            "-p",
            "asyncio",
            "-p",
            "no:cacheprovider",
            "-p",
            "examples_offline",
            f"--tooleval-report=json:{self.json}",
        ]
        result = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=cwd,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert "litellm imported: False" in result.stdout, result.stdout + result.stderr
        return result

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.json.read_text(encoding="utf-8"))
        return document


@pytest.fixture
def examples(tmp_path: Path) -> Examples:
    return Examples(tmp_path)


def replies_of(cases: Iterable[dict[str, Any]]) -> int:
    return sum(len(trial["transcript"]["replies"]) for case in cases for trial in case["trials"])


def test_the_first_command_is_green(examples: Examples) -> None:
    result = examples.run("examples/weather", "--tooleval-model=builtin/lexical", "-v")

    assert result.returncode == 0, result.stdout
    cases = examples.document["cases"]
    assert len(cases) == 6
    assert all(case["scores"]["overall"] == 1.0 for case in cases)


def test_what_runs_by_default_passes(examples: Examples) -> None:
    result = examples.run("examples")

    assert result.returncode == 0, result.stdout
    document = examples.document
    of_models = {row["model"]: (row["passed"], row["cached"]) for row in document["models"]}
    assert of_models == {
        "builtin/lexical": (6, 0),
        **dict.fromkeys(RECORDED, (6, 6)),
        "answer": (4, 4),
        "answer_async": (1, 1),
    }
    recorded = (EXAMPLES / "cassettes" / "weather" / "weather.jsonl").read_bytes().splitlines()
    assert len(recorded) == 12


def test_the_folder_of_models_replays_real_passes_and_real_failures(examples: Examples) -> None:
    result = examples.run("examples/models")

    assert result.stdout.startswith("recorded answers from small models; failures are expected here")

    assert result.returncode == 1, result.stdout
    document = examples.document
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for row in document["suites"]:
        assert row["errors"] == row["skipped"] == 0, row
        found.setdefault(row["model"], {})[row["suite"]] = (row["passed"], row["failed"])
    assert {model: found[model] for model in RECORDED} == RECORDED
    for row in document["models"]:
        assert row["cached"] == (row["trials"] if row["model"] in RECORDED else 0)
    # Answers that an older version of a suite has left would only confuse a reader. Those of the routing
    # suite are counted below, with its variants.
    cassettes = set((MODELS / "cassettes").glob("*.jsonl")) - {ROUTING}
    assert sum(len(path.read_bytes().splitlines()) for path in cassettes) == replies_of(
        case
        for case in document["cases"]
        if case["model"] in RECORDED and case["suite"] != "Agent skills"
    )


def test_conversations_of_a_real_model_are_replayed(examples: Examples) -> None:
    examples.run("examples/office")

    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    cases = examples.document["cases"]
    assert len(cases) == 10
    for case in cases:
        assert (case["answered"], f"| `{case['case']}` | {case['passes']} of 5 |" in readme) == (5, True)
    cassettes = (EXAMPLES / "office" / "cassettes").glob("*.jsonl")
    assert sum(len(path.read_bytes().splitlines()) for path in cassettes) == replies_of(cases)


@pytest.mark.parametrize(
    ("folder", "options", "passed"),
    [
        ("conversations", ["--tooleval-model=qwen2.5-coder-1.5b", "--tooleval-record=none"], 0),
        ("deferred", ["--tooleval-model=qwen2.5-coder-0.5b"], 9),
        ("framework", [], 1),
        ("mcp", [], 3),
    ],
)
def test_a_project_to_copy_replays_a_real_model(
    examples: Examples, folder: str, options: list[str], passed: int
) -> None:
    """Without the model, the server and the library of its agent."""
    cassette = EXAMPLES / folder / "cassettes"
    result = examples.run(f"examples/{folder}", *options, f"--tooleval-cassette={cassette}")

    assert result.returncode == 1, result.stdout
    cases = examples.document["cases"]
    assert [case["outcome"] for case in cases].count("passed") == passed
    assert replies_of(cases), cases


def test_a_real_model_under_faults_and_attacks_is_replayed(examples: Examples) -> None:
    """The figures of README.md and of two guides."""
    cassette = f"--tooleval-cassette={EXAMPLES / 'variants' / 'cassettes'}"
    variants = "--tooleval-variant=fault:error,empty", "--tooleval-variant=inject"
    examples.run("examples/variants", cassette, *variants)

    found = {each["variant"]: each for each in examples.document["variants"]}
    after = {name: round(20 * each["new"]) for name, each in found.items()}
    assert after == {"fault:empty": 5, "fault:error": 0, "inject": 9, "inject-control": 16}
    assert [each["verdict"] for each in found.values()] == ["worse", "worse", "worse", "inconclusive"]
    attack = found["inject"]["attack"]
    assert (attack["followed"], attack["trials"], attack["control_followed"]) == (8, 18, 0)


def test_a_real_model_under_variants_is_replayed(examples: Examples) -> None:
    names = "again", "bare", "distractors:0,20,50,100:skills.json", "shuffle"
    variants = [f"--tooleval-variant={name}" for name in names]
    model = "qwen2.5-coder-1.5b"
    examples.run("examples/models/routing.tooleval.json", f"--tooleval-model={model}", *variants)

    found = {each["variant"]: each for each in examples.document["variants"]}
    assert [round(each["cases"] * each["new"]) for each in found.values()] == [
        17,
        10,
        14,
        11,
        12,
        10,
        17,
    ]
    moved = len(found["bare"]["better"]), len(found["bare"]["worse"])
    assert (moved, round(found["bare"]["p"], 2)) == ((1, 8), 0.04)
    recorded = [line for line in ROUTING.read_bytes().splitlines() if model.encode() in line]
    own = [case for case in examples.document["cases"] if not case["is_same"]]
    assert len(recorded) == replies_of(own)


def test_sixty_deferred_tools_are_searched(examples: Examples) -> None:
    result = examples.run("examples/deferred", "--tooleval-model=builtin/lexical")

    cases = examples.document["cases"]
    searches = [case["trials"][0]["transcript"]["replies"][0]["searches"] for case in cases]
    assert (len(cases), len(cases[0]["offered"])) == (16, 60)
    assert all(len(each) == 1 and len(each[0]["tools"]) <= 5 for each in searches)
    assert {case["scores"]["tool_found"] for case in cases} == {0.0, 1.0, None}
    assert "searches for" in result.stdout
    assert "finds " in result.stdout
    assert "not found" in result.stdout


def test_an_agent_behind_http_is_replayed(examples: Examples) -> None:
    cassette = EXAMPLES / "deployed" / "cassettes"
    result = examples.run("examples/deployed", f"--tooleval-cassette={cassette}")

    assert result.returncode == 0, result.stdout
    assert [case["outcome"] for case in examples.document["cases"]] == ["passed"] * 3


def test_the_folder_can_be_run_from_inside(examples: Examples) -> None:
    result = examples.run("-m", "smoke", "--tooleval-model=needle-3", cwd=MODELS)

    assert result.returncode in (0, 1), result.stdout
    assert {case["suite"] for case in examples.document["cases"]} == {"Personal assistant"}
    assert all("smoke" in case["tags"] for case in examples.document["cases"])


def test_the_readme_tells_the_recorded_outcomes() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for model, suites in RECORDED.items():
        passed, failed = (sum(counts) for counts in zip(*suites.values(), strict=True))
        assert f"| `{model}` | {passed} | {failed} |" in readme


@pytest.mark.parametrize("folder", ["", "models/"])
def test_tests_with_the_fixture_pass(examples: Examples, folder: str) -> None:
    result = examples.run(f"examples/{folder}test_with_fixture.py")

    assert result.returncode == 0, result.stdout
    assert "skipped" not in result.stdout


def test_an_own_agent_can_be_evaluated(examples: Examples, tmp_path: Path) -> None:
    cassette = f"--tooleval-cassette={tmp_path / 'agent'}"
    models = "--tooleval-model=my-agent,my-async-agent"
    result = examples.run("examples/weather", models, "--tooleval-record=all", cassette)

    assert result.returncode == 0, result.stdout
    assert [row["passed"] for row in examples.document["models"]] == [6, 6]


def test_every_model_of_the_configuration_can_be_used() -> None:
    tables = read_tables(EXAMPLES)

    specs = resolve_models(tables.tables, tables)

    assert {"claude", "gpt-4o", "my-agent", *RECORDED} <= {spec.label for spec in specs}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.name)
def test_suites_are_without_warnings(path: Path) -> None:
    suite, document = load_document(path, metrics=["grounded"])

    assert [str(warning) for warning in lint_suite(suite, document)] == []
