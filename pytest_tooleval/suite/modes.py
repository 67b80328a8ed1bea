"""The modes of `param_scoring`: how a plain expected value compares with the model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from typing import NamedTuple

ParamScoring = Literal[
    "exact", "case_sensitive", "contains", "numeric_tolerance", "regex", "fuzzy", "bfcl"
]


class Mode(NamedTuple):
    """Which strings and numbers match, in Markdown."""

    strings: str
    numbers: str


MODES: Mapping[ParamScoring, Mode] = {
    "exact": Mode("equal, ignoring case", "equal as numbers: 1 is 1.0"),
    "case_sensitive": Mode("equal", "as `exact`"),
    "contains": Mode("the expected string is contained, ignoring case", "as `exact`"),
    "numeric_tolerance": Mode(
        "as `exact`", "within a relative 1e-6 or an absolute 1e-12 (as in `pytest.approx`)"
    ),
    "regex": Mode(
        "the expected regular expression matches somewhere; anchor it with `^` and `$`", "as `exact`"
    ),
    "fuzzy": Mode("at least 85 % similar, ignoring case, with the same numbers", "as `exact`"),
    "bfcl": Mode(
        "equal, ignoring case, spaces and `, . / - _ * ^` (the Berkeley Function Calling Leaderboard)",
        "5 matches only 5; 5.0 also matches 5",
    ),
}
DEFAULT_MODE: ParamScoring = "exact"
