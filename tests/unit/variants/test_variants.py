"""Variants as functions: what each changes in a case, and where it does not apply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import tool

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.scoring import score_calls
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import ResolvedCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.model import resolve
from pytest_tooleval.variants.builtin import add_built_in
from pytest_tooleval.variants.changes import changes_of
from pytest_tooleval.variants.variant import Variants

DESCRIBED = {
    "type": "object",
    "description": "gone",
    "properties": {"description": {"type": "string", "description": "gone", "default": "kept"}},
}
TOOLS = [tool("get_weather", description="gone"), tool("get_time"), tool("note", DESCRIBED)]
CASE = {"id": "paris", "prompt": "Weather in Paris?", "expected_tool": "get_weather"}


def suite_of(*cases: dict[str, Any], tools: Sequence[Any] = TOOLS, **fields: Any) -> Suite:
    return parse_suite(json.dumps({"name": "s", "tools": tools, "test_cases": cases, **fields}))


def known() -> Variants:
    variants = Variants()
    add_built_in(variants.register)
    return variants


def vary(text: str, suite: Suite, others: Sequence[Suite] = ()) -> ResolvedCase | None:
    """The first case under the last variant of a name."""
    variant = known().named(text)[-1]
    return variant.of(resolve(suite, suite.test_cases[0]), suite, Path(), lambda: others)


def names(case: ResolvedCase | None) -> list[str]:
    assert case is not None
    return [each.name for each in case.tools]


def test_shuffled_tools_are_the_same_in_each_run_and_never_in_the_old_order() -> None:
    suite = suite_of(CASE)
    shuffled = names(vary("shuffle", suite))
    assert shuffled == names(vary("shuffle", suite)) != ["get_weather", "get_time", "note"]
    assert sorted(shuffled) == ["get_time", "get_weather", "note"]
    assert vary("shuffle", suite_of(CASE, tools=TOOLS[:1])) is None


def test_bare_tools_have_no_descriptions_but_keep_properties_of_that_name() -> None:
    bare = vary("bare", suite_of(CASE))
    assert bare is not None
    assert "gone" not in json.dumps([each.wire for each in bare.tools])
    properties = bare.tools[2].wire["function"]["parameters"]["properties"]
    assert properties == {"description": {"type": "string", "default": "kept"}}


def test_renamed_tools_are_expected_by_their_new_names() -> None:
    case = {
        "id": "chain",
        "prompt": "Weather?",
        "multi_turn": True,
        "expected_calls": [{"tool": ["Get_Weather", "note"], "params": {"city": "Paris"}}],
        "valid_prerequisites": ["get_time"],
        "mock_responses": {"get_time": "12:00"},
        "forbidden_calls": ["note"],
    }
    case = {**case, "expected_tool": "Get_Weather", "expected_calls": None}
    del case["expected_calls"]
    suite = suite_of(case)
    renamed = vary("rename", suite)
    assert renamed is not None
    assert names(renamed) == ["tool_1", "tool_2", "tool_3"]
    assert renamed.case.expected_tool == "tool_1"
    assert renamed.case.valid_prerequisites == ["tool_2"]
    assert renamed.case.mock_responses == {"tool_2": "12:00"}
    assert renamed.forbidden_calls == ("tool_3",)
    assert [change.new for change in changes_of(resolve(suite, suite.test_cases[0]), renamed)] == [
        "tool_1",
        "tool_2",
        "tool_3",
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("again", ["again"]),
        ("shuffle:1,2", ["shuffle:1", "shuffle:2"]),
        ("shuffle:0, 5:a,b.json", ["shuffle:0:a,b.json", "shuffle:5:a,b.json"]),
    ],
)
def test_commas_in_the_first_part_of_the_argument_make_a_series(text: str, labels: list[str]) -> None:
    assert [each.label for each in known().named(text)] == labels


def test_a_control_is_asked_as_well() -> None:
    variants = Variants()
    variants.register("new", lambda case, _: case, control=lambda case, _: case)
    control, new = variants.named("new:x")
    assert (control.label, control.against) == ("new-control:x", "")
    assert (new.label, new.against) == ("new:x", "new-control:x")


@pytest.mark.parametrize(
    ("name", "message"),
    [("shufle", "did you mean"), ("x", "expected one of again, bare")],
)
def test_an_unknown_variant(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown variant {name}.*{message}"):
        known().named(name)


def test_a_name_is_taken_once() -> None:
    variants = known()
    for name in ("again", "a b", ""):
        with pytest.raises(ConfigError, match="variant"):
            variants.register(name, lambda case, _: case)


def test_a_variant_judges_by_what_it_changed() -> None:
    suite = suite_of(CASE)
    renamed = vary("rename", suite)
    assert renamed is not None
    from pytest_tooleval.record.calls import ToolCall
    from pytest_tooleval.record.transcript import Reply
    from pytest_tooleval.record.transcript import Transcript
    from pytest_tooleval.scoring import score_transcript

    reply = Reply(message={}, prompt=(), calls=(ToolCall("tool_1", {}),))
    assert score_transcript(renamed, Transcript((), (reply,))).passed
    assert score_calls(suite, suite.test_cases[0], [{"name": "tool_1", "arguments": {}}]).passed is False
