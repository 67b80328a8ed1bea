"""Case rows on their way from an item's report to the result document.

Reports are kept to the end of a run. What only the document needs of a trial, its transcript and
explanations, is packed into one text: thousands of nested ones would keep the garbage collector
busy, and xdist's channel too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_BULKY = ("scores", "transcript")


def pack(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `CaseResult.to_dict` with the bulk of its trials as text under `bulk`."""
    bulk = [{name: trial[name] for name in _BULKY} for trial in row["trials"]]
    trials = [{k: v for k, v in trial.items() if k not in _BULKY} for trial in row["trials"]]
    return {**row, "trials": trials, "bulk": json.dumps(bulk)}


def unpack(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as it was before `pack`."""
    bulks = json.loads(row["bulk"])
    trials = [{**trial, **bulk} for trial, bulk in zip(row["trials"], bulks, strict=True)]
    return {**{k: v for k, v in row.items() if k != "bulk"}, "trials": trials}
