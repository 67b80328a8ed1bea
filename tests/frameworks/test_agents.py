"""Agents of other libraries, each by the library itself, over a scripted server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import calling, picture
from mock_server import MockServer

from .agents import AGENTS, FORMS, LIBRARIES, module
from .anthropic_server import respond_with
from .running import CITY, TOOLS, Names, became, calls_of, import_agent, play, rows_of, skip_without

CHAIN = {
    "id": "chain",
    "prompt": "What is the weather in Paris?",
    "multi_turn": True,
    "valid_prerequisites": ["find_station"],
    "expected_tool": "get_weather",
    "expected_params": {"city": "S7"},
    "mock_responses": {"find_station": "S7"},
}
ROME = {"name": "find_station", "arguments": '{"city": "Rome"}'}
BEFORE = [
    {"role": "system", "content": "You are terse."},
    {"role": "user", "content": "Find a station in Rome."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "old", "type": "function", "function": ROME}],
    },
    {"role": "tool", "tool_call_id": "old", "content": "S6"},
    {"role": "assistant", "content": "Sunny."},
]
TALK = {**CHAIN, "id": "talk", "prompt": [*BEFORE, {"role": "user", "content": CHAIN["prompt"]}]}
TURNS = {
    "id": "turns",
    "turns": [
        {
            "prompt": "Find a station in Rome.",
            "expected_calls": [{"tool": "find_station", "params": {"city": "Rome"}}],
            "expected_text": ["sunny"],
        },
        {
            "prompt": CHAIN["prompt"],
            "expected_calls": [
                {"tool": "find_station", "params": {"city": "Paris"}},
                {"tool": "get_weather", "params": {"city": "S7"}},
            ],
        },
    ],
    "mock_responses": {"find_station": {"$sequence": ["S6", "S7"]}, "get_weather": {"sky": "clear"}},
    "policies": [
        {
            "tool": "get_weather",
            "only_after": {"tool": "find_station", "params": {"city": "Paris"}},
            "expected_params": {"city": {"$from": {"tool": "find_station", "at": ""}}},
        },
        {"tool": "find_station", "at_most": 2, "never_after": "get_weather"},
    ],
}
TOO_OFTEN = {**TURNS, "id": "too-often", "policies": [{"tool": "find_station", "at_most": 1}]}
ENDLESS = {**CHAIN, "id": "endless", "prompt": "Search for ever.", "max_rounds": 4}
UNKNOWN = {**CHAIN, "id": "unknown", "prompt": "Fly away."}
FOUND = {"tool": "find_station", "params": {"city": "Paris"}}
ASKED = {"tool": "get_weather", "params": {"city": "S7"}}


def choosing(id: str, expected_calls: object, **more: object) -> dict[str, Any]:
    turn = {"prompt": CHAIN["prompt"], "expected_calls": expected_calls}
    return {"id": id, "turns": [turn], "mock_responses": CHAIN["mock_responses"], **more}


CHOICES = [
    choosing("optional", [{**FOUND, "optional": True}, ASKED]),
    choosing("optional-wrong", [{**FOUND, "params": {"city": "Rome"}, "optional": True}, ASKED]),
    choosing("any-of", {"$any_of": [[], [FOUND, ASKED]]}),
    choosing("any-of-wrong", {"$any_of": [[], [FOUND]]}),
    choosing(
        "row",
        [{**FOUND, "params": {"city": "{{city}}"}}, {**ASKED, "params": {"city": "{{station}}"}}],
        parametrize=[
            {"id": "right", "city": "Paris", "station": "S7"},
            {"id": "wrong", "city": "Paris", "station": "S8"},
        ],
    ),
]
CASES = [CHAIN, TALK, TURNS, TOO_OFTEN, ENDLESS, UNKNOWN, *CHOICES]


def script(request: dict[str, Any]) -> dict[str, Any]:
    """Finds the station, asks for the weather there, says that it is sunny."""
    messages = request["messages"]
    assert "Be right." in str([each for each in messages if each["role"] == "system"])
    assert [tool["function"]["name"] for tool in request["tools"]] == ["find_station", "get_weather"]
    (*_, start) = [index for index, message in enumerate(messages) if message["role"] == "user"]
    asked, told = str(messages[start]["content"]), [m for m in messages[start:] if m["role"] == "tool"]
    if "Fly away." in asked and not told:
        made = ("fly_away", {"city": "Paris"})
    elif "Search for ever." in asked or ("Paris" in asked and not told):
        made = ("find_station", {"city": "Paris"})
    elif "Rome" in asked and not told:
        made = ("find_station", {"city": "Rome"})
    elif "Paris" in asked and len(told) == 1:
        assert "S7" in str(told[0]["content"])
        if len(messages) > 9:  # what was said before is known
            assert "S6" in str(messages)
        made = ("get_weather", {"city": "S7"})
    else:
        return {"role": "assistant", "content": "Sunny."}
    function = {"name": made[0], "arguments": json.dumps(made[1])}
    call = {"id": f"c{len(messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Any:
    name: str = request.param
    skip_without(AGENTS[name][0])
    with MockServer(
        script=script, respond=respond_with(script) if name == "claude_agent" else None
    ) as server:
        Path("my_agent.py").write_text(module(name, server.base_url))
        yield name


def test_an_agent_runs_on_the_tools_of_the_suite(library: str) -> None:
    trials = rows_of("answer", {"name": "S", "tools": TOOLS, "test_cases": CASES})
    outcomes = {id: trial["outcome"] for id, trial in trials.items()}
    assert outcomes == {
        "chain": "passed",
        "talk": "passed",
        "turns": "passed",
        "too-often": "failed",
        "endless": "failed",
        "unknown": "failed",
        "optional": "passed",
        "optional-wrong": "failed",
        "any-of": "passed",
        "any-of-wrong": "failed",
        "row[right]": "passed",
        "row[wrong]": "failed",
    }
    assert not Path("really.log").exists()
    assert trials["turns"]["scores"]["policies"]["value"] == 1.0
    assert trials["too-often"]["failure"] == "broken_policy"
    assert trials["endless"]["failure"] == "unfinished_chain"
    assert calls_of(trials["unknown"])[0].endswith("fly_away")
    *made, said = trials["chain"]["transcript"]["replies"]
    assert [each["calls"][0]["name"] for each in made] == ["find_station", "get_weather"]
    assert made[0]["tool_answers"][0]["content"] == "S7"
    assert said["message"]["content"] == "Sunny."
    assert sum(each["prompt_tokens"] for each in (*made, said)) == 150
    if library != "crewai":  # which keeps no text beside calls
        assert made[0]["message"]["content"] == "Let me see."
    if library != "claude_agent":  # which tells the tokens of the whole run
        assert said["prompt_tokens"] == 50


@pytest.mark.parametrize("name", LIBRARIES)
def test_calls_are_in_one_reply_or_each_in_its_own(name: str) -> None:
    skip_without(AGENTS[name][0])
    names = Names("none")  # as the suite offers them
    calls = [("find_station", "Paris"), ("get_weather", "S7")]
    cases = []
    for parallel in (True, False):
        for id, steps in (("one", [calls]), ("own", [[each] for each in calls])):
            case = names.case(f"{id}-{parallel}", *steps)
            case["turns"][0]["parallel"] = parallel
            cases.append(case)
    with MockServer(
        script=play, respond=respond_with(play) if name == "claude_agent" else None
    ) as server:
        Path("my_agent.py").write_text(module(name, server.base_url))
        trials = rows_of("answer", names.suite(*cases))
    assert {id: trial["outcome"] for id, trial in trials.items()} == {
        "one-True": "passed",
        "own-True": "failed",
        "one-False": "failed",
        "own-False": "passed",
    }
    assert trials["own-True"]["failure"] == trials["one-False"]["failure"] == "wrong_replies"


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_pattern_forbids_and_a_picture_is_words(name: str) -> None:
    skip_without(AGENTS[name][0])
    names = Names("none")
    fine = names.case("fine", [("find_station", "Paris")], forbidden_calls=["get_*"])
    fine["mock_responses"] = {"find_station": [picture()]}
    made = names.case("made", [("find_station", "Rome")], [("get_weather", "S7")])
    made["forbidden_calls"] = ["get_*"]
    made["turns"][0]["expected_calls"].pop()
    respond = respond_with(play) if name == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        Path("my_agent.py").write_text(module(name, server.base_url))
        trials = rows_of("answer", names.suite(fine, made))
    assert [trials[id]["outcome"] for id in ("fine", "made")] == ["passed", "failed"]
    assert trials["made"]["failure"] == "forbidden_call"
    assert "[image: image/png, 1 kB]" in json.dumps(server.bodies)


def test_its_own_tools_are_imported_and_run_if_it_is_told_so(library: str) -> None:
    import_agent("s.tooleval.json")
    suite = json.loads(Path("s.tooleval.json").read_text())
    station, weather = [tool["function"] for tool in suite["tools"]]
    assert station["name"].endswith("find_station")
    assert station["description"].startswith("Find the station of a city.")
    assert station["parameters"]["properties"]["city"]["type"] == "string"
    assert station["parameters"]["required"] == ["city"]
    chain = {
        **CHAIN,
        "expected_tool": weather["name"],
        "valid_prerequisites": [station["name"]],
        "mock_responses": {},
    }
    allowed = ",".join([station["name"], weather["name"]])
    trials = rows_of("real", {**suite, "test_cases": [chain]}, allow=allowed)
    assert Path("really.log").read_text() == "ParisS7"
    assert trials["chain"]["outcome"] == "passed"
    answers = [each["tool_answers"] for each in trials["chain"]["transcript"]["replies"]]
    assert "rain" in answers[1][0]["content"]


def _shaped(*skies: str) -> list[dict[str, Any]]:
    mocks = {"find_station": "S7", "get_weather": "clear"}
    return [
        {
            "id": sky,
            "turns": [{"prompt": CHAIN["prompt"], "expected_text": [{"$json": {"sky": sky}}]}],
            "mock_responses": mocks,
        }
        for sky in skies
    ]


@pytest.mark.parametrize("name", FORMS)
def test_an_output_with_a_form_is_the_answer_and_no_call(name: str) -> None:
    skip_without(AGENTS[name][0])

    def fills_in(request: dict[str, Any]) -> dict[str, Any]:
        names = [tool["function"]["name"] for tool in request["tools"]]
        text = '{"sky": "clear"}'
        if len([each for each in request["messages"] if each["role"] == "tool"]) < 2:
            return script({**request, "tools": request["tools"][:2]})
        if len(names) == 2:
            return {"role": "assistant", "content": text}
        call = {"id": "form", "type": "function", "function": {"name": names[2], "arguments": text}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    with MockServer(script=fills_in) as server:
        Path("my_agent.py").write_text(module(name, server.base_url, form=True))
        suite = {"name": "S", "tools": TOOLS, "test_cases": [CHAIN, *_shaped("clear", "rain")]}
        trials = rows_of("answer", suite)
    assert {id: trial["outcome"] for id, trial in trials.items()} == {
        "chain": "passed",
        "clear": "passed",
        "rain": "failed",
    }
    assert trials["rain"]["failure"] == "wrong_text"
    assert calls_of(trials["chain"]) == ["find_station", "get_weather"]
    said = trials["chain"]["transcript"]["replies"][-1]["message"]["content"]
    assert json.loads(said) == {"sky": "clear"}


UNFILLED = """
from langchain.agents.structured_output import ToolStrategy

