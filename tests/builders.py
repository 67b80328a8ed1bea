"""What tests make by hand again and again; fields that are computed elsewhere are filled in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from pytest_tooleval.errors import Problem
from pytest_tooleval.imports.chats import RecordedAnswer, answers_in, conversations
from pytest_tooleval.imports.records import Record
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import CaseResult, TrialResult
from pytest_tooleval.record.transcript import Transcript, measures_of

# A red pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IScHAAK2AQUKW6YGAAAAAElFTkSuQmCC"
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


def git(folder: Path, *arguments: str) -> str:
    """What git prints in a folder, as somebody without a configuration of their own."""
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def picture(data: str = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def tool(name: str, parameters: Mapping[str, Any] = CITY, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields, "parameters": parameters}}


def call(name: str, arguments: object = "{}", id: object = "call_1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(name: str, id: str = "c1", **arguments: Any) -> dict[str, Any]:
    """A message of an assistant that calls one tool."""
    calls = [call(name, json.dumps(arguments), id)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def as_json(value: object) -> Any:
    """The value as it is read from a file of JSON."""
    return msgspec.json.decode(to_json(value))


def trial_of(transcript: Transcript, **fields: Any) -> TrialResult:
    """A trial that took what its transcript says."""
    return TrialResult(transcript=transcript, **{**structs.asdict(measures_of(transcript)), **fields})


def result_of(**fields: Any) -> CaseResult:
    """A case that counts its trials; what it is called, and that it passed, may be left out."""
    names = {"suite": "s", "case": "c", "model": "m", "outcome": "passed", **fields}
    trials = fields.get("trials", ())
    counts = {
        "nodeid": f"{names['suite']}.tooleval.json::{names['case']}[{names['model']}]",
        "called": tuple(dict.fromkeys(call.name for trial in trials for call in trial.calls)),
        "passes": sum(trial.passed for trial in trials),
        "answered": sum(trial.error is None for trial in trials),
    }
    return CaseResult(**{**counts, **names})


def recorded_answers(record: Any) -> tuple[list[RecordedAnswer], list[str]]:
    """The answers that are imported from a record, and why others in it are not."""
    runs = conversations(Record(Path(), 1, record), record)
    found = [each for run in runs for each in answers_in(run)]
    answers = [each for each in found if isinstance(each, RecordedAnswer)]
    return answers, [each.message for each in found if isinstance(each, Problem)]
