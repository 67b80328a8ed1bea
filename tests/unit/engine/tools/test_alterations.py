from __future__ import annotations

import pytest
from builders import picture, tool
from msgspec import structs

from pytest_tooleval.engine.tools.mocks import Mocks
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.suite.altered import AlteredAnswers

from ..fakes import case_of


@pytest.mark.parametrize(
    ("altered", "content"),
    [
        (AlteredAnswers("note", note="Psst."), [{"type": "text", "text": "red\nPsst."}, picture()]),
        (AlteredAnswers("truncated"), "r"),
        (AlteredAnswers("empty"), ""),
    ],
)
async def test_an_answer_with_a_picture(altered: AlteredAnswers, content: object) -> None:
    mocks = {"look": [{"type": "text", "text": "red"}, picture()]}
    case = case_of(tool("look"), tool("say"), expected_tool="say", multi_turn=True, mock_responses=mocks)
    case = structs.replace(case, altered=altered)
    found = await Toolbox(case, [Mocks(case)]).answer_calls([ToolCall("look", {})])
    assert found is not None
    assert [each.content for each in found] == [content]
