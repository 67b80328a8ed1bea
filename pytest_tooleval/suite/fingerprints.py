"""Fingerprints, which identify the same case in two runs.

They cover the prompt and the expectations in the file. They exclude tools, system prompt and sampling,
since runs are compared to see the effect of changing these, and thresholds, limits, trials and the pass
rule, since both runs are judged by the current ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from ..matchers.modes import DEFAULT_MODE
from .case import APART, DEFAULTS, ResolvedCase, TestCase, User
from .expectations import AnyOfCalls, ExpectedCall
from .model import Suite, world_of
from .tools import Tool

DIGITS = 16
_SORTED = json.JSONEncoder(sort_keys=True)


def fingerprint_of_bytes(data: bytes) -> str:
    """Return 16 hex digits for the content of a file."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


# `world_args` are hashed with the world.
_LEFT_OUT = {*APART, "multi_turn", "world_args"}


def fingerprint_of_case(suite: Suite, case: TestCase) -> str:
    """Return 16 hex digits for the prompt and the expectations of a case.

    Default values are left out, so that a new field leaves old fingerprints alone.
    """
    parts = {name: getattr(case, name) for name in case.model_fields_set - _LEFT_OUT}
    world = world_of(suite, case)
    forbidden = suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls
    parts |= {
        "world": world and [world.target, world.args],
        "param_scoring": case.param_scoring or suite.param_scoring or DEFAULT_MODE,
        "forbidden_calls": list(forbidden or ()) or None,
        "policies": [*suite.policies, *case.policies],
    }
    named = {name: _plain(value) for name, value in parts.items() if value != DEFAULTS[name]}
    # The first fingerprints included these even at their defaults.
    named["call_order"] = case.call_order
    if case.kind == "chain":
        named["valid_prerequisites"] = case.valid_prerequisites
    return fingerprint_of_bytes(_SORTED.encode(named).encode())


def _plain(value: Any) -> Any:
    """Reduce pydantic models to the fields that the file sets, without the user's `model`."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, ExpectedCall):
        end = value.model_dump(include={"status", "result", "agent"}, exclude_unset=True)
        more = [*(["optional"] if value.optional else ()), *([end] if end else ())]
        return [value.tool, value.params, *more]
    if isinstance(value, AnyOfCalls):
        return {"$any_of": [_plain(each) for each in value.lists]}
    if isinstance(value, BaseModel):
        return value.model_dump(
            exclude_unset=True, exclude={"model"} if isinstance(value, User) else set()
        )
    return value


class ToolsFingerprints:
    """Fingerprints of the tools and the world, which scores depend on besides the case itself.

    Changing them does not change the case, but answers given with other tools cannot be rescored.
    """

    def __init__(self, suite: Suite) -> None:
        self._tools = tuple(suite.tools)
        self._of_suite = _fingerprint_of_tools(self._tools)

    def of(self, case: ResolvedCase) -> str:
        """Return 16 hex digits for tool names and schemas, in any order, and the world's code."""
        tools = self._of_suite if case.tools == self._tools else _fingerprint_of_tools(case.tools)
        if case.world is None:
            return tools
        return fingerprint_of_bytes(f"{tools} {case.world.identity['code']}".encode())


def _fingerprint_of_tools(tools: Iterable[Tool]) -> str:
    signatures = sorted(_SORTED.encode([tool.name, tool.definition.parameters]) for tool in tools)
    return fingerprint_of_bytes("\n".join(signatures).encode())
