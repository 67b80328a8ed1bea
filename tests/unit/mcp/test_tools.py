from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from steps import Name, growth

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.mcp.discover import Discovery
from pytest_tooleval.mcp.tools import as_functions, suite_with_tools
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_suite

pytestmark = pytest.mark.slow

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "x-own": [1]}


def entry(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": CITY if schema is None else schema, **more}


def test_the_schema_stays_whole() -> None:
    listed = entry("get_weather", description="Weather", title="W", annotations={"readOnlyHint": True})
    functions = as_functions([listed])
    assert functions.tools == (
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Weather", "parameters": CITY},
        },
    )
    assert (functions.originals, functions.left_out) == ({}, ())


def test_names_that_providers_refuse_are_mapped() -> None:
    functions = as_functions([entry("files/read"), entry("files.read"), entry("plain")])
    names = [tool["function"]["name"] for tool in functions.tools]
    assert names[2] == "plain"
    assert set(functions.originals.values()) == {"files/read", "files.read"}
    assert [functions.originals[name] for name in names[:2]] == ["files/read", "files.read"]
    again = as_functions([entry("plain"), entry("files.read")], functions.originals)
    assert [tool["function"]["name"] for tool in again.tools] == ["plain", names[1]]


def test_a_name_listed_twice_stands_for_the_first() -> None:
    same = [entry("a"), entry("a"), entry("a")]
    functions = as_functions([*same, entry("b"), entry("b", {"type": "object"})])
    assert [tool["function"]["name"] for tool in functions.tools] == ["a", "b"]
    assert functions.left_out == (
        '"a": a second tool of this name',
        '"b": a second tool of this name',
    )


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_what_no_suite_can_hold_is_left_out_and_named() -> None:
    functions = as_functions(
        [
            entry("deep", nested(60)),
            entry("deeper", nested(10_000)),
            entry("float", {"type": "object", "properties": {"a": {"type": "float"}}}),
            entry("nan", {"type": "object", "default": float("nan")}),
            entry("long", {"type": "object", "default": 10**5000}),
            entry("lost", {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}),
            entry("\x1b[31mred", {"type": "array"}),
            entry("good", nested(30)),
        ]
    )
    assert [tool["function"]["name"] for tool in functions.tools] == ["good"]
    reasons = dict(line.split(": ", 1) for line in functions.left_out)
    assert list(reasons) == [
        '"deep"',
        '"deeper"',
        '"float"',
        '"nan"',
        '"long"',
        '"lost"',
        '"\\u001b[31mred"',
    ]
    assert reasons['"deep"'] == reasons['"deeper"'] == "its input schema is nested deeper than 95 levels"
    assert reasons['"float"'].startswith("parameters.properties.a.type: not a valid JSON Schema")
    assert "finite" in reasons['"nan"']
    assert "not JSON" in reasons['"long"']
    assert "does not exist" in reasons['"lost"']
    assert functions.originals == {}
    assert all(line.isprintable() for line in functions.left_out)


def test_the_tools_make_a_suite_without_warnings() -> None:
    import json

    names = ["a" * 65, "a" * 64 + "b", "Fetch", "fetch", "9", "", "\ud800", "天気", "x\x00y"]
    functions = as_functions([entry(name) for name in names])
    case = {"prompt": "-", "expected_tool": None}
    suite = parse_suite(json.dumps({"name": "s", "tools": functions.tools, "test_cases": [case]}))
    assert len(suite.tools) == len(names)
    assert lint_suite(suite) == []


def _imported(schema: dict[str, Any], before: Any = None) -> dict[str, Any]:
    found = Discovery("server", "1", (entry("tool", schema),))
    return suite_with_tools(found, before, "Server", drafts=True).suite


def test_no_usable_tool_is_an_error_that_says_why() -> None:
    found = Discovery("server", "1", (entry("tool", {"type": 5}),), ("other: no name",))
    with pytest.raises(ConfigError, match=r"none of the tools.*: other: no name; \"tool\": "):
        suite_with_tools(found, None, "Server", drafts=True)


def _required(size: int) -> None:
    _imported(
        {
            "type": "object",
            "properties": {Name(f"p{i}"): {"type": "string"} for i in range(size)},
            "required": [Name(f"p{i}") for i in range(size)],
        }
    )


def _references(size: int) -> None:
    definitions = {f"d{i}": {"$id": f"urn:{i}"} for i in range(size)}
    references = {f"p{i}": {"$ref": "#/$defs/d0"} for i in range(size)}
    _imported({"type": "object", "$defs": definitions, "properties": references})


def _parts(size: int) -> None:
    parts = [{"properties": {Name(f"p{i}"): {}}, "required": [Name(f"p{i}")]} for i in range(size)]
    _imported({"type": "object", "allOf": parts})


def _renamed(size: int) -> None:
    closed = {"type": "object", "additionalProperties": False}
    old: dict[str, Any] = {f"old_name_{i}": {} for i in range(size)}
    new: dict[str, Any] = {f"new_name_{i}": {} for i in range(size)}
    suite = _imported({**closed, "properties": old, "required": list(old)})
    del suite["test_cases"][0]["skip"]
    _imported({**closed, "properties": new, "required": list(new)}, suite)


@pytest.mark.parametrize("work", [_required, _references, _parts, _renamed])
def test_a_server_cannot_make_the_import_take_hours(work: Callable[[int], None]) -> None:
    assert growth(work, 300) < 2.5
