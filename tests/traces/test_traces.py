"""What libraries write of one conversation is read as that conversation, whatever their convention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.replies.messages import gist_of

HERE = Path(__file__).parent


def called(city: str, id: str) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return {"role": "assistant", "tool_calls": [{"id": id, "function": function}]}


SAID = [
    {"role": "system", "content": "Tell the weather."},
    {"role": "user", "content": "What is the weather in Paris?"},
    called("Paris", "call_0"),
    {"role": "tool", "content": "Rain, 12 degrees"},
    {"role": "assistant", "content": "Rain, 12 degrees."},
    {"role": "user", "content": "And in Rome?"},
    called("Rome", "call_1"),
    {"role": "tool", "content": "Sun, 25 degrees"},
    {"role": "assistant", "content": "Sun, 25 degrees."},
]


def check(path: Path) -> None:
    (run,) = read_transcripts([path])
    assert list(map(gist_of, run.messages)) == list(map(gist_of, SAID))
    assert [message.get("tool_call_id") for message in run.messages if message["role"] == "tool"] == [
        "call_0",
        "call_1",
    ]
    assert (run.case, run.model, run.error) == ("weather", "gpt-4o", "")
    assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (200, 40)


@pytest.mark.parametrize("file", sorted(HERE.glob("*.jsonl")), ids=lambda file: file.stem)
def test_what_a_library_wrote(file: Path) -> None:
    check(file)
