"""Splits a run into shards, and joins them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, structs

from ..checkout.ci import ci_run
from ..errors import ToolevalError
from ..record.encoding import read_document, to_json
from ..record.results import CaseResult, CaseRow, KeptCase, without_variants
from ..record.run import Run, Shard, add_up, new_run_id
from ..settings.options import OUTPUTS
from ..text import plural, printable, shown
from ..verdicts.gating import Gating
from ..verdicts.run import is_judged_by_gate
from ..verdicts.summary import ran_partly
from .nodeids import split_nodeid
from .results import RunResults

# Options that belong to each shard, and those that may differ: the places of recorded answers.
_OF_SHARDS = frozenset({"shard", *(option.name for option in OUTPUTS)})
_MAY_DIFFER = ("cassette", "resume")
_CASE = msgspec.json.Decoder(CaseResult)
_ROW = msgspec.json.Decoder(CaseRow)
_T = TypeVar("_T")


def shard_of(nodeid: str, of: int) -> int:
    """The shard, from 1, of a case on all its models. It is a hash, so new cases move no others.

    All cases of a parametrized Python test are in one shard.
    """
    file, case, *_ = split_nodeid(nodeid)
    digest = hashlib.sha256(f"{file}::{case}".encode(errors="replace")).digest()
    return int.from_bytes(digest[:8], "big") % of + 1


class ShardFile(Struct, frozen=True):
    """A shard's document, with its cases as text until they are needed."""

    run: Run
    cases: tuple[msgspec.Raw, ...]


class ShardRun(NamedTuple):
    """A shard and its file."""

    path: str
    run: Run
    about: Shard
    rows: Sequence[CaseRow]
    cases: Sequence[msgspec.Raw]

    def __str__(self) -> str:
        return f"{self.path} (shard {self.about.number}/{self.about.of})"


def read_shards(files: Sequence[Path]) -> list[ShardRun]:
    """The shards in these files. Raises ToolevalError for a file that is not a shard."""
    shards = []
    for file in files:
        run, cases = structs.astuple(read_document(file, ShardFile))
        if run.shard is None and (which := run.options.get("shard")):
            raise ToolevalError(
                f"{file}: shard {which} ended before it selected cases (exit status {run.exitstatus})"
            )
        if run.shard is None:
            raise ToolevalError(f"{file}: not a shard; run pytest with --tooleval-shard")
        rows = [_read(_ROW, case, str(file)) for case in cases]
        shards.append(ShardRun(printable(str(file)), run, run.shard, rows, cases))
    return sorted(shards, key=lambda shard: shard.about.number)


def _read(decoder: msgspec.json.Decoder[_T], case: msgspec.Raw, file: str) -> _T:
    try:
        return decoder.decode(case)
    except msgspec.DecodeError as error:
        raise ToolevalError(f"{file}: not a JSON report: {error}") from None


def check_shards(shards: Sequence[ShardRun]) -> None:
    """Raise ToolevalError unless these are all shards of one run, each complete and given once."""
    problems = [*_foreign(shards), *_doubled(shards), *_missing(shards), *_cut_short(shards)]
    cases = len({row.nodeid for shard in shards for row in shard.rows})
    selected = shards[0].about.cases - sum(shard.about.unasked for shard in shards)
    if not problems and cases != selected:
        problems = [f"together they have {cases} of {plural(selected, 'case')}"]
    if problems:
        raise ToolevalError("\n".join(["these are not the shards of one run:", *problems]))


def _options(shard: ShardRun) -> dict[str, Any]:
    return {name: value for name, value in shard.run.options.items() if name not in _OF_SHARDS}


def _asked_for(shard: ShardRun) -> dict[str, Any]:
    return {name: value for name, value in _options(shard).items() if name not in _MAY_DIFFER}


# What a run's shards must have in common.
_COMMON: Mapping[str, Callable[[ShardRun], Mapping[str, Any]]] = {
    "number of shards": lambda shard: {"": shard.about.of},
    "version of pytest-tooleval": lambda shard: {"": shard.run.pytest_tooleval},
    "version of the scoring rules": lambda shard: {"": shard.run.scoring_version},
    "commit": lambda shard: {"": shard.run.git.commit if shard.run.git else "none"},
    "models": lambda shard: {each.model: each.identity for each in shard.run.models if not each.by_test},
    "options": _asked_for,
    "gates of the ini file": lambda shard: shard.about.judging,
}
_SELECTION = "a different selection of cases than {}, or split by a different cassette"


