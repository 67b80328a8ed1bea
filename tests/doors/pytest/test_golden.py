"""What every kind of case asks, and what comes of it: keys of cassettes and transcripts must not change.

`golden.json` holds both. It is written anew where it is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval.engine.asking.context import sampling_for
from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.models.spec import HttpModel

from .project import TIME_TOOL, WEATHER_TOOL, Project

GOLDEN = Path(__file__).with_name("golden.json")
LIVE_SERVER = Path(__file__).with_name("live_server.py")

AGENT = '''
import json


def calls(*made):
    calls = [
        {"id": f"c{number}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(made)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def model(messages, tools, trial):
    """Looks up the time, pays in halves, and says what the tools said."""
    names = [tool["function"]["name"] for tool in tools]
    last = messages[-1]
    answered = [each["content"] for each in messages if each["role"] == "tool"]
    if "find_station" in names:
        return calls(("get_weather", {"city": answered[-1]}) if answered
                     else ("find_station", {"city": "Paris"}))
    if last["role"] == "tool":
        if len(answered) == 1 and "get_weather" in names:
            return calls(("get_weather", {"city": "Paris"}))
        return f"The tools said {answered[-1]}."
    if "refund" in names:
        if "@" not in str(last["content"]):
            return "Who are you?"
        half = ("refund", {"order": "A1", "amount": 20})
        return calls(half, half)
    if "get_time" in names:
        return calls(("get_time", {"city": "Paris"}), ("nope", {}))
    return calls(("get_weather", {"city": ["Paris", "London"][trial]}))


async def loop(messages, tools, call_tool):
    """An agent with a loop of its own."""
    if "refund" not in [tool["function"]["name"] for tool in tools]:
        told = await call_tool("get_time", {"city": "Paris"})
        await call_tool("get_weather", {"city": "Paris"})
        return f"It is {told}."
    told = await call_tool("refund", {"order": "A1", "amount": 20})
    return f"Paid: {told}."


def user(messages, tools):
    last = messages[-1]["content"]
    if "tools said" in last or "Paid" in last:
        return "Thanks. ###STOP###"
    return "I am ada@example.com." if "Who" in last else "Pay me."


def judge(messages, tools):
    return calls(("verdict", {"reason": "It asks.", "passed": "Who are you" in messages[-1]["content"]}))
'''
DESK = '''
class Desk:
    """An order of 40."""

    def __init__(self):
        self.refunded = 0

    def refund(self, order: str, amount: float) -> dict:
        """Pay back a part of an order."""
        self.refunded += amount
        print("paid", amount)
        return {"refunded": self.refunded}
'''
FIRST, SECOND = "I want my money back for order A1.", "I am ada@example.com."
WEATHER: dict[str, Any] = {"prompt": "Weather in Paris?", "expected_tool": "get_weather"}
TURNS = [{"prompt": FIRST}, {"prompt": SECOND, "expected_calls": [{"tool": "refund"}] * 2}]
WEATHER_TURNS = [{"prompt": "What time is it?"}, {"prompt": "And the weather?", "expected_calls": []}]
RUBRIC = [{"$judge": "Asks who the customer is before it pays."}]
USER = {"goal": "You are ada@example.com and want 40 back.", "max_turns": 3}
MOCKS = {"get_time": "noon", "get_weather": {"sky": "blue"}}
TOOLS = [WEATHER_TOOL, TIME_TOOL]
DELETE = {"type": "function", "function": {"name": "delete", "parameters": {"type": "object"}}}
CHAIN = {**WEATHER, "multi_turn": True, "valid_prerequisites": ["get_time"], "mock_responses": MOCKS}


def suite(case: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "S", "test_cases": [{"id": "case", **case}], **fields}


ON_DESK = {"world": "desk:Desk"}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "single": ("model", suite({**WEATHER, "trials": 2, "max_tokens": 500}, tools=TOOLS[:1])),
    "chain": ("model", suite(CHAIN, tools=TOOLS, system_prompt="Be kind.")),
    "turns": (
        "model",
        suite({"turns": WEATHER_TURNS, "mock_responses": MOCKS}, tools=TOOLS),
    ),
    "world": ("model", suite({"turns": TURNS, "expected_text": RUBRIC}, **ON_DESK)),
    "user": ("model", suite({"user": USER, "expected_calls": [{"tool": "refund"}] * 2}, **ON_DESK)),
    "agent": ("loop", suite({**CHAIN, "forbidden_calls": ["delete"]}, tools=[*TOOLS, DELETE])),
    "agent on a world": (
        "loop",
        suite({"turns": TURNS, "expected_text": RUBRIC}, **ON_DESK),
    ),
    "agent and user": ("loop", suite({"user": USER, "expected_calls": [{"tool": "refund"}]}, **ON_DESK)),
    "live": (
        "model",
        suite(
            {
                **WEATHER,
                "multi_turn": True,
                "valid_prerequisites": ["find_station"],
                "live_tools": ["*"],
            },
            tools_from={"mcp": {"stdio": ["python", "live_server.py", "server.log"]}},
        ),
    ),
    "transcripts": ("", suite({"turns": TURNS, "expected_text": RUBRIC}, **ON_DESK)),
}
RUN = {
    "case": "S::case",
    "model": "agent",
    "messages": [
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": "Who are you?"},
        {"role": "user", "content": SECOND},
        {"role": "assistant", "content": "No."},
    ],
}


def golden(name: str, found: Any) -> Any:
    """What is recorded of this name; it is `found` where nothing is."""
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if name not in recorded:
        recorded[name] = json.loads(json.dumps(found))
        lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in recorded.items())
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return recorded[name]


@pytest.fixture
def desk(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    project.write("desk.py", DESK)
    project.write("golden_agent.py", AGENT)
    shutil.copy(LIVE_SERVER, project.path)
    names = ("model", "loop", "user", "judge")
    tables = (f'[models.{name}]\ncallable = "golden_agent:{name}"\n' for name in names)
    project.write("tooleval.toml", "".join(tables))
    project.write("runs.jsonl", json.dumps(RUN))
    return project


def transcripts(project: Project) -> list[Any]:
    """What was said, called and answered in each trial."""
    (row,) = project.document()["cases"]
    found = []
    for trial in row["trials"]:
        transcript = trial["transcript"]
        found.append(known(transcript) | {"replies": [known(each) for each in transcript["replies"]]})
    return found


def known(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with a value that is the same in every run."""
    return {
        name: value
        for name, value in fields.items()
        if value not in (None, "", [], {}) and name not in ("latency_s", "cached", "answered_at")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_and_the_transcript_of_a_case(desk: Project, kind: str) -> None:
    model, data = KINDS[kind]
    desk.write("s.tooleval.json", json.dumps(data))
    options = ["--tooleval-judge=judge", "--tooleval-cassette=tapes", "--tooleval-report=out.json"]
    options += ["--tooleval-user=user", "--tooleval-allow-tools=*"]
    options += [] if model else ["--tooleval-transcripts=runs.jsonl"]
    desk.run(*options, model=model or None)
    lines = (desk.path / "tapes" / "s.jsonl").read_text().splitlines()
    keys = sorted(json.loads(line)["key"] for line in lines)
    asked = transcripts(desk)
    assert {"keys": keys, "transcripts": asked} == golden(kind, {"keys": keys, "transcripts": asked})
    desk.run(*options, "--tooleval-record=none", model=model or None)
    assert transcripts(desk) == asked


REQUEST = ChatRequest(
    ({"role": "user", "content": "Hi"},), [WEATHER_TOOL], "required", {"temperature": 0.0}
)
HEADERS = {"extra_headers": {"x-team": "a"}, "stop": ["."]}
SPECS = {
    "OpenAI": HttpModel("m", "openai/gpt-4o"),
    "a server": HttpModel(
        "m", "qwen", api="openai", api_base="http://127.0.0.1/v1", omit=("temperature",)
    ),
    "Anthropic": HttpModel("m", "anthropic/claude-sonnet-5", sampling={"reasoning_effort": "low"}),
    "Gemini": HttpModel("m", "gemini/gemini-3-pro", extra=HEADERS),
    "Azure": HttpModel("m", "azure/responses/gpt-5.4", api_key_env="KEY"),
    "litellm": HttpModel("m", "groq/llama-3.1-8b-instant", sampling={"max_tokens": 5}),
}


@pytest.mark.parametrize("provider", SPECS)
def test_the_key_of_a_question(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_API_BASE", "https://a.openai.azure.com")
    spec = SPECS[provider]
    asked = structs.replace(REQUEST, sampling=sampling_for(spec), trial=1)
    key = key_of(question_of(spec, asked))
    assert key == golden(provider, key)
