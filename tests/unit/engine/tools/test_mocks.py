from __future__ import annotations

import json
from typing import Any

from builders import picture, tool

from pytest_tooleval.engine.exchange.tool_answers import ToolAnswer
from pytest_tooleval.engine.tools.mocks import Mocks
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.suite.case import ResolvedCase

from ..fakes import case_of


class Box:
    """A toolbox with these mocks."""

    def __init__(self, case: ResolvedCase) -> None:
        self._toolbox = Toolbox(case, [Mocks(case)])

    async def all(self, call: ToolCall) -> list[ToolAnswer]:
        found = await self._toolbox.answer_calls([call])
        assert found is not None
        return found

    async def answer(self, call: ToolCall) -> str:
        found = (await self.all(call))[0].content
        assert isinstance(found, str)
        return found


def mocks(**answers: Any) -> Box:
    tools = [tool(name) for name in ("book", "search", "other")]
    case = case_of(*tools, expected_tool="book", multi_turn=True, mock_responses=answers)
    return Box(case)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments)


async def test_a_text_goes_as_it_is_and_anything_else_as_json() -> None:
    assert await mocks(search="sunny, 20 °C").answer(call("search")) == "sunny, 20 °C"
    assert await mocks(search={"t": "°"}).answer(call("search")) == '{"t": "°"}'
    assert await mocks(search=None).answer(call("search")) == "null"


async def test_parts_with_an_image_go_as_they_are_unless_they_are_data() -> None:
    parts = [{"type": "text", "text": "red"}, picture()]
    for mock in (parts, {"$when": [{"answer": {"$sequence": [parts]}}]}):
        (found,) = await mocks(search=mock).all(call("search"))
        assert (found.content, found.text) == (parts, "red")
    assert await mocks(search={"$exact": parts}).answer(call("search")) == json.dumps(parts)


async def test_names_compare_without_case() -> None:
    assert await mocks(Search="x").answer(call("sEARCH")) == "x"


async def test_tools_that_differ_only_in_case_are_two_tools() -> None:
    answers = {"look": "small", "LOOK": "large"}
    case = case_of(
        tool("look"), tool("LOOK"), expected_tool="look", multi_turn=True, mock_responses=answers
    )
    box = Box(case)
    assert [await box.answer(call(name)) for name in ("look", "LOOK")] == ["small", "large"]
    assert "there is no tool 'Look'" in await box.answer(call("Look"))


async def test_under_bfcl_case_counts_for_what_runs_too() -> None:
    """Else a call in another spelling would run and not count as forbidden."""
    case = case_of(
        tool("search"),
        expected_tool="search",
        multi_turn=True,
        mock_responses={"search": "x"},
        param_scoring="bfcl",
    )
    assert "there is no tool 'SEARCH'" in await Box(case).answer(call("SEARCH"))


async def test_a_sequence_goes_on_and_its_last_answer_repeats() -> None:
    mock = mocks(search={"$sequence": ["a", "b"]})
    assert [await mock.answer(call("search")) for _ in range(4)] == ["a", "b", "b", "b"]


async def test_each_tool_counts_for_itself() -> None:
    mock = mocks(search={"$sequence": ["a", "b"]}, other={"$sequence": ["c", "d"]})
    assert [await mock.answer(call(name)) for name in ("search", "other", "search")] == ["a", "c", "b"]


async def test_the_first_entry_that_matches_answers() -> None:
    mock = mocks(
        search={
            "$when": [
                {"params": {"city": "paris"}, "answer": "P"},
                {"params": {"city": {"$regex": "^L"}}, "answer": "L"},
                {"answer": "rest"},
            ]
        }
    )
    cities = ["Paris", "London", "Oslo"]
    assert [await mock.answer(call("search", city=city)) for city in cities] == ["P", "L", "rest"]


async def test_each_entry_counts_its_own_sequence() -> None:
    entries = [
        {"params": {"city": "Paris"}, "answer": {"$sequence": ["a", "b"]}},
        {"params": {"city": "Oslo"}, "answer": {"$sequence": ["c", "d"]}},
        {"answer": {"$exact": {"$sequence": []}}},
    ]
    mock = mocks(search={"$when": entries})
    cities = ["Paris", "Oslo", "Paris", "Oslo", "Rome"]
    found = [await mock.answer(call("search", city=city)) for city in cities]
    assert found == ["a", "c", "b", "d", '{"$sequence": []}']


async def test_no_entry_matches() -> None:
    mock = mocks(search={"$when": [{"params": {"city": "Paris"}, "answer": "P"}]})
    assert "nothing is known" in json.loads(await mock.answer(call("search", city="Oslo")))["error"]


async def test_exact_data_that_looks_like_a_mock() -> None:
    answer = {"$sequence": ["a"]}
    assert json.loads(await mocks(search={"$exact": answer}).answer(call("search"))) == answer


async def test_what_cannot_be_answered_says_why() -> None:
    mock = mocks(search="x")
    assert "not available" in json.loads(await mock.answer(call("other")))["error"]
    assert "there is no tool 'nonsense'" in json.loads(await mock.answer(call("nonsense")))["error"]
    broken = ToolCall("search", None, "{")
    assert "not a JSON object" in json.loads(await mock.answer(broken))["error"]
