from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.update import Changes, update_suite

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NEW: dict[str, Any] = {"name": "new", "tools": [], "test_cases": []}


def tool(
    name: str, properties: dict[str, Any] | None = None, required: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": properties or {}}
    if required is not None:
        parameters["required"] = required
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


WEATHER = tool("get_weather", {"city": STRING}, ["city"])
TIME = tool("get_time", {"zone": STRING})
PARIS = {
    "prompt": "Weather in Paris?",
    "expected_tool": "get_weather",
    "expected_params": {"city": "Paris"},
}


def suite(
    *cases: dict[str, Any], tools: list[dict[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    return {"name": "mine", **more, "tools": tools or [WEATHER, TIME], "test_cases": list(cases)}


def updated(
    existing: dict[str, Any] | None, *tools: dict[str, Any], drafts: bool = True
) -> tuple[dict[str, Any], Changes]:
    before = copy.deepcopy(existing)
    made, changes = update_suite(existing or NEW, list(tools), drafts=drafts)
    assert existing == before, "the existing suite was changed in place"
    if not changes.broken:
        parse_suite(json.dumps(made))
    return made, changes


def why(existing: dict[str, Any], *tools: dict[str, Any]) -> list[str]:
    _, changes = updated(existing, *tools)
    return [reason for reasons in changes.broken.values() for reason in reasons]


def test_a_new_suite_has_a_draft_for_each_tool() -> None:
    made, changes = updated(None, WEATHER, TIME)
    assert list(made) == ["name", "tools", "test_cases"]
    assert made["name"] == "new"
    assert made["tools"] == [WEATHER, TIME]
    assert [case["expected_tool"] for case in made["test_cases"]] == ["get_weather", "get_time"]
    assert {case["skip"] for case in made["test_cases"]} == {"draft"}
    assert changes == Changes(added=("get_weather", "get_time"), drafted=2)


def test_drafts_can_be_left_out() -> None:
    made, changes = updated(None, WEATHER, drafts=False)
    assert made["test_cases"] == []
    assert changes == Changes(added=("get_weather",))


def test_the_same_again_changes_nothing() -> None:
    made, _ = updated(None, WEATHER, TIME)
    again, changes = updated(made, WEATHER, TIME)
    assert json.dumps(again) == json.dumps(made)
    assert changes == Changes()


def test_what_people_wrote_stays_as_it_is_and_in_its_order() -> None:
    existing = {
        "test_cases": [{"expected_tool": "get_weather", "prompt": "x", "metadata": {"b": 1, "a": 1.0}}],
        "trials": 3,
        "tools": [TIME, WEATHER],
        "name": "mine",
        "description": "d",
    }
    made, _ = updated(existing, WEATHER, TIME)
    assert list(made) == list(existing)
    assert json.dumps(made["test_cases"]) == json.dumps(existing["test_cases"])
    assert made["tools"] == [WEATHER, TIME]
    assert (made["name"], made["trials"]) == ("mine", 3)


def test_a_suite_without_tools_gets_them_before_its_cases() -> None:
    made, _ = updated({"name": "mine", "test_cases": [], "metadata": {}}, TIME)
    assert list(made) == ["name", "tools", "test_cases", "metadata"]


def test_a_new_tool_gets_a_draft_and_a_known_one_does_not() -> None:
    made, changes = updated(suite(PARIS, tools=[WEATHER]), WEATHER, TIME)
    assert made["test_cases"][0] == PARIS
    assert [case["expected_tool"] for case in made["test_cases"][1:]] == ["get_time"]
    assert (changes.added, changes.drafted) == (("get_time",), 1)


@pytest.mark.parametrize(
    "case",
    [
        {"id": "get_time", "prompt": "x", "expected_tool": None},
        {"prompt": "Get time!", "expected_tool": None},
        {"prompt": [{"role": "user", "content": "Get time"}], "expected_tool": None},
    ],
)
def test_a_draft_takes_no_id_of_a_case(case: dict[str, Any]) -> None:
    lower = tool("get-time", {})
    for new in (TIME, lower):
        existing = suite(case, tools=[WEATHER])
        before = parse_suite(json.dumps(existing)).test_cases[0].id
        made, _ = updated(existing, WEATHER, new)
        assert parse_suite(json.dumps(made)).test_cases[0].id == before


def test_a_draft_that_nobody_edited_follows_its_tool() -> None:
    made, _ = updated(None, WEATHER, TIME)
    changed = tool("get_weather", {"place": STRING}, ["place"])
    after, changes = updated(made, changed)
    assert [case["expected_params"] for case in after["test_cases"]] == [{"place": "example place"}]
    assert after["test_cases"][0]["id"] == "get_weather"
    assert (changes.drafted, changes.broken) == (1, {})


@pytest.mark.parametrize(
    "edit",
    [
        {"prompt": "What time is it?"},
        {"skip": False},
        {"tags": ["slow"]},
        {"expected_params": {"zone": "UTC"}},
    ],
)
def test_a_draft_that_somebody_edited_stays(edit: dict[str, Any]) -> None:
    made, _ = updated(None, WEATHER, TIME)
    made["test_cases"][1].update(edit)
    after, changes = updated(made, WEATHER)
    assert after["test_cases"] == made["test_cases"]
    assert changes.broken == {"get_time": ['the tool "get_time" no longer exists']}


def test_a_draft_with_another_id_is_a_draft_still() -> None:
    made, _ = updated(
        suite({"id": "get_time", "prompt": "x", "expected_tool": None}, tools=[WEATHER]), WEATHER, TIME
    )
    assert made["test_cases"][1]["id"] == "get_time-2"
    after, _ = updated(made, WEATHER)
    assert len(after["test_cases"]) == 1


def test_the_comment_on_a_tool_stays() -> None:
    commented = {"$comment": "Ask Ada.", **WEATHER}
    made, changes = updated(suite(tools=[commented]), WEATHER)
    assert (made["tools"], changes.changed) == ([commented], {})


def test_it_is_said_what_changed_about_a_tool() -> None:
    new = tool(
        "get_weather",
        {"city": {"type": "string", "maxLength": 9}, "units": STRING, "on": STRING},
        ["on"],
    )
    new["function"]["description"] = "d"
    new["function"]["parameters"]["additionalProperties"] = False
    old = tool("get_weather", {"city": STRING, "gone": STRING, "units": STRING}, ["city"])
    _, changes = updated(suite(tools=[old]), new)
    assert changes.changed == {
        "get_weather": [
            "description",
            'the parameter "city" changed (maxLength)',
            '"city" is no longer required',
            'the parameter "gone" removed',
            'the required parameter "on" added',
            "parameters.additionalProperties",
        ]
    }


def test_the_order_of_keys_is_no_change() -> None:
    function = WEATHER["function"]
    other = {"function": dict(reversed(function.items())), "type": "function"}
    assert updated(suite(PARIS, tools=[WEATHER]), other)[1] == Changes()


@pytest.mark.parametrize("one", [1, True])
def test_a_value_of_another_type_is_a_change(one: Any) -> None:
    old = tool("f", {"a": {"default": 1.0}})
    assert updated(suite(tools=[old]), tool("f", {"a": {"default": one}}))[1].changed


@pytest.mark.parametrize(
    "case",
    [
        {"prompt": "x", "expected_tool": "GET_TIME"},
        {"prompt": "x", "expected_tool": ["get_weather", "get_time"]},
        {"prompt": "x", "expected_calls": [{"tool": "get_weather"}, {"tool": ["get_time"]}]},
        {
            "prompt": "x",
            "expected_tool": "get_weather",
            "multi_turn": True,
            "valid_prerequisites": ["get_time"],
        },
        {
            "prompt": "x",
            "expected_tool": "get_weather",
            "multi_turn": True,
            "mock_responses": {"get_time": 1},
        },
    ],
)
def test_a_case_that_names_a_removed_tool_is_broken(case: dict[str, Any]) -> None:
    made, changes = updated(suite(case), WEATHER)
    assert made["test_cases"] == [case]
    assert len(changes.broken) == 1
    assert all("no longer exists" in why[0] for why in changes.broken.values())


@pytest.mark.parametrize(
    "case",
    [
        {"prompt": "x", "expected_tool": "*"},
        {"prompt": "x", "expected_tool": None},
        {"prompt": "x", "expected_tool": "get_time", "tools": [TIME]},
    ],
)
def test_a_case_that_does_not_need_the_removed_tool_is_not(case: dict[str, Any]) -> None:
    assert updated(suite(case), WEATHER)[1].broken == {}


def test_params_that_a_change_makes_wrong_are_told() -> None:
    existing = suite(PARIS)
    assert why(existing, tool("get_weather", {"city": INTEGER}, ["city"]), TIME) == [
        'city: the string "Paris" does not match the schema of "get_weather": expected type "integer"'
    ]
    assert why(existing, tool("get_weather", {"town": STRING}, ["town"]), TIME) == [
        'city: not a parameter of "get_weather"; its parameters are "town"',
        '"town" is now required, but not expected',
    ]
    several = {
        "prompt": "x",
        "expected_calls": [{"tool": "get_time"}, {"tool": "get_weather", "params": {"city": "P"}}],
    }
    assert why(suite(several), tool("get_weather", {"city": INTEGER}), TIME) == [
        'call 2: city: the string "P" does not match the schema of "get_weather": expected type '
        '"integer"'
    ]


def test_what_is_broken_is_told_until_it_is_mended() -> None:
    gone = {"id": "time", "prompt": "x", "expected_tool": "get_time"}
    wrong = {**PARIS, "expected_params": {"town": "Paris"}}
    made, first = updated(suite(gone, wrong), WEATHER)
    again, second = updated(made, WEATHER)
    assert again == made
    assert second.broken == first.broken
    assert list(second.broken.values()) == [
        ['the tool "get_time" no longer exists'],
        ['town: not a parameter of "get_weather"; its parameters are "city"'],
    ]
    assert updated(suite(PARIS), WEATHER)[1].broken == {}


@pytest.mark.parametrize(
    "params",
    [
        {"city": {"$regex": "^P"}},
        {"city": {"$any_of": ["Paris", "Rome"]}},
        None,
    ],
)
def test_params_that_hold_no_plain_value_are_left_alone(params: Any) -> None:
    case = {"prompt": "x", "expected_tool": "get_weather", "expected_params": params}
    assert (
        why(
            suite(case),
            tool("get_weather", {"city": {"type": "string", "minLength": 2}}, ["city"]),
            TIME,
        )
        == []
    )


def test_the_changes_are_told_in_lines_that_are_safe_to_show() -> None:
    red = tool("red", {"\x1b[31m": STRING})
    _, changes = updated(suite(PARIS, {"prompt": "\x1b]0;x", "expected_tool": "get_time"}), red)
    assert changes.lines() == [
        'added: "red"',
        'removed: "get_weather"',
        'removed: "get_time"',
        'broken: the case "weather-in-paris": the tool "get_weather" no longer exists',
        'broken: the case "0-x": the tool "get_time" no longer exists',
    ]
    _, changes = updated(suite(tools=[red]), tool("red"))
    assert changes.lines() == ['changed: "red": the parameter "\\u001b[31m" removed']


@given(st.permutations([WEATHER, TIME, tool("c"), tool("d", {"a": INTEGER}, ["a"])]), st.integers(0, 4))
def test_any_update_gives_a_suite_that_loads(tools: list[dict[str, Any]], kept: int) -> None:
    made, _ = update_suite(NEW, tools[:2])
    after, changes = update_suite(made, tools[2 - kept // 2 :])
    parse_suite(json.dumps(after))
    assert changes.broken == {}
    assert {case["expected_tool"] for case in after["test_cases"]} == {
        tool["function"]["name"] for tool in after["tools"]
    }
