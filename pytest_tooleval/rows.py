"""Case rows on their way from an item's report to the result document.

Reports are kept to the end of a run. What only the document needs of a trial, its transcript and
explanations, is packed into one text: thousands of nested ones would keep the garbage collector
busy, and xdist's channel too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import pydantic_core

from .record.encoding import to_json as encode
from .record.results import EXPECTED_FAILURE
from .record.results import CaseResult

BULKY = ("scores", "transcript")


def pack(result: CaseResult) -> dict[str, Any]:
    """The row of a result with the bulk of its trials as text under `bulk`."""
    row = json.loads(encode(result))
    bulk = [{name: trial[name] for name in BULKY} for trial in row["trials"]]
    trials = [{k: v for k, v in trial.items() if k not in BULKY} for trial in row["trials"]]
    return {**row, "trials": trials, "bulk": to_json(bulk)}


def was_expected(row: Mapping[str, Any]) -> bool:
    """Whether a case's row is that of one marked `xfail` on which the model failed."""
    return row["outcome"] == "missed" and str(row["reason"]).startswith(EXPECTED_FAILURE)


def unpack(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as it was before `pack`."""
    light = {k: v for k, v in row.items() if k != "bulk"}
    return joined(light, json.loads(row["bulk"]))


def joined(light: Mapping[str, Any], bulks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The row from its two parts; ValueError if they do not have as many trials."""
    trials = [{**trial, **bulk} for trial, bulk in zip(light["trials"], bulks, strict=True)]
    return {**light, "trials": trials}


def to_json(value: Any) -> str:
    """A value as compact JSON on one line; numbers that JSON does not have become null.

    What a scorer of a user puts into its checks, sets or dates, becomes a list or a text.
    """
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null").decode()
    except ValueError:  # half of a surrogate pair, or nested deeper than it goes
        try:
            return json.dumps(value, separators=(",", ":"), allow_nan=False)
        except ValueError:
            return json.dumps(with_null(value), separators=(",", ":"))


def with_null(value: Any) -> Any:
    """A copy in which null stands for NaN and infinity."""
    return json.loads(json.dumps(value), parse_constant=lambda name: None)
