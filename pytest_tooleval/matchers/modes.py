"""The modes of `param_scoring`, which say how plain expected values compare with the model's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from ..text import fold, to_nfc

ParamScoring = Literal["exact", "case_sensitive", "bfcl"]
Number = int | float


class Mode(NamedTuple):
    """How plain strings and numbers compare: in Markdown, and as functions of expected and actual.

    `fold` prepares texts for comparison by `$contains`. `equal` is the reason for strings that are the
    same only in this mode. With `exact_names`, keys compare by code points, and tool names by case. With
    `counts_unexpected`, an unexpected argument counts as a wrong one. With `only_overall`, `overall`
    alone decides by default, and counts surplus calls instead of `no_extra_calls`.
    """

    strings: str
    numbers: str
    same_text: Callable[[str, str], bool]
    same_number: Callable[[Number, Number], bool]
    fold: Callable[[str], str]
    equal: str = "equal, ignoring case"
    exact_names: bool = False
    counts_unexpected: bool = False
    only_overall: bool = False


_BFCL_IGNORED = str.maketrans(dict.fromkeys(" ,./-_*^"))


def _bfcl_text(text: str) -> str:
    """Normalise a text as BFCL's `standardize_string` does."""
    return text.translate(_BFCL_IGNORED).lower().replace("'", '"')


MODES: Mapping[ParamScoring, Mode] = {
    "exact": Mode(
        strings="equal, ignoring case",
        numbers="equal as numbers: 1 is 1.0",
        same_text=lambda expected, actual: expected == actual or fold(expected) == fold(actual),
        # Python compares an int with a float by their exact values, however large.
        same_number=operator.eq,
        fold=fold,
    ),
    "case_sensitive": Mode(
        strings="equal",
        numbers="as `exact`",
        same_text=lambda expected, actual: expected == actual or to_nfc(expected) == to_nfc(actual),
        same_number=operator.eq,
        fold=to_nfc,
    ),
    "bfcl": Mode(
        strings="equal, ignoring case, spaces and `, . / - _ * ^` "
        "(the Berkeley Function Calling Leaderboard)",
        numbers="5 matches only 5; 5.0 also matches 5",
        same_text=lambda expected, actual: _bfcl_text(expected) == _bfcl_text(actual),
        same_number=lambda expected, actual: (
            expected == actual and (isinstance(expected, float) or isinstance(actual, int))
        ),
        fold=_bfcl_text,
        equal="equal as BFCL compares strings",
        exact_names=True,
        counts_unexpected=True,
        only_overall=True,
    ),
}
DEFAULT_MODE: ParamScoring = "exact"
