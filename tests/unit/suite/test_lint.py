from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bfcl_data import bfcl_suite_file

from pytest_tooleval.jsonschemas import patterns
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_suite, parse_document, parse_suite

ROOT = Path(__file__).parents[3]

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "units": {"type": "string", "enum": ["c", "f"]},
        "places": {"type": "array", "items": {"type": "string"}},
    },
}


def tool(name: str, parameters: Any = WEATHER) -> dict[str, Any]:
    if isinstance(parameters, dict):
        parameters = {"type": "object", **parameters}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def warnings(*cases: dict[str, Any], **fields: Any) -> dict[str, str]:
    base = {"prompt": "x", "expected_tool": "get_weather"}
    data = {
        "name": "s",
        "tools": [tool("get_weather")],
        "test_cases": [{**base, **case} for case in cases],
        **fields,
    }
    return {problem.field: problem.message for problem in lint_suite(parse_suite(json.dumps(data)))}


def test_a_sound_suite_has_no_warnings() -> None:
    params = {"city": "Paris", "days": 3, "units": {"$any_of": ["c", 7]}, "places": {"$optional": ["a"]}}
    contained = {"city": {"$contains": {"$any_of": ["a", {"$regex": "b"}]}}, "places": {"$contains": 5}}
    cases = ({"expected_params": params}, {"expected_params": contained}, {"expected_tool": None})
    assert warnings(*cases) == {}


def test_an_empty_suite_tests_nothing() -> None:
    assert warnings() == {"test_cases": "no cases: this suite tests nothing"}


@pytest.mark.parametrize("name", ["weather.get", "a" * 65, "wetter für", "a/b"])
def test_names_that_providers_refuse(name: str) -> None:
    found = warnings({}, tools=[tool("get_weather"), tool(name)])
    assert "refuse" in found["tools[1].function.name"]


def test_a_tool_that_many_cases_repeat_is_reported_once() -> None:
    case = {"tools": [tool("a.b")], "expected_tool": "a.b"}
    assert list(warnings(case, case)) == ["test_cases[0].tools[0].function.name"]


def test_misspelt_keywords_of_a_schema() -> None:
    def found(**parameters: Any) -> dict[str, str]:
        return warnings({}, tools=[tool("get_weather", parameters)])

    place = "tools[0].function.parameters"
    hint = "means nothing in a JSON Schema, did you mean"
    assert found(requird=["city"]) == {f"{place}.requird": f'"requird" {hint} "required"?'}
    assert found(properties={"city": {"type": "string", "max_length": 9}}) == {
        f"{place}.properties.city.max_length": f'"max_length" {hint} "maxLength"?'
    }
    inside = {"type": "array", "items": {"type": "string", "enums": ["a"]}}
    assert list(found(properties={"city": inside})) == [f"{place}.properties.city.items.enums"]
    fine = {"x-required": 1, "example": "a", "unit": "m", "default": {"requird": 1}}
    assert found(properties={"requird": {"type": "string", **fine}}, examples=[{"requird": 1}]) == {}


def test_older_keywords_are_noted_once() -> None:
    maybe = {"type": "string", "nullable": True}
    pair = {"type": "array", "items": [maybe]}
    parameters = {"properties": {"a": maybe, "b": pair}, "dependencies": {"a": ["b"]}}
    found = warnings({}, tools=[tool("get_weather", parameters), tool("other", parameters)])
    place = "tools[0].function.parameters"
    assert {field: message for field, message in found.items() if "obeyed" in message} == {
        f"{place}.properties.a.nullable": '"nullable" is obeyed as in older drafts; today it is "null" '
        'among the types: "type": ["string", "null"]',
        f"{place}.properties.b.items": '"items" is obeyed as in older drafts; today it is "prefixItems" '
        "for a list of schemas, one for each item",
        f"{place}.dependencies": '"dependencies" is obeyed as in older drafts; today it is '
        '"dependentRequired" for lists of names, "dependentSchemas" for schemas',
    }


def test_names_that_differ_only_in_case() -> None:
    found = warnings({}, tools=[tool("get_weather"), tool("Get_Weather")])
    assert "differ only in case" in found["tools[1].function.name"]


