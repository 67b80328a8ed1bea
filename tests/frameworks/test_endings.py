"""How calls end, from the library that saw it, whatever an agent says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer
from nightly import at_night

from .agents import AGENTS, ENDINGS, module
from .anthropic_server import respond_with
from .running import Names, planned, play, rows_of, skip_without

# What happens to a call of get_weather for a city, whose answer an agent may word as it likes.
STATUSES = {
    "Paris": "ok",
    "Odd": "ok",  # a text that begins with "Error"
    "Down": "error",
    "Atlantis": "refused",  # by a guard of the agent
    "Slow": None,  # a time-out: unknown, unless the suite answers and so knows that nothing ran
}
MCP = "openai_agents: MCP"
# What the suite answers where it does.
MOCKS: dict[str, Any] = {
    "Paris": "rain",
    "Odd": "Error: none",
    "Down": {"error": "503"},
    "Slow": {"error": "no answer: time-out"},
}
# Servers are replaced with their guards.
ROWS = [(way, mode) for way in ENDINGS for mode in ("real", "answer") if (way, mode) != (MCP, "answer")]
ROWS = [at_night(*row) if row[0].startswith("claude_agent") else row for row in ROWS]


def case(names: Names, city: str, mocks: bool) -> dict[str, Any]:
    turn = {
        "prompt": planned([[("get_weather", city)]]),
        "expected_calls": [{"tool": names.weather, "params": {"city": city}, "status": "ok"}],
        "expected_text": ["Sunny"],
    }
    answers = {names.weather: MOCKS.get(city, "rain")} if mocks else {}
    return {"id": city, "turns": [turn], "mock_responses": answers}


@pytest.mark.parametrize(("way", "mode"), ROWS)
def test_the_status_of_a_call_is_the_librarys(way: str, mode: str) -> None:
    library = way.partition(":")[0]
    skip_without(AGENTS[library][0])
    names = Names(library)
    suite = names.suite(*(case(names, city, mode == "answer") for city in STATUSES))
    respond = respond_with(play) if library == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        Path("my_agent.py").write_text(module(library, server.base_url, guards=ENDINGS[way]))
        trials = rows_of(f"{mode}_asking", suite, allow=names.weather)
    expected = STATUSES if mode == "real" else {**STATUSES, "Slow": "error"}
    found = {id: trial["transcript"]["replies"][0]["statuses"] for id, trial in trials.items()}
    assert found == {city: [status] for city, status in expected.items()}
    outcomes = {id: trial["outcome"] for id, trial in trials.items()}
    assert outcomes == {
        city: "passed" if status == "ok" else "failed" for city, status in expected.items()
    }
