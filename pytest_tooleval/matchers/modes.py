"""The modes of `param_scoring`: how a plain expected value compares with the model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from typing import NamedTuple

ParamScoring = Literal["exact", "case_sensitive", "bfcl"]


class Mode(NamedTuple):
    """Which strings and numbers match, in Markdown."""

    strings: str
    numbers: str


MODES: Mapping[ParamScoring, Mode] = {
    "exact": Mode("equal, ignoring case", "equal as numbers: 1 is 1.0"),
    "case_sensitive": Mode("equal", "as `exact`"),
    "bfcl": Mode(
        "equal, ignoring case, spaces and `, . / - _ * ^` (the Berkeley Function Calling Leaderboard)",
        "5 matches only 5; 5.0 also matches 5",
    ),
}
DEFAULT_MODE: ParamScoring = "exact"
