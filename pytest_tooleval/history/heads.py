"""The head of a run: what lists, names and trends need, and where each case is in the document.

Its file has two gzip members: the head, and the cases in short, which only a search for one needs. Its
name contains the commit, so one listing finds the runs of a commit.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from ..checkout.ci import CiJob
from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..record.encoding import to_json
from ..record.results import CaseRow, Outcome
from ..record.run import Run, RunSummary
from ..record.summary import Summary
from ..text import printable
from ..verdicts.run_summary import ending, run_summary, sums_of
from ..verdicts.summary import SCORED, summarise

HEAD_VERSION: Literal[6] = 6
_ALL = ("", "", "")
Trust = Literal["whole", "partial", "fork"]


class Sums(Struct, frozen=True):
    """Sums for a suite, or for all without `file` and `suite`, on a model, or on all if it is empty.

    `total` is None if all cases are under a variant. `suite_cases` are all cases of the suite, selected
    or not; `fingerprint` is its file's.
    """

    file: str
    suite: str
    model: str
    total: Summary | None
    passes: int
    answered: int
    suite_cases: int
    fingerprint: str


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
    answered: int
    fingerprint: str
    member: int = 0
    start: int = 0
    size: int = 0

    @property
    def name(self) -> str:
        """The id, and the variant of a case under one."""
        return f"{self.case}[{self.variant}]" if self.variant else self.case


class Head(Struct, frozen=True, kw_only=True):
    """`bytes` and `sha256` verify the document, `members` are the start and size of its gzip members."""

    version: Literal[6] = HEAD_VERSION
    trust: Trust
    summary: RunSummary
    bytes: int
    sha256: str
    written: float  # Unix time; of a log, its last event's
    rows: int  # the number of cases, including those under variants
    cases_crc: int = 0  # the CRC of the member with the cases
    members: tuple[tuple[int, int], ...] = ()
    parts: tuple[Sums, ...]


class HeadName(NamedTuple):
    """A run and its commit, `-` if there is none, from the name of its head."""

    id: str
    commit: str

    @property
    def head_file(self) -> str:
        return f"heads/{self.id}.{self.commit}.json.gz"


# Made once, before there are threads: msgspec crashes when two of them make one at a time.
_READ = msgspec.json.Decoder(Head)
_READ_CASE = msgspec.json.Decoder(ShortCase)


def document_file(id: str) -> str:
    """The name of a run's document."""
    return f"runs/{id}.json.gz"


def read_name(name: str) -> HeadName | None:
    """The run of `heads/ID.COMMIT.json.gz`; None for another file."""
    id, _, rest = name.rpartition("/")[2].partition(".")
    commit, _, ending = rest.partition(".")
    return HeadName(id, commit) if ending == "json.gz" else None


class KeptRun(NamedTuple):
    """A run as its head knows it, with the packed cases."""

    head: Head
    packed: bytes

    def is_of(self, root: str | None) -> bool:
        """True unless this run is known to be of another root folder."""
        git = self.head.summary.git
        return git is None or git.is_of(root)

    def cases(self) -> list[ShortCase]:
        return _READ_CASE.decode_lines(gzip.decompress(self.packed))

    def cases_called(self, name: str) -> list[ShortCase]:
        """The cases with this id, or `ID[VARIANT]`."""
        # Only lines that hold it are decoded: a trend looks for one of thousands, in a hundred runs.
        text, start = gzip.decompress(self.packed), to_json(name.partition("[")[0])[:-1]
        cases, at = [], text.find(start)
        while at >= 0:
            end = text.index(b"\n", at)
            cases.append(_READ_CASE.decode(text[text.rfind(b"\n", 0, at) + 1 : end]))
            at = text.find(start, end)
        return [case for case in cases if case.name == name]


def pack_head(head: Head, cases: Iterable[ShortCase]) -> bytes:
    packed = gzip.compress(b"".join(to_json(case) + b"\n" for case in cases), 6, mtime=0)
    head = structs.replace(head, cases_crc=zlib.crc32(packed))
    return gzip.compress(to_json(head), 6, mtime=0) + packed


def unpack_head(data: bytes, id: str, where: str) -> KeptRun:
    """Read the head of this run. Raises ToolevalError if it is damaged."""
    first = zlib.decompressobj(wbits=31)
    try:
        head = _READ.decode(first.decompress(data))
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        why = f"damaged, or not a head of version {HEAD_VERSION}: {printable(str(error))}; delete it"
        raise ToolevalError(f"{where}: {why}") from None
    if head.summary.id != id:
        raise ToolevalError(f"{where}: the head of another run, {printable(head.summary.id)}")
    if zlib.crc32(first.unused_data) != head.cases_crc:
        raise ToolevalError(f"{where}: damaged: the cases have another checksum; delete it")
    return KeptRun(head, first.unused_data)


def short_case(row: CaseRow, member: int = 0, start: int = 0, size: int = 0) -> ShortCase:
    overall = row.scores.get("overall") if row.outcome in SCORED else None
    names = (row.nodeid, row.file, row.suite, row.case, row.variant, row.model, row.outcome)
    rates = (overall, row.passes, row.answered, row.case_fingerprint)
    return ShortCase(*names, *rates, member, start, size)


def sums_by_part(rows: Iterable[CaseRow]) -> tuple[Sums, ...]:
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
        "answered": sum(row.answered for row in rows),
        "suite_cases": max((row.suite_cases for row in rows), default=0),
        "fingerprint": max((row.suite_fingerprint for row in rows), default=""),
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
