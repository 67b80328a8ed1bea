"""What the result document says of its run, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.fallbacks import fallback_text
from ..record.run import Run
from ..record.summary import Fallback
from ..text import counted

_STATUS = {"killed": "the run was killed", "running": "the run still goes on"}
# pytest's own exit codes beyond passed, failed, and no test collected.
_EXITS = {
    2: "the run was interrupted, or files could not be collected",
    3: "pytest had an internal error",
    4: "pytest was not used correctly",
}


def incomplete(run: Run) -> str:
    """Why the document's `run` is not whole; empty when it is."""
    status = _STATUS.get(run.status)
    return status or _EXITS.get(run.exitstatus or 0, "")


def option_text(name: str, value: object) -> str:
    """`trials=5`, `fail-under=0.9,tag=smoke:1`."""
    return f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """What a model was sent in place of what it refuses, on one line; empty for nothing."""
    return "; ".join(
        f"{fallback_text(each.parameter, each.sent)} ({counted(each.cases, 'case')})"
        for each in fallbacks
    )
