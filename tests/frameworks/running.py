"""Runs a suite on an agent of a library, over a server that plays the plan in the prompt."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.cli import main

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": CITY}}
    for name in ("find_station", "get_weather")
]


def skip_without(needed: str) -> None:
    try:
        found = importlib.util.find_spec(needed)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"{needed} is not installed here; tox -e frameworks,crewai installs it")


def rows_of(model: str, suite: dict[str, Any], *, allow: str = "") -> dict[str, dict[str, Any]]:
    """The trial of each case. `model` is an object of `my_agent.py`."""
    Path("s.tooleval.json").write_text(json.dumps(suite))
    Path("tooleval.toml").write_text(f'[models.{model}]\ncallable = "my_agent:{model}"\n')
    options = [f"--tooleval-model={model}", "--tooleval-report=out.json"]
    options += [f"--tooleval-allow-tools={allow}"] if allow else []
    sys.modules.pop("my_agent", None)
    pytest.main(options)
    rows = json.loads(Path("out.json").read_text())["cases"]
    return {row["case"]: {"outcome": row["outcome"], **row["trials"][0]} for row in rows}


def import_agent(suite: str) -> None:
    """`tooleval import agent` with the `agent` of `my_agent.py`."""
    sys.modules.pop("my_agent", None)
    main(["import", "agent", "my_agent:agent", f"--out={suite}"], standalone_mode=False)


def calls_of(trial: dict[str, Any]) -> list[str]:
    replies = trial["transcript"]["replies"]
    return [call["name"] for each in replies for call in each["calls"]]


def became(trial: dict[str, Any]) -> str:
    """What became of each call: `ran` or `refused`. What a tool answered is the agent's to know."""
    statuses = [
        status
        for each in trial["transcript"]["replies"]
        for status in each["statuses"] or [None] * len(each["calls"])
    ]
    return " ".join(status if status in ("refused", "waiting") else "ran" for status in statuses)


Call = tuple[str, Any]
Step = list[Call]


def planned(steps: list[Step], *, forever: bool = False) -> str:
    """A prompt that makes the model call these tools, one reply after the other.

    The arguments are an object, or only the city.
    """
    return json.dumps({"steps": steps, "forever": forever})


# Two agents in a run must not give their calls the same ids.
_IDS = itertools.count()


def play(request: dict[str, Any]) -> dict[str, Any]:
    """The next reply of the plan in the last prompt; each answer counts, also a refusal."""
    messages = request["messages"]
    (*_, start) = [i for i, each in enumerate(messages) if '"steps"' in str(each.get("content"))]
    # A library may put more around it.
    text = str(_text(messages[start]["content"]))
    plan, _ = json.JSONDecoder().raw_decode(text[text.index('{"steps"') :])
    answered = sum(each["role"] == "tool" for each in messages[start:])
    if '"name": "transfer_to' not in json.dumps(request.get("tools")):
        # The agent to which the plan leads; some libraries do not show it how it got there.
        shown = json.dumps(messages[start:])
        answered -= '"name": "transfer_to' in shown and '"role": "tool"' in shown
        plan["steps"] = [step for step in plan["steps"] if not step[0][0].startswith("transfer")]
    steps = plan["steps"]
    if plan["forever"]:
        steps = steps * (1 + answered)
    for step in steps:
        if answered < len(step):
            calls = [
                {
                    "id": f"c{next(_IDS)}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(_arguments(value))},
                }
                for name, value in step
            ]
            return {"role": "assistant", "content": "Let me see.", "tool_calls": calls}
        answered -= len(step)
    return {"role": "assistant", "content": "Sunny."}


def _arguments(value: Any) -> Any:
    return {"city": value} if isinstance(value, str) else value


def _text(content: Any) -> str:
    text: str = content if isinstance(content, str) else content[0]["text"]
    return text


class Names:
    """The names of the tools. Claude's hooks and permissions know them with their server's."""

    def __init__(self, library: str) -> None:
        prefix = "mcp__suite__" if library == "claude_agent" else ""
        self.station, self.weather = f"{prefix}find_station", f"{prefix}get_weather"

    def suite(self, *cases: dict[str, Any]) -> dict[str, Any]:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": CITY}}
            for name in (self.station, self.weather)
        ]
        return {"name": "S", "tools": tools, "test_cases": list(cases)}

    def case(self, id: str, *steps: list[tuple[str, str]], forever: bool = False, **more: Any) -> Any:
        """A conversation of one turn with this plan. It expects each call that is not forbidden."""
        names = {"find_station": self.station, "get_weather": self.weather}
        calls = [
            {"tool": names[tool], "params": {"city": city}}
            for step in steps
            for tool, city in step
            if names[tool] not in more.get("forbidden_calls", ())
        ]
        turn = {"prompt": planned(list(steps), forever=forever), "expected_calls": calls}
        mocks = {self.station: "S7", self.weather: "rain"}
        return {"id": id, "turns": [turn], "mock_responses": mocks, **more}
