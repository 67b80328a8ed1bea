"""A suite file as a pytest collector, a test case on a model as a pytest item."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..engine.models import ModelSpec
from ..errors import ConfigError
from ..errors import ModelError
from ..errors import ScoringError
from ..errors import SuiteError
from ..gates.verdict import judge
from ..reports.text import render_case
from ..reports.text import render_transcript
from ..results import CaseResult
from ..results import Outcome
from ..results import TrialError
from ..results import TrialResult
from ..rows import pack
from ..scoring import score_transcript
from ..scoring.registry import ScorerRegistry
from ..suite.load import load_suite
from ..suite.model import METRICS
from ..suite.model import Overrides
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import TestCase
from ..suite.model import XFail
from ..suite.model import resolve
from ..text import printable
from . import eval_session
from .options import NO_MODEL


class CaseFailure(AssertionError):
    """The model was wrong. An AssertionError, so that editors show a failure and not an error."""


class CaseError(Exception):
    """Nothing can be said of the model: there is no answer, or it cannot be scored."""


class SuiteFile(pytest.File):
    """One `*.tooleval.json`: an item per test case and model."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tags: set[str] = set()

    def collect(self) -> Iterator[pytest.Item]:
        session = eval_session(self.config)
        registry = ScorerRegistry()
        try:
            self.ihook.pytest_tooleval_register_scorers(register=registry.register)
            suite = load_suite(self.path, metrics=registry.metrics)
        except (SuiteError, ConfigError) as error:
            raise self.CollectError(self._relative(str(error))) from None
        overrides = Overrides(**session.settings.overrides)
        known = {*METRICS, *registry.metrics}
        for metric in overrides.thresholds or {}:
            if metric not in known:
                raise self.CollectError(
                    f"--tooleval-threshold={metric}=...: unknown metric; known are: "
                    + ", ".join(sorted(known))
                )
        for position, case in enumerate(suite.test_cases):
            resolved = resolve(suite, case, overrides)
            for spec in session.settings.models or (None,):
                item = self._item(suite, case, resolved, spec, registry)
                item.position = position
                yield item

    def _item(
        self,
        suite: Suite,
        case: TestCase,
        resolved: ResolvedCase,
        spec: ModelSpec | None,
        registry: ScorerRegistry,
    ) -> CaseItem:
        name = f"{case.id}[{spec.label}]" if spec else str(case.id)
        # The explicit nodeid matters: pytest 9 builds one from a name with brackets that --lf
        # does not find again.
        item: CaseItem = CaseItem.from_parent(
            self, name=name, nodeid=f"{self.nodeid}::{name}", case=resolved, spec=spec
        )
        item.scorers = registry.scorers
        model = spec.label if spec else None
        item.add_marker(pytest.mark.tooleval(model=model, suite=suite.name, case=case.id))
        for tag in case.tags:
            # Registered, so that --strict-markers accepts a suite's own tags.
            if tag not in self._tags:
                self._tags.add(tag)
                self.config.addinivalue_line("markers", f"{tag}: tag of a tooleval test case")
            item.add_marker(getattr(pytest.mark, tag))
        if spec is None:
            item.add_marker(pytest.mark.skip(reason=NO_MODEL))
        if case.skip:
            reason = printable(case.skip) if isinstance(case.skip, str) else "unconditional skip"
            item.add_marker(pytest.mark.skip(reason=reason))
        if case.xfail:
            item.add_marker(_xfail_mark(case.xfail))
        return item

    def _relative(self, text: str) -> str:
        """Problems with paths as pytest shows them elsewhere: relative to the root folder."""
        return text.replace(str(self.path), self.nodeid)


def _xfail_mark(xfail: bool | str | XFail) -> pytest.MarkDecorator:
    reason = xfail.reason if isinstance(xfail, XFail) else (xfail if isinstance(xfail, str) else "")
    strict = {"strict": xfail.strict} if isinstance(xfail, XFail) and xfail.strict is not None else {}
    # Only the model's failure is the expected one; a missing answer stays an error.
    return pytest.mark.xfail(reason=printable(reason), raises=CaseFailure, **strict)


