"""Joins the shards of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from datetime import timedelta
from pathlib import Path
from typing import Any
from typing import NamedTuple
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec import structs

from ..errors import ToolevalError
from ..record.encoding import read_document
from ..record.encoding import to_json
from ..record.results import CaseResult
from ..record.results import CaseRow
from ..record.results import KeptCase
from ..record.run import Run
from ..record.run import Shard
from ..record.run import add_up
from ..record.run import new_run_id
from ..text import counted
from ..text import printable
from ..text import shown
from .given import Gates
from .options import OUTPUTS
from .run import tolerates
from .summary import file_order
from .summary import ran_partly

# Options of each shard alone, and those that may differ: where recorded answers are.
_OF_SHARDS = frozenset({"shard", *(option.name for option in OUTPUTS)})
_MAY_DIFFER = ("cassette", "resume")
_CASE = msgspec.json.Decoder(CaseResult)
_ROW = msgspec.json.Decoder(CaseRow)
_T = TypeVar("_T")


class ShardFile(Struct, frozen=True):
    """The document of a shard, with cases as text until they are needed."""

    run: Run
    cases: tuple[msgspec.Raw, ...]


class Part(NamedTuple):
    """A shard and its file."""

    path: str
    run: Run
    shard: Shard
    rows: Sequence[CaseRow]
    cases: Sequence[msgspec.Raw]

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard.number}/{self.shard.of})"


def read_parts(files: Sequence[Path]) -> list[Part]:
    """The shards in these files. Raises ToolevalError for a file that is not a shard."""
    parts = []
    for file in files:
        run, cases = structs.astuple(read_document(file, ShardFile))
        if run.shard is None and (which := run.options.get("shard")):
            raise ToolevalError(
                f"{file}: shard {which} ended before it selected cases (exit status {run.exitstatus})"
            )
        if run.shard is None:
            raise ToolevalError(f"{file}: not a shard; run pytest with --tooleval-shard")
        rows = [_read(_ROW, case, str(file)) for case in cases]
        parts.append(Part(printable(str(file)), run, run.shard, rows, cases))
    return sorted(parts, key=lambda part: part.shard.number)


def _read(decoder: msgspec.json.Decoder[_T], case: msgspec.Raw, file: str) -> _T:
    try:
        return decoder.decode(case)
    except msgspec.DecodeError as error:
        raise ToolevalError(f"{file}: not a JSON report: {error}") from None


def check_parts(parts: Sequence[Part]) -> None:
    """Raise ToolevalError unless these are all shards of one run, complete and once each."""
    problems = [*_foreign(parts), *_doubled(parts), *_missing(parts), *_cut_short(parts)]
    cases, selected = len({row.nodeid for part in parts for row in part.rows}), parts[0].shard.cases
    if not problems and cases != selected:
        problems = [f"together they have {cases} of {counted(selected, 'case')}"]
    if problems:
        raise ToolevalError("\n".join(["these are not the shards of one run:", *problems]))


def _options(part: Part) -> dict[str, Any]:
    return {name: value for name, value in part.run.options.items() if name not in _OF_SHARDS}


def _asked_for(part: Part) -> dict[str, Any]:
    return {name: value for name, value in _options(part).items() if name not in _MAY_DIFFER}


# What the shards of a run have in common.
_COMMON: Mapping[str, Callable[[Part], Mapping[str, Any]]] = {
    "number of shards": lambda part: {"": part.shard.of},
    "version of pytest-tooleval": lambda part: {"": part.run.pytest_tooleval},
    "version of the scoring rules": lambda part: {"": part.run.scoring_version},
    "commit": lambda part: {"": part.run.git.commit if part.run.git else "none"},
    "models": lambda part: {asked.model: asked.calls for asked in part.run.models},
    "options": _asked_for,
    "gates of the ini file": lambda part: part.shard.judging,
}
_SELECTION = "a different selection of cases than {}, or split by a different cassette"


def _foreign(parts: Sequence[Part]) -> Iterator[str]:
    """A line for each shard that differs from most."""
    told: dict[str, str] = {}
    for what, value_of in _COMMON.items():
        for part, usual in _unlike(parts, list(map(value_of, parts))):
            difference = _difference(value_of(part), value_of(usual))
            told.setdefault(part.path, f"{part}: {what}: {difference} in {usual.path}")
    suites = {part.path: {row.file: row.suite_content for row in part.rows} for part in parts}
    for file in dict.fromkeys(file for found in suites.values() for file in found):
        those = [part for part in parts if file in suites[part.path]]
        for part, usual in _unlike(those, [suites[part.path][file] for part in those]):
            told.setdefault(part.path, f"{part}: {printable(file)} differs from the one of {usual.path}")
    for part, usual in _unlike(parts, [part.shard.split for part in parts]):
        told.setdefault(part.path, f"{part}: {_SELECTION.format(usual.path)}")
    yield from told.values()


def _unlike(parts: Sequence[Part], values: Sequence[object]) -> Iterator[tuple[Part, Part]]:
    """Each shard whose value differs from most, and one with the usual value."""
    usual = max(values, key=values.count)
    for part, value in zip(parts, values, strict=True):
        if value != usual:
            yield part, parts[values.index(usual)]


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """`trials=5, but 3`."""
    name = next(name for name in {**one, **other} if one.get(name) != other.get(name))
    value, usual = (shown(str(each.get(name, "none")), 100) for each in (one, other))
    return f"{printable(name)}{'=' if name else ''}{value}, but {usual}"


def _doubled(parts: Sequence[Part]) -> Iterator[str]:
    seen: dict[int, Part] = {}
    for part in parts:
        first = seen.setdefault(part.shard.number, part)
        if first is not part:
            yield f"{part}: already in {first.path}"


def _missing(parts: Sequence[Part]) -> Iterator[str]:
    of = Counter(part.shard.of for part in parts).most_common(1)[0][0]
    there = {part.shard.number for part in parts}
    for number in range(1, of + 1):
        if number not in there:
            yield f"shard {number}/{of} is missing"


def _cut_short(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        run = part.run
        if run.exitstatus not in (0, 1) or len(part.rows) < run.selected:
            cases = f"{len(part.rows)} of {counted(run.selected, 'case')}"
            yield f"{part}: cut short after {cases} (exit status {run.exitstatus})"


def join_cases(parts: Sequence[Part], gates: Gates) -> list[KeptCase]:
    """All cases in the order of one run. Its gates decide which failures and errors are tolerated.

    In a shard, all of them are.
    """
    kept = []
    for part in parts:
        for row, text in zip(part.rows, part.cases, strict=True):
            tolerated = row.tolerated and (row.was_expected or tolerates(gates, row))
            result = structs.replace(_read(_CASE, text, part.path), tolerated=tolerated)
            kept.append(KeptCase(structs.replace(row, tolerated=tolerated), to_json(result)))
    order = file_order(asked.model for asked in parts[0].run.models)
    return sorted(kept, key=lambda case: order(case.row))


def join_runs(parts: Sequence[Part], options: Mapping[str, Any]) -> Run:
    """The run as a whole, before its own verdict; `options` are those of the merge."""
    runs = [part.run for part in parts]
    alike = {
        name: value
        for name, value in _options(parts[0]).items()
        if all(part.run.options.get(name) == value for part in parts)
    }
    starts = [datetime.fromisoformat(run.started) for run in runs]
    ends = [start + timedelta(seconds=run.duration_s) for start, run in zip(starts, runs, strict=True)]
    return structs.replace(
        runs[0],
        id=new_run_id(min(starts)),
        started=min(starts).isoformat(timespec="seconds"),
        duration_s=round((max(ends) - min(starts)).total_seconds(), 3),
        exitstatus=max(run.exitstatus or 0 for run in runs),
        collection_errors=max(run.collection_errors for run in runs),
        spent=add_up(*(run.spent for run in runs)),
        answers=next((run.answers for run in runs if run.answers != "shared"), "shared"),
        options=dict(sorted({**alike, **options}.items())),
        selected=parts[0].shard.cases,
        partial=ran_partly(row for part in parts for row in part.rows),
        shard=None,
    )
