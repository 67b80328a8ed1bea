from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from bfcl_data import bfcl_suite_file
from builders import picture
from weather_suite import FLIGHT, WEATHER

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.suite.expectations import ExpectedCall
from pytest_tooleval.suite.fingerprints import fingerprint_of_case
from pytest_tooleval.suite.load import load_suite, parse_suite
from pytest_tooleval.suite.model import Suite

ROOT = Path(__file__).parents[3]


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, **parameters}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def suite(*cases: Any, **fields: Any) -> str:
    data = {
        "name": "s",
        "tools": [tool("get_weather"), tool("search")],
        "test_cases": list(cases),
        **fields,
    }
    return json.dumps(data, indent=1)


def case(**fields: Any) -> dict[str, Any]:
    return {"prompt": "Weather in Paris?", "expected_tool": "get_weather", **fields}


def problems(text: str | bytes, **options: Any) -> dict[str, str]:
    """Field to message of everything wrong."""
    with pytest.raises(SuiteError) as caught:
        parse_suite(text, "a.tooleval.json", **options)
    found = caught.value.problems
    fields = [problem.field for problem in found]
    assert len(set(fields)) == len(fields), fields
    return {problem.field: problem.message for problem in found}


def place(text: str) -> tuple[int, int]:
    with pytest.raises(SuiteError) as caught:
        parse_suite(text)
    (problem,) = caught.value.problems
    return problem.line, problem.column


# Valid files


def test_a_suite_loads() -> None:
    loaded = parse_suite(WEATHER)
    assert loaded.name == "Weather API Suite"
    assert [c.expected_params for c in loaded.test_cases] == [
        {"city": "Paris"},
        {"city": "Tokyo", "units": "fahrenheit"},
    ]
    assert [c.id for c in loaded.test_cases] == [
        "whats-the-weather-in-paris",
        "temperature-in-tokyo-in-fahrenheit",
    ]


def test_a_chain_loads() -> None:
    tools = [tool(name) for name in ("book_flight", "search_flights", "get_availability")]
    text = json.dumps({"name": "s", "tools": tools, "test_cases": [json.loads(FLIGHT)]})
    (chain,) = parse_suite(text).test_cases
    assert chain.multi_turn
    assert chain.optimal_hops == 2
    assert chain.mock_responses["get_availability"] == {"available": True, "seats": 12}


@pytest.mark.parametrize(
    "part", ["irrelevance", "live_simple", "multiple", "parallel", "parallel_multiple", "simple_python"]
)
def test_bfcl_loads(part: str) -> None:
    file = bfcl_suite_file(part)
    loaded = load_suite(file)
    raw = json.loads(file.read_text(encoding="utf-8"))["test_cases"]
    assert [c.id for c in loaded.test_cases] == [c["id"] for c in raw]
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all(lines[c.line - 1].strip() == "{" for c in loaded.test_cases)


def test_every_case_knows_its_line() -> None:
    text = (
        '{"name": "s", "test_cases": [\n {"prompt": "a", "expected_tool": null}, \n\n {"prompt":\n "b", '
    )
    text += '"expected_tool": null}]}'
    assert [c.line for c in parse_suite(text).test_cases] == [2, 4]
    assert [c.line for c in parse_suite(text.replace("\n", "\r\n")).test_cases] == [2, 4]


def test_text_and_bytes_give_the_same() -> None:
    text = suite(case(prompt="Wetter in Köln? 🌧"))
    assert parse_suite(text) == parse_suite(text.encode())


def test_null_ids_become_slugs_that_avoid_the_given_ones() -> None:
    loaded = parse_suite(suite(case(id=None), case(id="weather-in-paris"), case(), case(prompt="?!")))
    ids = [c.id for c in loaded.test_cases]
    assert ids == ["weather-in-paris-2", "weather-in-paris", "weather-in-paris-3", "case-4"]


def test_the_slug_of_a_conversation_is_that_of_the_last_user_message() -> None:
    prompt = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": [{"type": "text", "text": "Snow in Oslo?"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    assert parse_suite(suite(case(prompt=prompt))).test_cases[0].id == "snow-in-oslo"


def test_what_an_exporter_writes_for_unused_fields_is_no_error() -> None:
    unused: dict[str, Any] = {
        "expected_calls": None,
        "call_order": "any",
        "multi_turn": False,
        "max_rounds": None,
        "valid_prerequisites": [],
        "mock_responses": {},
        "xfail": False,
    }
    parse_suite(suite(case(**unused)))
    parse_suite(suite(case(expected_tool=None, expected_params={})))


def test_tool_names_compare_without_case() -> None:
    parse_suite(suite(case(expected_tool="GET_WEATHER"), case(expected_tool="*")))


def test_loading_leaves_no_trace_of_hostile_but_legal_values() -> None:
    value = {"nul": "\x00", "esc": "\x1b[31m", "deep": json.loads("[" * 90 + "]" * 90), "big": 10**4000}
    loaded = parse_suite(suite(case(metadata=value)))
    assert loaded.test_cases[0].metadata == value


