"""What stops an agent: forbidden calls, limits, and its own guards; each by the library itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer

from .agents import AGENTS, ASKING, GUARDS, LIBRARIES, OTHERS, UNSTOPPABLE, module
from .anthropic_server import respond_with
from .running import Names, Step, became, calls_of, planned, play, rows_of, skip_without


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.param
    skip_without(AGENTS[name][0])
    respond = respond_with(play) if name == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        Path("my_agent.py").write_text(module(name, server.base_url, guards=GUARDS[name]))
        yield name


def really() -> str:
    return Path("really.log").read_text() if Path("really.log").exists() else ""


def test_its_own_tools_run_only_as_the_case_and_the_command_line_let_them(library: str) -> None:
    names = Names(library)
    suite = names.suite(
        # Neither does the harmless call after it run.
        names.case(
            "forbidden",
            [("get_weather", "Paris"), ("find_station", "Oslo")],
            forbidden_calls=[names.weather],
        ),
        names.case("endless", [("find_station", "Rome")], forever=True, max_rounds=4),
        names.case("not-allowed", [("get_weather", "Bonn")]),
    )
    trials = rows_of("real", suite, allow=names.station)
    assert {id: trial["outcome"] for id, trial in trials.items()} == {
        "forbidden": "failed",
        "endless": "failed",
        "not-allowed": "error",
    }
    assert trials["forbidden"]["failure"] == "forbidden_call"
    assert became(trials["forbidden"]) == "refused"
    assert became(trials["endless"]) == "ran ran ran ran"
    assert f"--tooleval-allow-tools={names.weather}" in str(trials["not-allowed"]["error"])
    assert really() == "Rome" * 4


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["answer", "real"])
def test_the_case_answers_what_the_agent_asks_a_person(library: str, mode: str) -> None:
    names = Names(library)
    plan = [("get_weather", "Paris"), ("find_station", "Rome")]
    asked = {"tool": names.weather, "after_approval": True}
    suite = names.suite(
        names.case("approve", plan, approvals={names.weather.upper(): "approve"}, policies=[asked]),
        names.case(
            "reject",
            plan,
            approvals={names.weather: "reject", names.station: "approve"},
            policies=[asked],
        ),
        names.case("unlisted", plan),
        # A guard that asks nobody.
        names.case("guard", [("find_station", "Atlantis")]),
        names.case("unasked", plan, policies=[{"tool": names.station, "after_approval": True}]),
    )
    trials = rows_of(f"{mode}_asking", suite, allow=f"{names.station},{names.weather}")
    unasked = trials.pop("unasked")
    assert unasked["outcome"] == "failed"
    assert "no approval is recorded" in str(unasked["scores"]["policies"])
    assert {id: trial["outcome"] for id, trial in trials.items()} == dict.fromkeys(trials, "passed")
    assert {id: became(trial) for id, trial in trials.items()} == {
        "approve": "ran ran",
        "reject": "refused ran",
        "unlisted": "refused ran",
        "guard": "refused",
    }
    runs = (1, 3) if mode == "real" else (0, 0)
    assert (really().count("Paris"), really().count("Rome")) == runs
    assert "Atlantis" not in really()
    ((refused, _),) = [trials["reject"]["transcript"]["replies"][0]["tool_answers"]]
    assert refused["content"] not in ("rain", "")


@pytest.mark.nightly
@pytest.mark.parametrize("library", ["claude_agent"], indirect=True)
def test_approvals_apply_to_tools_that_claude_sees_under_another_name(library: str) -> None:
    names = Names(library)
    names.station, names.weather = "find_station", "get_weather"
    plan = [("get_weather", "Paris"), ("find_station", "Rome")]
    suite = names.suite(
        names.case("approve", plan, approvals={"get_weather": "approve"}),
        names.case("reject", plan, approvals={"GET_weather": "reject"}),
        names.case("unlisted", plan),
    )
    for model in ("answer", "answer_asking"):
        trials = rows_of(model, suite)
        assert {id: became(trial) for id, trial in trials.items()} == {
            "approve": "ran ran",
            "reject": "refused ran",
            "unlisted": "ran ran",
        }


# A tool that itself asks does not where the suite answers.
WAYS = [(way, "real") for way in ASKING]
WAYS += [(way, "answer") for way in ASKING if not way.endswith("the tool")]


@pytest.mark.parametrize(("way", "mode"), WAYS)
def test_the_case_answers_in_whatever_way_it_is_asked(way: str, mode: str) -> None:
    library = way.partition(":")[0]
    skip_without(AGENTS[library][0])
    names = Names(library)
    suite = names.suite(
        names.case("approve", [("get_weather", "Paris")], approvals={names.weather: "approve"}),
        names.case("unlisted", [("get_weather", "Paris")]),
    )
    respond = respond_with(play) if library == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        Path("my_agent.py").write_text(module(library, server.base_url, guards=ASKING[way]))
        trials = rows_of(f"{mode}_asking", suite, allow=names.weather)
    assert {id: trial["outcome"] for id, trial in trials.items()} == dict.fromkeys(trials, "passed")
    assert became(trials["approve"]) == "ran"
    assert became(trials["unlisted"]) == "refused" or way.endswith("the tool")
    assert really() == ("Paris" if mode == "real" else "")


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["answer", "real"])
def test_an_agent_that_gives_up_fails(library: str, mode: str) -> None:
    names = Names(library)
    allow = f"{names.station},{names.weather}"
    endless = names.case("endless", [("find_station", "Rome")], forever=True, max_rounds=40)
    stops = {**endless, "id": "stops", "expected_stop": "limit"}
    trials = rows_of(f"{mode}_limited", names.suite(endless, stops), allow=allow)
    assert trials["endless"]["outcome"] == "failed"
    assert trials["stops"]["transcript"]["replies"][-1]["finish_reason"] == "gave_up_limit"
    assert trials["stops"]["failure"] not in ("gave_up", "not_stopped")
    assert trials["endless"]["failure"] == "gave_up"
    assert became(trials["endless"]).startswith("ran ran")


@pytest.mark.parametrize("library", ["openai_agents"], indirect=True)
def test_the_usual_limit_of_the_agents_sdk_is_kept_unless_the_case_sets_another(library: str) -> None:
    names = Names(library)
    endless = [("find_station", "Rome")]
    single = {"id": "single", "prompt": planned([endless], forever=True), "expected_tool": None}
    suite = names.suite(
        names.case("unset", endless, forever=True),
        names.case("set", endless, forever=True, max_rounds=12),
        single,
    )
    trials = rows_of("answer", suite)
    assert [trials[id]["failure"] for id in ("unset", "set", "single")] == [
        "gave_up",
        "unfinished_turn",
        "gave_up",
    ]
    assert [len(calls_of(trials[id])) for id in ("unset", "set", "single")] == [10, 12, 10]


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["answer", "real"])
def test_calls_that_the_library_refuses_count_as_rounds(library: str, mode: str) -> None:
    names = Names(library)
    unknown = {"prompt": planned([[("fly_away", "Rome")]], forever=True), "expected_calls": []}
    suite = names.suite(
        names.case("guard", [("find_station", "Atlantis")], forever=True, max_rounds=3),
        names.case("rejected", [("get_weather", "Paris")], forever=True, max_rounds=3),
        {"id": "unknown", "turns": [unknown], "max_rounds": 3},
    )
    trials = rows_of(f"{mode}_asking", suite, allow=f"{names.station},{names.weather}")
    # Claude Code runs all hooks at once, so the suite has also been asked, and stops the run.
    is_asked = (library, mode) == ("claude_agent", "real")
    for id in ("guard", "rejected"):
        assert became(trials[id]) == " ".join(["ran" if is_asked else "refused"] * 3)
        assert trials[id]["failure"] == "unfinished_turn"
    # Pydantic AI itself gives up after two calls of unknown tools.
    made, failure = (2, "gave_up") if library == "pydantic_ai" else (3, "unfinished_turn")
    assert calls_of(trials["unknown"]) == [calls_of(trials["unknown"])[0]] * made
    assert trials["unknown"]["failure"] == failure


@pytest.mark.parametrize(
    "library", [name for name in GUARDS if "tripped" in GUARDS[name]], indirect=True
)
@pytest.mark.parametrize("mode", ["answer", "real"])
def test_an_agent_whose_guardrail_trips_fails(library: str, mode: str) -> None:
    names = Names(library)
    case = names.case("hell", [("find_station", "Hell")], [("find_station", "Hell")])
    # Pydantic AI has no guardrails: its tool is called in vain.
    stop = True if library == "pydantic_ai" else "guardrail"
    stops = {**case, "id": "stops", "expected_stop": stop}
    trials = rows_of(f"{mode}_tripped", names.suite(case, stops), allow=names.station)
    assert trials["stops"]["failure"] not in ("gave_up", "not_stopped")
    assert trials["hell"]["outcome"] == "failed"
    assert trials["hell"]["failure"] == "gave_up"


@pytest.mark.nightly
@pytest.mark.parametrize("other", OTHERS)
def test_the_tools_of_other_agents_and_of_servers_have_the_same_brakes(other: str) -> None:
    library, source, before, agent = OTHERS[other]
    skip_without(AGENTS[library][0])
    names = Names(library)

    def steps(city: str) -> list[Step]:
        step: Step = [("get_weather", city)]
        if agent is not None:
            step = [(agent[0], {agent[1]: planned([step]), **agent[2]})]
        return [step] if not before else [before, step]

    cases: list[dict[str, Any]] = [
        {"id": city, "turns": [{"prompt": planned(steps(city)), "expected_calls": []}]}
        for city in ("Paris", "Oslo")
    ]
    cases[0]["forbidden_calls"] = [names.weather]
    suite = names.suite(*cases)
    more = [call[0] for call in before] + ([agent[0]] if agent else [])
    suite["tools"] += [{"type": "function", "function": {"name": name}} for name in more]
    respond = respond_with(play) if library == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        Path("my_agent.py").write_text(module(library, server.base_url, other=source))
        trials = rows_of("real", suite, allow=",".join([names.weather, *more]))
    assert trials["Paris"]["failure"] == "forbidden_call"
    assert "error" not in {trial["outcome"] for trial in trials.values()}
    assert really() == "Oslo"


@pytest.mark.parametrize("what", UNSTOPPABLE)
def test_what_cannot_be_stopped_is_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library, source, message = UNSTOPPABLE[what]
    skip_without(AGENTS[library][0])
    monkeypatch.setenv("GOOGLE_API_KEY", "none")

    def run() -> None:
        found: dict[str, Any] = {}
        exec(module(library, "http://127.0.0.1:1/v1", other=source), found)
        asyncio.run(found["real"]([{"role": "user", "content": "Rain?"}], [], None, {}, 50, None))

    # Google ADK wraps what a plugin raises.
    with pytest.raises((ValueError, RuntimeError), match=message):
        run()