def make(form):
    return create_agent(
        model, [find_station, get_weather], system_prompt="Be right.", response_format=form
    )

asking, tripped = make(ToolStrategy(Forecast)), make(ToolStrategy(Forecast, handle_errors=False))
limited, limits = make(None), {}
"""


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("asking", "LangGraph: the structured response was never filled"),
        ("tripped", "LangGraph: Failed to parse structured output"),
        ("limited", ""),  # it has no form
    ],
)
def test_a_graph_that_never_fills_its_form_gave_up(agent: str, why: str) -> None:
    skip_without(AGENTS["langgraph"][0])

    def fills_in(request: dict[str, Any]) -> dict[str, Any]:
        reply = script({**request, "tools": request["tools"][:2]})
        is_last = "tool_calls" not in reply
        return calling("Forecast", id="form", sky=[]) if is_last and agent == "tripped" else reply

    with MockServer(script=fills_in) as server:
        source = module("langgraph", server.base_url, form=True, guards=UNFILLED)
        Path("my_agent.py").write_text(source)
        trial = rows_of(f"answer_{agent}", {"name": "S", "tools": TOOLS, "test_cases": [CHAIN]})["chain"]
    assert trial["failure"] == ("gave_up" if why else None)
    assert why in str(trial["transcript"])
    assert calls_of(trial)[:2] == ["find_station", "get_weather"]


TRIMS = """
from langchain.agents.middleware import before_model, wrap_tool_call
from langchain_core.messages import RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

