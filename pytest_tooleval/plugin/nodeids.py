"""Parsing node ids of cases, `FILE::CASE[MODEL]`."""

from __future__ import annotations

from typing import NamedTuple

from ..suite.discovery import SUITE_ENDING

_CASE = f"{SUITE_ENDING}::"


class CaseId(NamedTuple):
    """The parts of a node id; `model` may be empty."""

    file: str
    case: str
    model: str


def is_case(nodeid: str) -> bool:
    """Whether it is the id of a test case, not of another test."""
    return _CASE in nodeid


def split_nodeid(nodeid: str) -> CaseId:
    file, _, name = nodeid.partition("::")
    case, _, model = name.removesuffix("]").partition("[")
    return CaseId(file, case, model)
