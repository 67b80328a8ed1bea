"""The result document: what `--tooleval-json` writes and every other report is made from."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from typing import Any

from ..rows import with_null
from ..verdicts.statistics import mean_interval
from ..verdicts.statistics import reliability

VERSION = 1

_COUNTED = {
    "passed": "passed",
    "failed": "failed",
    "missed": "missed",
    "error": "errors",
    "skipped": "skipped",
}


def build_document(
    run: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    gates: Sequence[Mapping[str, Any]] = (),
    baseline: Mapping[str, Any] | None = None,
    *,
    intervals: bool = False,
) -> dict[str, Any]:
    """`{"version", "run", "models", "suites", "cases", "gates", "baseline"}`.

    `rows` are those of `CaseResult.to_dict`, with or without the transcripts and scores of trials;
    `gates` those of `verdicts.gates.judge_gates`; `baseline` is what `verdicts.baseline.compare` found.
    With `intervals` each mean has the bounds of its 95% interval.
    """
    cases = list(rows)
    # Cases that stop early are not like those that go on, so the share of K trials says nothing.
    whole_trials = not (run.get("options") or {}).get("early-stop")

    def of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        found = summarise(rows, intervals=intervals)
        return found if whole_trials else {**found, "reliability": None}

    total = of(cases)

    def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        # Of one suite on one model everything is the same.
        return total if len(rows) == len(cases) else of(rows)

    return {
        "version": VERSION,
        "run": {**run, "total": total},
        "models": [
            {"model": model, **summary(rows)} for (model,), rows in group(cases, "model").items()
        ],
        "suites": [
            {"model": model, "suite": suite, "file": file, **summary(rows)}
            for (model, suite, file), rows in group(cases, "model", "suite", "file").items()
        ],
        "cases": [dict(case) for case in cases],
        "gates": [dict(gate) for gate in gates],
        "baseline": baseline,
    }


def group(
    cases: Iterable[Mapping[str, Any]], *keys: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Rows by the values of `keys`, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for case in cases:
        groups.setdefault(tuple(case[key] for key in keys), []).append(case)
    return groups


def summarise(cases: Sequence[Mapping[str, Any]], *, intervals: bool = False) -> dict[str, Any]:
    """Counts, means, tokens and cost of some cases.

    `metrics` maps a metric to its mean, weighted by the cases' weights, and `n`, the cases that
    have a number; errors and skipped cases are in no mean. With `intervals` they have `low` and `high`,
    too. `reliability` holds pass@k and pass^k by k, means by weight, None if no case has several trials.
    `fallbacks` lists what was sent in place of refused parameters, with the number of cases. `tokens`
    (those of reasoning are part of the completion's), `cost_usd` and `latency_s` (mean per trial, in
    seconds) are None when nothing is known; `priced` counts the trials whose cost is known, of `trials`;
    `surplus` counts passed cases with calls beyond the expected; `spent_usd` leaves out what a cassette
    answered.
    """
    counts = dict.fromkeys(_COUNTED.values(), 0)
    for case in cases:
        counts[_COUNTED[case["outcome"]]] += 1
    scored = [case for case in cases if case["outcome"] in ("passed", "failed", "missed")]
    trials = [trial for case in cases for trial in case["trials"] if trial["error"] is None]
    latencies = [trial["latency_s"] for trial in trials if trial["latency_s"] is not None]
    costs = [trial["cost_usd"] for trial in trials if trial["cost_usd"] is not None]
    spent = [trial["cost_usd"] or 0.0 for trial in trials if not trial["cached"]]
    return {
        "cases": len(cases),
        **counts,
        "metrics": _means(scored, intervals),
        "reliability": reliability(
            [(case["scored"], case["passes"], case["weight"]) for case in scored]
        ),
        "trials": len(trials),
        "cached": sum(trial["cached"] for trial in trials),
        "surplus": sum(_has_surplus(case) for case in cases),
        "recovered": sum(trial["format"] == "recovered" for trial in trials),
        "fallbacks": _fallbacks(cases),
        "tokens": {
            kind: _total(trial[f"{kind}_tokens"] for trial in trials)
            for kind in ("prompt", "completion", "reasoning")
        },
        "cost_usd": sum(costs) if costs else None,
        "spent_usd": sum(spent, 0.0) if costs else None,
        "priced": len(costs),
        "latency_s": sum(latencies) / len(latencies) if latencies else None,
    }


def _means(cases: Sequence[Mapping[str, Any]], intervals: bool) -> dict[str, dict[str, float | int]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        for metric, value in case["scores"].items():
            if value is not None:
                found.setdefault(metric, []).append((value, case["weight"]))
    return {metric: _mean(pairs, intervals) for metric, pairs in found.items()}


def _mean(pairs: Sequence[tuple[float, float]], interval: bool) -> dict[str, float | int]:
    mean = sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)
    summary: dict[str, float | int] = {"mean": mean, "n": len(pairs)}
    if interval:
        values, weights = zip(*pairs, strict=True)
        summary["low"], summary["high"] = mean_interval(values, weights)
    return summary


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _has_surplus(case: Mapping[str, Any]) -> bool:
    """Whether a case passed although more was called than it expects."""
    return case["outcome"] == "passed" and any(trial["extra_calls"] for trial in case["trials"])


def _fallbacks(cases: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was sent (None: nothing) in place of which parameter, in how many cases."""
    counts: dict[tuple[str, str | None], int] = {}
    for case in cases:
        for found in {pair for trial in case["trials"] for pair in trial["fallbacks"].items()}:
            counts[found] = counts.get(found, 0) + 1
    return [
        {"parameter": parameter, "sent": sent, "cases": count}
        for (parameter, sent), count in sorted(counts.items(), key=str)
    ]


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the document as ASCII JSON, so that no hostile text breaks a reader; never half a file."""
    text = json_of(document)
    with replacing(path) as file:
        file.write(text)


def json_of(document: Mapping[str, Any]) -> str:
    """The document as a file of JSON; a number that JSON does not have, NaN or infinity, is null."""
    try:
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(with_null(document), indent=1, allow_nan=False) + "\n"


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A UTF-8 file that takes the place of `path` only when it has been written as a whole."""
    path = path.resolve()  # of a link, what it leads to
    if path.exists() and not path.is_file():  # a pipe or a device is written to, and not replaced
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:50], suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