# Files that cannot be read


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"nope\.json: there is no such file"):
        load_suite(tmp_path / "nope.json")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=": the file cannot be read"):
        load_suite(tmp_path)


def test_a_name_with_a_nul(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=": the file cannot be read: embedded null byte"):
        load_suite(f"{tmp_path}/a\x00b")


def test_a_file_without_permission(tmp_path: Path) -> None:
    file = tmp_path / "a.tooleval.json"
    file.write_text(WEATHER)
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SuiteError, match=": the file cannot be read: Permission denied"):
        load_suite(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "got an empty list"),
        ("null", "got null"),
        ('[{"prompt": "x"}]', 'put a bare list of cases into "test_cases"'),
    ],
)
def test_a_file_that_holds_no_object(text: str, message: str) -> None:
    found = problems(text)[""]
    assert found.startswith('expected an object {"name": ...')
    assert message in found


# Places


def test_an_unknown_field_is_at_its_key() -> None:
    assert place('{"name": "s",\n "test_cases": [],\n  "nme": 1}') == (3, 3)


def test_a_missing_field_is_where_its_object_opens() -> None:
    assert place('{"name": "s",\n "test_cases": [\n  {"expected_tool": null}]}') == (3, 3)


def test_a_wrong_value_is_at_the_value_and_columns_count_characters() -> None:
    text = '{"name": "ééé🌧", "temperature":   "hot", "test_cases": []}'
    assert place(text) == (1, text.index('"hot"') + 1)


def test_problems_come_in_the_order_of_the_file_and_all_at_once() -> None:
    text = suite(
        case(thresholds={"overal": 1}, temperature="hot"),
        case(expected_tool="get_wether", prompt=""),
        trials=0,
        tools=[tool("get_weather"), {"name": "x", "inputSchema": {}}],
    )
    with pytest.raises(SuiteError) as caught:
        parse_suite(text)
    found = caught.value.problems
    assert [problem.field for problem in found] == [
        "tools[1]",
        "test_cases[0].thresholds.overal",
        "test_cases[0].temperature",
        "test_cases[1].prompt",
        "test_cases[1].expected_tool",
        "trials",
    ]
    assert [(p.line, p.column) for p in found] == sorted((p.line, p.column) for p in found)


def test_fifty_problems_are_enough() -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(suite(*[5] * 73))
    assert len(caught.value.problems) == 51
    assert caught.value.problems[-1].message == "and 23 more problems from here on"


def test_a_misspelt_field_is_one_problem_and_not_two() -> None:
    found = problems('{"name": "s", "test_cases": [{"promt": "x", "expected_tol": null}]}')
    assert found == {
        "test_cases[0].promt": "unknown field, did you mean prompt?",
        "test_cases[0].expected_tol": "unknown field, did you mean expected_tool?",
    }


COMMENTED = {"$comment": ["Asked for by the desk,", "see the ticket."]}


def test_comments_stay_in_the_file() -> None:
    def made(**fields: Any) -> str:
        turns = [{"prompt": "x", "expected_tool": None, **fields}]
        tools = [{**tool("get_weather"), **fields}]
        return suite(case(**fields), {"turns": turns, **fields}, tools=tools, **fields)

    plain, commented = parse_suite(made()), parse_suite(made(**COMMENTED))
    assert commented.model_dump() == plain.model_dump()
    assert commented.tools[0].wire == tool("get_weather")
    for one, other in zip(commented.test_cases, plain.test_cases, strict=True):
        assert fingerprint_of_case(commented, one) == fingerprint_of_case(plain, other)


def test_a_comment_is_a_text_or_a_list_of_texts_beside_the_function() -> None:
    inside = tool("search")
    inside["function"] |= COMMENTED
    found = problems(suite(case(**{"$comment": 5}), tools=[tool("get_weather"), inside]))
    assert found == {
        "test_cases[0].$comment": "expected a string or a list of strings, got the number 5",
        "tools[1].function.$comment": "a field of the tool; move it out of function",
    }


def test_a_field_of_another_place() -> None:
    found = problems(suite(case(system_prompt="x", description="y"), expected_tool="search"))
    assert found["expected_tool"] == "a field of a test case, not of the suite; move it into the cases"
    assert "make prompt a list that begins with" in found["test_cases[0].system_prompt"]
    assert "write $comment" in found["test_cases[0].description"]


# One case with one mistake each: the field, and what the message must say. The whole message is
# read by somebody who has never seen the tool.

