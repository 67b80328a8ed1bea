"""The documents of runs in a place, and their index."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec import structs

from ..errors import ToolevalError
from ..record.document import VERSION, RowsDocument
from ..record.encoding import to_json
from ..record.results import CaseRow, KeptCase
from ..record.run import Run, RunSummary
from ..text import printable
from .database import Database
from .heads import Head, HeadName, name_of, read_name, trust_of
from .places import Place
from .writer import packed_blocks, put_cases, put_finish, put_run

_Case = TypeVar("_Case", bound=CaseRow)
_THREADS = 8
_AT_ONCE = 32


class Texts(RowsDocument, frozen=True, kw_only=True, gc=False):
    """A document with its cases as JSON text."""

    cases: tuple[msgspec.Raw, ...]  # type: ignore[assignment]

    def kept(self) -> list[KeptCase]:
        row = msgspec.json.Decoder(CaseRow).decode
        return [KeptCase(row(case), bytes(case)) for case in self.cases]


# Made once, before there are threads: msgspec crashes when two of them make one at a time.
_READ_HEAD = msgspec.json.Decoder(Head)
_READ_TEXTS = msgspec.json.Decoder(Texts)


class _Fetched(NamedTuple):
    head: Head
    document: Texts


def put_document(
    place: Place, document: RowsDocument, cases: Sequence[bytes], run: Run, summary: RunSummary
) -> None:
    """Write a run's document, then its head. A document without a head is never read.

    Raises ToolevalError.
    """
    name, fields = name_of(run), document.__struct_fields__
    whole = {field: getattr(document, field) for field in fields} | {
        "cases": [msgspec.Raw(case) for case in cases]
    }
    data = gzip.compress(to_json(whole), compresslevel=1, mtime=0)
    head = Head(
        trust=trust_of(run),
        summary=summary,
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    for file, content in ((name.document, data), (name.head, to_json(head))):
        try:
            place.put(file, content)
        except FileExistsError:
            # Only the same run has this id: an earlier upload, perhaps incomplete, or an earlier merge.
            place.delete(file)
            place.put(file, content)


def delete_documents(place: Place, summaries: Iterable[RunSummary]) -> None:
    """Delete runs, each head first, so that no head lacks its document."""

    def delete(summary: RunSummary) -> None:
        name = name_of(summary)
        for file in (name.head, name.document):
            place.delete(file)

    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(delete, summaries))  # raises what they raised


def read_head(place: Place, name: HeadName) -> Head:
    """Raises ToolevalError for an invalid head, or one of a newer version."""
    where = f"{place.name}: {name.head}"
    try:
        head = _READ_HEAD.decode(place.read(name.head))
    except msgspec.DecodeError as error:
        raise ToolevalError(f"{where}: not a head: {printable(str(error))}") from None
    if head.summary.id != name.id:
        raise ToolevalError(f"{where}: the head of another run, {printable(head.summary.id)}")
    return head


def read_texts(place: Place, name: HeadName, head: Head) -> Texts:
    """A run's document. Raises ToolevalError if it is missing or damaged."""
    data = place.read(name.document)
    where = f"{place.name}: {name.document}"
    if len(data) != head.bytes or hashlib.sha256(data).hexdigest() != head.sha256:
        raise ToolevalError(f"{where}: torn: {len(data)} of {head.bytes} bytes, or another checksum")
    try:
        document = _READ_TEXTS.decode(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        why = f"not a results document of version {VERSION}: {printable(str(error))}"
        raise ToolevalError(f"{where}: {why}") from None
    if document.run.id != name.id:
        raise ToolevalError(f"{where}: the document of another run, {printable(document.run.id)}")
    return document


def cases_of(document: Texts, type: type[_Case]) -> list[_Case]:
    decode = msgspec.json.Decoder(type).decode
    return [decode(case) for case in document.cases]


def refresh(database: Database, place: Place) -> list[str]:
    """Bring the index up to date with the place: new runs, deleted runs, tags.

    Returns a line for each unreadable run. Raises ToolevalError if the place itself is unreadable.
    """
    names = {found.id: found for each in place.names("heads") if (found := read_name(each))}
    with database.reading() as connection:
        known = {id: bool(stored) for id, stored in connection.execute("SELECT id, stored FROM runs")}
    new = sorted(names.keys() - known.keys())
    problems = []
    for start in range(0, len(new), _AT_ONCE):
        for run in _fetched(place, [names[id] for id in new[start : start + _AT_ONCE]]):
            if isinstance(run, str):
                problems.append(run)
            else:
                _index(database, run)
    gone = [(id,) for id, stored in known.items() if stored and id not in names]
    if gone:
        with database.writing() as connection:
            connection.executemany(
                "DELETE FROM tags WHERE run = (SELECT number FROM runs WHERE id = ?)", gone
            )
            connection.executemany("DELETE FROM runs WHERE id = ?", gone)
    _refresh_tags(database, place)
    for name in place.names("runs"):
        id = name.rpartition("/")[2].partition(".")[0]
        if id not in names:
            problems.append(f"{place.name}: {name}: no head: its upload is incomplete or still running")
    return problems


def _fetched(place: Place, names: Iterable[HeadName]) -> Iterable[_Fetched | str]:
    def fetch(name: HeadName) -> _Fetched | str:
        try:
            head = read_head(place, name)
            return _Fetched(head, read_texts(place, name, head))
        except ToolevalError as error:
            return str(error)

    with ThreadPoolExecutor(_THREADS) as threads:
        yield from threads.map(fetch, names)


def _index(database: Database, found: _Fetched) -> None:
    document = found.document
    run = Run(**{name: getattr(document.run, name) for name in Run.__struct_fields__})
    cases = document.kept()
    blocks = packed_blocks(cases)
    with database.writing() as connection:
        if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
            return  # another process was faster
        number = put_run(connection, run)
        put_cases(connection, number, blocks)
        summary = structs.replace(found.head.summary, tags=())
        rows = [case.row for case in cases]
        put_finish(connection, number, run, summary, rows, document.gates, document.baseline)
        connection.execute("UPDATE runs SET stored = 1 WHERE number = ?", (number,))


def put_tag(place: Place, name: str, id: str) -> None:
    place.put(_tag_file(name, id), b"")


def delete_tag(place: Place, name: str, id: str) -> None:
    place.delete(_tag_file(name, id))


def _tag_file(name: str, id: str) -> str:
    return f"tags/{quote(name, safe='')}@{id}"


def _refresh_tags(database: Database, place: Place) -> None:
    """Copy the place's tags. Tags of runs that exist only in the index stay."""
    tags = {}
    for file in place.names("tags"):
        name, _, id = file.removeprefix("tags/").rpartition("@")
        tags[unquote(name)] = id
    query = "SELECT name, id FROM tags JOIN runs ON tags.run = number WHERE stored"
    with database.reading() as connection:
        known = dict(connection.execute(query))
        runs = dict(connection.execute("SELECT id, number FROM runs"))
    there = {name: id for name, id in tags.items() if id in runs}
    if known == there:
        return
    with database.writing() as connection:
        connection.execute("DELETE FROM tags WHERE run IN (SELECT number FROM runs WHERE stored)")
        rows = [(name, runs[id]) for name, id in there.items()]
        connection.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?)", rows)
