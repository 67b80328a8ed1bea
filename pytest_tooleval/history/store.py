"""The history: keeps runs, and returns lists, documents and trends."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

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
from ..verdicts.summary import file_order, rows_document, tolerated_if_passed, whole_document
from .documents import put_run, read_case, read_stored
from .git_baseline import find_base
from .heads import HeadName, KeptRun, ShortCase, document_file
from .lists import first_runs
from .log import ENDING, RunWriter, is_waiting, read_log
from .places import Folder, Place
from .run_names import find_run
from .runs import THREADS, Listing, Runs, tag_file
from .trends import Trend, read_trend, read_trends

_TAG = re.compile(r"[\w./-]{1,100}", re.ASCII)


def load_side(
    name: str, folder: Path, holding: Collection[tuple[str, str]] = (), place: Place | None = None
) -> Side:
    """To compare: the result document in the file `name` if it exists, else the run with this name.

    `auto` and `auto:BRANCH` are the runs of the commit that this one is based on. `folder` is the
    `.tooleval` of the project, `place` has its runs, and `holding` is as for `History.find` and
    `find_base`. Raises ToolevalError for another kind of file and for an unknown run.
    """
    if os.path.isfile(name):
        path = Path(name)
        document = read_file(path, RowsDocument)
        contents = document.run, document.cases, lambda: read_file(path, Document).cases
        return Side(name, *contents, suites_in(folder.parent), document.gates)
    if name.endswith(".json"):
        raise ToolevalError(f"{name}: there is no such file")
    history = History(folder, place)
    if base := BASE_WORD.fullmatch(name):
        return find_base(folder.absolute().parent, history.place, base["branch"], holding)
    return history.side(name, history.find(name, holding))


def _suffix(folder: Path, place: Place) -> str:
    """The end of the names of files about a place; empty if the place is the folder itself."""
    if place.name in (str(folder), os.path.abspath(folder)):
        return ""
    return f"-{hashlib.sha256(place.name.encode()).hexdigest()[:8]}"


def has_runs(folder: Path) -> bool:
    """Whether a folder is the `.tooleval` of a project with runs."""
    kinds = ("heads", "running*", "cache*")
    return any(True for kind in kinds for _ in folder.glob(kind))


class History:
    """All runs of a project, in a folder such as `PROJECT/.tooleval`. The first write makes it.

    Thread-safe. Each use looks for new runs; in a bucket only the first one, `refresh`, and one that
    misses a run of this machine. Every method raises ToolevalError if it cannot read or write something.
    """

    def __init__(
        self, folder: Path, place: Place | None = None, tell: Callable[[str], object] = lambda _: None
    ) -> None:
        """`place` has the documents of the runs, by default the folder itself.

        `tell` is called with a line for each run that cannot be read, and is therefore left out.
        """
        self.folder = folder
        self.place = place or Folder(folder)
        suffix = _suffix(folder, self.place)
        self.logs = folder / f"running{suffix}"
        self._runs = Runs(self.place, self.logs, folder / f"cache{suffix}", tell)

    def begin(self, run: Run) -> RunWriter:
        """Start keeping a run, with what is known of it so far."""
        return RunWriter(self._runs.log_path(run.id), run, self._publish)

    def _publish(self, log_path: Path) -> str:
        """Put this run into the place, and those that could not be put there before."""
        self._runs.forget()
        paths = sorted(self.logs.glob(f"*{ENDING}"))
        for path in (log_path, *(path for path in paths if path != log_path and is_waiting(path))):
            try:
                log = read_log(path)
                assert log.trust is not None
                put_run(self.place, log.run, log.cases.values(), log.gates, log.baseline, log.trust)
            except ToolevalError as error:
                id = path.name.removesuffix(ENDING)
                which = "the run" if path == log_path else f"the earlier run {printable(id)}"
                return f"{which} stays on this machine until the next one: {error}"
            except FileNotFoundError:  # another process was faster
                continue
            with suppress(OSError):  # Windows refuses while another process reads it
                path.unlink()
        return ""

    def refresh(self) -> None:
        """Look into the place."""
        self._runs.forget()
        self._runs.listing()

    @property
    def is_empty(self) -> bool:
        return not self._runs.listing().ids

    def runs(
        self,
        limit: int | None = None,
        *,
        model: str | None = None,
        suite: str | None = None,
        branch: str | None = None,
    ) -> list[RunSummary]:
        """The project's newest runs, newest first; with a model or a suite (or its file), only those."""
        listing = self._runs.listing()
        tags: dict[str, list[str]] = {}
        for tag, id in listing.tags.items():
            tags.setdefault(id, []).append(tag)
        chosen = {"model": model, "suite": suite, "branch": branch}
        return first_runs(self._of_project(listing), limit, tags, **chosen, file_exists=self._is_there)

    def _of_project(self, listing: Listing) -> Iterator[KeptRun]:
        """The project's runs, newest first: a place may have those of several."""
        root = self._root
        return (run for run in self._runs.newest(listing) if run.is_of(root))

    def has(self, id: str) -> bool:
        """Whether a run with this id is kept, of whichever project."""
        return id in self._runs.listing().ids

    def find(self, name: str, holding: Collection[tuple[str, str]] = ()) -> str:
        """The id of the run that `name` means; see `find_run`."""
        return find_run(self._runs, name, holding, self._root)

    @property
    def _root(self) -> str | None:
        """The project within its repository."""
        return path_within(self.folder.absolute().parent)

    def document(self, id: str) -> Document:
        """The result document of a run; `run.status` says whether it finished."""
        run, cases, gates, baseline = self._read(id, Document)
        rows = rows_document(run, cases, gates, baseline, intervals=True)
        return whole_document(rows, [tolerated_if_passed(case, gates) for case in cases])

    def rows_document(self, id: str, *, intervals: bool = False) -> RowsDocument:
        """A run's results without explanations and transcripts; with confidence intervals on request."""
        return rows_document(*self._read(id, RowsDocument), intervals=intervals)

    def side(self, name: str, id: str) -> Side:
        """A run to compare, under the name that the user gave."""
        run, cases, gates, _ = self._read(id, RowsDocument)
        return Side(name, run, cases, partial(self._cases, id), suites_in(self.folder.parent), gates)

    def _cases(self, id: str) -> Sequence[CaseResult]:
        return self._read(id, Document)[1]

    def short_cases(self, id: str) -> Sequence[ShortCase]:
        """The cases of a run, without what they are in full."""
        return self._runs.get(id).cases()

    def case(self, id: str, nodeid: str) -> CaseResult:
        """One whole case of a run, with its transcripts; the others are not read."""
        if (log := self._runs.log(id)) is None:
            result = read_case(self.place, self._runs.get(id), nodeid)
        else:
            kept = log.cases.get(nodeid)
            read = msgspec.json.decode(kept.json, type=CaseResult) if kept else None
            result = read and tolerated_if_passed(read, log.gates)
        if result is None:
            raise ToolevalError(f"the run {id} has no case {printable(nodeid)}")
        return result

    def _read(
        self, id: str, kind: type[RowsDocument]
    ) -> tuple[Run, list[Any], Sequence[Gate], Comparison | None]:
        """A run, its cases as in this kind of document, and its verdict."""
        if (log := self._runs.log(id)) is None:
            document = read_stored(self.place, self._runs.get(id).head, kind)
            return document.run, list(document.cases), document.gates, document.baseline
        order = file_order(each.model for each in log.run.models)
        kept = sorted(log.cases.values(), key=lambda case: order(case.row))
        whole = msgspec.json.Decoder(CaseResult).decode
        cases = [whole(case.json) if kind is Document else case.row for case in kept]
        return log.run, cases, log.gates, log.baseline

    def tag(self, id: str, name: str) -> None:
        """Tag a run: `find` knows it as `@name`, and it cannot be deleted while it has a tag."""
        if not _TAG.fullmatch(name):
            raise ToolevalError(
                f"{printable(name) or '(no name)'}: expected letters, digits, and . _ / - for a tag"
            )
        self._runs.get(id)
        tagged = self._runs.listing().tags.get(name, id)
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
        runs = self._of_project(self._runs.listing())
        return read_trend(runs, name, model, limit, self._is_there)

    def trends_for(self, document: RowsDocument) -> list[Trend]:
        """The suites of a document on its models up to its run, for the HTML report."""
        root = document.run.git.root if document.run.git else None
        runs = (run for run in self._runs.newest(self._runs.listing()) if run.is_of(root))
        return read_trends(runs, document, self._is_there)

    def _is_there(self, file: str) -> bool:
        """Whether a suite's file is in the project."""
        return (self.folder.parent / file).is_file()

    def expired_ids(self, *, keep: int = 0, older_than: timedelta | None = None) -> list[str]:
        """The ids of the project's finished runs without a tag, newest first, except the newest `keep`
        runs and those not `older_than` this.
        """
        listing = self._runs.listing()
        tagged = set(listing.tags.values())
        before = None if older_than is None else datetime.now(timezone.utc) - older_than
        limit = "" if before is None else before.isoformat(timespec="seconds")
        return [
            run.id
            for run in (each.head.summary for each in islice(self._of_project(listing), keep, None))
            if (before is None or run.started < limit)
            and run.status != "running"
            and run.id not in tagged
        ]

    def delete(self, *ids: str) -> tuple[int, int]:
        """Delete these runs. Returns how many cases and bytes they had.

        Raises ToolevalError, and deletes none, if one is still running or has a tag.
        """
        listing = self._runs.listing()
        heads = [self._runs.get(id, listing).head for id in ids]
        tags = {id: tag for tag, id in sorted(listing.tags.items(), reverse=True)}
        for head in heads:
            id = head.summary.id
            if id in tags:
                raise ToolevalError(
                    f"the run {id} has the tag {tags[id]}; it can be deleted after "
                    f"`tooleval history tag --delete={tags[id]}`"
                )
            if head.summary.status == "running":
                raise ToolevalError(f"the run {id} is still running; delete it when it is over")
        names = map(listing.heads.get, ids)
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(self._delete, ids, names))  # raises what they raised
        self.refresh()
        return sum(head.rows for head in heads), sum(head.bytes for head in heads)

    def _delete(self, id: str, name: HeadName | None) -> None:
        """Delete a run's files, the head first, so that no head lacks its document."""
        for file in (name.head_file, document_file(id)) if name else ():
            self.place.delete(file)
        try:
            self._runs.log_path(id).unlink(missing_ok=True)
        except OSError as error:
            raise ToolevalError(f"{self.logs}: cannot be written: {os_reason(error)}") from error
