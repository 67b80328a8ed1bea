"""The documents of finished runs in a place: results documents, compressed in members.

Each member of the gzip file has some cases, one a line, so that one case is read without the others.
Unpacked as a whole, the file is the JSON of the document.
"""

from __future__ import annotations

import gzip
import hashlib
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

import msgspec

from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.document import DOCUMENT_VERSION, Document, RowsDocument
from ..record.encoding import to_json
from ..record.gates import Gate
from ..record.results import CaseResult, CaseRow, KeptCase
from ..record.run import Run
from ..text import printable
from ..verdicts.summary import file_order, rows_document
from .heads import (
    Head,
    HeadName,
    KeptRun,
    ShortCase,
    Trust,
    document_file,
    pack_head,
    short_case,
    summary_of,
    sums_by_part,
    unpack_head,
)
from .places import Place

# Cases of a run are similar: compressed together, fifty take a tenth of the space. Larger members save
# little more, and reading one case unpacks its whole member.
_CASES = 50
_BYTES = 1_000_000
# Level 6 takes three times as long, while the run waits, and saves a sixth.
_LEVEL = 1

_Case = TypeVar("_Case", bound=CaseRow)
_T = TypeVar("_T", bound=RowsDocument)


class Texts(RowsDocument, frozen=True, kw_only=True, gc=False):
    """A document with its cases as JSON text."""

    cases: tuple[msgspec.Raw, ...]  # type: ignore[assignment]


# Made once, before there are threads: msgspec crashes when two of them make one at a time.
_READ = {kind: msgspec.json.Decoder(kind) for kind in (Texts, RowsDocument, Document)}
_READ_CASE = msgspec.json.Decoder(CaseResult)


def put_run(
    place: Place,
    run: Run,
    cases: Iterable[KeptCase],
    gates: Sequence[Gate],
    baseline: Comparison | None,
    trust: Trust,
) -> None:
    """Write a run's document, then its head. A document without a head is never read.

    Raises ToolevalError.
    """
    order = file_order(each.model for each in run.models)
    kept = sorted(cases, key=lambda case: order(case.row))
    rows = [case.row for case in kept]
    document = rows_document(run, rows, gates, baseline, intervals=True)
    kept = list(map(KeptCase.with_row, kept, document.cases))
    members, shorts = _packed(document, kept)
    data = b"".join(members)
    *starts, _ = accumulate(map(len, members), initial=0)
    parts = sums_by_part(document.cases)
    head = Head(
        trust=trust,
        summary=summary_of(document, parts),
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        written=time.time(),
        rows=len(rows),
        members=tuple(zip(starts, map(len, members), strict=True)),
        parts=parts,
    )
    name = HeadName(run.id, run.git.commit if run.git else "-")
    for file, content in ((document_file(run.id), data), (name.head_file, pack_head(head, shorts))):
        try:
            place.put(file, content)
        except FileExistsError:
            # Only the same run has this id: an earlier upload, perhaps incomplete, or an earlier merge.
            place.delete(file)
            place.put(file, content)


def _packed(document: RowsDocument, cases: Sequence[KeptCase]) -> tuple[list[bytes], list[ShortCase]]:
    """The members, and where each case is in them. The cases are the document's last field."""
    fields = [name for name in document.__struct_fields__ if name != "cases"]
    texts = b",".join(b'"%s":%s' % (name.encode(), to_json(getattr(document, name))) for name in fields)
    members = [_pack(b"{" + texts + b',"cases":[')]
    shorts = []
    for block in _blocks(cases):
        lead = b"\n" if len(members) == 1 else b",\n"
        start = len(lead)
        for case in block:
            shorts.append(short_case(case.row, len(members), start, len(case.json)))
            start += len(case.json) + 2
        members.append(_pack(lead + b",\n".join(case.json for case in block)))
    return [*members, _pack(b"\n]}\n")], shorts


def _pack(data: bytes) -> bytes:
    return gzip.compress(data, _LEVEL, mtime=0)


def _blocks(cases: Iterable[KeptCase]) -> Iterator[list[KeptCase]]:
    block: list[KeptCase] = []
    size = 0
    for case in cases:
        size += len(case.json)
        if block and (len(block) == _CASES or size > _BYTES):
            yield block
            block, size = [], len(case.json)
        block.append(case)
    if block:
        yield block


def read_stored(place: Place, head: Head, type: type[_T]) -> _T:
    """A run's document as `Texts`, `RowsDocument` or `Document`.

    Raises ToolevalError if it is missing or damaged.
    """
    name = document_file(head.summary.id)
    data, where = place.read(name), f"{place.name}: {name}"
    if len(data) != head.bytes or hashlib.sha256(data).hexdigest() != head.sha256:
        raise ToolevalError(f"{where}: torn: {len(data)} of {head.bytes} bytes, or another checksum")
    try:
        document: _T = _READ[type].decode(gzip.decompress(data))  # type: ignore[assignment]
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        why = f"not a results document of version {DOCUMENT_VERSION}: {printable(str(error))}"
        raise ToolevalError(f"{where}: {why}") from None
    if document.run.id != head.summary.id:
        raise ToolevalError(f"{where}: the document of another run, {printable(document.run.id)}")
    return document


def cases_of(document: Texts, type: type[_Case]) -> list[_Case]:
    decode = msgspec.json.Decoder(type).decode
    return [decode(case) for case in document.cases]


def read_head(place: Place, name: HeadName) -> KeptRun:
    """A run as its head knows it. Raises ToolevalError if it is missing or damaged."""
    return unpack_head(place.read(name.head_file), name.id, f"{place.name}: {name.head_file}")


def read_case(place: Place, run: KeptRun, nodeid: str) -> CaseResult | None:
    """Read one case of a run's document, without decoding the rest.

    Returns None if the run has no such case. Raises ToolevalError if the document is damaged.
    """
    short = next((case for case in run.cases() if case.nodeid == nodeid), None)
    if short is None:
        return None
    document = document_file(run.head.summary.id)
    try:
        data = gzip.decompress(place.read(document, *run.head.members[short.member]))
        return _READ_CASE.decode(data[short.start : short.start + short.size])
    except (OSError, EOFError, IndexError, zlib.error, msgspec.DecodeError) as error:
        why = printable(str(error))
        raise ToolevalError(f"{place.name}: {document}: damaged: {why}") from None
