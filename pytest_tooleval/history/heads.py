"""The head of a run: what lists, names and trends need, and where each case is in the document.

A head's name contains the commit, so one listing finds the runs of a commit.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from ..checkout.ci import CiJob
from ..record.document import RowsDocument
from ..record.results import CaseRow, Outcome
from ..record.run import Run, RunSummary
from ..record.summary import Summary
from ..verdicts.summary import SCORED, summarise
from ..verdicts.words import ending, run_summary, sums_of
from .places import Place

VERSION: Literal[2] = 2
_ALL = ("", "", "")
Trust = Literal["whole", "partial", "fork"]


class Sums(Struct, frozen=True):
    """Of a suite on a model, or on all (empty); of all suites without `file` and `suite`.

    `total` is None if all cases are under a variant. `suite_cases` are all cases of the suite, selected
    or not; `content` is its file's hash.
    """

    file: str
    suite: str
    model: str
    total: Summary | None
    passes: int
    scored: int
    suite_cases: int
    content: str


class ShortCase(Struct, frozen=True, array_like=True, gc=False):
    """A case, and where it is: `size` bytes from `start` of a member, once unpacked."""

    nodeid: str
    file: str
    suite: str
    case: str
    variant: str
    model: str
    outcome: Outcome
    overall: float | None
    passes: int
    scored: int
    content: str
    member: int = 0
    start: int = 0
    size: int = 0


class Head(Struct, frozen=True, kw_only=True):
    """`bytes` and `sha256` verify the document, `members` are the start and size of its gzip members."""

    version: Literal[1, 2] = VERSION
    trust: Trust
    summary: RunSummary
    bytes: int
    sha256: str
    written: float = 0.0  # Unix time
    members: tuple[tuple[int, int], ...] = ()
    parts: tuple[Sums, ...] = ()
    cases: tuple[ShortCase, ...] = ()


class HeadName(NamedTuple):
    """A run and its commit, `-` if there is none, from the name of its head."""

    id: str
    commit: str
    is_packed: bool = True  # from version 2 on

    @property
    def head(self) -> str:
        return f"heads/{self.id}.{self.commit}.json{'.gz' * self.is_packed}"

    @property
    def document(self) -> str:
        return f"runs/{self.id}.json.gz"


# Made once, before there are threads: msgspec crashes when two of them make one at a time.
_READ = msgspec.json.Decoder(Head)


def read_name(name: str) -> HeadName | None:
    """The run of `heads/ID.COMMIT.json.gz`; None for another file."""
    id, _, rest = name.rpartition("/")[2].partition(".")
    commit, _, ending = rest.partition(".")
    return HeadName(id, commit, ending == "json.gz") if ending in ("json", "json.gz") else None


def decode_head(place: Place, name: HeadName) -> Head | None:
    """The head of a run; None for one that is damaged. Raises ToolevalError if it cannot be read."""
    data = place.read(name.head)
    try:
        head = _READ.decode(gzip.decompress(data) if name.is_packed else data)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError):
        return None
    return head if head.summary.id == name.id else None


def short_case(row: CaseRow, member: int = 0, start: int = 0, size: int = 0) -> ShortCase:
    overall = row.scores.get("overall") if row.outcome in SCORED else None
    known = (row.nodeid, row.file, row.suite, row.case, row.variant, row.model, row.outcome)
    return ShortCase(*known, overall, row.passes, row.scored, row.content, member, start, size)


def parts_of(rows: Iterable[CaseRow]) -> tuple[Sums, ...]:
    """The suites on their models, each suite on all models, each model on all suites, and all."""
    groups: dict[tuple[str, str, str], list[CaseRow]] = {}
    for row in rows:
        for file, suite in dict.fromkeys(((row.file, row.suite), ("", ""))):
            for model in dict.fromkeys((row.model, "")):
                group = groups.setdefault((file, suite, model), [])
                if not row.variant:
                    group.append(row)
    # Mostly a run has one suite or one model, whose sums are the same.
    nodeids = {key: tuple(row.nodeid for row in group) for key, group in groups.items()}
    by_cases = {nodeids[key]: group for key, group in groups.items()}
    sums = {each: _sums(group) for each, group in by_cases.items()}
    return tuple(Sums(*key, **sums[each]) for key, each in nodeids.items())


def _sums(rows: Sequence[CaseRow]) -> dict[str, Any]:
    return {
        "total": summarise(rows) if rows else None,
        "passes": sum(row.passes for row in rows),
        "scored": sum(row.scored for row in rows),
        "suite_cases": max((row.suite_cases for row in rows), default=0),
        "content": max((row.suite_content for row in rows), default=""),
    }


def summary_of(document: RowsDocument, parts: Iterable[Sums]) -> RunSummary:
    """The summary of a run, without the document's confidence intervals."""
    total = next((part.total for part in parts if (part.file, part.suite, part.model) == _ALL), None)
    return structs.replace(run_summary(document), **(sums_of(total) if total else {}))


def trust_of(run: Run) -> Trust:
    """Whether the run can serve as an automatic baseline."""
    if (job := CiJob.now()) and job.is_fork:
        return "fork"
    dirty = run.git is not None and run.git.dirty
    whole = not (run.partial or dirty or run.collection_errors or ending(run.status, run.exitstatus))
    return "whole" if whole else "partial"