@pytest.mark.parametrize(
    ("parameters", "at", "message"),
    [
        (
            {"properties": {"my key": {"type": "string"}}},
            'properties["my key"]',
            'tool "get_weather": Anthropic refuses the parameter "my key"; it accepts up to 64 letters, '
            "digits, _, . and -",
        ),
        (
            {"anyOf": [{"required": ["city"]}]},
            "anyOf",
            'tool "get_weather": OpenAI refuses "anyOf" at the top of the parameters; Anthropic and '
            "Bedrock models do not see it",
        ),
        (
            {"properties": {"places": {"type": "array"}}},
            "properties.places",
            'tool "get_weather": OpenAI refuses an array without "items"',
        ),
    ],
)
def test_what_providers_do_not_take(parameters: dict[str, Any], at: str, message: str) -> None:
    found = warnings({}, tools=[tool("get_weather", {"type": "object", **parameters})])
    assert found[f"tools[0].function.parameters.{at}"] == message


def test_what_models_on_vertex_are_not_shown_is_said_once_and_only_for_them() -> None:
    """Within a part that a model does not see, it sees nothing else either."""
    choice = {"oneOf": [{"const": 1}, {"type": "integer", "enum": [2], "multipleOf": 2}]}
    parameters = {"type": "object", "properties": {"n": choice, "m": {"enum": [1]}, "k": choice}}
    tools = [tool(name, parameters) for name in ("get_weather", "find")]
    assert warnings({}, tools=tools) == {}
    case = {"prompt": "x", "expected_tool": "get_weather"}
    suite = parse_suite(json.dumps({"name": "s", "tools": tools, "test_cases": [case]}))
    found = lint_suite(suite, for_vertex=True)
    assert {problem.field: problem.message for problem in found} == {
        "tools[0].function.parameters.properties.n.oneOf": 'Vertex AI models do not see "oneOf", '
        '"enum" without "type": "string", in the tools get_weather, find'
    }


def test_a_price_that_its_schema_takes() -> None:
    price = {"type": "number", "multipleOf": 0.01, "enum": [0.07, 19.99]}
    pay = tool("get_weather", {"type": "object", "properties": {"price": price}})

    found = warnings(
        {"expected_params": {"price": 0.07}}, {"expected_params": {"price": 0.075}}, tools=[pay]
    )

    assert [at for at in found if "price" in at and "test_cases" in at] == [
        "test_cases[1].expected_params.price"
    ]


def test_required_where_nothing_should_be_called() -> None:
    assert (
        "forces a call"
        in warnings({"expected_tool": None, "tool_choice": "required"})["test_cases[0].tool_choice"]
    )
    assert "forces a call" in warnings({"expected_tool": None}, tool_choice="required")["test_cases[0]"]


@pytest.mark.parametrize(
    ("own", "given", "message"),
    [
        ({}, "required", "--tooleval-tool-choice forces a call, but none is expected"),
        ({"tool_choice": "auto"}, "required", "--tooleval-tool-choice forces a call"),
        ({"tool_choice": "required"}, "auto", ""),
        ({"expected_tool": "a"}, "required", ""),
    ],
)
def test_the_command_lines_tool_choice_is_judged_alike(
    own: dict[str, Any], given: Any, message: str
) -> None:
    case = {"prompt": "x", "expected_tool": None, **own}
    suite = parse_suite(json.dumps({"name": "s", "tools": [tool("a")], "test_cases": [case]}))
    found = [each.message for each in lint_suite(suite, tool_choice=given)]
    assert [message in each for each in found] == ([True] if message else [])


def test_a_call_without_tools() -> None:
    assert "there are no tools to call" in warnings({"expected_tool": "*", "tools": []})["test_cases[0]"]


