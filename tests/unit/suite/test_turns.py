"""Cases with turns: one mistake, one message, at its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.overrides import Overrides
from pytest_tooleval.suite.resolved import resolve

WORLD = "class Desk:\n    def refund(self, order: str): ...\n    def look(self): ...\n"
CALL = {"tool": "refund", "params": {"order": "A1"}}
OPTIONAL = {**CALL, "optional": True}


def parse(folder: Path, case: dict[str, Any], **suite: Any) -> Any:
    (folder / "desk.py").write_text(WORLD, encoding="utf-8")
    turns = [{"prompt": "Hello", "expected_calls": [CALL]}]
    data = {"name": "s", "world": "desk:Desk", "test_cases": [{"turns": turns, **case}], **suite}
    data = {key: value for key, value in data.items() if value is not None}
    return parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))


def turn(**fields: Any) -> dict[str, Any]:
    return {"turns": [{"prompt": "Hello", "expected_calls": [CALL]}, {"prompt": "More", **fields}]}


def only(**fields: Any) -> dict[str, Any]:
    return {"turns": [{"prompt": "Hi", **fields}]}


def played(user: dict[str, Any]) -> dict[str, Any]:
    return {"turns": None, "user": user, "expected_calls": [CALL]}


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"prompt": "Hi"}, "prompt", "cannot be combined with turns; remove one of the two"),
    (
        {"expected_tool": "refund"},
        "expected_tool",
        ("cannot be combined with turns; remove one of the two; give"),
    ),
    ({"max_calls": 3}, "max_calls", 'for the whole case, write "thresholds": {"max_calls": ...}'),
    ({"turns": []}, "turns", "expected a list of turns"),
    (
        {"turns": [{"prompt": "Hi", "match": "contains", "expected_calls": {"$any_of": [[CALL], []]}}]},
        "turns[0].match",
        'the match "contains" says nothing where no call has to be made',
    ),
    (
        {"turns": [{"prompt": "Hi", "expected_calls": {"$any_of": [[CALL], [{"tool": "nix"}]]}}]},
        "turns[0].expected_calls.$any_of[1][0].tool",
        'the tool "nix" is not defined',
    ),
    ({"turns": [{"prompt": "Hi"}]}, "turns", "nothing is expected"),
    ({"turns": [{"expected_text": ["x"]}]}, "turns[0].prompt", "missing; expected the user's message"),
    ({"tool_choice": "required"}, "tool_choice", "a turn ends with a reply without calls"),
    ({"mock_responses": {"look": 1}}, "mock_responses", "cannot be combined with a world"),
    (turn(expected_cals=[]), "turns[1].expected_cals", "unknown field, did you mean expected_calls?"),
    ({"expected_tool": None}, "expected_tool", "cannot be combined with turns"),
    (turn(expected_tool="lok"), "turns[1].expected_tool", 'did you mean "look"?'),
    (turn(expected_params={"order": "A1"}), "turns[1].expected_params", "needs expected_tool"),
    (
        turn(expected_tool="look", expected_calls=[]),
        "turns[1].expected_calls",
        "cannot be combined with",
    ),
    (
        turn(expected_tool=["look", "refund"], match="state"),
        "turns[1].expected_tool",
        "name a single tool",
    ),
    (
        turn(expected_tool="look", expected_params={"order": {"$regex": "A"}}, match="state"),
        "turns[1].expected_params.order",
        "write a plain value",
    ),
    (turn(expected_tool="look", results=True), "turns[1].results", 'only for "match": "state"'),
    ({"results": True}, "results", 'only for "match": "state"'),
    (turn(match="contain"), "turns[1].match", "did you mean"),
    (turn(new_tools=["lok"]), "turns[1].new_tools[0]", 'did you mean "look"?'),
    (turn(new_tools=5), "turns[1].new_tools", "expected a list of tool names, got the number 5"),
    (turn(max_calls=-1), "turns[1].max_calls", "expected a whole number of at least 0"),
    (turn(expected_state={"a..b": 1}), 'turns[1].expected_state["a..b"]', "expected a path such as"),
    (turn(expected_state={"a": {"$gtee": 1}}), "turns[1].expected_state.a.$gtee", "unknown"),
    (turn(expected_text=[{"$nmber": 1}]), "turns[1].expected_text[0].$nmber", 'did you mean "$number"?'),
    (turn(expected_text=[", "]), "turns[1].expected_text[0]", "commas are ignored"),
    (turn(expected_text=[3]), "turns[1].expected_text[0]", "expected a text, "),
    (turn(expected_text=[{"$regex": "("}]), "turns[1].expected_text[0].$regex", "does not compile"),
    (turn(forbidden_calls=["pay"]), "turns[1].forbidden_calls[0]", "is not defined"),
    (
        turn(expected_text=[{"$not": {"$judge": "Is rude."}}]),
        "turns[1].expected_text[0].$not.$judge",
        "it would pass if the judge is unsure",
    ),
    (turn(expected_text=[{"$judge": " "}]), "turns[1].expected_text[0].$judge", "expected a rubric"),
    ({"user": {"goal": "x"}}, "user", "cannot be combined with turns; remove one of the two"),
    (played({"goal": " "}), "user.goal", "an empty text"),
    (played({"goal": "x", "stp": "x"}), "user.stp", "unknown field, did you mean stop?"),
    (played({"goal": "x", "max_turns": 0}), "user.max_turns", "a whole number of at least 1"),
    ({"turns": None, "user": {"goal": "x"}}, "user", "nothing is expected; give the case"),
    (only(expected_state={}), "turns", "nothing is expected"),
    (only(expected_text=[], expected_state={}), "turns", "nothing is expected"),
    (only(expected_calls=[OPTIONAL]), "turns", "nothing is expected"),
    (
        only(expected_calls={"$any_of": [[OPTIONAL], [OPTIONAL]]}, match="within"),
        "turns",
        "nothing is expected (an agent that does nothing keeps the expected_calls)",
    ),
    (
        {"turns": None, "prompt": "Hi", "world": "desk:Desk", "expected_text": []},
        "world",
        "nothing is expected",
    ),
    (
        {"turns": None, "user": {"goal": "x"}, "expected_calls": [OPTIONAL]},
        "user",
        "nothing is expected (an agent that does nothing keeps the expected_calls)",
    ),
    (
        turn(match="state", expected_calls=[{"tool": "*"}]),
        "turns[1].expected_calls[0].tool",
        "name a single tool",
    ),
    (
        turn(match="state", expected_calls=[{"tool": "refund", "params": {"order": {"$regex": "A"}}}]),
        "turns[1].expected_calls[0].params.order",
        "write a plain value",
    ),
]


@pytest.mark.parametrize(("case", "field", "message"), MISTAKES)
def test_one_mistake_is_one_problem(
    tmp_path: Path, case: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(SuiteError) as caught:
        parse(tmp_path, case)
    (problem,) = caught.value.problems
    assert problem.field == f"test_cases[0].{field}"
    assert message in problem.message


# Cases with a prompt, and the problem that names the fix.
PROMPTS: list[tuple[dict[str, Any], str]] = [
    ({"match": "contains"}, 'match: needs a world, .*; add "world": "module:Class" to the case'),
    ({"results": True}, "results: needs a world"),
    ({"expected_state": {"a": 1}}, "expected_state: needs a world"),
    ({"multi_turn": True, "expected_state": {"a": 1}}, "expected_state: .* instead of multi_turn"),
    ({"world": True, "multi_turn": True}, "multi_turn: cannot be combined with world"),
    ({"world": True, "prompt": None}, "prompt: expected the user's message"),
    ({"world": True, "optimal_hops": 1}, "optimal_hops: cannot be combined with world"),
    ({"world": True, "tool_choice": "required"}, "tool_choice: a turn ends with a reply without calls"),
    ({"world": False}, "world: expected .* or true for the suite's world, got false"),
    ({"expected_text": [{"$foo": 1}]}, r"expected_text\[0\]..foo: unknown"),
]


@pytest.mark.parametrize(("case", "message"), PROMPTS)
def test_a_prompt_that_lacks_what_its_fields_need(
    tmp_path: Path, case: dict[str, Any], message: str
) -> None:
    given = {"turns": None, "prompt": "Hi", "expected_tool": "refund", **case}
    with pytest.raises(SuiteError, match=rf"test_cases\[0\].{message}") as caught:
        parse(tmp_path, given)
    assert len(caught.value.problems) == 1


def test_a_prompt_with_a_world_is_a_conversation_of_one_turn(tmp_path: Path) -> None:
    prompt = {"turns": None, "prompt": "Hi", "expected_tool": "refund"}
    fields = {"match": "state", "results": True, "expected_state": {"a": 1}, "expected_text": ["done"]}
    for world in (True, "desk:Desk"):
        suite = parse(tmp_path, {**prompt, **fields, "world": world})
        case = resolve(suite, suite.test_cases[0])
        assert (case.kind, case.tool_choice, len(case.turns)) == ("conversation", "auto", 1)
        assert case.world is not None
        assert case.world.target == "desk:Desk"
    # Others stay as they are, also in a suite with a world.
    suite = parse(tmp_path, {**prompt, "expected_text": ["done"]})
    case = resolve(suite, suite.test_cases[0])
    assert (case.kind, case.tool_choice, case.round_limit, case.world) == ("calls", "required", 1, None)


def test_what_needs_a_world(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "refund"}}]
    with pytest.raises(SuiteError, match="expected_state: needs a world"):
        parse(tmp_path, turn(expected_state={"a": 1}), world=None, tools=tools)
    prompt = {"turns": None, "prompt": "Hi", "expected_tool": "refund"}
    with pytest.raises(SuiteError, match="world: true is the world of the suite, which has none"):
        parse(tmp_path, {**prompt, "world": True}, world=None, tools=tools)
    with pytest.raises(SuiteError, match="play_failed_calls: needs a world"):
        parse(tmp_path, {**turn(max_calls=1), "play_failed_calls": True}, world=None, tools=tools)


def test_a_world_that_cannot_be_made_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        parse(tmp_path, {}, world="desk:Dask")
    (problem,) = caught.value.problems
    assert (problem.field, problem.line) == ("world", 1)
    assert problem.message == "'desk' has no class or function 'Dask', did you mean Desk?"


def test_tools_that_differ_from_the_methods_are_warned_of(tmp_path: Path) -> None:
    def tool(name: str, *parameters: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
        return {"type": "function", "function": {"name": name, "parameters": schema}}

    tools = [tool("refund", "id"), tool("look"), tool("pay"), tool("mcp__desk__refund", "order")]
    found = lint_suite(parse(tmp_path, {}, tools=tools))
    messages = {each.field: each.message for each in found if each.field.startswith("tools")}
    assert messages == {
        "tools[0].function.parameters": 'the tool has "id", no "order", unlike the method in the world',
        "tools[2].function.name": 'the world has no method "pay"',
    }
    answers_all = "class All:\n    def __call__(self, name, arguments): ...\n"
    (tmp_path / "all.py").write_text(answers_all, encoding="utf-8")
    assert not lint_suite(parse(tmp_path, {}, tools=[tool("refund", "order")], world="all:All"))


def test_a_required_call_of_the_suite_is_not_for_its_conversations(tmp_path: Path) -> None:
    suite = parse(tmp_path, {}, tool_choice="required")
    case = resolve(suite, suite.test_cases[0])
    assert (case.tool_choice, dict(case.set_by)) == ("auto", {})
    (problem,) = lint_suite(suite)
    assert (problem.field, problem.message) == (
        "tool_choice",
        "conversations get auto instead, as a turn ends with a reply without calls; a case's own "
        "tool_choice wins",
    )
    own = {"tool_choice": "none"}
    suite = parse(tmp_path, own, tool_choice="required")
    assert resolve(suite, suite.test_cases[0]).tool_choice == "none"
    assert not lint_suite(suite)
    forced = resolve(suite, suite.test_cases[0], Overrides(tool_choice="required"))
    assert (forced.tool_choice, forced.set_by["tool_choice"]) == ("required", "--tooleval-tool-choice")
    prompt = {"turns": None, "prompt": "Hi", "expected_tool": "refund"}
    suite = parse(tmp_path, prompt, tool_choice="required")
    assert resolve(suite, suite.test_cases[0]).set_by == {"tool_choice": "the suite"}
    assert not lint_suite(suite)
    with pytest.raises(SuiteError, match="which this tool_choice prevents"):
        parse(tmp_path, {}, tool_choice={"tool": "refund"})


def test_turns_resolve(tmp_path: Path) -> None:
    suite = parse(tmp_path, turn(new_tools=["look"]), system_prompt="Be nice.")
    assert not lint_suite(suite)
    case = suite.test_cases[0]
    assert case.id == "hello"
    assert [each.prompt for each in case.turns] == ["Hello", "More"]
    resolved = resolve(suite, case)
    assert [message["content"] for message in resolved.messages] == ["Be nice.", "Hello"]
    assert [[tool.name for tool in each.tools] for each in resolved.turns] == [
        ["refund"],
        ["refund", "look"],
    ]
    assert (resolved.tool_choice, dict(resolved.thresholds)) == (
        "auto",
        {"overall": 1.0, "arguments_valid": 1.0},
    )


def test_a_model_plays_the_user(tmp_path: Path) -> None:
    case = {**played({"goal": "Get your money back."}), "match": "state", "expected_state": {}}
    suite = parse(tmp_path, case, system_prompt="Be nice.")
    assert not lint_suite(suite)
    test = suite.test_cases[0]
    assert (test.id, test.turns, test.user.stop) == ("get-your-money-back", None, "###STOP###")
    resolved = resolve(suite, test)
    assert [message["content"] for message in resolved.messages] == ["Be nice."]
    assert (resolved.has_tool_rounds, resolved.tool_choice) == (True, "auto")
    assert resolved.world is not None
    assert [tool.name for tool in resolved.turns[0].tools] == ["refund", "look"]
