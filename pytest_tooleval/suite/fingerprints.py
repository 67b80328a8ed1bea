"""Fingerprints, by which cases of two runs are recognised as the same case.

The prompt and the expectations in the file count. Tools, system prompt and sampling do not: runs are
compared to see what a change of these does. Thresholds, limits, trials and the pass rule do not either:
both runs are judged by today's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from ..matchers.modes import DEFAULT_MODE
from .model import ResolvedCase
from .model import Suite
from .model import TestCase
from .model import Tool
from .model import world_of

DIGITS = 16
_SORTED = json.JSONEncoder(sort_keys=True)


def content_of_bytes(data: bytes) -> str:
    """16 hex digits for the content of a file."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def content_of_case(suite: Suite, case: TestCase) -> str:
    """16 hex digits for the prompt and the expectations of a case.

    By name, without what is not set: so a new optional field leaves old fingerprints alone.
    """
    prompt, calls = case.prompt, case.expected_calls
    forbidden = suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls
    parts: dict[str, Any] = {
        "prompt": [_set_fields(each) for each in prompt] if isinstance(prompt, list) else prompt,
        "expected_tool": case.expected_tool,
        "expected_params": case.expected_params,
        "expected_calls": None if calls is None else [[call.tool, call.params] for call in calls],
        "call_order": case.call_order,
        "param_scoring": case.param_scoring or suite.param_scoring or DEFAULT_MODE,
        "forbidden_calls": [
            call if isinstance(call, str) else [call.tool, call.params] for call in forbidden or ()
        ]
        or None,
        "approvals": case.approvals or None,
    }
    if case.multi_turn or case.is_conversation:
        parts |= {"max_rounds": case.max_rounds, "mock_responses": case.mock_responses or None}
    if case.multi_turn:
        parts |= {
            "optimal_hops": case.optimal_hops,
            "valid_prerequisites": case.valid_prerequisites,
        }
    if case.is_conversation:
        world = world_of(suite, case)
        parts |= {
            "match": case.match,
            "results": case.results,
            "expected_state": case.expected_state,
            "expected_text": case.expected_text,
            "turns": [_set_fields(turn) for turn in case.turns or ()] or None,
            # Like tools, the model that plays the user does not count.
            "user": case.user and _set_fields(case.user, "model"),
            "world": world and [world.target, world.args],
            "play_failed_calls": case.play_failed_calls or None,
        }
    named = {name: value for name, value in parts.items() if value is not None}
    return content_of_bytes(_SORTED.encode(named).encode())


def _set_fields(part: BaseModel, *but: str) -> dict[str, Any]:
    return part.model_dump(exclude_unset=True, exclude=set(but))


class ToolsContent:
    """Fingerprints of what scores depend on besides the case itself: its tools and its world.

    They do not make a case another one. But an answer to other tools cannot be scored again.
    """

    def __init__(self, suite: Suite) -> None:
        self._of_suite = _content_of_tools(suite.tools)

    def of(self, case: ResolvedCase) -> str:
        """16 hex digits for the names and schemas of the tools, in any order, and the world's code."""
        own = case.case.tools
        tools = self._of_suite if own is None else _content_of_tools(own)
        if case.world is None:
            return tools
        return content_of_bytes(f"{tools} {case.world.identity['code']}".encode())


def _content_of_tools(tools: Iterable[Tool]) -> str:
    signatures = sorted(_SORTED.encode([tool.name, tool.function.parameters]) for tool in tools)
    return content_of_bytes("\n".join(signatures).encode())
