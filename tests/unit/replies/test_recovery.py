from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.names import KnownTools
from pytest_tooleval.replies.recovery import Reading, prose_of, read_calls, repair_call

NAMES = ("get_weather", "get_time")
TOOLS = KnownTools.of((name, None, {"required": ["city"]}) for name in NAMES)


def read(text: str) -> Reading:
    return read_calls({}, text, TOOLS)


def recover_calls(text: str) -> tuple[ToolCall, ...]:
    return read(text).calls


HARMONY = '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Paris"}<|call|>'
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
    calls = recover_calls(text)

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
    assert recover_calls(text) == (WEATHER_CALL, TIME_CALL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is 21 degrees in Paris.",
        f"I would call {PARIS}",
        f"{PARIS} That is the call.",
        f"Sure!\n```json\n{PARIS}\n```",
        f"```json\n{PARIS}\n```\nThis gives the weather.",
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
    assert recover_calls(text) == ()


def test_arguments_as_text_are_parsed_like_a_providers() -> None:
    (call,) = recover_calls('{"name": "get_time", "arguments": "{\\"tz\\": 1}"}')
    assert call.arguments == {"tz": 1}

    (broken,) = recover_calls('{"name": "get_time", "arguments": "soon"}')
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
    assert recover_calls(text) == (ToolCall("get_time", None, raw),)
    assert repair_call(ToolCall(text, {}), TOOLS) in (ToolCall("get_time", None, raw), None)


def test_no_call_is_lost_in_a_key_that_appears_twice() -> None:
    text = f'{{"tool_calls": [{PARIS}], "tool_calls": [{TIME}]}}'

    assert recover_calls(text) == (WEATHER_CALL, TIME_CALL)


def test_the_fenced_call_of_a_real_local_model() -> None:
    """Qwen2.5 1.5B, with `tool_choice: none`."""
    content = '```json\n{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}\n```'

    assert recover_calls(content)[0].arguments == {"city": "Paris", "unit": "celsius"}


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
    assert repair_call(call, TOOLS) == repaired


def test_a_protocol_call_counts_between_prose() -> None:
    text = f"Let me see.\n<tool_call>{PARIS}</tool_call>\nDone."

    assert recover_calls(text) == (WEATHER_CALL,)
    assert prose_of(text, TOOLS) == "Let me see.\n\nDone."


@pytest.mark.parametrize(
    "text",
    [
        f"Use `<tool_call>{PARIS}</tool_call>` for that.",
        f"```xml\n<tool_call>{PARIS}</tool_call>\n```\nThat is the form.",
        f"~~~\n<tool_call>{PARIS}</tool_call>\n~~~",
        f"````md\n```\n<tool_call>{PARIS}</tool_call>\n```\n````",
        f"``a ` b <tool_call>{PARIS}</tool_call>`` is code.",
        f"<think>I could call <tool_call>{PARIS}</tool_call></think>It is warm.",
        f"[THINK]<tool_call>{PARIS}</tool_call>[/THINK]It is warm.",
        f"I could write <tool_call>{PARIS}</tool_call>, or not.</think>It is warm.",
        f"<think>Perhaps {HARMONY}</think>It is warm.",
        f"<think>Perhaps {HARMONY}, or not.</think>It is warm.",
        f"<think>Done.<|end|> Perhaps {HARMONY}</think>It is warm.",
        f"[THINK]{HARMONY}[/THINK]It is warm.",
        f"<|channel>thought\n{HARMONY}<channel|>It is warm.",
        f"It is warm. <think>Perhaps {HARMONY}</think> Bye.",
        f"<|channel|>analysis<|message|><tool_call>{PARIS}</tool_call><|end|>It is warm.",
        "```tool_code\nprint(unknown(city='Paris'))\n```",
        "get_weather(city='Paris')",
    ],
)
def test_a_call_in_code_or_closed_thinking_is_none(text: str) -> None:
    assert read(text) == Reading(())


@pytest.mark.parametrize(
    "text",
    [
        f"<think>The user wants Paris.</think><tool_call>{PARIS}</tool_call>",
        f"The user wants <tool_call> Paris.</think>\n<tool_call>{PARIS}</tool_call>",
        f"The user wants it.</think>{PARIS}",
        f"The user wants it.</think>```json\n{PARIS}\n```",
        f"<think>The user wants it.</think>\n{PARIS}",
        "[THINK]It.[/THINK][get_weather(city='Paris')]",
        f"It's `code and <tool_call>{PARIS}</tool_call>",  # a tick that nothing closes
        f"```\nnot closed\n<tool_call>{PARIS}</tool_call>",
        f"a `b`\n\nc <tool_call>{PARIS}</tool_call>\n\nd `e`",
        f"a `b\r\n\r\n<tool_call>{PARIS}</tool_call>\r\n\r\nc` d",
        "Sure:\r\n```tool_code\r\nprint(get_weather(city='Paris'))\r\n```\r\n",
        "Sure:\n```tool_code\nprint(get_weather(city='Paris'))\n```",
        "[get_weather(city='Paris')]",
        f"<|channel|>analysis<|message|>Hm.<|end|><tool_call>{PARIS}</tool_call>",
    ],
)
def test_a_call_after_thinking_and_outside_code_counts(text: str) -> None:
    assert read(text).calls == (WEATHER_CALL,)
    assert read(text).unread == ()


@pytest.mark.parametrize(
    "text",
    [f"<think>Then <tool_call>{PARIS}</tool_call>", f"[THINK]Paris <|python_tag|>{PARIS}"],
)
def test_a_call_in_thinking_that_never_ends_cannot_be_read(text: str) -> None:
    (unread,) = read(text).unread

    assert unread.why == "a call within thinking that never ends"
    assert read(text).calls == ()


def test_the_tool_of_a_call_that_is_cut_off_is_known_where_it_can_be_read() -> None:
    found = read("Fine. <function=get_time><parameter=tz>\nEur")

    assert [call.name for call in found.calls] == ["get_time"]
    assert found.calls[0].arguments is None
    assert str(found.unread[0]) == (
        "content: a Qwen3-Coder call: the end of its parameter tz is missing: "
        "<function=get_time><parameter=tz> Eur"
    )


def test_what_a_server_left_in_the_text_counts_beside_native_calls_but_not_twice() -> None:
    native = {"function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    text = f"<tool_call>{PARIS}</tool_call><tool_call>{TIME}</tool_call>"
    found = read_calls({"tool_calls": [native]}, text, TOOLS)

    assert [call.name for call in found.calls] == ["get_weather", "get_time"]
    assert found.format == "recovered"


@pytest.mark.parametrize(
    "text",
    [
        f"{PARIS}<|im_end|>",
        f"[{PARIS}]<|eot_id|>",
        f"{PARIS}\n</tool_call>",
        f"```json\n{PARIS}\n```</s>",
        "[get_weather(city='Paris')]<|eom_id|>",
    ],
)
def test_tokens_that_a_server_kept_do_not_hide_a_call(text: str) -> None:
    assert read(text).calls == (WEATHER_CALL,)


@pytest.mark.parametrize("city", ["</think>", "`x`", "<think>", "```", "x" * 1_000_001])
@pytest.mark.parametrize("form", ["{}", "It's a ` so.\n<tool_call>{}</tool_call>"])
def test_no_argument_hides_its_call(city: str, form: str) -> None:
    call = json.dumps({"name": "get_weather", "arguments": {"city": city}})
    found = read(form.replace("{}", call))

    assert found.unread or found.calls == (ToolCall("get_weather", {"city": city}),)


def test_a_call_behind_a_broken_one_is_read_as_well() -> None:
    found = read(f"<tool_call>{{'name': 1}}</tool_call>\n<tool_call>{PARIS}</tool_call>")

    assert found.calls == (WEATHER_CALL,)
    assert found.lost_calls == 1


@pytest.mark.parametrize("code", ["get_time('UTC')", "at = get_time()\nprint(at)"])
def test_tool_code_that_calls_a_known_tool_and_cannot_be_read_is_no_text(code: str) -> None:
    (unread,) = read(f"Sure:\n```tool_code\n{code}\n```").unread

    assert unread.dialect == "Gemma 3"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("functions.get_time", "get_time"),
        ("get_time:0", "get_time"),
        ("functions.get_time:12", "get_time"),
        ("mcp__clock__get_time", "get_time"),
        ("mcp__my__clock__get_time", "get_time"),
        ("get_time<|channel|>commentary", "get_time"),
        ("get_times", "get_times"),
        ("mcp__clock__other", "mcp__clock__other"),
        ("other.get_time", "other.get_time"),
    ],
)
def test_a_decorated_name_is_the_known_tool(name: str, known: str) -> None:
    assert TOOLS.canonical_name(name) == known
    assert TOOLS._replace(is_exact=True).canonical_name(name) == name


