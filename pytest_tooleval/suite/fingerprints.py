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

from .model import ResolvedCase
from .model import Suite
from .model import TestCase
from .model import Tool
from .model import world_of
from .modes import DEFAULT_MODE

DIGITS = 16
_SORTED = json.JSONEncoder(sort_keys=True)


def content_of_bytes(data: bytes) -> str:
    """16 hex digits for the content of a file."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def content_of_case(suite: Suite, case: TestCase) -> str:
    """16 hex digits for the prompt and the expectations of a case."""
    prompt = case.prompt
    calls = case.expected_calls
    parts: list[Any] = [
        [message.model_dump() for message in prompt] if isinstance(prompt, list) else prompt,
        case.expected_tool,
        case.expected_params,
        None if calls is None else [[call.tool, call.params] for call in calls],
        case.call_order,
        case.param_scoring or suite.param_scoring or DEFAULT_MODE,
    ]
    if forbidden := suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls:
        parts.append([call if isinstance(call, str) else [call.tool, call.params] for call in forbidden])
    if case.multi_turn:
        parts += [case.max_rounds, case.optimal_hops, case.valid_prerequisites, case.mock_responses]
    if case.is_conversation:
        world = world_of(suite, case)
        # Like tools, the model that plays the user does not count.
        user = case.user and case.user.model_dump(exclude={"model"})
        parts += [[turn.model_dump(exclude_unset=True) for turn in case.turns or ()] or user]
        parts += [
            case.max_rounds,
            case.match,
            case.results,
            case.expected_state,
            case.expected_text,
            case.mock_responses,
        ]
        parts += [world.target, world.args] if world else []
        parts += ["play_failed_calls"] if case.play_failed_calls else []
    if case.approvals:
        parts.append(case.approvals)
    return content_of_bytes(_SORTED.encode(parts).encode())


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
