"""The first lines of the report: whether the run passed, and if not, why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Literal

import msgspec

from ...record.run import Run
from ...text import counted
from ..run_text import incomplete

Verdict = Literal["passed", "failed", "empty"]

_NOTHING_COLLECTED = 5


def verdict(document: Mapping[str, Any]) -> Verdict:
    """What pytest's exit status says, or, where there is none, what the cases and gates say.

    A run that evaluated nothing has not passed, whatever its exit status.
    """
    run = document["run"]
    status, total = run.get("exitstatus"), run["total"]
    if problems(document) if status is None else status:
        return "failed"
    return "empty" if total["cases"] == total["skipped"] else "passed"


def problems(document: Mapping[str, Any]) -> list[str]:
    """What went wrong, each in a few words; empty when nothing did."""
    run = document["run"]
    total = run["total"]
    found = []
    if total["failed"]:
        found.append(f"{total['failed']:,} of {counted(total['cases'], 'case')} failed")
    if total["errors"]:
        found.append(f"{counted(total['errors'], 'case')} without an answer")
    gates = document.get("gates") or []
    failed = sum(not gate["passed"] for gate in gates)
    if failed:
        found.append(f"{failed} of {counted(len(gates), 'gate')} failed")
    baseline = document.get("baseline")
    if baseline and baseline["failed"]:
        found.append("worse than the baseline")
    if run.get("collection_errors"):
        found.append(f"{counted(run['collection_errors'], 'file')} could not be read")
    status = run.get("exitstatus")
    reason = incomplete(msgspec.convert(run, Run))
    if reason:
        found.append(reason)
    elif status == _NOTHING_COLLECTED:
        found.append("no test was collected")
    elif status and not found:
        found.append("another test of the run failed")
    return found