ONE_MISTAKE: list[tuple[dict[str, Any], str, str]] = [
    ({"expected_tool": "null"}, "expected_tool", "for no tool, drop the quotes: null"),
    ({"temperature": "hot"}, "temperature", 'expected a number from 0 to 2, got the string "hot"'),
    ({"temperature": "0.5"}, "temperature", "write 0.5 without quotes"),
    ({"temperature": 2.1}, "temperature", "expected a number from 0 to 2, got the number 2.1"),
    ({"temperature": True}, "temperature", "got true"),
    (
        {"max_tokens": 5.0},
        "max_tokens",
        "expected a whole number of at least 1, got the number 5.0; write 5",
    ),
    ({"trials": 10_001}, "trials", "expected a whole number from 1 to 10000, got the number 10001"),
    ({"pass": "most"}, "pass", 'expected "mean", "all", "any", or "K/N"'),
    ({"pass": "3/2"}, "pass", '"3/2" needs more passes than trials; use K/N with K up to N'),
    ({"pass": "2/3", "trials": 4}, "trials", '"pass": "2/3" asks 3 times'),
    ({"pass": "1/10001"}, "pass", "expected at most 10000 trials, got 10001"),
    ({"trials": 0}, "trials", "expected a whole number from 1 to 10000, got the number 0"),
    ({"weight": 0}, "weight", "expected a number above 0"),
    (
        {"expected_tool": "", "forbidden_calls": [{"tool": "get_weather", "params": {"city": "X"}}]},
        "expected_tool",
        "expected the name of a tool, a list of names",
    ),
    ({"prompt": {"str": "Hi"}}, "prompt", "expected the user's message as a string, or a list of"),
    ({"xfail": {"bool": 1}}, "xfail.bool", "unknown field; expected one of reason, strict"),
    ({"multi_turn": "true"}, "multi_turn", "write true without quotes"),
    ({"tool_choice": "requird"}, "tool_choice", 'did you mean "required"?'),
    ({"metadata": []}, "metadata", "expected an object, got an empty list"),
    ({"expected_parms": {}}, "expected_parms", "unknown field, did you mean expected_params?"),
    (
        {"expected_parms": {}, "expected_params": {}},
        "expected_parms",
        "unknown field; everyday ones are",
    ),
    ({"thresholds": {"mine": 1}}, "thresholds.mine", "a metric of your own needs its scorer"),
    ({"expectedParams": {}}, "expectedParams", "unknown field, did you mean expected_params?"),
    ({"arguments": {}}, "arguments", "unknown field, did you mean expected_params?"),
    ({"name": "x"}, "name", "unknown field, did you mean id?"),
    ({"zebra": 1}, "zebra", "unknown field; everyday ones are id, prompt,"),
    ({"prompt": ""}, "prompt", "an empty prompt; write what the user says"),
    ({"prompt": " \n"}, "prompt", "an empty prompt"),
    (
        {"prompt": 5},
        "prompt",
        "expected the user's message as a string, or a list of chat messages, got",
    ),
    ({"prompt": []}, "prompt", "got an empty list"),
    ({"prompt": [{"role": "system", "content": "x"}]}, "prompt", "no message from the user"),
    ({"prompt": [{"role": "usr", "content": "x"}]}, "prompt[0].role", 'did you mean "user"?'),
    ({"prompt": [{"role": ["user"], "content": "x"}]}, "prompt[0].role", 'expected "system", '),
    ({"prompt": [{"content": "x"}]}, "prompt[0].role", "missing"),
    (
        {"prompt": [{"role": "user", "content": ""}]},
        "prompt[0].content",
        "an empty message from the user",
    ),
    ({"prompt": [{"role": "user", "content": 5}]}, "prompt[0].content", "expected a string, a list of"),
    ({"prompt": [{"role": "user", "content": [5]}]}, "prompt[0].content[0]", "expected a content part"),
    ({"prompt": [7]}, "prompt[0]", "expected a chat message"),
    ({"expected_tool": 3}, "expected_tool", "expected the name of a tool, a list of names"),
    ({"expected_tool": []}, "expected_tool", "null when nothing should be called, got an empty list"),
    (
        {"expected_tool": ["search", 3]},
        "expected_tool[1]",
        "expected the name of a tool, got the number 3",
    ),
    (
        {"expected_tool": "get_wether"},
        "expected_tool",
        'not defined in the suite, did you mean "get_weather"?',
    ),
    ({"expected_tool": "zebra"}, "expected_tool", 'defined tools: "get_weather", "search"'),
    ({"expected_tool": ["*", "search"]}, "expected_tool[0]", 'write "*" alone'),
    ({"tools": []}, "expected_tool", "the case has no tools"),
    (
        {"expected_calls": []},
        "expected_calls",
        ("cannot be combined with expected_tool; keep one of them"),
    ),
    (
        {"expected_tool": None, "expected_params": {"a": 1}},
        "expected_params",
        "no params can be expected",
    ),
    (
        {"expected_params": 5},
        "expected_params",
        "expected an object of argument names and expected values",
    ),
    ({"expected_params": {"a": {"$regx": "x"}}}, "expected_params.a.$regx", 'did you mean "$regex"?'),
    ({"call_order": "strict"}, "call_order", "no effect without expected_calls"),
    ({"skip": 3}, "skip", "expected true, false, or the reason as a string, got the number 3"),
    ({"skip": ""}, "skip", "an empty reason"),
    ({"xfail": None}, "xfail", "expected true, false, the reason"),
    ({"xfail": {"reson": "x"}}, "xfail.reson", "unknown field, did you mean reason?"),
    ({"xfail": {"strict": "true"}}, "xfail.strict", "expected true or false"),
    ({"tags": "x"}, "tags", "expected a list of strings"),
    ({"tags": [3]}, "tags[0]", "expected a string, got the number 3"),
    ({"tags": ["a b"]}, "tags[0]", "cannot be used with -m"),
    ({"tags": ["_x"]}, "tags[0]", "begin with a letter or digit"),
    ({"tags": ["xfail"]}, "tags[0]", "use the field with this name"),
    ({"tags": ["parametrize"]}, "tags[0]", "a pytest mark with its own meaning"),
    ({"tags": ["timeout"]}, "tags[0]", "a pytest mark with its own meaning"),
    ({"tags": ["not"]}, "tags[0]", "an operator in -m and -k expressions"),
    ({"tags": ["a", "a"]}, "tags[1]", "is listed twice"),
    ({"thresholds": {"overal": 1}}, "thresholds.overal", "unknown metric, did you mean overall?"),
    ({"thresholds": {"zebra": 1}}, "thresholds.zebra", 'expected one of "overall", "tool_selection"'),
    (
        {"thresholds": {"overall": 2}},
        "thresholds.overall",
        "expected a number from 0 to 1, or null for no threshold, got the number 2",
    ),
    (
        {"thresholds": {"attack_success": 0}},
        "thresholds.attack_success",
        "a rate of the run, which no case has; use --tooleval-fail-over=attack_success=0",
    ),
    ({"id": 3}, "id", "expected a string, got the number 3"),
    ({"id": ""}, "id", "an empty id"),
    ({"id": " a"}, "id", "begins or ends with a space"),
    ({"id": "a::b"}, "id", 'contains "::"'),
    ({"id": "a[b"}, "id", 'contains "["'),
    ({"id": "a\x1bb"}, "id", r'"a\u001bb" contains unprintable characters'),
    ({"id": "a\x00b"}, "id", "unprintable"),
    ({"id": "a\u202eb"}, "id", "unprintable"),
    ({"id": "a" * 201}, "id", "the id has 201 characters; use at most 200"),
    ({"max_rounds": 3}, "max_rounds", 'only for multi-turn cases; add "multi_turn": true'),
    ({"mock_responses": {"search": 1}}, "mock_responses", "only for multi-turn cases"),
    ({"multi_trun": True, "max_rounds": 3}, "multi_trun", "unknown field, did you mean multi_turn?"),
    (
        {"multi_turn": True, "expected_tool": None},
        "expected_tool",
        "needs the tool that ends its chain",
    ),
    (
        {"multi_turn": True, "valid_prerequisites": ["sarch"]},
        "valid_prerequisites[0]",
        'did you mean "search"?',
    ),
    (
        {"multi_turn": True, "valid_prerequisites": ["*"]},
        "valid_prerequisites[0]",
        "cannot be used here",
    ),
    (
        {"multi_turn": True, "valid_prerequisites": [3]},
        "valid_prerequisites[0]",
        "expected the name of a tool",
    ),
    (
        {"multi_turn": True, "mock_responses": []},
        "mock_responses",
        "expected an object that maps the name",
    ),
    (
        {"multi_turn": True, "mock_responses": {"sarch": 1}},
        "mock_responses.sarch",
        'did you mean "search"?',
    ),
]