def _foreign(shards: Sequence[ShardRun]) -> Iterator[str]:
    """Yield a line for each shard that differs from most others."""
    differences: dict[str, str] = {}
    for what, value_of in _COMMON.items():
        for shard, usual in _unlike(shards, list(map(value_of, shards))):
            difference = _difference(value_of(shard), value_of(usual))
            differences.setdefault(shard.path, f"{shard}: {what}: {difference} in {usual.path}")
    suites = {shard.path: {row.file: row.suite_fingerprint for row in shard.rows} for shard in shards}
    for file in dict.fromkeys(file for of_shard in suites.values() for file in of_shard):
        those = [shard for shard in shards if file in suites[shard.path]]
        for shard, usual in _unlike(those, [suites[shard.path][file] for shard in those]):
            differences.setdefault(
                shard.path, f"{shard}: {printable(file)} differs from the one of {usual.path}"
            )
    for shard, usual in _unlike(shards, [shard.about.split_fingerprint for shard in shards]):
        differences.setdefault(shard.path, f"{shard}: {_SELECTION.format(usual.path)}")
    yield from differences.values()


def _unlike(shards: Sequence[ShardRun], values: Sequence[object]) -> Iterator[tuple[ShardRun, ShardRun]]:
    """Yield each shard whose value differs from the most common one, and a shard with that one."""
    usual = max(values, key=values.count)
    for shard, value in zip(shards, values, strict=True):
        if value != usual:
            yield shard, shards[values.index(usual)]


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first difference, such as `trials=5, but 3`."""
    name = next(name for name in {**one, **other} if one.get(name) != other.get(name))
    value, usual = (shown(str(each.get(name, "none")), 100) for each in (one, other))
    return f"{printable(name)}{'=' if name else ''}{value}, but {usual}"


def _doubled(shards: Sequence[ShardRun]) -> Iterator[str]:
    seen: dict[int, ShardRun] = {}
    for shard in shards:
        first = seen.setdefault(shard.about.number, shard)
        if first is not shard:
            yield f"{shard}: already in {first.path}"


def _missing(shards: Sequence[ShardRun]) -> Iterator[str]:
    of = Counter(shard.about.of for shard in shards).most_common(1)[0][0]
    there = {shard.about.number for shard in shards}
    for number in range(1, of + 1):
        if number not in there:
            yield f"shard {number}/{of} is missing"


def _cut_short(shards: Sequence[ShardRun]) -> Iterator[str]:
    for shard in shards:
        run = shard.run
        if run.exitstatus not in (0, 1) or len(shard.rows) < run.selected:
            cases = f"{len(shard.rows)} of {plural(run.selected, 'case')}"
            yield f"{shard}: cut short after {cases} (exit status {run.exitstatus})"


def join(
    shards: Sequence[ShardRun], gating: Gating, options: Mapping[str, Any]
) -> tuple[RunResults, Run]:
    """The whole run with its verdict; `options` are those of the merge, for its record."""
    run = _joined(shards, options)
    results = RunResults(gating, (each.model for each in run.models))
    for shard in shards:
        for row, text in zip(shard.rows, shard.cases, strict=True):
            # In a shard, all failures and errors are counted; the gates of the whole run decide now.
            is_counted = row.counted and is_judged_by_gate(gating.gates, row)
            result = structs.replace(_read(_CASE, text, shard.path), counted=is_counted)
            results.add(KeptCase(structs.replace(row, counted=is_counted), to_json(result)))
    verdict = results.decide(run, shards[0].about.misnamed)
    if verdict.failed or any(row.fails_run for row in results.rows):
        run = structs.replace(run, exitstatus=1)
    return results, structs.replace(run, why_uncompared=verdict.why_uncompared)


def _joined(shards: Sequence[ShardRun], options: Mapping[str, Any]) -> Run:
    """The whole run before its own verdict."""
    runs = [shard.run for shard in shards]
    alike = {
        name: value
        for name, value in _options(shards[0]).items()
        if all(shard.run.options.get(name) == value for shard in shards)
    }
    sources = [run.cached_answers_from for run in runs]
    starts = [datetime.fromisoformat(run.started) for run in runs]
    ends = [start + timedelta(seconds=run.duration_s) for start, run in zip(starts, runs, strict=True)]
    return structs.replace(
        runs[0],
        id=new_run_id(min(starts), [run.id for run in runs]),
        started=min(starts).isoformat(timespec="seconds"),
        duration_s=round((max(ends) - min(starts)).total_seconds(), 3),
        exitstatus=max(run.exitstatus or 0 for run in runs),
        collection_errors=max(run.collection_errors for run in runs),
        unreadable=tuple(dict.fromkeys(each for run in runs for each in run.unreadable)),
        ci=ci_run(),
        tests_failed=None,
        models=tuple(dict.fromkeys(each for run in runs for each in run.models)),
        spent=add_up(*(run.spent for run in runs)),
        cached_answers_from=next((each for each in sources if each != "shared"), "shared"),
        options=dict(sorted({**alike, **options}.items())),
        selected=len(without_variants(row for shard in shards for row in shard.rows)),
        partial=ran_partly(row for shard in shards for row in shard.rows),
        shard=None,
    )
