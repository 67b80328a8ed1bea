"""`--tooleval-events`: a stream of events for programs that follow a run."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec import structs

from ..errors import os_reason
from ..record.encoding import to_json
from ..record.events import (
    CaseStarted,
    Collected,
    CollectionProblem,
    Decided,
    Estimated,
    Event,
    Progress,
    RunEnded,
    RunStarted,
)
from ..record.results import KeptCase
from ..run.eval_run import EvalRun
from ..run.nodeids import is_case, split_nodeid
from ..run.observers import Observer, Wait
from ..secrets import scrub, secret_values
from ..text import printable
from .processes import may_ask

_OPTION = "--tooleval-events"


class EventStream(Observer):
    """Writes the events, except in xdist workers.

    If the reader is gone or the disk is full, the stream ends but the run goes on.
    """

    def __init__(self, config: pytest.Config, run: EvalRun) -> None:
        """Raises UsageError if the stream cannot be opened."""
        self._run = run
        self._given: str = config.getoption("tooleval_events")
        self._file: BinaryIO | None = _open(config, self._given)
        self._session: pytest.Session | None = None
        self._is_collected = False
        # Python tests that may ask.
        self._asking: set[str] = set()
        self._told = 0
        self._reason = ""
        self._problem = ""
        if sys.platform == "win32":
            # The only signal that a program can send to its child. Treat it like Ctrl-C.
            signal.signal(signal.SIGBREAK, signal.default_int_handler)

    def _tell(self, event: Event) -> None:
        self._write(to_json(event))

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            self._problem = f"{_OPTION}={self._given}: stopped writing events: {os_reason(error)}"
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # closing flushes what could not be written
                file.close()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session
        run = structs.replace(self._run.about(), status="running")
        self._tell(RunStarted(root=str(session.config.rootpath), run=run))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._tell(CollectionProblem(nodeid=report.nodeid, message=_clean(report.longreprtext)))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._asking = {item.nodeid for item in session.items if may_ask(item)}
        self._collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        cases = self._run.selected_cases.values()
        self._asking = {each.if_crashed.nodeid for each in cases if each.if_crashed.is_python}
        self._collected(ids)

    def _collected(self, nodeids: Sequence[str]) -> None:
        if self._is_collected:  # every xdist worker collects the same
            return
        self._is_collected = True
        cases = [split_nodeid(nodeid) for nodeid in nodeids if is_case(nodeid)]
        asking = (nodeid for nodeid in nodeids if nodeid in self._asking)
        files = tuple(dict.fromkeys(case.file for case in [*cases, *map(split_nodeid, asking)]))
        self._tell(Collected(files=files, cases=dict(Counter(case.model for case in cases))))

    def estimated(self, estimated: Estimated) -> None:
        self._tell(estimated)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if is_case(nodeid) or nodeid in self._asking:
            self._tell(CaseStarted(nodeid=nodeid))

    def case_done(self, case: KeptCase) -> None:
        self._write(b'{"event":"case_done","case":%b}' % case.json)

    def waited(self, wait: Wait) -> None:
        done = len(self._run.results.cases)
        answered = done + wait.answered()
        if answered > self._told:
            self._told = answered
            self._tell(Progress(done=done, answered=answered))

    def decided(self) -> None:
        verdict = self._run.results.verdict
        self._tell(Decided(gates=tuple(verdict.gates), baseline=verdict.comparison))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._reason = str(excinfo.value) or excinfo.typename

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._reason = f"internal error: {excinfo.exconly()}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._problem:
            terminalreporter.write_line(printable(self._problem), yellow=True)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        session = self._session
        if session is not None:
            reason = self._reason or str(session.shouldfail or session.shouldstop or "")
            run, written = self._run.about(), self._run.written
            ended = RunEnded(
                run=structs.replace(run, exitstatus=int(session.exitstatus) or run.exitstatus),
                reason=_clean(reason),
                reports=tuple(str(report.path) for report in written.reports),
                unwritten=tuple(written.problems),
            )
            self._tell(ended)
        self._close()


def _open(config: pytest.Config, target: str) -> BinaryIO:
    try:
        if target and not target.isdecimal():
            return Path(config.invocation_params.dir, target).open("wb")
        number = int(target or 0)
        if number <= 2:
            raise pytest.UsageError(
                f"{_OPTION}={target}: expected a file or a descriptor above 2, as pytest captures these"
            )
        os.set_inheritable(number, False)
        return open(number, "wb")
    except OSError as error:
        raise pytest.UsageError(f"{_OPTION}={target}: cannot be written: {os_reason(error)}") from None


def _clean(text: str) -> str:
    return scrub(text, secret_values())
