"""Fingerprints, by which cases of two runs are recognised as the same case.

The prompt and the expectations in the file count. Tools, system prompt and sampling do not: runs are
compared to see what a change of these does. Nor do tags, skips, weights, clusters, the number of trials,
and what the command line sets.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .model import Suite
from .model import TestCase
from .model import world_of

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
        case.param_scoring or suite.param_scoring,
        {**(suite.thresholds or {}), **(case.thresholds or {})},
    ]
    if forbidden := suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls:
        parts.append([call if isinstance(call, str) else [call.tool, call.params] for call in forbidden])
    if case.multi_turn:
        parts += [case.max_rounds, case.optimal_hops, case.valid_prerequisites, case.mock_responses]
    if case.is_conversation:
        world = world_of(suite, case)
        # Like tools, the model that plays the user does not count.
        user = case.user and case.user.model_dump(exclude={"model"})
        parts += [[turn.model_dump() for turn in case.turns or ()] or user, case.max_rounds]
        parts += [case.match, case.expected_state, case.expected_text, case.mock_responses]
        parts += [world.target, world.args] if world else []
    if case.approvals:
        parts.append(case.approvals)
    return content_of_bytes(_SORTED.encode(parts).encode())