SVG = {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2Zz4="}}
MOCK_MISTAKES: list[tuple[Any, str, str]] = [
    ({"$sequence": []}, ".$sequence", "expected a non-empty list of answers"),
    ({"$sequence": 1, "x": 2}, "", "must be the only key"),
    ({"$sequnce": [1]}, ".$sequnce", 'unknown, did you mean "$sequence"?'),
    (
        {"$mcp": "x"},
        ".$mcp",
        'unknown; a mock is a plain answer, {"$sequence": [...]} or {"$when": [...]}',
    ),
    ([SVG], "[0].image_url", "data:image/png;base64,... or https://...; for a list that is only data, "),
    ({"$sequence": [1, [SVG]]}, ".$sequence[1][0].image_url", "expected a URL such as"),
    ({"$when": [{"answer": [SVG]}]}, ".$when[0].answer[0].image_url", "expected a URL such as"),
    ([picture(), {"id": 1}], "[1]", 'expected a part such as {"type": "text", "text": "..."} or'),
    (
        [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        "[0]",
        'or {"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}, got',
    ),
    ({"$when": {}}, ".$when", "expected a non-empty list of entries such as"),
    ({"$when": [3]}, ".$when[0]", "expected an object such as"),
    ({"$when": [{"params": {}}]}, ".$when[0].answer", "missing; expected the tool's answer"),
    (
        {"$when": [{"answer": {"$sequence": 1}}]},
        ".$when[0].answer.$sequence",
        "expected a non-empty list",
    ),
    ({"$when": [{"answer": {"$when": []}}]}, ".$when[0].answer.$when", "put all entries into one list"),
    ({"$when": [{"answer": 1}, {"params": {}, "answer": 2}]}, ".$when[0]", "so it must be the last"),
    (
        {"$when": [{"params": 1, "answer": 2}]},
        ".$when[0].params",
        "expected an object of argument names",
    ),
    ({"$when": [{"parms": {}, "answer": 2}]}, ".$when[0].parms", "expected params or answer"),
    (
        {"$when": [{"params": {"a": {"$regex": "("}}, "answer": 2}]},
        ".$when[0].params.a.$regex",
        "compile",
    ),
]

CALL_MISTAKES: list[tuple[Any, str, str]] = [
    (3, "", "expected an object such as"),
    ({}, ".tool", 'missing; expected the name of a tool, a list of names, or "*"'),
    ({"tool": None}, ".tool", "got null"),
    ({"tool": []}, ".tool", "got an empty list"),
    ({"tool": "serch"}, ".tool", 'did you mean "search"?'),
    ({"name": "search"}, ".name", "unknown field, did you mean tool?"),
    ({"tool": "search", "arguments": {}}, ".arguments", "unknown field, did you mean params?"),
    ({"tool": "search", "params": []}, ".params", "expected an object of argument names"),
    (
        {"tool": "search", "params": {"a": {"$approx": {"value": 1}}}},
        ".params.a.$approx",
        'with "abs", "rel" or both',
    ),
    ({"tool": "search", "params": {"a": {"$gte": "5"}}}, ".params.a.$gte", "expected a finite number"),
]

TOOL_MISTAKES: list[tuple[Any, str, str]] = [
    (5, "", 'expected a tool, {"type": "function", "function"'),
    ({"type": "function"}, "", "function is missing"),
    ({"name": "x", "input_schema": {}}, "", "a tool in Anthropic's format; write it as"),
    ({"name": "x", "inputSchema": {}}, "", "a tool in MCP's format; write it as"),
    ({"type": "function", "name": "x", "parameters": {}}, "", "the unwrapped function"),
    ({"functionDeclarations": []}, "", "Gemini's format"),
    (
        {"type": "fn", "function": {"name": "x"}},
        ".type",
        'expected "function" or "custom", got the string "fn"',
    ),
    ({"function": {"name": "x"}}, ".type", 'missing; expected "function"'),
    ({"type": "function", "function": 5}, ".function", 'expected an object such as {"name"'),
    ({"type": "function", "function": {"name": ""}}, ".function.name", "expected a non-empty string"),
    ({"type": "function", "name": "x", "function": {"name": "x"}}, ".name", "move it into function"),
    (
        {"type": "function", "function": {"name": "x", "inputSchema": {}}},
        ".function.inputSchema",
        "did you mean parameters?",
    ),
    (
        {"type": "function", "function": {"name": "x", "parameters": []}},
        ".function.parameters",
        "a JSON Schema of type object",
    ),
    (tool("x", type="dict"), ".function.parameters.type", 'expected "object", got the string "dict"'),
    (tool("x", required="city"), ".function.parameters.required", "a list of different property names"),
    (tool("search"), ".function.name", 'the tool "search" is already defined as tools[1]'),
]


@pytest.mark.parametrize(("fields", "field", "message"), ONE_MISTAKE)
def test_one_mistake_is_one_problem(fields: dict[str, Any], field: str, message: str) -> None:
    found = problems(suite(case(), case(**{"prompt": "Another?", **fields})))
    assert list(found) == [f"test_cases[1].{field}"]
    assert message in found[f"test_cases[1].{field}"]


def test_a_text_of_the_wrong_type_outside_a_conversation() -> None:
    found = problems(suite(case(expected_text=[None])))
    expected = 'expected a text, or a matcher such as {"$regex": "..."}, got null'
    assert found["test_cases[0].expected_text[0]"] == expected


@pytest.mark.parametrize(("answer", "field", "message"), MOCK_MISTAKES)
def test_a_mistake_in_a_mock(answer: Any, field: str, message: str) -> None:
    found = problems(suite(case(multi_turn=True, mock_responses={"search": answer})))
    at = f"test_cases[0].mock_responses.search{field}"
    assert list(found) == [at]
    assert message in found[at]


def test_mocks_of_every_form_load() -> None:
    mocks = {
        "search": {"$when": [{"params": {"city": {"$regex": "^P"}}, "answer": 1}, {"answer": None}]},
        "get_weather": {"$sequence": [{"a": 1}, "b", None]},
        "locate": {"$exact": {"$mcp": "x"}},
    }
    tools = [tool(name) for name in mocks]
    loaded = parse_suite(suite(case(multi_turn=True, mock_responses=mocks, tools=tools)))
    assert loaded.test_cases[0].mock_responses == mocks


@pytest.mark.parametrize(("call", "field", "message"), CALL_MISTAKES)
def test_a_mistake_in_an_expected_call(call: Any, field: str, message: str) -> None:
    found = problems(suite({"prompt": "x", "expected_calls": [{"tool": "search"}, call]}))
    at = f"test_cases[0].expected_calls[1]{field}"
    assert list(found) == [at]
    assert message in found[at]


@pytest.mark.parametrize(("given", "field", "message"), TOOL_MISTAKES)
@pytest.mark.parametrize("in_case", [False, True])
def test_a_mistake_in_a_tool(given: Any, field: str, message: str, in_case: bool) -> None:
    tools = [tool("get_weather"), tool("search"), given]
    text = suite(case(tools=tools)) if in_case else suite(case(), tools=tools)
    at = f"{'test_cases[0].' if in_case else ''}tools[2]{field}"
    found = problems(text)
    assert list(found) == [at]
    assert message in found[at]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"tools": []}, "tools", "cannot be combined with tools_from; keep one of them"),
        ({"tools_from": None}, "live_tools", "needs a server; add tools_from"),
        ({"tools_from": {"mcp": {}}}, "tools_from.mcp", "one of stdio, http and sse, got none"),
        ({"tools_from": {"mcp": {"stdoi": "x"}}}, "tools_from.mcp.stdoi", "did you mean stdio?"),
        ({"tools_from": {"mcp": {"stdio": 5}}}, "tools_from.mcp.stdio", "expected a command"),
    ],
)
def test_a_mistake_in_tools_of_a_server(change: dict[str, Any], field: str, message: str) -> None:
    data = {"tools_from": {"mcp": {"stdio": "server"}}, "live_tools": ["*"], **change}
    given = {name: value for name, value in data.items() if value is not None}
    chain = {"prompt": "x", "expected_tool": "get_weather", "multi_turn": True}
    found = problems(json.dumps({"name": "s", "test_cases": [chain], **given}))
    assert message in found[field]


