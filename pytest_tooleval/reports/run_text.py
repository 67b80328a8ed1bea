"""What the result document says of its run, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.fallbacks import fallback_text
from ..record.gates import Verdict
from ..record.run import Status
from ..record.summary import Fallback
from ..text import counted

# Words and colours of a terminal.
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}
# pytest's own exit codes beyond passed, failed, and no test collected.
_EXITS = {2: "interrupted", 3: "internal error of pytest", 4: "wrong usage of pytest"}


def ending(status: Status, exitstatus: int | None) -> str:
    """Why a run is not whole, in a word or two; empty when it is."""
    return _EXITS.get(exitstatus or 0, "") if status == "finished" else status


def cases_text(cases: int, selected: int) -> str:
    """`6`, or `3 of 6` where the run ended before all selected cases had come to their turn."""
    return f"{cases} of {selected}" if cases < selected else str(cases)


def option_text(name: str, value: object) -> str:
    """`trials=5`, `fail-under=0.9,tag=smoke:1`."""
    return f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """What a model was sent in place of what it refuses, on one line; empty for nothing."""
    return "; ".join(
        f"{fallback_text(each.parameter, each.sent)} ({counted(each.cases, 'case')})"
        for each in fallbacks
    )