@before_model
def trim(state, runtime):
    kept = [each for each in state["messages"] if each.type == "human"]
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *kept]}

@wrap_tool_call
async def check(request, handler):
    if request.tool_call["args"]["city"] == "Atlantis":
        return ToolMessage("no such city", tool_call_id=request.tool_call["id"], status="error")
    return await handler(request)

asking = create_agent(
    model, [find_station, get_weather], system_prompt="Be right.", middleware=[trim, check]
)
"""


def test_a_graph_that_trims_its_messages_hides_and_invents_no_call() -> None:
    skip_without(AGENTS["langgraph"][0])
    made = [("find_station", "Atlantis"), ("find_station", "Paris"), ("get_weather", "S7")]
    calls = (calling(name, id=f"c{number}", city=city) for number, (name, city) in enumerate(made))
    replies = iter([*calls, {"role": "assistant", "content": "Sunny."}])
    lost = {"forbidden_calls": [{"tool": "find_station", "params": {"city": "Atlantis"}}]}
    with MockServer(script=lambda _: next(replies)) as server:
        Path("my_agent.py").write_text(module("langgraph", server.base_url, guards=TRIMS))
        trial = rows_of("answer_asking", {"name": "S", "tools": TOOLS, "test_cases": [TALK | lost]})
    assert trial["talk"]["failure"] == "forbidden_call"
    assert calls_of(trial["talk"]) == [name for name, _ in made]
    assert became(trial["talk"]) == "refused ran ran"


def test_a_graph_with_other_tools_than_the_case_is_an_error() -> None:
    pytest.importorskip("langgraph")
    Path("my_agent.py").write_text(module("langgraph", "http://127.0.0.1:1"))
    case = {"id": "one", "prompt": "Weather?", "expected_tool": "get_weather"}
    trials = rows_of("answer", {"name": "S", "tools": TOOLS[1:], "test_cases": [case]})
    assert "only the graph has find_station" in str(trials["one"]["error"])


def test_the_state_that_instructions_of_adk_name() -> None:
    skip_without("google.adk")

    def greets(request: dict[str, Any]) -> dict[str, Any]:
        (system,) = [each for each in request["messages"] if each["role"] == "system"]
        assert "You serve Ada." in str(system["content"])
        return {"role": "assistant", "content": "Hello."}

    with MockServer(script=greets) as server:
        Path("my_agent.py").write_text(
            f"""
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from pytest_tooleval.agents import google_adk