@pytest.mark.parametrize(
    ("params", "at", "message"),
    [
        (
            {"town": "Paris"},
            "town",
            'not a parameter of "get_weather"; its parameters are "city", "days", "units", "places"',
        ),
        ({"cty": "Paris"}, "cty", 'not a parameter of "get_weather", did you mean "city"?'),
        (
            {"days": "3"},
            "days",
            'the string "3" does not match the schema of "get_weather": expected type "integer"',
        ),
        ({"days": 0}, "days", "0 is less than the minimum of 1"),
        ({"units": "k"}, "units", 'expected one of ["c", "f"]'),
        (
            {"city": None},
            "city",
            ('null does not match the schema of "get_weather": expected type "string"'),
        ),
        ({"places": ["a", {"$exact": 3}]}, "places", '[1]: expected type "string"'),
        ({"days": {"$optional": {"$exact": 1.5}}}, "days", 'expected type "integer"'),
        (
            {"city": {"$not": {"$contains": ["a", {"$any_of": ["b", {"$gte": 5}]}]}}},
            "city",
            'inside a text, $contains finds only strings and patterns, not {"$gte": 5}; write a string',
        ),
    ],
)
def test_expected_params_that_the_tool_does_not_take(
    params: dict[str, Any], at: str, message: str
) -> None:
    found = warnings({"expected_params": params})
    assert list(found) == [f"test_cases[0].expected_params.{at}"]
    assert message in found[f"test_cases[0].expected_params.{at}"]


def test_a_parameter_that_is_suggested_is_shown_without_what_a_terminal_obeys() -> None:
    hostile = tool("get_weather", {"properties": {"\x1bity": {"type": "string"}}})
    found = warnings({"expected_params": {"city": "Paris"}}, tools=[hostile])
    assert 'did you mean "\\u001bity"?' in found["test_cases[0].expected_params.city"]


def test_params_that_no_expected_tool_takes() -> None:
    tools = [tool("get_weather"), tool("search", {"properties": {"q": {"type": "string"}}})]
    both = {"expected_tool": ["get_weather", "search"]}
    assert "any of the expected tools" in str(
        warnings({**both, "expected_params": {"z": 1}}, tools=tools)
    )
    assert warnings({"expected_tool": "*", "expected_params": {"q": "x"}}, tools=tools) == {}


@pytest.mark.parametrize(
    "parameters",
    [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"patternProperties": {"^t": {}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"town": {}}}}},
        {"allOf": [{"properties": {"town": {}}}]},
    ],
)
def test_open_schemas_may_take_anything(parameters: dict[str, Any]) -> None:
    found = warnings({"expected_params": {"town": "x"}}, tools=[tool("get_weather", parameters)])
    assert not [place for place in found if place.startswith("test_cases")]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"expected_params": {"day": 1}}, ""),
        ({"expected_params": {"city": "x"}}, '"note" has no such parameter, so a call to it is wrong'),
        ({"expected_params": {"city": {"$optional": "x"}}}, ""),
        (
            {"expected_tool": "get_weather", "expected_params": {"city": {"$optional": "x"}}},
            '"get_weather" requires it, so a call without it is not valid; leave out $optional',
        ),
        ({"expected_tool": "get_weather", "expected_params": {"day": {"$optional": 1}}}, ""),
    ],
)
def test_params_that_do_not_fit_every_expected_tool(expected: dict[str, Any], message: str) -> None:
    day = {"day": {"type": "integer"}}
    weather = {"type": "object", "properties": {"city": {"type": "string"}, **day}, "required": ["city"]}
    tools = [tool("get_weather", weather), tool("note", {"type": "object", "properties": day})]
    found = warnings({"expected_tool": ["get_weather", "note"], **expected}, tools=tools)
    assert len(found) == bool(message)
    assert all(message in text for text in found.values())


def test_a_reference_is_followed() -> None:
    parameters = {"properties": {"day": {"$ref": "#/$defs/day"}}, "$defs": {"day": {"enum": ["mon"]}}}
    found = warnings({"expected_params": {"day": "tue"}}, tools=[tool("get_weather", parameters)])
    assert "expected one of" in found["test_cases[0].expected_params.day"]


def test_a_pattern_that_takes_too_long_is_left_to_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MATCH_TIMEOUT_S", 0.1)
    schema = {"type": "string", "pattern": "^(a|aa)*$"}
    parameters = {"properties": {"day": schema}}
    found = warnings(
        {"expected_params": {"day": "a" * 60 + "!"}}, tools=[tool("get_weather", parameters)]
    )
    assert found == {}