def test_two_mocks_for_one_tool() -> None:
    found = problems(suite(case(multi_turn=True, mock_responses={"search": 1, "SEARCH": 2})))
    assert found == {
        "test_cases[0].mock_responses.SEARCH": ('the same tool as "search"; names ignore case')
    }


def test_params_beside_expected_calls() -> None:
    found = problems(suite({"prompt": "x", "expected_calls": [], "expected_params": {"a": 1}}))
    assert "give each call its own" in found["test_cases[0].expected_params"]


def test_expected_calls_in_a_chain() -> None:
    found = problems(suite({"prompt": "x", "expected_calls": [], "multi_turn": True}))
    assert "a chain ends with one call" in found["test_cases[0].expected_calls"]


def test_expected_tool_must_be_there() -> None:
    found = problems(suite({"prompt": "x"}))
    message = found["test_cases[0].expected_tool"]
    assert message.startswith("missing; expected the name of a tool")
    assert "null when nothing should be called" in message
    assert "expected_calls" in message


def test_duplicate_ids_name_the_line_of_the_first() -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(
            '{"name": "s", "test_cases": [\n'
            '{"id": "a", "prompt": "x", "expected_tool": null},\n'
            '{"id": "a", "prompt": "y", "expected_tool": null}]}'
        )
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (3, 8)
    assert problem.message == 'the id "a" is already used by the case on line 2; ids must be unique'


