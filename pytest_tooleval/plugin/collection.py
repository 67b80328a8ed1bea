"""A suite file as a pytest collector, a test case on a model as a pytest item."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import NamedTuple

import pytest
from msgspec import structs

from ..engine.executors.live import Live
from ..engine.garbage import seldom_collected
from ..engine.models.spec import ModelSpec
from ..errors import ConfigError
from ..errors import McpError
from ..errors import ModelError
from ..errors import ScoringError
from ..errors import SuiteError
from ..record.results import CaseResult
from ..record.results import Outcome
from ..record.transcript import Transcript
from ..reports.text import render_case
from ..reports.text import render_transcript
from ..rows import pack
from ..rows import to_json
from ..scoring.registry import ScorerRegistry
from ..suite.fingerprints import content_of_bytes
from ..suite.fingerprints import content_of_case
from ..suite.model import Overrides
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import TestCase
from ..suite.model import XFail
from ..suite.model import resolve
from ..text import printable
from ..verdicts.case import fewest_to_decide
from ..verdicts.evaluate import Place
from ..verdicts.evaluate import as_expected
from ..verdicts.evaluate import evaluate
from ..verdicts.evaluate import score_trials
from ..verdicts.evaluate import unscored
from . import eval_session
from .settings import NO_MODEL
from .suites import load
from .verdicts import soften

_PROPERTY = "tooleval."


class CaseFailure(AssertionError):
    """The model was wrong. An AssertionError, so that editors show a failure and not an error."""


class Origin(NamedTuple):
    """The suite that a case comes from, the fingerprint of its file, the server of its tools."""

    suite: Suite
    content: str
    live: Live | None


class SuiteFile(pytest.File):
    """One `*.tooleval.json`: an item per test case and model."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tags: set[str] = set()

    def collect(self) -> list[pytest.Item]:
        with seldom_collected():
            return list(self._items())

    def _items(self) -> Iterator[pytest.Item]:
        session = eval_session(self.config)
        registry = ScorerRegistry()
        try:
            self.ihook.pytest_tooleval_register_scorers(register=registry.register)
            suite, live = load(self.path, registry.metrics, session.cassette_for(self.path))
        except McpError as error:
            raise self.CollectError(f"{self.nodeid}: tools_from: {error}") from None
        except (SuiteError, ConfigError) as error:
            raise self.CollectError(self._relative(str(error))) from None
        overrides = Overrides(**session.settings.overrides)
        origin = Origin(suite, content_of_bytes(self.path.read_bytes()), live)
        known = set(registry.metrics)
        for metric in overrides.thresholds or {}:
            if metric not in known:
                raise self.CollectError(
                    f"--tooleval-threshold={metric}=...: unknown metric; known are: "
                    + ", ".join(sorted(known))
                )
        for gate in session.settings.gates.fail_under:
            if gate.metric not in known and not gate.is_derived:
                raise self.CollectError(
                    f"--tooleval-fail-under={gate.metric}=...: unknown metric; known are: "
                    + ", ".join([*sorted(known), "pass_rate", "pass@K", "pass^K"])
                )
        for position, case in enumerate(suite.test_cases):
            try:
                resolved = resolve(suite, case, overrides)
            except ConfigError as error:
                raise self.CollectError(f"{self.nodeid}:{case.line}: {case.id}: {error}") from None
            for spec in session.settings.models or (None,):
                item = self._item(suite, case, resolved, spec, registry)
                item.position = position
                item.origin = origin
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
    origin: Origin
    # A case takes no fixtures; hooks of others look at what every function and doctest has.
    fixturenames: Sequence[str] = ()

    def __init__(self, *, case: ResolvedCase, spec: ModelSpec | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.spec = spec
        self.runs = 0
        self._result: CaseResult | None = None
        self._interrupted = False

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(self.case.case.line - 1, 0), self.name

    def setup(self) -> None:
        """Wait for the answers and score them. What goes wrong here is an error, not a failure."""
        self._result = None
        # A rerun would add them once more.
        self.user_properties[:] = [
            each for each in self.user_properties if not each[0].startswith(_PROPERTY)
        ]
        if self.config.getoption("setuponly", False) or self.spec is None:
            return
        self._interrupted = True
        answers = eval_session(self.config).take(self)
        self._interrupted = False
        explain = eval_session(self.config).settings.explains
        result = evaluate(self.case, self._model, self._place, answers, self.scorers, explain=explain)
        self._result = result
        self.user_properties += _properties(result)
        if result.outcome == "error":
            # Nothing can be said of the model. pytest draws no traceback, which takes long with many.
            pytest.fail(printable(result.reason), pytrace=False)

    @property
    def _model(self) -> str:
        return self.spec.label if self.spec else ""

    @property
    def _place(self) -> Place:
        suite, suite_content, _ = self.origin
        return Place(
            nodeid=self.nodeid,
            file=self.nodeid.partition("::")[0],
            position=self.position,
            content=content_of_case(suite, self.case.case),
            suite_content=suite_content,
            suite_cases=len(suite.test_cases),
        )

    def further_trials(self, answers: Sequence[Transcript | ModelError]) -> int:
        """With --tooleval-early-stop: how many more trials to ask; 0 when the verdict is decided."""
        case = self.case
        try:
            trials = score_trials(self.case, answers, self.scorers)
        except ScoringError:
            return 0  # said when the case is judged
        return fewest_to_decide(trials, case.trials, case.thresholds, case.pass_rule)

    def runtest(self) -> None:
        """Judge what `setup` has found."""
        if self._result is None:
            return
        if self._result.outcome == "failed":
            raise CaseFailure(self._result.reason)
        if set("AP") & set(self.config.getoption("reportchars", "")):
            trials = self._result.trials
            self.add_report_section("call", "transcript", "\n".join(map(render_transcript, trials)))

    def teardown(self) -> None:
        """Let go of the transcript: items live as long as the session."""
        self._result = None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailure) and self._result is not None:
            return self._shown(excinfo, self._result.reason, render_case(self._result))
        return super().repr_failure(excinfo, style)

    def _shown(self, excinfo: pytest.ExceptionInfo[BaseException], reason: str, text: str) -> Any:
        """What pytest draws, with the reason where summaries and JUnit's file look for a line."""
        shown = excinfo.getrepr(style="value")
        path, line, _ = self.location
        crash = shown.reprcrash
        assert crash is not None
        crash.path, crash.lineno, crash.message = path, (line or 0) + 1, printable(reason)
        lines = [] if self.config.getoption("tbstyle", "auto") == "line" else text.splitlines()
        shown.reprtraceback.reprentries[-1].lines = lines
        return shown

    def attach(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Put the result on the report, as plain data that crosses to xdist's controller."""
        result = self._result_of(report)
        unanswered = report.when == "setup" and report.failed and result is self._result
        if result is not None and call.excinfo is not None and (unanswered or self._interrupted):
            # pytest renders errors of the setup as tracebacks and does not ask `repr_failure`.
            reason = f"{result.model}: {result.reason}"
            report.longrepr = self._shown(call.excinfo, reason, printable(reason))
        if result is not None:
            settings = eval_session(self.config).settings
            own = call.excinfo is not None and isinstance(call.excinfo.value, CaseFailure)
            softened = soften(report, result, settings, of_the_model=own or unanswered)
            if softened == "missed":
                result = structs.replace(result, outcome="missed")
            row = pack(result)
            # On its way from a worker one text is far lighter than nested data.
            whole = to_json(row) if hasattr(self.config, "workerinput") else row
            report.tooleval = whole  # type: ignore[attr-defined]
        if report.when == "setup" and report.passed:
            report.user_properties = []  # JUnit's file takes them from the reports that come later

    def _result_of(self, report: pytest.TestReport) -> CaseResult | None:
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return None
        result = self._result
        if report.when == "setup":
            if result is not None and result.outcome == "error":
                return result
            outcome: Outcome = "skipped" if report.skipped else "error"
            return unscored(self.case, self._model, self._place, outcome, _reason(report))
        if result is None:
            return None
        if report.skipped and hasattr(report, "wasxfail"):
            return as_expected(result, report.wasxfail)
        if report.failed and result.outcome == "passed":
            return structs.replace(result, outcome="failed", reason=_reason(report))
        return result


def _properties(result: CaseResult) -> Iterator[tuple[str, str | float]]:
    """What JUnit's file says of a case beside its outcome."""
    yield f"{_PROPERTY}model", printable(result.model)
    yield f"{_PROPERTY}suite", printable(result.suite)
    yield f"{_PROPERTY}case", printable(result.case)
    for metric, value in result.scores.items():
        if value is not None:
            yield f"{_PROPERTY}score.{metric}", value
    if len(result.trials) > 1:
        yield f"{_PROPERTY}passes", f"{result.passes}/{result.scored}"
    for name in ("latency_s", "cost_usd"):
        known = [value for trial in result.trials if (value := getattr(trial, name)) is not None]
        if known:
            yield f"{_PROPERTY}{name}", sum(known)


def _reason(report: pytest.TestReport) -> str:
    """One line from a report that another plugin, or pytest itself, decided."""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return longrepr[2].removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    lines = str(crash.message if crash else longrepr or "").strip().splitlines()
    return lines[0 if crash else -1] if lines else ""
