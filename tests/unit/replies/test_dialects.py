"""Every dialect by its examples in tests/data/dialects.json.

`right` are texts with the call `get_weather(city="Paris", days=3)`, `broken` ones with a call that
cannot be read, `mentions` ones without a call.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.names import KnownTools
from pytest_tooleval.replies import dialects, recovery
from pytest_tooleval.replies.dialects import DIALECTS
from pytest_tooleval.replies.dialects.dialect import Dialect
from pytest_tooleval.replies.dialects.json_calls import in_tags
from pytest_tooleval.replies.recovery import NO_READING, read_calls

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = KnownTools.of([("get_weather", None, WEATHER)])
DATA = Path(__file__).parents[2] / "data"
EXAMPLES = json.loads((DATA / "dialects.json").read_text(encoding="utf-8"))


def examples(kind: str) -> list[Any]:
    return [
        pytest.param(name, text, id=f"{name}-{number}")
        for name, own in EXAMPLES.items()
        for number, text in enumerate(own[kind])
    ]


def test_every_dialect_has_examples() -> None:
    assert [dialect.name for dialect in DIALECTS] == [*EXAMPLES]


@pytest.mark.parametrize(("name", "text"), examples("right"))
def test_reads_a_call(name: str, text: str) -> None:
    found = read_calls({}, text, TOOLS)

    assert [(call.name, call.arguments) for call in found.calls] == [
        ("get_weather", {"city": "Paris", "days": 3})
    ]
    assert (found.dialect, found.format, found.unread) == (name, "recovered", ())


@pytest.mark.parametrize(("name", "text"), examples("broken"))
def test_a_broken_call_is_unread_and_never_text(name: str, text: str) -> None:
    (unread,) = read_calls({}, text, TOOLS).unread

    assert unread.dialect == name
    assert unread.owner == "model"


@pytest.mark.parametrize(("name", "text"), examples("mentions"))
def test_a_mention_is_text(name: str, text: str) -> None:
    found = read_calls({}, text, TOOLS)

    assert (found.calls, found.unread) == ((), ())


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "3", "3"),
        ({"type": "string"}, "{not json", "{not json"),
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, "three", "three"),
        ({"type": "integer"}, "3.5", "3.5"),
        ({"type": "number"}, "3.5", 3.5),
        ({"type": "number"}, "3", 3),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "maybe", "maybe"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "object"}, '{"a": ', '{"a": '),
        ({"$ref": "#/$defs/count"}, "7", 7),
        ({"enum": [1, 2]}, "2", 2),
        ({}, "3", "3"),
        ({"type": "string"}, "two\nlines", "two\nlines"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "<tool_call>\n<function=f>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\r\n<function=f>\r\n<parameter=x>\r\n{}\r\n</parameter>\r\n</function>\r\n</tool_call>",
        "<tool_call>f<arg_key>x</arg_key><arg_value>{}</arg_value></tool_call>",
        "<tool_call>f\r\n<arg_key>x</arg_key>\r\n<arg_value>\r\n{}\r\n</arg_value>\r\n</tool_call>",
        '<invoke name="f">\r\n<parameter name="x">\r\n{}\r\n</parameter>\r\n</invoke>',
        '<invoke name="f"><parameter name="x">{}</parameter></invoke>',
        '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x">{}</｜DSML｜parameter></｜DSML｜invoke>',
    ],
)
def test_values_in_xml_get_the_types_of_the_schema(
    form: str, schema: dict[str, Any], text: str, value: object
) -> None:
    tool = {"properties": {"x": schema}, "$defs": {"count": {"type": "integer"}}}
    (call,) = read_calls({}, form.replace("{}", text), KnownTools.of([("f", None, tool)])).calls

    assert call.arguments == {"x": value}
    assert type((call.arguments or {})["x"]) is type(value)


def test_an_unknown_tool_is_called_where_a_dialect_says_so() -> None:
    (call,) = read_calls({}, '<tool_call>{"name": "drop", "arguments": {}}</tool_call>', TOOLS).calls

    assert (call.name, call.arguments) == ("drop", {})


def test_a_dialect_is_read_once_it_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = Dialect(
        name="Acme", models="", opener=r"@call\s*(?=\{)", read=in_tags("@end"), starts="@call"
    )
    monkeypatch.setattr(dialects, "DIALECTS", (*DIALECTS, acme))
    anew = importlib.util.spec_from_file_location(f"{recovery.__name__}_anew", recovery.__file__)
    assert anew is not None
    assert anew.loader is not None
    module = importlib.util.module_from_spec(anew)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    anew.loader.exec_module(module)

    found = module.read_calls({}, 'Now. @call {"name": "get_weather", "arguments": {}} @end', TOOLS)

    assert [call.name for call in found.calls] == ["get_weather"]
    assert found.dialect == "Acme"


def test_ordinary_texts_about_tools_are_no_calls() -> None:
    """Texts that a real model wrote about tools, tags and JSON, and thoughts with drafted calls."""
    found = json.loads((DATA / "ordinary_texts.json").read_text(encoding="utf-8"))
    texts, thoughts = found["texts"], found["thoughts"]

    assert (len(texts), len(thoughts)) == (300, 30)
    wrong = [text for text in [*texts, *thoughts] if read_calls({}, text, TOOLS) != NO_READING]
    assert wrong == []


@given(st.sampled_from([*EXAMPLES]), st.data())
def test_a_call_that_is_cut_off_is_never_read_as_another(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(EXAMPLES[name]["right"]))
    end = data.draw(st.integers(0, len(text)))

    for call in read_calls({}, text[:end], TOOLS).calls:
        whole = {"city": "Paris", "days": 3}
        assert call.arguments is None or call.arguments.items() <= whole.items()


def test_the_options_name_the_parsers_of_the_servers() -> None:
    hermes = next(dialect for dialect in DIALECTS if dialect.name == "Hermes")

    assert hermes.options == (
        "vLLM --tool-call-parser hermes, SGLang --tool-call-parser qwen, llama.cpp --jinja, "
        "Ollama PARSER qwen3 (in the Modelfile)"
    )