def test_duplicate_keys_are_found_at_any_depth() -> None:
    text = """{"name": "s", "name": "t",
 "tools": [{"type": "function", "function": {"name": "f",
   "name": "g"}}],
 "test_cases": [{"prompt": "x", "expected_tool": null, "metadata":
   {"a": [{"b": 1, "b": 1}]}, "prompt": "y"}]}"""
    found = problems(text)
    assert list(found) == [
        "name",
        "tools[0].function.name",
        "test_cases[0].metadata.a[0].b",
        "test_cases[0].prompt",
    ]
    assert found["tools[0].function.name"] == ('duplicate key "name", first on line 2; keep one')


def test_of_cases_given_twice_the_second_list_is_read() -> None:
    text = '{"name": "s", "test_cases": [{"a": 1, "a": 2}, 5], '
    text += '"test_cases": [{"prompt": "x", "expected_tool": null}]}'
    assert set(problems(text)) == {"test_cases", "test_cases[0].a"}


def test_metrics_of_third_parties_may_have_thresholds() -> None:
    text = suite(case(thresholds={"politeness": 0.5}))
    assert "test_cases[0].thresholds.politeness" in problems(text)
    assert parse_suite(text, metrics=["politeness"]).test_cases[0].thresholds == {"politeness": 0.5}


def test_messages_hold_nothing_that_a_terminal_obeys() -> None:
    text = suite(case(**{"\x1b[31m": 1, "temperature": "\x1b]0;x\x07\u202e"}))
    with pytest.raises(SuiteError) as caught:
        parse_suite(text)
    assert all(line.isprintable() for line in str(caught.value).splitlines())


