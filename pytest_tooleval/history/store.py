"""The history: keeps runs, and returns lists, documents and trends."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..checkout.git import path_within
from ..errors import ToolevalError, os_reason
from ..record.comparison import Comparison
from ..record.document import Document, RowsDocument
from ..record.encoding import read_document as read_file
from ..record.gates import Gate
from ..record.results import CaseResult
from ..record.run import Run, RunSummary
from ..text import printable
from ..verdicts.sides import BASE_WORD, Side, suites_in
from ..verdicts.summary import file_order, rows_document, settled, whole_document
from .base import find_base
from .documents import put_run, read_case, read_document, read_head, read_whole_head
from .heads import HeadName, ShortCase, read_name, short_case
from .index import NEWEST, OF_ROOT, Damaged, Index, list_runs, row_of, tags_of
from .log import ENDING, Log, RunWriter, is_waiting, read_log
from .places import Folder, Place
from .refresh import THREADS, refresh, tag_file
from .run_names import find_run
from .trends import Trend, read_trend, read_trends

_TAG = re.compile(r"[\w./-]{1,100}", re.ASCII)

_T = TypeVar("_T")


def load_side(
    name: str,
    folder: Path,
    holding: Collection[tuple[str, str]] = (),
    place: Place | None = None,
) -> Side:
    """To compare: the result document in the file `name` if it exists, else the run with this name.

    `auto` and `auto:BRANCH` are the runs of the commit that this one is based on.

    `folder` is the `.tooleval` of the project, `place` has its runs, `holding` as for `History.find` and
    `find_base`.
    Raises ToolevalError for another kind of file and for an unknown run.
    """
    if os.path.isfile(name):
        path = Path(name)
        document = read_file(path, RowsDocument)
        found = document.run, document.cases, lambda: read_file(path, Document).cases
        return Side(name, *found, suites_in(folder.parent), document.gates)
    if name.endswith(".json"):
        raise ToolevalError(f"{name}: there is no such file")
    history = History(folder, place)
    if base := BASE_WORD.fullmatch(name):
        return find_base(folder.absolute().parent, history.place, base["branch"], holding)
    return history.side(name, history.find(name, holding))


def _suffix(folder: Path, place: Place) -> str:
    """What tells the files about a place from those about the folder itself."""
    if place.name in (str(folder), os.path.abspath(folder)):
        return ""
    return f"-{hashlib.sha256(place.name.encode()).hexdigest()[:8]}"


def has_runs(folder: Path) -> bool:
    """Whether a folder is the `.tooleval` of a project with runs."""
    kinds = ("heads", "running*", "index*.db")
    return any(True for kind in kinds for _ in folder.glob(kind))


class History:
    """All runs of a project, in a folder such as `PROJECT/.tooleval`. The first write makes it.

    Thread-safe. Each use looks for new runs; in a bucket only the first one, `refresh`, and one that
    misses a run of this machine. Every method raises ToolevalError if it cannot read or write something.
    """

    def __init__(self, folder: Path, place: Place | None = None) -> None:
        """`place` has the documents of the runs; by default the folder itself, which has the index."""
        self.folder = folder
        self.place = place or Folder(folder)
        suffix = _suffix(folder, self.place)
        self.path = folder / f"index{suffix}.db"
        self.logs = folder / f"running{suffix}"
        self._index = Index(self.path)
        self._has_looked = False

    def begin(self, run: Run) -> RunWriter:
        """Start keeping a run, with what is known of it so far."""
        return RunWriter(self._log_of(run.id), run, self._publish)

    def _log_of(self, id: str) -> Path:
        return self.logs / f"{id}{ENDING}"

    def _publish(self, own: Path) -> str:
        """Put this run into the place, and those that could not be put there before."""
        self._has_looked = False
        paths = sorted(self.logs.glob(f"*{ENDING}"))
        for path in (own, *(path for path in paths if path != own and is_waiting(path))):
            try:
                log = read_log(path)
                assert log.trust is not None
                put_run(self.place, log.run, log.cases.values(), log.gates, log.baseline, log.trust)
            except ToolevalError as error:
                id = path.name.removesuffix(ENDING)
                which = "the run" if path == own else f"the earlier run {printable(id)}"
                return f"{which} stays on this machine until the next one: {error}"
            except FileNotFoundError:  # another process was faster
                continue
            with suppress(OSError):  # Windows refuses while another process reads it
                path.unlink()
        return ""

    def refresh(self) -> list[str]:
        """Look into the place; returns a line for each run there or here that cannot be read."""
        problems = self._healed(lambda: refresh(self._index, self.place, self.logs, whole=True))
        self._has_looked = True
        return problems

    def _ask(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        """The answer of the index, brought up to date."""

        def ask() -> _T:
            if self._has_looked and not self.place.is_near:
                refresh(self._index, self.place, self.logs, whole=False)
            else:
                self.refresh()
            with self._index.reading() as connection:
                return query(connection)

        return self._healed(ask)

    def _healed(self, use: Callable[[], _T]) -> _T:
        """Use the index; make a damaged one again."""
        try:
            return use()
        except Damaged:
            self._index.remove()
            self._has_looked = False
            return use()

    def runs(
        self,
        limit: int | None = None,
        *,
        model: str | None = None,
        suite: str | None = None,
        branch: str | None = None,
    ) -> list[RunSummary]:
        """The project's newest runs, newest first; with a model or a suite (or its file), only those."""
        chosen = {"model": model, "suite": suite, "branch": branch, "root": self._root}
        return self._ask(
            lambda connection: list_runs(connection, limit, **chosen, is_there=self._is_there)
        )

    def has(self, id: str) -> bool:
        """Whether a run with this id is kept, of whichever project."""
        found = "SELECT 1 FROM runs WHERE id = ?"
        return self._ask(lambda index: index.execute(found, (id,)).fetchone() is not None)

    def find(self, name: str, holding: Collection[tuple[str, str]] = ()) -> str:
        """The id of the run that `name` means; see `find_run`."""
        place, root = self.place.name, self._root
        return self._ask(lambda connection: find_run(connection, place, name, holding, root))

    @property
    def _root(self) -> str | None:
        """The project within its repository: a place may have the runs of several projects."""
        return path_within(self.folder.absolute().parent)

    def document(self, id: str) -> Document:
        """The result document of a run; `run.status` says whether it finished."""
        run, cases, gates, baseline = self._read(id, Document)
        rows = rows_document(run, cases, gates, baseline, intervals=True)
        return whole_document(rows, [settled(case, gates) for case in cases])

    def rows_document(self, id: str, *, intervals: bool = False) -> RowsDocument:
        """The same without explanations and transcripts, and with confidence intervals only if asked."""
        return rows_document(*self._read(id, RowsDocument), intervals=intervals)

    def side(self, name: str, id: str) -> Side:
        """A run to compare, under the name that the user gave."""
        run, cases, gates, _ = self._read(id, RowsDocument)
        return Side(name, run, cases, partial(self._cases, id), suites_in(self.folder.parent), gates)

    def _cases(self, id: str) -> Sequence[CaseResult]:
        return self._read(id, Document)[1]

    def short_cases(self, id: str) -> Sequence[ShortCase]:
        """The cases of a run, without what they are in full."""
        source = self._source(id)
        if isinstance(source, Log):
            return [short_case(case.row) for case in source.cases.values()]
        return read_whole_head(self.place, source).cases

    def case(self, id: str, nodeid: str) -> CaseResult:
        """One whole case of a run, with its transcripts; the others are not read."""
        source = self._source(id)
        if not isinstance(source, Log):
            found = read_case(self.place, source, nodeid)
        else:
            kept = source.cases.get(nodeid)
            read = msgspec.json.decode(kept.json, type=CaseResult) if kept else None
            found = read and settled(read, source.gates)
        if found is None:
            raise ToolevalError(f"the run {id} has no case {printable(nodeid)}")
        return found

    def _row(self, id: str, columns: str) -> tuple[Any, ...]:
        return self._ask(lambda connection: row_of(connection, self.place.name, id, columns))

    def _source(self, id: str) -> HeadName | Log:
        """Where a run is: in the place, or in a log, which is read."""
        if name := read_name(*self._row(id, "head")):
            return name
        try:
            return read_log(self._log_of(id))
        except FileNotFoundError:  # it went to the place meanwhile
            return self._source(id)

    def _read(
        self, id: str, kind: type[RowsDocument]
    ) -> tuple[Run, list[Any], Sequence[Gate], Comparison | None]:
        """A run, its cases as in this kind of document, and its verdict."""
        source = self._source(id)
        if not isinstance(source, Log):
            found = read_document(self.place, source, read_head(self.place, source), kind)
            return found.run, list(found.cases), found.gates, found.baseline
        order = file_order(asked.model for asked in source.run.models)
        kept = sorted(source.cases.values(), key=lambda case: order(case.row))
        whole = msgspec.json.Decoder(CaseResult).decode
        cases = [whole(case.json) if kind is Document else case.row for case in kept]
        return source.run, cases, source.gates, source.baseline

    def tag(self, id: str, name: str) -> None:
        """Tag a run: `find` knows it as `@name`, and it cannot be deleted while it has a tag."""
        if not _TAG.fullmatch(name):
            raise ToolevalError(
                f"{printable(name) or '(no name)'}: expected letters, digits, and . _ / - for a tag"
            )
        self._row(id, "id")
        tagged = self._ask(tags_of).get(name, id)
        if tagged != id:
            raise ToolevalError(
                f"the run {tagged} has the tag {name}; "
                f"`tooleval history tag --delete={name}` takes it away"
            )
        with suppress(FileExistsError):
            self.place.put(tag_file(name, id), b"")
        self.refresh()

    def untag(self, name: str) -> None:
        """Remove a tag from its run."""
        self.place.delete(tag_file(name, self.find(f"@{name}")))
        self.refresh()

    def trend(self, name: str, *, model: str | None = None, limit: int | None = None) -> Trend:
        """A case (`CASE` or `SUITE::CASE`) or a suite over the newest `limit` runs that have it."""
        root = self._root
        return self._ask(lambda index: read_trend(index, name, model, limit, self._is_there, root))

    def trends_for(self, document: RowsDocument) -> list[Trend]:
        """The suites of a document on its models up to its run, for the HTML report."""
        return self._ask(lambda connection: read_trends(connection, document, self._is_there))

    def _is_there(self, file: str) -> bool:
        """Whether a suite's file is in the project."""
        return (self.folder.parent / file).is_file()

    def expired(self, *, keep: int = 0, older_than: timedelta | None = None) -> list[str]:
        """The ids of the project's finished runs without a tag, newest first, except the newest `keep`
        runs and those not `older_than` this.
        """
        query, bound = (
            f"SELECT id, started, status FROM runs WHERE {OF_ROOT} {NEWEST}",
            {"root": self._root},
        )
        rows, tags = self._ask(
            lambda index: (index.execute(query, bound).fetchall()[keep:], tags_of(index))
        )
        tagged = set(tags.values())
        if older_than is not None:
            before = (datetime.now(timezone.utc) - older_than).isoformat(timespec="seconds")
            rows = [row for row in rows if row[1] < before]
        return [id for id, _, status in rows if status != "running" and id not in tagged]

    def delete(self, *ids: str) -> tuple[int, int]:
        """Delete these runs. Returns how many cases and bytes they had.

        Raises ToolevalError, and deletes none, if one is still running or has a tag.
        """
        columns, place = "head, status, cases, bytes", self.place.name
        known, rows = self._ask(
            lambda index: (tags_of(index), [row_of(index, place, id, columns) for id in ids])
        )
        tags = {id: tag for tag, id in reversed(known.items())}
        for id, (_, status, *_) in zip(ids, rows, strict=True):
            if id in tags:
                raise ToolevalError(
                    f"the run {id} has the tag {tags[id]}; it can be deleted after "
                    f"`tooleval history tag --delete={tags[id]}`"
                )
            if status == "running":
                raise ToolevalError(f"the run {id} is still running; delete it when it is over")
        heads, _, cases, sizes = zip(*rows, strict=True) if rows else ((), (), (), ())
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(self._delete, ids, map(read_name, heads)))  # raises what they raised
        self.refresh()
        return sum(cases), sum(sizes)

    def _delete(self, id: str, name: HeadName | None) -> None:
        """Delete a run's files, the head first, so that no head lacks its document."""
        for file in (name.head, name.document) if name else ():
            self.place.delete(file)
        try:
            self._log_of(id).unlink(missing_ok=True)
        except OSError as error:
            raise ToolevalError(f"{self.logs}: cannot be written: {os_reason(error)}") from error
