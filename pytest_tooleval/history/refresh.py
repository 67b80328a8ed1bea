"""Brings the index up to date with the place and with the logs of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote

from ..errors import ToolevalError
from ..verdicts.summary import rows_document
from ..verdicts.words import run_summary
from .documents import read_whole_head
from .heads import Head, HeadName, parts_of, read_name, short_case
from .index import Index, Known, delete_runs, known_runs, put_head, put_tags, tags_of
from .log import ENDING, Log, is_locked, read_log
from .places import Place

THREADS = 8
_AT_ONCE = 32


def refresh(index: Index, place: Place, logs: Path, *, whole: bool) -> list[str]:
    """Index new runs, and forget deleted ones. Looks into the place if `whole`, or if a log went there.

    Returns a line for each unreadable run. Raises ToolevalError if the place itself is unreadable.
    """
    with index.reading() as connection:
        known = known_runs(connection)
    # The logs first: a run has its head before its log goes.
    ids, changed, problems = _read_logs(logs, known)
    if changed:
        with index.writing() as connection:
            for head in changed:
                put_head(connection, head, "")
    gone = {id for id, each in known.items() if not each.head and id not in ids}
    return problems + (_look(index, place, known, ids, gone) if whole or gone else [])


def _look(
    index: Index, place: Place, known: Mapping[str, Known], logs: set[str], gone: set[str]
) -> list[str]:
    names = {name.id: name for each in place.sizes("heads") if (name := read_name(each))}
    documents = place.sizes("runs")
    problems = []
    new = sorted(name for id, name in names.items() if id not in known or known[id].head != name.head)
    for start in range(0, len(new), _AT_ONCE):
        heads = []
        for name, found in _fetched(place, new[start : start + _AT_ONCE], documents):
            if isinstance(found, str):
                problems.append(found)
            else:
                heads.append((name, found))
        with index.writing() as connection:
            for name, head in heads:
                put_head(connection, head, name.head)
    gone = {id for id in gone if id not in names}
    gone |= {id for id, each in known.items() if each.head and id not in names and id not in logs}
    tags = {tag: id for tag, id in _tags(place) if id in names or id in logs}
    with index.reading() as connection:
        has_tags = tags_of(connection) == tags
    if gone or not has_tags:
        with index.writing() as connection:
            delete_runs(connection, gone)
            put_tags(connection, tags)
    for file in sorted(documents):
        if file.rpartition("/")[2].partition(".")[0] not in names:
            problems.append(f"{place.name}: {file}: its upload is incomplete or still running")
    return problems


def _fetched(
    place: Place, names: Sequence[HeadName], documents: Mapping[str, int]
) -> Iterator[tuple[HeadName, Head | str]]:
    def fetch(name: HeadName) -> tuple[HeadName, Head | str]:
        try:
            head = read_whole_head(place, name)
        except ToolevalError as error:
            return name, str(error)
        size = documents.get(name.document, 0)
        torn = f"{place.name}: {name.document}: torn: {size} of {head.bytes} bytes"
        return name, head if size == head.bytes else torn

    with ThreadPoolExecutor(THREADS) as threads:
        yield from threads.map(fetch, names)


def _read_logs(folder: Path, known: Mapping[str, Known]) -> tuple[set[str], list[Head], list[str]]:
    """The ids of all logs, the heads of those that are new or grew, and lines about unreadable ones."""
    ids, changed, problems = set(), [], []
    for path in sorted(folder.glob(f"*{ENDING}")):
        id = path.name.removesuffix(ENDING)
        was = known.get(id, Known("", 0, "running"))
        # Before its size: a run without its lock writes no more.
        locked = is_locked(path)
        try:
            is_same = was.bytes == path.stat().st_size and (locked or was.status != "running")
            if not (was.head or is_same):
                changed.append(_head_of(read_log(path)))
            ids.add(id)
        except FileNotFoundError:
            continue
        except ToolevalError as error:
            ids.add(id)
            problems.append(str(error))
    return ids, changed, problems


def _head_of(log: Log) -> Head:
    rows = [case.row for case in log.cases.values()]
    document = rows_document(log.run, rows, log.gates, log.baseline)
    return Head(
        trust=log.trust or "partial",
        summary=run_summary(document),
        bytes=log.bytes,
        sha256="",
        written=log.updated,
        parts=parts_of(document.cases),
        cases=tuple(map(short_case, rows)),
    )


def tag_file(tag: str, id: str) -> str:
    return f"tags/{quote(tag, safe='')}@{id}"


def _tags(place: Place) -> Iterator[tuple[str, str]]:
    for file in sorted(place.sizes("tags")):
        tag, _, id = file.removeprefix("tags/").rpartition("@")
        yield unquote(tag), id