def test_a_case_that_nothing_judges_is_a_problem() -> None:
    nothing = {"overall": None}  # a call of another tool breaks no other default threshold
    found = problems(suite(case(), case(prompt="B?", thresholds={**nothing, "max_calls": 3})))
    assert list(found) == ["test_cases[1].thresholds"]
    assert "no active threshold" in found["test_cases[1].thresholds"]
    bfcl = case(param_scoring="bfcl", thresholds={"overall": None})
    assert list(problems(suite(bfcl))) == ["test_cases[0].thresholds"]


def test_forbidden_calls() -> None:
    def found(forbidden: Any, **fields: Any) -> dict[str, str]:
        return problems(
            suite(case(forbidden_calls=forbidden, **fields), forbidden_calls=["get_weather"])
        )

    expected = "test_cases[0].expected_tool"
    assert (
        "also in forbidden_calls" in problems(suite(case(), forbidden_calls=[("GET_weather")]))[expected]
    )
    assert "also in forbidden_calls" in found([{"tool": "get_weather"}])[expected]
    assert "also in forbidden_calls" in found([{"tool": "*"}])[expected]
    for lifted in ([], "*", ["*"], [{"tool": "get_weather", "params": {"city": "x"}}]):
        parse_suite(suite(case(forbidden_calls=lifted), forbidden_calls=["get_weather"]))
    at = "test_cases[0].forbidden_calls"
    typo = {"tool": "get_weather", "params": {"town": "Paris"}}
    assert "not a parameter of" in found([typo])[f"{at}[0].params.town"]
    assert "expected a list of tool names" in found(5)[at]
    assert "did you mean" in found(["get_wether"])[f"{at}[0]"]
    assert "expected the name of a tool" in found([5])[f"{at}[0]"]
    assert "did you mean params?" in found([{"tool": "get_weather", "parms": {}}])[f"{at}[0].parms"]
    assert (
        "unknown matcher"
        in found([{"tool": "get_weather", "params": {"x": {"$nope": 1}}}])[f"{at}[0].params.x.$nope"]
    )


ORDER = {"tool": "search", "params": {"city": {"$same": "/city"}}}


def test_policies() -> None:
    def found(policy: Any, **fields: Any) -> dict[str, str]:
        return problems(suite(case(policies=[policy], **fields)))

    def of_from(value: Any) -> dict[str, str]:
        return found({"tool": "get_weather", "expected_params": {"city": {"$lte": {"$from": value}}}})

    at = "test_cases[0].policies[0]"
    right: list[dict[str, Any]] = [
        {"only_after": "search"},
        {"never_after": ORDER, "at_most": 0},
        {"at_least": 1, "params": {"city": {"$regex": "P"}}},
        {"expected_params": {"city": {"$any_of": [{"$from": {**ORDER, "at": "/a/0"}}, "Rome"]}}},
        {"expected_params": {"city": {"$contains": {"$from": {"tool": "search", "at": ""}}}}},
        {"expected_params": {"city": {"$any_of": {"$from": {"tool": "*", "at": "", "any": True}}}}},
        {"only_after": {"user": {"$regex": "(?i)^yes"}}},
        {"only_after": {"tool": "*", "status": "ok", "result": {"a": {"$same": "/city"}}}},
        {"at_most": 2.5, "sum": "/city", "per": "/city", "status": "ok", "result": None},
    ]
    for each in right:
        parse_suite(suite(case(policies=[{"tool": ["get_weather"], **each}])))
    assert "requires nothing; add one of only_after" in found({"tool": "get_weather"})[at]
    assert "did you mean" in found({"tool": "get_wether", "at_most": 1})[f"{at}.tool"]
    in_list = found({"tool": ["*", "search"], "at_most": 1})
    assert '"*" means any tool and cannot be in a list' in in_list[f"{at}.tool[0]"]
    assert "did you mean only_after" in found({"tool": "search", "onlyafter": "x"})[f"{at}.onlyafter"]
    short = found({"tool": "search", "only_after": "get_wether"})
    assert "did you mean" in short[f"{at}.only_after"]
    long = found({"tool": "search", "only_after": {"tool": "nope", "params": {"x": {"$nope": 1}}}})
    assert list(long) == [f"{at}.only_after.tool", f"{at}.only_after.params.x.$nope"]
    wrong = {"tool": "search", "params": {"city": {"$same": "x"}}}
    pointer = found({"tool": "search", "only_after": wrong})
    assert "expected a JSON Pointer" in pointer[f"{at}.only_after.params.city.$same"]
    # Such a policy would hold whatever is called.
    typo: dict[str, Any] = {"tool": "search", "params": {"citi": "Rome"}}
    for policy, place in (
        ({**typo, "at_most": 0}, "params.citi"),
        ({"tool": "get_weather", "never_after": typo}, "never_after.params.citi"),
    ):
        assert "did you mean" in found(policy)[f"{at}.{place}"]
    here = found({"tool": "search", "expected_params": {"query": {"$same": "/query"}}})
    assert "unknown matcher" in here[f"{at}.expected_params.query.$same"]
    place = f"{at}.expected_params.city.$lte.$from"
    assert "missing" in of_from({"at": ""})[f"{place}.tool"]
    assert "missing" in of_from({"tool": "search"})[f"{place}.at"]
    assert "unknown field" in of_from({"tol": "search", "tool": "search", "at": ""})[f"{place}.tol"]
    assert "got the string" in of_from({"tool": "search", "at": "total"})[f"{place}.at"]
    assert "not defined" in of_from({"tool": "nope", "at": ""})[f"{place}.tool"]
    assert "expected an object" in of_from(5)[place]
    everywhere = problems(suite(case(), policies=[{"tool": "search", "at_least": 1}]))
    assert "only in a case" in everywhere["policies[0].at_least"]
    for policy, place, why in (
        ({"only_after": {}}, "only_after", 'needs a tool, or "user"'),
        ({"only_after": {"user": "yes", "tool": "search"}}, "only_after.tool", "cannot be combined"),
        ({"only_after": {"user": {"$judge": "agrees"}}}, "only_after.user.$judge", "not allowed here"),
        ({"only_after": {"user": " "}}, "only_after.user", "an empty text"),
        ({"only_after": {"usr": "yes"}}, "only_after.usr", "did you mean user"),
        ({"never_after": {"user": "yes"}}, "never_after.user", "unknown field"),
        ({"at_most": 1.5}, "at_most", "expected a whole number of at least 0"),
        ({"at_least": 0}, "at_least", "expected a whole number of at least 1"),
        ({"at_most": -1}, "at_most", "expected a number of at least 0, got the number -1"),
        ({"at_most": "1"}, "at_most", 'expected a number of at least 0, got the string "1"'),
        ({"at_most": 1, "sum": "x"}, "sum", "expected a JSON Pointer"),
        ({"only_after": "search", "per": "/x"}, "per", "has no effect"),
        ({"at_most": 1, "status": "failed"}, "status", 'expected "ok"'),
        ({"at_most": 1, "result": {"$lte": "x"}}, "result.$lte", "expected a finite number"),
    ):
        assert why in found({"tool": "search", **policy})[f"{at}.{place}"], policy
    both = found({"tool": "search", "at_least": 2, "at_most": 1})
    assert "no answer can pass" in both[f"{at}.at_least"]


