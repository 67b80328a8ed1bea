"""What libraries write of one conversation is read as that conversation, whatever their convention."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.imports.transcripts.files import read_transcripts
from pytest_tooleval.record.transcript import gist_of

HERE = Path(__file__).parent
LIBRARIES = {
    "pydantic_ai": "pydantic_ai",
    "openinference": "openinference.instrumentation.openai",
    "openinference_agents": "openinference.instrumentation.openai_agents",
    "openinference_langgraph": "openinference.instrumentation.langchain",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "opentelemetry": "opentelemetry.instrumentation.genai",
}
OLD = {"openllmetry_flat": "opentelemetry.instrumentation.openai"}


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
    assert (run.taken.prompt_tokens, run.taken.completion_tokens) == (200, 40)


@pytest.mark.parametrize("library", [*LIBRARIES, *OLD])
def test_what_a_library_wrote(library: str) -> None:
    check(HERE / f"{library}.jsonl")


@pytest.mark.parametrize("library", [*LIBRARIES, *OLD])
def test_what_the_library_writes_now(library: str, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    module = {**LIBRARIES, **OLD}[library]
    parents = [module.rsplit(".", depth)[0] for depth in range(module.count("."), 0, -1)]
    if not all(find_spec(name) for name in [*parents, module]):
        pytest.skip(f"{module} is not installed")
    package = "opentelemetry-instrumentation-openai"
    of_old = module == LIBRARIES["openllmetry"] and version(package).startswith("0.40")
    if of_old is not (library in OLD):
        pytest.skip("another version of it is installed")
    path = tmp_path / "spans.jsonl"
    subprocess.run([sys.executable, HERE / "record.py", library, path], check=True, cwd=tmp_path)
    check(path)