def test_a_reference_to_another_document() -> None:
    parameters = {"properties": {"day": {"$ref": "https://example.com/day.json"}}}
    found = warnings({"expected_params": {"day": 1}}, tools=[tool("get_weather", parameters)])
    assert "never fetched" in found.pop("tools[0].function.parameters.properties.day.$ref")
    assert found == {}


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"$ref": "#none"}, {"$ref": "#/properties/day"}],
)
def test_references_without_an_end_are_left_alone(schema: dict[str, Any]) -> None:
    endless = {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": {"day": schema}}},
    }
    found = warnings({"expected_tool": "f", "expected_params": {"day": {"day": 1}}}, tools=[endless])
    assert not [place for place in found if place.startswith("test_cases")]


def test_empty_params_check_nothing() -> None:
    message = (
        '{} checks no argument, but "get_weather" has "city", "days", "units" and 1 more; name what is '
        'expected (or {"$absent": true}), or remove this'
    )
    empty: dict[str, Any] = {"expected_params": {}}
    assert warnings(empty) == {"test_cases[0].expected_params": message}
    assert warnings({**empty, "param_scoring": "bfcl"}) == {}
    assert warnings({**empty, "skip": "draft"}) == {}
    two = [tool("get_weather"), tool("now", {"properties": {}})]
    assert warnings({"expected_tool": "now", **empty}, tools=two) == {}

    called = {"expected_calls": [{"tool": "get_weather", "params": {}}]}
    for part, place in ((empty, "expected_params"), (called, "expected_calls[0].params")):
        turn = {"prompt": "x", **({"expected_tool": "get_weather"} if part is empty else {}), **part}
        data = {"name": "s", "tools": two, "test_cases": [{"id": "a", "turns": [turn]}]}
        (problem,) = lint_suite(parse_suite(json.dumps(data)))
        assert (problem.field, problem.message) == (f"test_cases[0].turns[0].{place}", message)


def test_calls_are_looked_at_too() -> None:
    data = {"prompt": "x", "expected_calls": [{"tool": "get_weather", "params": {"cty": 1}}]}
    text = json.dumps({"name": "s", "tools": [tool("get_weather")], "test_cases": [data]})
    (problem,) = lint_suite(parse_suite(text))
    assert problem.field == "test_cases[0].expected_calls[0].params.cty"


def test_thresholds_that_never_apply() -> None:
    found = warnings({"thresholds": {"completion": 1, "parameter_accuracy": 1, "overall": 1}})
    assert found == {
        "test_cases[0].thresholds.completion": "completion is measured only in multi-turn cases, "
        "so this threshold never applies",
        "test_cases[0].thresholds.parameter_accuracy": "no expected params are given, "
        "so this threshold never applies",
    }
    suite_wide = {"thresholds": {"parameter_accuracy": 0.5}}
    assert "applies to none of the cases" in warnings({}, **suite_wide)["thresholds.parameter_accuracy"]
    assert warnings({}, {"expected_params": {"city": "Paris"}}, **suite_wide) == {}
    talk = {"id": "a", "turns": [{"prompt": "x", "expected_tool": "get_weather"}]}
    suite = {"name": "s", "tools": [tool("get_weather")], "test_cases": [talk]}
    parsed = parse_suite(json.dumps({**suite, "thresholds": {"overall": 1, "tool_selection": 1}}))
    (problem,) = lint_suite(parsed)
    assert "only in single-turn cases and multi-turn cases" in problem.message


def test_further_calls_that_overall_counts() -> None:
    lifted = {"expected_tool": None, "thresholds": {"no_extra_calls": None}}
    (message,) = warnings(lifted).values()
    assert "has no effect" in message
    assert warnings({**lifted, "thresholds": {"no_extra_calls": None, "overall": 0.5}}) == {}
    assert warnings({"thresholds": {"no_extra_calls": None}}) == {}


def test_limits_that_no_answer_keeps() -> None:
    assert warnings({"thresholds": {"max_calls": 1}}) == {}
    few = warnings(
        {"expected_tool": None, "thresholds": {"max_calls": 0}}, {}, thresholds={"max_calls": 0}
    )
    assert few == {"test_cases[1]": "max_calls allows fewer calls than are expected (1)"}


def test_forbidden_calls_that_forbid_nothing() -> None:
    (message,) = warnings({"expected_tool": "*", "forbidden_calls": "*"}).values()
    assert message == "any tool is expected, so this forbids nothing"
    assert warnings({"forbidden_calls": "*"}) == {}


