"""The modes of `param_scoring`: how a plain expected value compares with the one that came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from typing import NamedTuple

ParamScoring = Literal[
    "exact", "case_sensitive", "contains", "numeric_tolerance", "regex", "fuzzy", "bfcl"
]


class Mode(NamedTuple):
    """How a mode compares strings and numbers, in Markdown."""

    strings: str
    numbers: str


MODES: Mapping[ParamScoring, Mode] = {
    "exact": Mode("equal, case ignored", "equal as numbers: 1 is 1.0"),
    "case_sensitive": Mode("equal", "as `exact`"),
    "contains": Mode("the expected one is contained, case ignored", "as `exact`"),
    "numeric_tolerance": Mode(
        "as `exact`", "within 1e-6 of the expected, relatively, or 1e-12 (`pytest.approx`)"
    ),
    "regex": Mode(
        "the expected one is a pattern that is found somewhere; anchor it with `^` and `$`", "as `exact`"
    ),
    "fuzzy": Mode("85 % alike, case ignored, with the same digits", "as `exact`"),
    "bfcl": Mode(
        "as the Berkeley Function Calling Leaderboard: without case, spaces and `, . / - _ * ^`",
        "5 is only 5; 5.0 is also 5",
    ),
}
DEFAULT_MODE: ParamScoring = "exact"
