"""Words that the reports share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ..engine.fallbacks import fallback_text
from ..figures import usd_text
from ..record.gates import Verdict
from ..record.run import Spent
from ..record.summary import Fallback
from ..text import counted

# A model that lacks answers has not failed.
ModelVerdict = Verdict | Literal["error"]
# Words and colours of a terminal.
VERDICTS: dict[ModelVerdict, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "red"),
    "error": ("ERROR", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}


def cases_text(cases: int, selected: int) -> str:
    """`6`, or `3 of 6` if the run ended before all selected cases ran."""
    return f"{cases} of {selected}" if cases < selected else str(cases)


def spent_text(spent: Iterable[Spent]) -> str:
    """What was spent: `unknown` if nothing is known of it, `at least` if not all."""
    total = sum(spent, start=Spent())
    is_least = total.priced < total.answers
    return usd_text(total.usd if total.usd or not is_least else None, is_least=is_least)


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """What a model was sent instead of what it refuses, on one line; empty for nothing."""
    return "; ".join(
        f"{fallback_text(each.parameter, each.sent)} ({counted(each.cases, 'case')})"
        for each in fallbacks
    )