ONCE: Any = [{"tool": "search", "at_most": 1}]
CALLS: Any = [{"tool": "search"}]


@pytest.mark.parametrize(
    ("fields", "turn", "keeps"),
    [
        ({}, {}, ""),
        ({"policies": ONCE}, {}, "policies"),
        ({"forbidden_calls": ["search"]}, {}, "forbidden_calls"),
        ({}, {"max_calls": 2}, "max_calls"),
        ({}, {"expected_calls": CALLS, "match": "within"}, "expected_calls"),
        (
            {"match": "within", "policies": ONCE},
            {"expected_calls": CALLS},
            "expected_calls and the policies",
        ),
    ],
)
def test_a_conversation_that_a_silent_agent_passes_is_a_problem(
    fields: dict[str, Any], turn: dict[str, Any], keeps: str
) -> None:
    def talk(**more: Any) -> str:
        return suite({"turns": [{"prompt": "?", **turn}], **fields, **more})

    found = problems(talk())["test_cases[0].turns"]
    assert (f" (an agent that does nothing keeps the {keeps});" in found) == bool(keeps)
    for more in (
        {"may_change_nothing": True},
        {"expected_text": ["done"]},
        {"policies": [{"tool": "search", "at_least": 1}]},
    ):
        parse_suite(talk(**more))


def test_the_value_of_a_key_variable_is_in_nothing_but_the_address_of_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", secret := "kv.9F8e-7d6c5b4a")
    stand_in = "x" * len(secret)
    source = {"mcp": {"http": f"https://example.com/mcp?key={secret}"}}
    forbidden = [{"tool": "search", "params": {"city": {"$regex": re.escape(secret)}}}]
    one = case(prompt=f"With {secret}", expected_params={"city": secret}, forbidden_calls=forbidden)
    data = {"name": "s", "tools_from": source, "test_cases": [one]}
    for made in (parse_suite(json.dumps(data)), Suite.model_validate(data)):
        assert made.tools_from is not None
        assert made.tools_from.mcp.http == source["mcp"]["http"]
        found = made.test_cases[0]
        assert found.prompt == f"With {stand_in}"
        assert found.expected_params == {"city": stand_in}
        assert isinstance(found.forbidden_calls, list)
        assert found.forbidden_calls[0] == ExpectedCall(
            tool="search", params={"city": {"$regex": stand_in}}
        )
