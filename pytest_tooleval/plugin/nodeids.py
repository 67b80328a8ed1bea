"""Node ids of cases, `FILE::CASE[MODEL]`, taken apart where there are no items."""

from __future__ import annotations

from typing import NamedTuple

from ..suite.discovery import SUITE_ENDING

_CASE = f"{SUITE_ENDING}::"


class CaseId(NamedTuple):
    """The parts of a node id; `model` is empty where none was named."""

    file: str
    case: str
    model: str


def is_case(nodeid: str) -> bool:
    """Whether it names a test case of a suite, and not another test."""
    return _CASE in nodeid


def split_nodeid(nodeid: str) -> CaseId:
    file, _, name = nodeid.partition("::")
    case, _, model = name.removesuffix("]").partition("[")
    return CaseId(file, case, model)
