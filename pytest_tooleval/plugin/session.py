"""What one pytest process keeps during a run: the engine, the trials under way, the results."""

from __future__ import annotations

import concurrent.futures
import platform
import time
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from .. import __version__
from ..engine.cassette import Cassette
from ..engine.runner import Runner
from ..engine.runner import Trial
from ..errors import ModelError
from ..reports.document import build_document
from ..reports.document import write_json
from ..results import Transcript
from .options import Settings

if TYPE_CHECKING:
    from .collection import CaseItem

_TICK_S = 0.25

Pending = list["concurrent.futures.Future[Transcript]"]


class EvalSession:
    """One per process; under xdist each worker has its own, and the controller only collects rows."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.on_wait: Callable[[float], None] = lambda waited_s: None
        self.asked = 0
        self._runner: Runner | None = None
        self._pending: dict[str, Pending] = {}
        self._cassettes: dict[Path, Cassette] = {}
        self._started = datetime.now(timezone.utc)
        self._begin = time.monotonic()
        self._is_worker = hasattr(config, "workerinput")

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Ask ahead for everything selected; at the end cancel what is still under way."""
        try:
            # A worker of xdist has everybody's items and learns only one by one which are its own.
            if not self._is_worker and _will_run(session):
                for item in session.items:
                    self._ask_ahead(item)
            yield
        finally:
            self.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._is_worker:
            self._ask_ahead(item)
            if nextitem is not None:
                self._ask_ahead(nextitem)

    def _ask_ahead(self, item: pytest.Item) -> None:
        from .collection import CaseItem

        if not isinstance(item, CaseItem) or item.nodeid in self._pending or item.runs:
            return
        # Whether skipif or a `run=False` holds is not known yet; such a case is asked in its turn.
        names = {mark.name for mark in item.iter_markers()}
        never_run = any(mark.kwargs.get("run") is False for mark in item.iter_markers("xfail"))
        if names & {"skip", "skipif"} or never_run:
            return
        self._submit(item)

    def _submit(self, item: CaseItem) -> Pending:
        assert item.spec is not None
        # A rerun by pytest-rerunfailures wants a new answer, not the recorded one again.
        fresh, item.runs = item.runs > 0, item.runs + 1
        cassette = self.cassette_for(item.path)
        futures = [
            self.runner.submit(Trial(item.case, item.spec, number, self.asked + number, cassette, fresh))
            for number in range(item.case.trials)
        ]
        self.asked += len(futures)
        self._pending[item.nodeid] = futures
        return futures

    def take(self, item: CaseItem) -> list[Transcript | ModelError]:
        """The answer to each trial of a case, waited for; asks now if nobody has asked ahead."""
        futures = self._pending.pop(item.nodeid, None) or self._take_submitted(item)
        try:
            return [self.wait(future) for future in futures]
        except BaseException:
            # Ctrl-C, or a time-out plugin: nobody will come back for these.
            for future in futures:
                future.cancel()
            raise

    def _take_submitted(self, item: CaseItem) -> Pending:
        self._submit(item)
        return self._pending.pop(item.nodeid)

    def wait(self, future: concurrent.futures.Future[Transcript]) -> Transcript | ModelError:
        """Wait in short steps, so that Ctrl-C is seen everywhere and a heartbeat can be shown."""
        begin = time.monotonic()
        while True:
            try:
                return future.result(timeout=_TICK_S)
            except ModelError as error:
                return error
            except concurrent.futures.TimeoutError:
                self.on_wait(time.monotonic() - begin)
            except concurrent.futures.CancelledError:
                return ModelError("the run ended before the answer came", kind="cancelled")

    @property
    def waiting(self) -> int:
        """Cases asked ahead that nobody has taken yet."""
        return len(self._pending)

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            self._runner = Runner(self.settings.concurrency, self.settings.timeout_s)
        return self._runner

    def cassette_for(self, suite_path: Path) -> Cassette | None:
        """The suite's cassette: its path below the root folder, inside the cassette folder."""
        folder = self.settings.cassette
        if folder is None:
            return None
        if suite_path not in self._cassettes:
            root = self.config.rootpath
            below = suite_path.relative_to(root) if suite_path.is_relative_to(root) else suite_path.name
            name = str(below).removesuffix(".tooleval.json") + ".jsonl"
            self._cassettes[suite_path] = Cassette(folder / name, self.settings.record)
        return self._cassettes[suite_path]

    @property
    def damaged_cassettes(self) -> dict[Path, list[int]]:
        """Line numbers that could not be read, per cassette file."""
        return {c.path: c.damaged for c in self._cassettes.values() if c.damaged}

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Keep a case's result; the last one of a case that was run again holds."""
        self.rows[row["nodeid"]] = row

    def document(self) -> dict[str, Any]:
        """The result document of the run so far."""
        run = {
            "started": self._started.isoformat(timespec="seconds"),
            "duration_s": round(time.monotonic() - self._begin, 3),
            "pytest_tooleval": __version__,
            "pytest": pytest.__version__,
            "python": platform.python_version(),
            "models": [{"model": spec.label, "calls": spec.identity} for spec in self.settings.models],
        }
        return build_document(run, list(self.rows.values()))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self.close()
            if self.settings.json is not None and not self._is_worker:
                write_json(self.settings.json, self.document())

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self._pending.clear()


def _will_run(session: pytest.Session) -> bool:
    option = session.config.option
    collect_only = option.collectonly or getattr(option, "setuponly", False)
    failed = session.testsfailed and not option.continue_on_collection_errors
    return not collect_only and not failed
