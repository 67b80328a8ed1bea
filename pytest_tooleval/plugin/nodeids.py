"""Parsing node ids of cases, `FILE::CASE[MODEL]` or `FILE::CASE[MODEL, VARIANT]`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from ..record.variants import SEPARATOR
from ..suite.discovery import SUITE_ENDING

_CASE = f"{SUITE_ENDING}::"


class CaseId(NamedTuple):
    """The parts of a node id; `model` and `variant` may be empty."""

    file: str
    case: str
    model: str
    variant: str = ""


def is_case(nodeid: str) -> bool:
    """True if the node id is a test case's rather than another test's."""
    return _CASE in nodeid


def split_nodeid(nodeid: str) -> CaseId:
    """The parts of a node id. A case made by `parametrize` has a row in its id: `CASE[ROW][MODEL]`."""
    file, _, name = nodeid.partition("::")
    case, row, condition = name.removesuffix("]").partition("][")
    if not row:
        case, _, condition = case.partition("[")
    model, _, variant = condition.partition(SEPARATOR)
    return CaseId(file, f"{case}]" if row else case, model, variant)


def not_asked(config: pytest.Config, path: Path, nodeids: Iterable[str]) -> str:
    """The problem if `FILE::CASE[MODEL]` on the command line names a model that is not in the run.

    Empty if there is none. pytest would only report that it cannot find the case.
    """
    found = list(map(split_nodeid, nodeids))
    models = dict.fromkeys(each.model for each in found)
    for argument in config.args:
        file, case, model, _ = split_nodeid(argument)
        is_here = os.path.abspath(config.invocation_params.dir / file) == str(path)
        if is_here and model not in ("", *models) and any(case == each.case for each in found):
            asked = ", ".join(filter(None, models)) or "no model"
            return f"{argument}: this run asks {asked}, not {model}; use --tooleval-model={model}"
    return ""
