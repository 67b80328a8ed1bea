"""Node ids of cases: `FILE::CASE[MODEL]` or `FILE::CASE[MODEL, VARIANT]`."""

from __future__ import annotations

from typing import NamedTuple

from ..record.variants import SEPARATOR
from ..suite.discovery import SUITE_ENDING


class CaseId(NamedTuple):
    """The parts of a node id; `model` and `variant` may be empty."""

    file: str
    case: str
    model: str
    variant: str = ""

    @property
    def name(self) -> str:
        """The node id without the file."""
        variant = f"{SEPARATOR}{self.variant}" if self.variant else ""
        return f"{self.case}[{self.model}{variant}]" if self.model else self.case

    @property
    def nodeid(self) -> str:
        return f"{self.file}::{self.name}"


def is_case(nodeid: str) -> bool:
    """True if the node id is a test case's. Parameters of another test may look like one."""
    file, separator, _ = nodeid.partition("::")
    return bool(separator) and file.endswith(SUITE_ENDING)


def split_nodeid(nodeid: str) -> CaseId:
    """The parts of a node id. A case made by `parametrize` has a row in its id: `CASE[ROW][MODEL]`."""
    file, _, name = nodeid.partition("::")
    case, row, condition = name.removesuffix("]").partition("][")
    if not row:
        case, _, condition = case.partition("[")
    model, _, variant = condition.partition(SEPARATOR)
    return CaseId(file, f"{case}]" if row else case, model, variant)
