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
from .model import ExpectedCall
from .model import ResolvedCase
from .model import Suite
from .model import TestCase
from .model import Tool
from .model import User
from .model import world_of

DIGITS = 16
_SORTED = json.JSONEncoder(sort_keys=True)


def content_of_bytes(data: bytes) -> str:
    """16 hex digits for the content of a file."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


# What the fingerprint of a case holds: all fields but those that `TestCase` says are apart, each without
# its default, so that a new field leaves old fingerprints alone. `world_args` are part of the world.
_DEFAULTS = {
    name: field.get_default(call_default_factory=True)
    for name, field in TestCase.model_fields.items()
    if name not in {*TestCase.APART, "multi_turn", "world_args"}
}


def content_of_case(suite: Suite, case: TestCase) -> str:
    """16 hex digits for the prompt and the expectations of a case."""
    parts = {name: getattr(case, name) for name in case.model_fields_set & _DEFAULTS.keys()}
    world = world_of(suite, case)
    forbidden = suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls
    parts |= {
        "world": world and [world.target, world.args],
        "param_scoring": case.param_scoring or suite.param_scoring or DEFAULT_MODE,
        "forbidden_calls": list(forbidden or ()) or None,
    }
    named = {name: _plain(value) for name, value in parts.items() if value != _DEFAULTS[name]}
    # The first fingerprints had these in any case.
    named["call_order"] = case.call_order
    if case.kind == "chain":
        named["valid_prerequisites"] = case.valid_prerequisites
    return content_of_bytes(_SORTED.encode(named).encode())


def _plain(value: Any) -> Any:
    """Models as the fields that the file sets; the model that plays the user does not count."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, ExpectedCall):
        return [value.tool, value.params]
    if isinstance(value, BaseModel):
        return value.model_dump(
            exclude_unset=True, exclude={"model"} if isinstance(value, User) else set()
        )
    return value


class ToolsContent:
    """Fingerprints of what scores depend on besides the case itself: its tools and its world.

    They do not make a case another one. But an answer to other tools cannot be scored again.
    """

    def __init__(self, suite: Suite) -> None:
        self._of_suite = _content_of_tools(suite.tools)

    def of(self, case: ResolvedCase) -> str:
        """16 hex digits for the names and schemas of the tools, in any order, and the world's code."""
        own = case.tools if case.arm.variant else case.case.tools
        tools = self._of_suite if own is None else _content_of_tools(own)
        if case.world is None:
            return tools
        return content_of_bytes(f"{tools} {case.world.identity['code']}".encode())


def _content_of_tools(tools: Iterable[Tool]) -> str:
    signatures = sorted(_SORTED.encode([tool.name, tool.definition.parameters]) for tool in tools)
    return content_of_bytes("\n".join(signatures).encode())
