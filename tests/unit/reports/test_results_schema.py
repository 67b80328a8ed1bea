"""The published schema of the result document, and the documents that real runs write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_tooleval.reports.schema import SCHEMA_ID
from pytest_tooleval.reports.schema import results_schema
from pytest_tooleval.reports.schema import results_schema_text
from pytest_tooleval.results import ToolCall

from .samples import comparison
from .samples import document
from .samples import gate
from .samples import no_answer
from .samples import row
from .samples import trial

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(results_schema())


def problems(validator: Draft202012Validator, found: object) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(found)]


def test_the_published_file_is_up_to_date() -> None:
    published = (ROOT / "docs" / "results.schema.json").read_text(encoding="utf-8")
    assert published == results_schema_text(), "write results_schema_text() to docs/results.schema.json"


def test_the_schema_is_one() -> None:
    schema = results_schema()
    Draft202012Validator.check_schema(schema)
    assert (schema["$id"], schema["title"]) == (SCHEMA_ID, "pytest-tooleval results")


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for member in schema.values():
            yield from objects(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from objects(member)


def test_every_field_is_described_and_every_definition_used() -> None:
    schema = results_schema()
    for definition in [schema, *schema["$defs"].values()]:
        for name, field in definition.get("properties", {}).items():
            assert field.get("description"), name
    references = {found["$ref"] for found in objects(schema) if "$ref" in found}
    assert references == {f"#/$defs/{name}" for name in schema["$defs"]}


def test_a_document_with_everything(validator: Draft202012Validator) -> None:
    call = ToolCall.parse("f", '{"a": {"b": [1, null]}}', "call_0")
    measured = {"latency_s": 1.5, "prompt_tokens": 1, "completion_tokens": 2, "cost_usd": 0.5}
    found = document(
        row("failed", trial(0, 1.0, call, **measured), trial(1, 0.6, ToolCall.parse("f", "oops"))),
        row("error", no_answer()),
        row("skipped", model=""),
        gates=(gate(True), gate(False, confidence=0.95)),
        baseline=comparison(),
        intervals=True,
    )
    assert problems(validator, found) == []
    assert found["models"][0]["reliability"] is not None
    assert problems(validator, json.loads(json.dumps(found))) == []
    found["run"] |= {"status": "killed", "exitstatus": None}  # from the history
    assert problems(validator, found) == []


@pytest.mark.parametrize(
    "path", ["", "run", "models/0", "cases/0", "cases/0/trials/0", "gates/0", "baseline"]
)
def test_a_field_that_nobody_knows_is_noticed(validator: Draft202012Validator, path: str) -> None:
    found = document(row("passed", trial()), gates=(gate(True),), baseline=comparison())
    place: Any = found
    for step in filter(None, path.split("/")):
        place = place[int(step) if step.isdigit() else step]
    place["surprise"] = 1
    assert len(problems(validator, found)) == 1
    del place["surprise"]
    assert problems(validator, found) == []


def test_a_field_that_is_missing_is_noticed(validator: Draft202012Validator) -> None:
    found = document(row("passed", trial()))
    del found["cases"][0]["content"]
    assert problems(validator, found) == ["$.cases[0]: 'content' is a required property"]


# --------------------------------------------------------------------------------- real documents


def run_examples(folder: Path, *arguments: str) -> dict[str, Any]:
    """The document of a run over copies of the examples, which need no network and no key."""
    options = ["-p", "no:cacheprovider", f"--rootdir={folder}", "--tooleval-json=out.json"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("weather.tooleval.json", "travel.tooleval.json"):
        text = (ROOT / "examples" / name).read_text(encoding="utf-8")
        suite = json.loads(text)
        for case in suite["test_cases"]:  # `grounded` is a metric of the examples' conftest
            case.get("thresholds", {}).pop("grounded", None)
        (tmp_path / name).write_text(json.dumps(suite), encoding="utf-8")
    return tmp_path


def test_the_document_of_a_run(validator: Draft202012Validator, folder: Path) -> None:
    found = run_examples(folder, "--tooleval-model=baseline/lexical")
    assert {case["outcome"] for case in found["cases"]} == {"passed", "failed"}
    assert problems(validator, found) == []


def test_the_document_of_a_run_with_trials_gates_and_a_baseline(
    validator: Draft202012Validator, folder: Path
) -> None:
    options = ["--tooleval-model=baseline/lexical", "--tooleval-trials=3"]
    run_examples(folder, *options)
    (folder / "out.json").rename(folder / "main.json")
    gates = ["--tooleval-fail-under=0.5", "--tooleval-fail-under=suite:pass_rate=0.1"]
    more = ["--tooleval-max-errors=1", "--tooleval-confidence=0.95", "--tooleval-baseline=main.json"]
    found = run_examples(folder, *options, *gates, *more)
    assert {gate["kind"] for gate in found["gates"]} >= {"fail_under", "errors"}
    assert found["baseline"] is not None
    assert found["models"][0]["reliability"]["trials"] == 3
    assert problems(validator, found) == []


def test_the_document_of_a_run_without_a_model(validator: Draft202012Validator, folder: Path) -> None:
    found = run_examples(folder)
    assert {case["outcome"] for case in found["cases"]} == {"skipped"}
    assert problems(validator, found) == []


def test_the_document_of_a_run_without_answers(validator: Draft202012Validator, folder: Path) -> None:
    replay = ["--tooleval-cassette=none", "--tooleval-record=none", "--tooleval-model=openai/gpt-4o"]
    found = run_examples(folder, *replay)
    assert {case["outcome"] for case in found["cases"]} == {"error"}
    assert problems(validator, found) == []