class CaseItem(pytest.Item):
    """One test case on one model: asked ahead in the background, scored and reported here."""

    scorers: Any = ()
    position = 0

    def __init__(self, *, case: ResolvedCase, spec: ModelSpec | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.spec = spec
        self.runs = 0
        self._result: CaseResult | None = None

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(self.case.case.line - 1, 0), self.name

    def setup(self) -> None:
        """Wait for the answers and score them. What goes wrong here is an error, not a failure."""
        self._result = None
        self.user_properties.clear()  # a rerun would add them once more
        if self.config.getoption("setuponly", False) or self.spec is None:
            return
        try:
            outcomes = eval_session(self.config).take(self)
            trials = tuple(
                TrialResult(error=TrialError(outcome.kind, outcome.message), trial=number)
                if isinstance(outcome, ModelError)
                else score_transcript(self.case, outcome, scorers=self.scorers, trial=number)
                for number, outcome in enumerate(outcomes)
            )
            outcome, scores, reason = judge(trials, self.case.thresholds)
        except ScoringError as error:
            self._result = self._case_result("error", reason=f"cannot be scored: {error}")
            raise CaseError(self._result.reason) from None
        self._result = self._case_result(outcome, scores, trials, reason)
        for metric, value in scores.items():
            if value is not None:
                self.user_properties.append((f"tooleval.score.{metric}", value))
        if outcome == "error":
            raise CaseError(reason)

    def runtest(self) -> None:
        """Judge what `setup` has found."""
        if self._result is None:
            return
        if self._result.outcome == "failed":
            raise CaseFailure(self._result.reason)
        trials = self._result.trials
        self.add_report_section("call", "transcript", "\n".join(map(render_transcript, trials)))

    def teardown(self) -> None:
        """Let go of the transcript: items live as long as the session."""
        self._result = None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailure) and self._result is not None:
            return render_case(self._result)
        return super().repr_failure(excinfo, style)

    def tooleval_attach(self, report: pytest.TestReport) -> None:
        """Put the result on the report, as plain data that crosses to xdist's controller."""
        result = self._result_of(report)
        if report.when == "setup" and report.failed and result is not None and result is self._result:
            # pytest renders errors of the setup as tracebacks and does not ask `repr_failure`.
            report.longrepr = printable(f"{result.model}: {result.reason}")
        if result is not None:
            # Explanations are built only where somebody looks: in a failure and in the document.
            looked_at = result.outcome != "passed" or bool(self.config.getoption("tooleval_json"))
            report.tooleval = pack(result.to_dict(explain=looked_at))  # type: ignore[attr-defined]

    def _result_of(self, report: pytest.TestReport) -> CaseResult | None:
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return None
        result = self._result
        if report.when == "setup":
            if result is not None and result.outcome == "error":
                return result
            outcome: Outcome = "skipped" if report.skipped else "error"
            return self._case_result(outcome, reason=_reason(report))
        if result is None:
            return None
        if report.skipped and hasattr(report, "wasxfail"):
            reason = f"expected to fail: {report.wasxfail}".rstrip(": ")
            return dataclasses.replace(result, outcome="missed", reason=reason)
        if report.failed and result.outcome == "passed":
            return dataclasses.replace(result, outcome="failed", reason=_reason(report))
        return result

    def _case_result(
        self,
        outcome: Outcome,
        scores: dict[str, float | None] | None = None,
        trials: tuple[TrialResult, ...] = (),
        reason: str = "",
    ) -> CaseResult:
        case = self.case
        return CaseResult(
            nodeid=self.nodeid,
            suite=case.suite,
            case=case.id,
            model=self.spec.label if self.spec else "",
            outcome=outcome,
            scores=scores or {},
            thresholds=dict(case.thresholds),
            trials=trials,
            reason=reason,
            weight=case.case.weight,
            tags=tuple(case.case.tags),
            tool_choice=case.tool_choice,
            file=self.nodeid.partition("::")[0],
            line=case.case.line,
            position=self.position,
        )


def _reason(report: pytest.TestReport) -> str:
    """One line from a report that another plugin, or pytest itself, decided."""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return longrepr[2].removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    lines = str(crash.message if crash else longrepr or "").strip().splitlines()
    return lines[0 if crash else -1] if lines else ""