def test_an_efficiency_says_nothing_of_arriving() -> None:
    chain = {"multi_turn": True, "optimal_hops": 1, "mock_responses": {}}
    field = "test_cases[0].thresholds.efficiency"
    assert "stops early" in warnings({**chain, "thresholds": {"overall": None, "efficiency": 1}})[field]
    assert field not in warnings({**chain, "thresholds": {"efficiency": 1}})
    assert warnings({**chain, "thresholds": {"efficiency": 1, "completion": 1}}) == {}


def test_params_of_mocks() -> None:
    mocks = {"get_weather": {"$when": [{"params": {"cty": "Paris"}, "answer": 1}]}}
    chain = {"multi_turn": True, "expected_tool": "book", "mock_responses": mocks}
    found = warnings(chain, tools=[tool("get_weather"), tool("book")])
    (message,) = found.values()
    assert list(found) == ["test_cases[0].mock_responses.get_weather.$when[0].params.cty"]
    assert "did you mean" in message


def test_lists_of_values_of_which_none_is_right() -> None:
    both = {"units": {"$any_of": ["celsius", "x"]}}
    found = warnings({"expected_params": both})
    assert "expected one of" in found["test_cases[0].expected_params.units"]
    assert warnings({"expected_params": {"units": {"$any_of": ["x", {"$regex": "c|f"}]}}}) == {}


def test_a_required_parameter_that_is_none() -> None:
    closed = {**WEATHER, "required": ["city", "dys"], "additionalProperties": False}
    found = warnings({}, tools=[tool("get_weather", closed)])
    assert found == {
        "tools[0].function.parameters.required": '"dys" is required but is not a parameter: '
        "no call can be valid"
    }
    del closed["additionalProperties"]
    (message,) = warnings({}, tools=[tool("get_weather", closed)]).values()
    assert message.endswith("models do not see what it is")
    assert warnings({}, tools=[tool("get_weather", {**closed, "additionalProperties": True})]) == {}


def test_tags_that_plugins_act_on() -> None:
    assert "a widely used plugin" in warnings({"tags": ["slow", "flaky"]})["test_cases[0].tags[1]"]


def test_chains_without_mocks() -> None:
    tools = [tool(name) for name in ("get_weather", "search", "locate", "other")]
    chain = {
        "multi_turn": True,
        "max_rounds": 2,
        "optimal_hops": 3,
        "valid_prerequisites": ["search", "locate"],
        "mock_responses": {"LOCATE": {}},
    }
    assert warnings(chain, tools=tools) == {
        "test_cases[0].valid_prerequisites[0]": '"search" has no mock response, '
        "so a call to it gets an error",
        "test_cases[0].max_rounds": "fewer replies than calls in the shortest chain (optimal_hops 3)",
    }


def test_a_chain_needs_mocks_only_for_tools_that_it_can_reach() -> None:
    tools = [tool(name) for name in ("get_weather", "search", "delete")]
    chain = {"multi_turn": True, "forbidden_calls": ["delete"]}
    assert warnings(chain, tools=tools) == {
        "test_cases[0].mock_responses": 'no mock response for "search", so a call gets an '
        'error; if you want that, add a mock such as {"error": "not found"}'
    }
    assert warnings({**chain, "forbidden_calls": "*"}, tools=tools) == {}


def served(case: dict[str, Any], **fields: Any) -> dict[str, str]:
    data = {"name": "s", "tools_from": {"mcp": {"stdio": "server"}}, "test_cases": [case], **fields}
    found = lint_suite(parse_suite(json.dumps(data)))
    return {problem.field: problem.message for problem in found}


def test_tools_of_a_server_are_not_missed() -> None:
    assert served({"prompt": "x", "expected_tool": "get_weather"}) == {}
    own = served({"prompt": "x", "expected_tool": "*", "tools": []})
    assert own["test_cases[0]"] == "a call is expected, but there are no tools to call"