def test_a_decorated_name_that_fits_two_tools_is_neither() -> None:
    two = KnownTools.of([("time", None, {}), ("clock__time", None, {})])

    assert two.canonical_name("mcp__my__clock__time") == "mcp__my__clock__time"


@pytest.mark.parametrize("sent", ["", " ", None, "null"])
def test_missing_arguments_are_empty_only_where_nothing_is_required_or_cut_off(sent: str | None) -> None:
    message = {"tool_calls": [{"function": {"name": "now", "arguments": sent}}]}
    free = KnownTools.of([("now", None, {"type": "object", "properties": {"tz": {}}})])
    needy = KnownTools.of([("now", None, {"required": ["tz"]})])

    assert read_calls(message, "", free).calls[0].arguments == {}
    assert read_calls(message, "", free, cut_off=True).calls[0].arguments is None
    assert read_calls(message, "", needy).calls[0].arguments is None
    assert read_calls(message, "").calls[0].arguments is None


EXAMPLES = json.loads((Path(__file__).parents[2] / "data" / "dialects.json").read_text(encoding="utf-8"))
PIECES = st.sampled_from(
    [
        PARIS,
        TIME,
        "```",
        "```json\n",
        "\n",
        *(text for own in EXAMPLES.values() for text in (*own["right"], *own["broken"])),
        "<think>",
        "</think>",
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
def test_never_raises(text: str) -> None:
    read(text)
    prose_of(text, TOOLS)
    repair_call(ToolCall(text, {}), TOOLS)


@given(st.text(max_size=50))
def test_text_is_not_a_call(text: str) -> None:
    assert recover_calls(text) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_arguments_come_through_unchanged(arguments: dict[str, Any]) -> None:
    text = json.dumps({"name": "get_time", "arguments": arguments})

    assert recover_calls(text) == (ToolCall("get_time", arguments),)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 30_000,
        "<tool_call>{}</tool_call>" * 13_333,
        "{}" * 133_333,
        "[" + "{}," * 100_000,
        "```" * 100_000,
        " " * 300_000 + "{",
        "{" + " " * 300_000,
        "<function=" * 30_000,
        '{"a": "' + "\\" * 300_000,
        "".join("`" * n + " " for n in range(1, 750)),
        "```json\n" * 40_000,
        "~~~~~\n~~~x\n" * 26_666,
        "".join("~" * n + "\n" for n in range(600, 2, -1)) + "x\n" * 80_000,
        "".join("~" * n + "x\n" for n in range(600, 2, -1)) + "~~~\n" * 40_000,
        "<tool_call>name" * 20_000,
        "<think>" * 46_666,
        "<|channel|>analysis<|message|>x" * 10_000,
        '<invoke name="x">' * 16_666,
        "<function_calls>f(" * 16_666,
        "functools[" * 30_000,
        "[TOOL_CALLS]" + "a" * 300_000,
        "<tool_call>" + " " * 300_000,
        ("<tool_call>" + " " * 90) * 3_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()

    assert all(call.arguments is None for call in recover_calls(text))
    assert time.process_time() - start < 2