model = LiteLlm(model="openai/m", api_base="{server.base_url}", api_key="none")
agent = LlmAgent(name="a", model=model, instruction="You serve {{user}}.")
stated = google_adk(agent, state_delta={{"user": "Ada"}})
bare = google_adk(agent)
"""
        )
        turns = [{"prompt": "Hi!", "expected_calls": []}, {"prompt": "Hi again!", "expected_calls": []}]
        suite = {"name": "S", "tools": TOOLS, "test_cases": [{"id": "hi", "turns": turns}]}
        assert rows_of("stated", suite)["hi"]["outcome"] == "passed"
        trial = rows_of("bare", suite)["hi"]
    assert trial["outcome"] == "error"
    assert "Context variable not found: `user`" in trial["error"]["message"]
    assert "google_adk(agent, state_delta={...})" in trial["error"]["message"]


def test_a_world_answers_tools_as_claude_code_names_them() -> None:
    skip_without("claude_agent_sdk")
    name = "mcp__desk__book"

    def books(request: dict[str, Any]) -> dict[str, Any]:
        if any(message["role"] == "tool" for message in request["messages"]):
            return {"role": "assistant", "content": "Booked."}
        function = {"name": name, "arguments": '{"city": "Rome"}'}
        call = {"id": "c", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    Path("desk.py").write_text(
        "class Desk:\n"
        "    def __init__(self): self.booked = []\n"
        "    def book(self, city: str) -> None: self.booked.append(city)\n"
    )
    turns = [{"prompt": "Book Rome.", "expected_state": {"booked": ["Rome"]}}]
    tool = {"type": "function", "function": {"name": name, "parameters": CITY}}
    case = {"id": "c", "turns": turns, "approvals": {name: "approve"}}
    suite = {"name": "S", "tools": [tool], "world": "desk:Desk", "test_cases": [case]}
    with MockServer(respond=respond_with(books)) as server:
        Path("my_agent.py").write_text(module("claude_agent", server.base_url))
        trial = rows_of("answer", suite)["c"]
    assert (trial["outcome"], calls_of(trial)) == ("passed", [name])
