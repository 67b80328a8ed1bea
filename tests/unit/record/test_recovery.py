from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.recovery import recover_calls
from pytest_tooleval.record.recovery import repair_call

NAMES = ("get_weather", "get_time")
PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
TIME = '{"name": "get_time", "parameters": {}}'
WEATHER_CALL = ToolCall("get_weather", {"city": "Paris"})
TIME_CALL = ToolCall("get_time", {})


@pytest.mark.parametrize(
    "text",
    [
        PARIS,
        f"  \n{PARIS}\n",
        f"[{PARIS}]",
        f"```json\n{PARIS}\n```",
        f"```\n{PARIS}\n```",
        f"```tool_call\n{PARIS}\n```",
        f"<tool_call>\n{PARIS}\n</tool_call>",
        f"<tool_call>{PARIS}",
        f"<|tool_call|>[{PARIS}]<|/tool_call|>",
        f"[TOOL_CALLS][{PARIS}]",
        f"[TOOL_CALLS] [{PARIS}]",
        f"<|python_tag|>{PARIS}",
        '<function=get_weather>{"city": "Paris"}</function>',
        '<function=get_weather>\n{"city": "Paris"}\n',
        f'{{"type": "function", "function": {PARIS}}}',
        f'{{"tool_calls": [{{"id": "x", "type": "function", "function": {PARIS}}}]}}',
        '{"type": "function", "name": "get_weather", "parameters": {"city": "Paris"}}',
    ],
)
def test_recovers_one_call(text: str) -> None:
    calls = recover_calls(text, NAMES)

    assert [(call.name, call.arguments) for call in calls] == [("get_weather", {"city": "Paris"})]


@pytest.mark.parametrize(
    "text",
    [
        f"[{PARIS}, {TIME}]",
        f"{PARIS}\n{TIME}",
        f"{PARIS}; {TIME}",
        f"<tool_call>{PARIS}</tool_call>\n<tool_call>{TIME}</tool_call>",
        f"```json\n[{PARIS}, {TIME}]\n```",
        '<function=get_weather>{"city": "Paris"}</function><function=get_time>{}</function>',
    ],
)
def test_recovers_several_calls(text: str) -> None:
    assert recover_calls(text, NAMES) == (WEATHER_CALL, TIME_CALL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is 21 degrees in Paris.",
        f"I would call {PARIS}",
        f"{PARIS} That is the call.",
        f"Sure!\n```json\n{PARIS}\n```",
        f"```json\n{PARIS}\n```\nThis gives the weather.",
        f"<tool_call>{PARIS}</tool_call> Done.",
        '{"name": "unknown", "arguments": {}}',
        f'[{PARIS}, {{"name": "unknown", "arguments": {{}}}}]',
        '{"name": "get_weather"}',
        '{"name": "get_weather", "arguments": {}, "parameters": {}}',
        '{"name": "get_weather", "arguments": {}, "comment": "x"}',
        '{"name": 5, "arguments": {}}',
        '{"name": "get_weather", "arguments": {"x": NaN}}',
        '{"city": "Paris"}',
        '{"tool_calls": null}',
        "[]",
        "[1, 2]",
        "<tool_call></tool_call>",
        "<function=get_weather",
        "<function=get_weather>[1]</function>",
        "``````",
        "```json```",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_leaves_everything_else_alone(text: str) -> None:
    assert recover_calls(text, NAMES) == ()


def test_arguments_as_text_are_parsed_like_a_providers() -> None:
    (call,) = recover_calls('{"name": "get_time", "arguments": "{\\"tz\\": 1}"}', NAMES)
    assert call.arguments == {"tz": 1}

    (broken,) = recover_calls('{"name": "get_time", "arguments": "soon"}', NAMES)
    assert broken.arguments is None
    assert broken.raw_arguments == "soon"


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ('{"name": "get_time", "arguments": {"tz": 1, "tz": 2}}', '{"tz": 1, "tz": 2}'),
        ('{"name": "get_time", "arguments": {"at": [{"h": 1, "h": 2}]}}', '{"at": [{"h": 1, "h": 2}]}'),
        ('<function=get_time>{"tz": 1, "tz": 2}</function>', '{"tz": 1, "tz": 2}'),
        (
            '{"name": "get_time", "arguments": {"tz": 1}, "arguments": {}}',
            '(a key of the call appears twice) {"name": "get_time", "arguments": {"tz": 1}, '
            '"arguments": {}}',
        ),
    ],
)
def test_a_key_that_appears_twice_makes_the_call_malformed(text: str, raw: str) -> None:
    assert recover_calls(text, NAMES) == (ToolCall("get_time", None, raw),)
    assert repair_call(ToolCall(text, {}), NAMES) in (ToolCall("get_time", None, raw), None)


def test_no_call_is_lost_in_a_key_that_appears_twice() -> None:
    text = f'{{"tool_calls": [{PARIS}], "tool_calls": [{TIME}]}}'

    assert recover_calls(text, NAMES) == (WEATHER_CALL, TIME_CALL)


def test_the_fenced_call_of_a_real_local_model() -> None:
    """Qwen2.5 1.5B, with `tool_choice: none`."""
    content = '```json\n{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}\n```'

    assert recover_calls(content, NAMES)[0].arguments == {"city": "Paris", "unit": "celsius"}


@pytest.mark.parametrize(
    ("call", "repaired"),
    [
        (ToolCall(PARIS, {}, "{}", "id1"), ToolCall("get_weather", {"city": "Paris"}, None, "id1")),
        (
            ToolCall('{"name": "get_time"}', {"a": 1}, None, "x"),
            ToolCall("get_time", {"a": 1}, None, "x"),
        ),
        (ToolCall('{"name": "unknown", "arguments": {}}', {}), None),
        (ToolCall('{"name": "get_time", "argu', {}), None),
        (ToolCall('{"city": "Paris"}', {}), None),
        (ToolCall("get_weather", {}), None),
        (ToolCall("unknown", {}), None),
        (ToolCall("{" * 100_000, {}), None),
    ],
)
def test_repairs_a_call_inside_the_name(call: ToolCall, repaired: ToolCall | None) -> None:
    assert repair_call(call, NAMES) == repaired


PIECES = st.sampled_from(
    [
        PARIS,
        TIME,
        "```",
        "```json\n",
        "\n",
        "<tool_call>",
        "</tool_call>",
        "[TOOL_CALLS]",
        "<function=get_time>",
        "</function>",
        "{",
        "}",
        "[",
        "]",
        '"',
        ",",
        "\ud800",
        "NaN",
        "1e999",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=8).map("".join))
def test_never_raises_and_names_only_known_tools(text: str) -> None:
    for call in recover_calls(text, NAMES):
        assert call.name in NAMES
    repair_call(ToolCall(text, {}), NAMES)


@given(st.text(max_size=50))
def test_text_is_not_a_call(text: str) -> None:
    assert recover_calls(text, NAMES) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_arguments_come_through_unchanged(arguments: dict[str, Any]) -> None:
    text = json.dumps({"name": "get_time", "arguments": arguments})

    assert recover_calls(text, NAMES) == (ToolCall("get_time", arguments),)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 90_000,
        "<tool_call>{}</tool_call>" * 40_000,
        "{}" * 400_000,
        "[" + "{}," * 300_000,
        "```" * 300_000,
        " " * 900_000 + "{",
        "{" + " " * 900_000,
        "<function=" * 90_000,
        '{"a": "' + "\\" * 900_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()

    assert recover_calls(text, NAMES) == ()
    assert time.process_time() - start < 10
