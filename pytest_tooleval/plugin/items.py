"""A test case on a model as a pytest item."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from ..record.encoding import to_json
from ..record.results import EXPECTED_FAILURE, CaseResult, Outcome
from ..reports.junit import PROPERTY, properties
from ..reports.text import render_case, render_transcript
from ..run.case_queue import CaseQueue
from ..run.task import Task
from ..run.worker_cases import SelectedCase
from ..secrets import clean_reason
from ..suite.case import ResolvedCase
from ..text import printable
from .verdicts import leave_to_gate

_CRASHED = (
    "the worker process died while it ran this case and requested others ahead; any of "
    "them may be the cause"
)


class CaseFailure(AssertionError):
    """The model was wrong. An AssertionError, so that editors show a failure instead of an error."""


class CaseError(Exception):
    """There was no answer. Reports distinguish it from a failure by its type."""


class CaseItem(pytest.Item):
    """One test case on one model: queried in the background, scored and reported here."""

    # A case uses no fixtures, but other plugins' hooks read the attributes of functions and doctests.
    fixturenames: Sequence[str] = ()
    funcargs: Mapping[str, object] = MappingProxyType({})

    def __init__(self, *, task: Task, queue: CaseQueue, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task = task
        self._queue = queue
        self._outputs = queue.run.settings.outputs
        self._result: CaseResult | None = None
        self._waiting = False

    @property
    def obj(self) -> Callable[[], None]:
        """Exposed for third-party hooks, like `function`."""
        return self.runtest

    function = obj

    def _initrequest(self) -> None:
        """Called by pytest-retry and pytest-flakefinder to run an item again, like a function."""
        self.task.attempts += 1

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(self.case.line - 1, 0), self.name

    def setup(self) -> None:
        """Wait for the answers and score them. An exception here is an error, not a failure."""
        self._result = None
        # A rerun would add them again.
        self.user_properties[:] = [
            each for each in self.user_properties if not each[0].startswith(PROPERTY)
        ]
        if self.config.getoption("setuponly", False) or not self.model:
            return
        self._waiting = True
        answers = self._queue.take(self.task)
        self._waiting = False
        # Explanations are built only where they are read: in failures and in the document.
        self._result = result = self.task.result(answers, explain=self._outputs.explains)
        if self._outputs.writes_properties:
            self.user_properties += properties(result)
        if result.outcome == "error":
            if self._queue.run.settings.gating.excuses_unasked and is_unasked(result):
                pytest.skip(f"not asked: {printable(result.reason)}")
            raise CaseError(printable(result.reason))

    @property
    def case(self) -> ResolvedCase:
        return self.task.job.case

    @property
    def model(self) -> str:
        """The model's label; empty without a model."""
        return self.task.job.model.label

    @property
    def selected_case(self) -> SelectedCase:
        """What the controller of xdist knows of the case."""
        if_crashed = structs.replace(
            self.task.on_model.blank,
            nodeid=self.nodeid,
            outcome="error",
            reason=_CRASHED,
            tolerated=bool(self.case.variant.label),
        )
        return SelectedCase(if_crashed, 0 if is_skipped(self) else self.case.trials)

    def runtest(self) -> None:
        # Judges the result of `setup`. No docstring: Allure would use it as each case's description.
        if self._result is None or self._result.outcome == "error":
            # Plugins that rerun cases may continue after a failed setup.
            reason = self._result.reason if self._result else "there is no answer"
            pytest.fail(printable(reason), pytrace=False)
        if self._result.outcome == "failed":
            raise CaseFailure(self._result.reason)
        if set("AP") & set(self.config.getoption("reportchars", "")):
            trials = self._result.trials
            self.add_report_section("call", "transcript", "\n".join(map(render_transcript, trials)))

    def teardown(self) -> None:
        """Drop the transcripts: items live as long as the session."""
        self._result = None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailure) and self._result is not None:
            text = render_case(self._result, whole=self.config.getoption("verbose", 0) > 0)
            return self._shown(excinfo, self._result.reason, text)
        return super().repr_failure(excinfo, style)

    def _shown(self, excinfo: pytest.ExceptionInfo[BaseException], reason: str, text: str) -> Any:
        """The text that pytest prints, with the reason on the line that summaries and JUnit read."""
        shown = excinfo.getrepr(style="value")
        path, line, _ = self.location
        crash = shown.reprcrash
        assert crash is not None
        crash.path, crash.lineno, crash.message = path, (line or 0) + 1, printable(reason)
        lines = [] if self.config.getoption("tbstyle", "auto") == "line" else text.splitlines()
        shown.reprtraceback.reprentries[-1].lines = lines
        return shown

    def report_unanswered(self, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
        """The report of a case without an answer. Avoids pytest's traceback, which takes 50 ms."""
        if call.excinfo is None or not isinstance(call.excinfo.value, CaseError):
            return None
        undrawn = copy.copy(call)
        untraced = pytest.fail.Exception(str(call.excinfo.value), pytrace=False)
        undrawn.excinfo = pytest.ExceptionInfo.from_exc_info((type(untraced), untraced, call.excinfo.tb))
        return pytest.TestReport.from_item_and_call(self, undrawn)

    def attach(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Attach the result to the report, as the JSON of a `CaseResult`."""
        if report.when == "setup" and self._result is not None:
            report.duration = self._result.seconds
        result = self._result_of(report, call)
        unanswered = report.when == "setup" and report.failed and result is self._result
        if result is not None and call.excinfo is not None and (unanswered or self._waiting):
            # pytest renders setup errors as tracebacks and does not call `repr_failure`. Without an
            # answer, the error is the model's; otherwise the suite's, as in its world or scorer.
            of_model = any(each.error and each.error.kind != "world" for each in result.trials)
            about = result.model if of_model else f"{result.file}:{result.line}"
            reason = f"{about}: {result.reason}"
            report.longrepr = self._shown(call.excinfo, reason, printable(reason))
        if result is not None:
            # Tolerate only errors from the model or its endpoint, never those from a broken hook.
            model_failed = call.excinfo is not None and isinstance(call.excinfo.value, CaseFailure)
            if model_failed or unanswered:
                result = leave_to_gate(report, result, self._queue.run.settings)
            # As text: xdist sends it unchanged, and it takes far less memory than the decoded result.
            report.tooleval = to_json(result).decode()  # type: ignore[attr-defined]
        # JUnit reads the properties from the later reports; a rerun has new ones.
        passed = report.when == "setup" and report.passed
        report.user_properties = [] if passed else list(self.user_properties)

    def _result_of(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> CaseResult | None:
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return None
        result = self._result
        is_setup, is_skip = report.when == "setup", report.skipped and not hasattr(report, "wasxfail")
        if is_setup and result is not None and result.outcome == "error" and not report.skipped:
            return result
        if is_setup or (is_skip and result is not None and not result.fails_despite.marks):
            outcome: Outcome = "skipped" if report.skipped else "error"
            return structs.replace(self.task.on_model.blank, outcome=outcome, reason=reason_in(report))
        return result and settle(report, result, call)


def settle(report: pytest.TestReport, result: CaseResult, call: pytest.CallInfo[None]) -> CaseResult:
    """Settle what marks, skips and other plugins' failures make of a result.

    Nothing excuses a forbidden call, whoever set the mark.
    """
    if report.skipped and result.fails_despite.marks:
        report.outcome = "failed"
        vars(report).pop("wasxfail", None)
        if isinstance(report.longrepr, tuple) and call.excinfo is not None:
            report.longrepr = reason_only(call.excinfo, result.reason)
    elif report.skipped and hasattr(report, "wasxfail") and result.outcome != "passed":
        reason = ": ".join(filter(None, (EXPECTED_FAILURE, report.wasxfail)))
        return structs.replace(result, tolerated=True, reason=reason)
    elif report.failed and result.outcome == "passed":
        return structs.replace(result, outcome="failed", reason=reason_in(report))
    return result


def reason_only(excinfo: pytest.ExceptionInfo[BaseException], reason: str) -> Any:
    """A failure that the body did not raise, such as a broken policy: only its reason."""
    shown: Any = excinfo.getrepr(style="value", chain=False)
    shown.reprtraceback.reprentries[-1].lines = [f"E   {printable(reason)}"]
    return shown


def reason_in(report: pytest.TestReport) -> str:
    """A one-line reason, without keys, from a report whose outcome pytest or another plugin decided."""
    longrepr = report.longrepr
    if report.skipped and hasattr(report, "wasxfail"):  # run=False, or pytest.xfail()
        return clean_reason(str(report.wasxfail).removeprefix("reason: ").removeprefix("[NOTRUN] "))
    if isinstance(longrepr, tuple):
        return clean_reason(longrepr[2].removeprefix("Skipped: "))
    crash = getattr(longrepr, "reprcrash", None)
    lines = str(crash.message if crash else longrepr or "").strip().splitlines()
    return clean_reason(lines[0 if crash else -1]) if lines else ""


def is_unasked(result: CaseResult) -> bool:
    """True if no trial has a recorded answer or a key to ask with."""
    kinds = {trial.error.kind if trial.error else None for trial in result.trials}
    return bool(kinds) and kinds <= {"replay", "credentials"}


def is_skipped(item: pytest.Item) -> bool:
    """True if a case will be skipped. A `skipif` is evaluated only when its case runs."""
    return any(
        mark.name in ("skip", "skipif") or (mark.name == "xfail" and mark.kwargs.get("run") is False)
        for mark in item.iter_markers()
    )
