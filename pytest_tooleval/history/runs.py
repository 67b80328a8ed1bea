"""The runs of a place and of this machine, read newest first and only as far as needed.

A bucket's heads, and those made from the logs of runs that ended, are kept in a folder that can be
deleted at any time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..errors import ToolevalError
from ..files.folders import hidden_folder
from ..text import printable
from ..verdicts.run_summary import run_summary
from ..verdicts.summary import rows_document
from .heads import (
    Head,
    HeadName,
    KeptRun,
    document_file,
    pack_head,
    read_name,
    short_case,
    sums_by_part,
    unpack_head,
)
from .log import ENDING, Log, read_log
from .places import Place

THREADS = 8
# An id begins with the second in which the run started.
_SECOND = len("20261122-101530")


class Listing(NamedTuple):
    """The runs at one moment: heads, documents' sizes and tags in the place, and logs here."""

    heads: Mapping[str, HeadName]
    documents: Mapping[str, int | None]
    tags: Mapping[str, str]
    logs: frozenset[str]

    @property
    def ids(self) -> list[str]:
        """The runs, newest first but for those of one second."""
        return sorted({*self.heads, *self.logs}, reverse=True)


class Runs:
    """Thread-safe. `tell` is called with a line for each run that cannot be read, once."""

    def __init__(
        self, place: Place, logs_folder: Path, copies_folder: Path, tell: Callable[[str], object]
    ) -> None:
        self.place = place
        self._logs, self._copies, self._report = logs_folder, copies_folder, tell
        self._told: set[str] = set()
        self._listing: Listing | None = None

    def _tell(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._report(problem)

    def log_path(self, id: str) -> Path:
        return self._logs / f"{id}{ENDING}"

    def forget(self) -> None:
        """Look into the place at the next use."""
        self._listing = None

    def listing(self) -> Listing:
        """A bucket's is the last one, unless this machine's logs have changed. Raises ToolevalError."""
        # The logs first: a run has its head before its log goes.
        logs = frozenset(path.name.removesuffix(ENDING) for path in self._logs.glob(f"*{ENDING}"))
        listing = self._listing
        if listing is None or self.place.is_near or listing.logs != logs:
            listing = self._listing = self._look(logs)
        return listing

    def _look(self, logs: frozenset[str]) -> Listing:
        with ThreadPoolExecutor(3) as threads:
            heads, documents, tags = threads.map(self.place.files, ("heads", "runs", "tags"))
        names = {name.id: name for file in heads if (name := read_name(file))}
        ids = names.keys() | logs
        for file in sorted(documents):
            if file.rpartition("/")[2].partition(".")[0] not in names:
                self._tell(f"{self.place.name}: {file}: its upload is incomplete or still running")
        with suppress(OSError):
            for copy in os.listdir(self._copies):
                if copy.partition(".")[0] not in ids:
                    (self._copies / copy).unlink()
        return Listing(names, documents, {tag: id for tag, id in _tags(tags) if id in ids}, logs)

    def newest(self, listing: Listing, ids: Sequence[str] | None = None) -> Iterator[KeptRun]:
        """The readable runs, or those of these ids, newest first."""
        runs = self._read_all(listing, listing.ids if ids is None else ids)
        for _, same in groupby(runs, lambda run: run.head.summary.id[:_SECOND]):
            yield from sorted(same, key=lambda run: run.head.written, reverse=True)

    def _read_all(self, listing: Listing, ids: Sequence[str]) -> Iterator[KeptRun]:
        read = partial(self._readable, listing)
        if self.place.is_near:
            yield from filter(None, map(read, ids))
            return
        threads = ThreadPoolExecutor(THREADS)
        batch: Iterator[KeptRun | None] = iter(())
        try:
            for start in range(0, len(ids) + THREADS, THREADS):
                # They are fetched while those before are used.
                following = threads.map(read, ids[start : start + THREADS])
                yield from filter(None, batch)
                batch = following
        finally:  # without waiting for those that are not needed
            threads.shutdown(wait=False, cancel_futures=True)

    def _readable(self, listing: Listing, id: str) -> KeptRun | None:
        try:
            return self._read(listing, id)
        except ToolevalError as error:
            self._tell(str(error))
            return None

    def get(self, id: str, listing: Listing | None = None) -> KeptRun:
        """The run with this id. Raises ToolevalError without one, and if it cannot be read."""
        return self._read(listing or self.listing(), id)

    def log(self, id: str) -> Log | None:
        """The log of a run that is not in the place. Raises ToolevalError."""
        if id not in self.listing().heads:
            with suppress(FileNotFoundError):
                return read_log(self.log_path(id))
        return None

    def _read(self, listing: Listing, id: str) -> KeptRun:
        if name := listing.heads.get(id):
            return self._of_place(listing, name)
        if id not in listing.logs:
            raise ToolevalError(f'{self.place.name}: run "{printable(id)}" not found')
        try:
            return self._of_log(id)
        except FileNotFoundError:  # it went to the place meanwhile
            return self.get(id)

    def _of_place(self, listing: Listing, name: HeadName) -> KeptRun:
        document = document_file(name.id)
        size = listing.documents.get(document)
        run = None if self.place.is_near else self._copied(name.head_file, name.id)
        if run is None or run.head.bytes != size:  # a run that was merged again has another head
            data = self.place.read(name.head_file)
            run = unpack_head(data, name.id, f"{self.place.name}: {name.head_file}")
            if not self.place.is_near:
                self._copy(name.head_file, data)
        if run.head.bytes != size:  # not listed, or newer than the listing
            size = self.place.size(document)
        if run.head.bytes != size:
            text = f"{document}: torn: {size} of {run.head.bytes} bytes"
            raise ToolevalError(f"{self.place.name}: {text}")
        return run

    def _of_log(self, id: str) -> KeptRun:
        path = self.log_path(id)
        name = f"{id}.{path.stat().st_size}.json.gz"
        if run := self._copied(name, id):
            return run
        log = read_log(path)
        data = _head_of(log)
        if log.run.status != "running":  # then it grows no more
            self._copy(name, data)
        return unpack_head(data, id, str(path))

    def _copied(self, name: str, id: str) -> KeptRun | None:
        path = self._copies / name.rpartition("/")[2]
        try:
            return unpack_head(path.read_bytes(), id, str(path))
        except (OSError, ToolevalError):
            return None

    def _copy(self, name: str, data: bytes) -> None:
        path = self._copies / name.rpartition("/")[2]
        with suppress(OSError):  # what cannot be kept is read again
            hidden_folder(self._copies.parent)
            self._copies.mkdir(exist_ok=True)
            part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            part.write_bytes(data)
            part.replace(path)


def _head_of(log: Log) -> bytes:
    rows = [case.row for case in log.cases.values()]
    document = rows_document(log.run, rows, log.gates, log.baseline)
    head = Head(
        trust=log.trust or "partial",
        summary=run_summary(document),
        bytes=log.bytes,
        sha256="",
        written=log.updated,
        rows=len(rows),
        parts=sums_by_part(document.cases),
    )
    return pack_head(head, map(short_case, rows))


def tag_file(tag: str, id: str) -> str:
    return f"tags/{quote(tag, safe='')}@{id}"


def _tags(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Tags and ids, by name."""
    for file in sorted(files):
        tag, _, id = file.removeprefix("tags/").rpartition("@")
        yield unquote(tag), id