def test_tools_that_run_live_need_no_mock() -> None:
    chain = {
        "prompt": "x",
        "expected_tool": "get_weather",
        "multi_turn": True,
        "valid_prerequisites": ["search", "locate"],
    }
    search = "test_cases[0].valid_prerequisites[0]"
    locate = "test_cases[0].valid_prerequisites[1]"
    assert list(served(chain)) == [search, locate]
    assert list(served({**chain, "live_tools": ["SEARCH"]})) == [locate]
    assert list(served(chain, live_tools=["search"])) == [locate]
    assert list(served({**chain, "live_tools": ["locate"]}, live_tools=["search"])) == [search]
    assert served({**chain, "live_tools": ["*"]}) == {}


def test_the_suite_in_the_documentation_of_servers_has_no_warnings() -> None:
    blocks = (ROOT / "docs/guides/mcp.md").read_text(encoding="utf-8").split("```json\n")[1:]
    (text,) = [block.partition("```")[0] for block in blocks if '"tools_from"' in block]
    suite, document = parse_document(text)
    assert lint_suite(suite, document) == []


def test_places() -> None:
    text = """{"name": "s", "tools": [],
  "test_cases": [
    {"prompt": "x",
     "expected_tool": "*"},
    {"prompt": "y", "expected_tool": null, "tool_choice":
      "required"}]}"""
    suite, document = parse_document(text, "a.json")
    assert [(p.path, p.line, p.column) for p in lint_suite(suite, document)] == [
        ("a.json", 3, 5),
        ("a.json", 6, 7),
    ]
    assert [(p.path, p.line, p.column) for p in lint_suite(suite)] == [("", 3, 1), ("", 5, 1)]


def test_linting_a_real_benchmark() -> None:
    suite = load_suite(bfcl_suite_file("parallel"))
    found = [problem.message for problem in lint_suite(suite)]
    assert found == ['null does not match the schema of "math_power": expected type "number"'] * 2


def test_loading_never_lints() -> None:
    code = (
        "import sys, json\n"
        "from pytest_tooleval.suite.load import parse_suite\n"
        "parse_suite(json.dumps({'name': 's', 'test_cases': []}))\n"
        "assert 'jsonschema' not in sys.modules\n"
        "assert 'pytest_tooleval.suite.lint' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_forbidden_part_of_a_text_that_is_no_text_forbids_nothing() -> None:
    anywhere = {"tool": "*", "params": {"*": {"$contains": "K7Q"}}}
    assert warnings({"forbidden_calls": [anywhere]}) == {}
    number = {"tool": "*", "params": {"*": {"$contains": 7}}}
    place = 'test_cases[0].forbidden_calls[0].params["*"]'
    assert "not 7;" in warnings({"forbidden_calls": [number]})[place]


def test_a_threshold_of_0_holds_for_any_answer() -> None:
    always = "a threshold of 0 always holds, so any usable answer passes"
    assert warnings({"thresholds": {"overall": 0}}) == {"test_cases[0].thresholds": always}
    assert warnings({}, thresholds={"overall": 0.0}) == {"test_cases[0]": always}
    assert warnings({"thresholds": {"overall": 0, "tool_selection": 1}}) == {}


def test_the_value_of_a_key_variable_has_no_place_in_a_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "kv.9F8e-7d6c5b4a")
    forbidden = [{"tool": "get_weather", "params": {"city": {"$contains": "kv.9F8e-7d6c5b4a"}}}]
    found = warnings({"forbidden_calls": forbidden})
    assert list(found) == ["test_cases[0].forbidden_calls[0].params.city.$contains"]
    assert "the value of the variable DEPLOY_KEY" in next(iter(found.values()))


def test_a_policy_of_calls_that_cannot_be_made_judges_nothing() -> None:
    def found(**params: object) -> dict[str, str]:
        policy = {"tool": "get_weather", "params": params, "at_most": 1}
        of_suite, in_case = warnings({}, policies=[policy]), warnings({"policies": [policy]})
        assert [*of_suite.values()] == [*in_case.values()]
        return of_suite

    assert found(city={"$any_of": [3, 4]}) == {
        "policies[0].params.city": "the number 3 (like all the other values) does not match the schema "
        'of "get_weather": expected type "string"'
    }
    assert found(city={"$gt": 3}) == {
        "policies[0].params.city": '$gt never matches: "get_weather" declares "city" as string'
    }
    assert found(city={"$any_of": [3, "Rome"]}) == found(**{"*": {"$contains": "Rome"}}) == {}


