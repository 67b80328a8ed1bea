"""The time that a world may take while a model is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.engine.tools.world import WorldTools
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.worlds import play
from pytest_tooleval.worlds.world import WorldSpec

SLOW = """
import threading
import time

class Slow:
    def __init__(self): time.sleep({made})
    def go(self): {called}
"""


async def test_the_first_call_has_no_more_time_than_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "TIME_LIMIT_S", 1.0)
    (tmp_path / "slow.py").write_text(
        SLOW.format(made=0, called="threading.Event().wait()"), encoding="utf-8"
    )
    with pytest.raises(ModelError, match=r"^Slow\.go gave no answer within 1 s$"):
        await WorldTools(WorldSpec("slow:Slow", tmp_path, {})).answer(ToolCall("go", {}), ["go"], None)


async def test_making_a_world_may_take_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "TIME_LIMIT_S", 3.0)
    (tmp_path / "slow.py").write_text(SLOW.format(made=3.1, called="pass"), encoding="utf-8")
    tools = WorldTools(WorldSpec("slow:Slow", tmp_path, {}))
    assert (await tools.answer(ToolCall("go", {}), ["go"], None)).content == "null"