def test_a_pointer_to_a_parameter_that_the_judged_tool_does_not_have() -> None:
    def found(pointer: str) -> dict[str, str]:
        other = {"tool": "get_weather", "params": {"city": {"$same": pointer}}}
        return warnings({}, policies=[{"tool": "get_weather", "only_after": other}])

    at = "policies[0].only_after.params.city.$same"
    assert found("/citi") == {at: '"get_weather" has no parameter "citi", did you mean /city?'}
    assert found("/city") == found("/places/0") == found("") == {}


@pytest.mark.parametrize(
    ("fields", "suite", "field", "message"),
    [
        ({"prompt": "Today is {{now}}."}, {}, "prompt", 'the case has no "now"'),
        ({"prompt": "In {{city}}?"}, {}, "prompt", 'the case has no "parametrize"'),
        (
            {"prompt": [{"role": "user", "content": "{{ city }}"}]},
            {},
            "prompt",
            "goes to the model as text",
        ),
        ({"prompt": "Write {{{{city}} and {{ user.name | upper }}"}, {}, "", ""),
        ({"prompt": "Today is {{now}}."}, {"now": "2026-03-01"}, "", ""),
        ({"skip": "false"}, {}, "skip", "write false, without quotes"),
        ({"xfail": "None"}, {}, "xfail", "write false, without quotes"),
        ({"skip": "no key"}, {}, "", ""),
    ],
)
def test_what_looks_like_a_placeholder_or_a_value(
    fields: dict[str, Any], suite: dict[str, Any], field: str, message: str
) -> None:
    found = warnings(fields, **suite)
    assert list(found) == ([f"test_cases[0].{field}"] if field else [])
    assert message in "".join(found.values())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"days": {"$contains": "1"}},
            '$contains never matches: "get_weather" declares "days" as integer',
        ),
        ({"city": {"$gte": 1}}, '$gte never matches: "get_weather" declares "city" as string'),
        ({"city": {"$optional": {"$lt": 3}}}, "$lt never matches"),
        ({"days": {"$gte": 1}, "city": {"$contains": "a"}, "places": {"$contains": "a"}}, ""),
        ({"city": {"$any_of": [{"$regex": "^P"}, "Rome"]}}, ""),
    ],
)
def test_matchers_that_no_value_of_the_type_can_meet(params: dict[str, Any], message: str) -> None:
    found = warnings({"expected_params": params})
    assert len(found) == bool(message)
    assert message in "".join(found.values())


def test_a_required_parameter_is_never_absent_unless_null_stands_for_it() -> None:
    def found(kind: Any) -> list[str]:
        schema = {"properties": {"q": {"type": kind}}, "required": ["q"]}
        case = {"expected_tool": "find", "expected_params": {"q": {"$absent": True}}}
        return list(warnings(case, tools=[tool("find", schema)]).values())

    assert found("string") == [
        '"find" requires it, so a call without it is not valid; leave out $absent'
    ]
    assert found(["string", "null"]) == []


def test_parameters_beside_properties() -> None:
    stray = {"type": "object", "when_to_go": {"type": "string"}}
    (message,) = warnings({}, tools=[tool("get_weather", stray)]).values()
    assert message == '"when_to_go" is no keyword of a JSON Schema: parameters belong in "properties"'
    assert warnings({}, tools=[tool("get_weather", {"type": "object", "x-order": {}})]) == {}


def test_a_conversation_whose_calls_nothing_answers() -> None:
    turns = [{"prompt": "x", "expected_calls": [{"tool": "get_weather"}]}]
    data = {"name": "s", "tools": [tool("get_weather")], "test_cases": [{"id": "a", "turns": turns}]}

    def found(**case: Any) -> list[str]:
        data["test_cases"] = [{"id": "a", "turns": turns, **case}]
        return [p.message for p in lint_suite(parse_suite(json.dumps(data)), without_agents=True)]

    assert found() == [
        "a model's calls get no answer but an error; give the case mock_responses or a world"
    ]
    assert found(mock_responses={"get_weather": {"sky": "clear"}}) == []
    assert (
        lint_suite(parse_suite(json.dumps({**data, "test_cases": [{"id": "a", "turns": turns}]}))) == []
    )
