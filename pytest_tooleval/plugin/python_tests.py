"""Python tests that ask an agent: the fixture `tooleval`, and the hooks that make a case of a test."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import structs
from typing_extensions import Unpack

from ..engine.models.spec import CallableModel, ModelSpec
from ..errors import ConfigError, ToolevalError
from ..python.case import PythonCase
from ..python.question import Prompt, Question, QuestionContext, QuestionOptions
from ..python.run import AgentRun
from ..python.test import Sources, Test
from ..record.encoding import to_json
from ..record.results import CaseResult
from ..reports.junit import properties
from ..run.asker import Asker
from ..run.eval_run import EvalRun
from ..run.worker_cases import SelectedCase, write_for_controller
from ..scoring.registry import ScorerRegistry
from ..secrets import clean_reason
from ..suite.resolved import planned_trials
from ..text import near, plural, printable
from .items import CaseFailure, is_unasked, reason_in, reason_only, settle
from .preconditions import missing_model, no_model
from .processes import may_ask
from .python_reports import add_sections, clean_report
from .python_trials import body_of_trials, is_assertion
from .settings import config_tables
from .verdicts import leave_to_gate

MODEL_FIXTURE = "tooleval_model"
# Where the cases of a run without requests come from, as `tooleval mutate` starts it.
MAKE_CASE = pytest.StashKey[Callable[[pytest.Item, QuestionContext, Asker], PythonCase]]()
_case_key = pytest.StashKey[PythonCase]()
_runs_key = pytest.StashKey[int]()
_fixtures_key = pytest.StashKey[dict[str, Any]]()
_MARK = ("trials", "pass_rule", "shared_fixtures")
# Arguments that are this plugin's or pytest's own.
_OURS = ("tooleval", MODEL_FIXTURE, "request")


class _Mark(NamedTuple):
    """The keywords of `@pytest.mark.tooleval` on a Python test."""

    trials: int | None = None
    pass_rule: str | None = None
    shared_fixtures: bool = False

    @classmethod
    def of(cls, item: pytest.Item) -> _Mark:
        """Raises ConfigError for keywords that it does not have."""
        __tracebackhide__ = True
        keywords: dict[str, Any] = {}
        for mark in reversed([*item.iter_markers("tooleval")]):
            if mark.args:
                raise ConfigError("@pytest.mark.tooleval takes keywords only, such as trials=5")
            keywords |= mark.kwargs
        for name in keywords:
            if name not in _MARK:
                raise ConfigError(f"@pytest.mark.tooleval has no {name}={near(name, _MARK)}")
        return cls(**keywords)


class Tooleval:
    """Asks an agent or a model: `run = tooleval("Refund order A1", agent=agent, world=Shop)`.

    In an async test, `run = await tooleval.arun(...)` with the same arguments.
    """

    def __init__(self, case: PythonCase) -> None:
        self._case = case

    def __call__(self, prompt: Prompt, **options: Unpack[QuestionOptions]) -> AgentRun:
        """Ask, and return what the agent did. The guide to tests in Python lists the keywords.

        `agent` is an agent of a library or a function; without it, the run's model is asked. `world`
        answers the tools, and `tools` only describes them. Raises ModelError if there is no answer.
        """
        __tracebackhide__ = True
        return self._case.ask(prompt, options)

    def arun(self, prompt: Prompt, **options: Unpack[QuestionOptions]) -> Coroutine[Any, Any, AgentRun]:
        """Like a call, for async tests. With `loop="test"`, the agent runs on the test's event loop."""
        __tracebackhide__ = True
        return self._case.coroutines.note("tooleval.arun", self._case.arun(prompt, options))


class PythonTests:
    """Makes cases of the Python tests of a process."""

    def __init__(self, config: pytest.Config, run: EvalRun) -> None:
        self._config = config
        self._run = run
        # The tests that may ask: their functions by path, and the collected ones by file.
        self._functions: dict[Path, set[str]] = {}
        self._collected: dict[str, list[str]] = {}
        # The number of tests in each file of which not all were selected.
        self._cases: dict[str, int] = {}
        self._unasked: set[str] = set()
        # The test that runs, and its case.
        self._running: tuple[str, PythonCase] | None = None
        self._sources = Sources()
        self.fingerprint = self._sources.fingerprint

    def note_function(self, metafunc: pytest.Metafunc) -> None:
        """Note a function that requests the fixture, whether or not the command line names it."""
        file = Path(metafunc.module.__file__ or "")
        self._functions.setdefault(file, set()).add(metafunc.function.__qualname__)

    def fixture(self, request: pytest.FixtureRequest) -> Tooleval:
        """Make a case of the test that requests the fixture."""
        __tracebackhide__ = True
        item = request.node
        if not isinstance(item, pytest.Item):
            raise ConfigError(f"the fixture tooleval belongs to one test, not to a {request.scope}")
        # A rerun of the test needs new answers, not recorded ones.
        runs = item.stash.get(_runs_key, 0)
        item.stash[_runs_key] = runs + 1
        asking = self._run.settings.asking
        if asking.transcripts is not None:
            pytest.skip("this test asks a model, which --tooleval-transcripts does not")
        mark = _Mark.of(item)
        most, _ = planned_trials(asking.overrides, mark.trials, mark.pass_rule)
        if most > 1 and isinstance(getattr(request, "instance", None), unittest.TestCase):
            raise ConfigError("a method of unittest.TestCase runs once, so it cannot have trials")
        registry = ScorerRegistry()
        item.ihook.pytest_tooleval_register_scorers(register=registry.register)
        context = QuestionContext(
            self._test(item),
            asking,
            mark.trials,
            mark.pass_rule,
            most,
            self._run.asker.cassettes.of(item.path),
            registry.scorers,
            functools.partial(self._plain_model, item),
            self._asks,
            functools.partial(config_tables, self._config),
        )
        asker = self._run.asker
        make = self._config.stash.get(MAKE_CASE, None)
        if make is not None:
            case = make(item, context, asker)
        else:
            case = PythonCase(context, asker, is_fresh=runs > 0)
        item.stash[_case_key] = case
        self._running = item.nodeid, case
        return Tooleval(case)

    def _asks(self, question: Question) -> None:
        """Note what is known of a test once it asks."""
        write_for_controller(self._run.process, "asked", [_if_it_dies(question.on_model.blank)])
        spec, agents = question.job.model, self._run.collected_facts.agents
        if isinstance(spec, CallableModel) and spec.function is not None and spec.label not in agents:
            agents = {**agents, spec.label: f"callable:{spec.callable}"}
            self._run.replace_facts(agents=agents)

    def asks_model(self, item: pytest.Item) -> bool:
        """True if a test certainly queries a model: it passes no agent."""
        return self._test(item).asks_model

    def cannot_ask(self, item: pytest.Item) -> str | None:
        """Why a test's model cannot be asked, if that is known before it runs."""
        asking, label = self._run.settings.asking, _parameters(item).get(MODEL_FIXTURE)
        if label is None or asking.cassette_path is not None or asking.resume:
            return None
        if not self.asks_model(item):
            return None
        return self._run.asker.problem_of(next(spec for spec in asking.models if spec.label == label))

    def selected_case(self, item: pytest.Item) -> SelectedCase:
        """What the controller of xdist knows of a test, until it asks."""
        test = self._test(item)
        row = CaseResult(
            nodeid=test.nodeid,
            suite=test.suite,
            case=test.id,
            model=test.model or "(unknown)",
            outcome="skipped",
            file=test.file,
            line=test.line,
            position=test.position,
            suite_cases=test.cases,
        )
        return _if_it_dies(row)

    def _test(self, item: pytest.Item) -> Test:
        parameters = _parameters(item)
        file = _file_of(item)
        others = self._collected.get(file, [])
        function = getattr(item, "function", None) or item.obj  # type: ignore[attr-defined]
        return Test(
            nodeid=item.nodeid,
            id=_in_classes(item, _without_model(item)),
            whole_id=_in_classes(item, item.name),
            path=item.path,
            root=self._config.rootpath,
            line=(item.location[1] or 0) + 1,
            function=function,
            module=item.getparent(pytest.Module).obj,  # type: ignore[union-attr]
            fixtures=getattr(item, "funcargs", {}),
            sources=self._sources,
            parameters=parameters,
            tags=_tags(item),
            model=parameters.get(MODEL_FIXTURE),
            position=others.index(item.nodeid) if item.nodeid in others else 0,
            cases=self._cases.get(file, 0),
        )

    def _plain_model(self, item: pytest.Item) -> ModelSpec:
        """The run's model for a test without an agent. Without any, the test is skipped."""
        __tracebackhide__ = True
        models, config = self._run.settings.asking.models, self._config
        if missing := missing_model(config, self._run.settings, ""):
            raise ConfigError(missing)
        if not models:
            pytest.skip(no_model(config))
        label = _parameters(item).get(MODEL_FIXTURE)
        if label is not None:
            return next(spec for spec in models if spec.label == label)
        if len(models) > 1:
            labels = ", ".join(spec.label for spec in models)
            raise ConfigError(
                f"this run has several models ({labels}); request the fixture {MODEL_FIXTURE}, which "
                "makes one test for each"
            )
        return models[0]

    # Wraps all plugins that select items.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        collected = list(filter(may_ask, items))
        for item in collected:
            self._collected.setdefault(_file_of(item), []).append(item.nodeid)
        result = yield
        selected = {item.nodeid for item in items}
        for path, functions in self._functions.items():
            of_file = [item for item in collected if item.path == path]
            left = functions - {item.function.__qualname__ for item in of_file}  # type: ignore[attr-defined]
            if of_file and (left or not selected.issuperset(item.nodeid for item in of_file)):
                self._cases[_file_of(of_file[0])] = len(of_file) + len(left)
        counts = Counter(_file_of(item) for item in items if may_ask(item))
        if counts and self._run.settings.asking.variants:
            tests = plural(counts.total(), "Python test")
            self._run.observers.warned(f"variants change cases of suites; {tests} will run unchanged")
        self._run.note_files(counts)
        return result

    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> None:
        if request.scope == "function" and may_ask(request.node):
            request.node.stash.setdefault(_fixtures_key, {})[fixturedef.argname] = fixturedef.func

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Run the body once for each trial."""
        __tracebackhide__ = True
        case = pyfuncitem.stash.get(_case_key, None)
        if case is None:
            return (yield)
        self._require_fresh(pyfuncitem, case)
        body = pyfuncitem.obj
        pyfuncitem.obj = body_of_trials(case, body)
        try:
            return (yield)
        finally:
            pyfuncitem.obj = body

    def _require_fresh(self, item: pytest.Function, case: PythonCase) -> None:
        """Raise ConfigError if trials would share a fixture that is made for one test."""
        __tracebackhide__ = True
        if case.trials == 1 or _Mark.of(item).shared_fixtures:
            return
        named = inspect.signature(item.obj).parameters.keys() - _parameters(item).keys()
        fixtures = item.stash.get(_fixtures_key, {})
        root = self._config.rootpath
        shared = [n for n in fixtures if n in named and n not in _OURS and _is_own(fixtures[n], root)]
        if shared:
            raise ConfigError(
                f"{plural(case.trials, 'trial')} would share the fixture {shared[0]}, which is made "
                "once; make it in the body or with world=, or say "
                "@pytest.mark.tooleval(shared_fixtures=True)"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a subtest that failed: its exception does not leave the body."""
        context: Any = getattr(report, "context", None)
        if context is None or not report.failed or self._running is None:
            return
        nodeid, case = self._running
        if report.nodeid == nodeid and not case.noted:
            name = getattr(context, "msg", None) or "subtest"
            case.noted = clean_reason(f"{name}: {reason_in(report)}")

    # The outermost, as plugins that rerun a test also wrap this hook.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        case = item.stash.get(_case_key, None)
        crash = getattr(report.longrepr, "reprcrash", None)
        raised = call.excinfo.value if call.excinfo is not None else None
        if case is not None and crash is not None and isinstance(raised, ToolevalError):
            crash.message = str(raised)  # summaries would cut it after its long type
        # What could not be asked is no failure that was expected.
        if isinstance(raised, ToolevalError) and may_ask(item) and hasattr(report, "wasxfail"):
            report.outcome = "failed"
            del report.wasxfail
        has_passed = call.when == "call" and report.passed
        # The bodies of others have been checked.
        mistake = case.mistake() if has_passed and case and _is_unittest(item) else None
        if has_passed and case and case.question is None and self._run.settings.gating.needs_cases:
            mistake = "the test uses the fixture tooleval, and asked nothing that gates could judge"
        if mistake:
            report.outcome, report.longrepr = "failed", mistake
        if case is not None and case.question is not None:
            clean_report(report)
            if call.when == "call":
                self._attach(item, case, report, call)
        if call.when == "teardown" and (case is not None or may_ask(item)):
            self._close(item, case)
        return report

    def _close(self, item: pytest.Item, case: PythonCase | None) -> None:
        if case is not None:
            case.close()
            del item.stash[_case_key]
            self._running = None
        if case is None or case.result is None:
            self._unasked.add(item.nodeid)
        else:  # it may be a rerun
            self._unasked.discard(item.nodeid)
        self._run.replace_facts(unasked=len(self._unasked))

    def _attach(
        self,
        item: pytest.Item,
        case: PythonCase,
        report: pytest.TestReport,
        call: pytest.CallInfo[None],
    ) -> None:
        """Attach the result to the report, as the JSON of a `CaseResult`."""
        raised = call.excinfo.value if call.excinfo is not None else None
        if isinstance(raised, (KeyboardInterrupt, pytest.exit.Exception)):
            return
        result = case.result
        if result is None:  # whose body is not called by the hook
            if not _is_unittest(item):
                return  # the test itself failed, before a later trial asked
            if report.skipped and not hasattr(report, "wasxfail"):
                result = case.skipped_result(reason_in(report))
            else:
                case.end(raised, is_assertion=is_assertion(raised))
                result = case.conclude()
        settings = self._run.settings
        if report.failed and settings.gating.excuses_unasked and is_unasked(result):
            reason = f"not asked: {printable(result.reason)}"
            result = structs.replace(result, outcome="skipped", reason=reason, trials=(), scores={})
            report.outcome, report.longrepr = "skipped", (result.file, result.line, f"Skipped: {reason}")
        # A plugin may fail what the model did right, but by an assertion of the test.
        model_failed = result.outcome != "passed" or is_assertion(raised)
        result = settle(report, result, call)
        if report.failed:
            if call.excinfo is not None and isinstance(raised, CaseFailure):
                report.longrepr = reason_only(call.excinfo, result.reason)
            add_sections(report, result)
            result = leave_to_gate(report, result, settings) if model_failed else result
        if settings.outputs.writes_properties:
            report.user_properties += properties(result)
        report.tooleval = to_json(result).decode()  # type: ignore[attr-defined]


def _if_it_dies(row: CaseResult) -> SelectedCase:
    reason = "the worker process died while it ran this test"
    return SelectedCase(structs.replace(row, outcome="error", reason=reason))


def _is_unittest(item: pytest.Item) -> bool:
    return isinstance(getattr(item, "instance", None), unittest.TestCase)


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _parameters(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else dict(callspec.params)


def _without_model(item: pytest.Item) -> str:
    """The name of a test without the parameter `tooleval_model`."""
    label = _parameters(item).get(MODEL_FIXTURE)
    if label is None:
        return item.name
    original = item.originalname  # type: ignore[attr-defined]
    ids = f"-{item.callspec.id}-".replace(f"-{label}-", "-", 1).strip("-")  # type: ignore[attr-defined]
    return f"{original}[{ids}]" if ids else str(original)


def _in_classes(item: pytest.Item, name: str) -> str:
    """A test's name with those of its classes."""
    parents = [each.name for each in item.listchain() if isinstance(each, pytest.Class)]
    return ".".join([*parents, name])


# Marks of pytest and of plugins that run async tests.
_NO_TAGS = frozenset("tooleval parametrize skip skipif xfail usefixtures asyncio anyio trio".split())


def _tags(item: pytest.Item) -> tuple[str, ...]:
    """The marks of a test without arguments, which are tags as those of a suite's case."""
    plain = (mark.name for mark in item.iter_markers() if not (mark.args or mark.kwargs))
    return tuple(dict.fromkeys(name for name in plain if name not in _NO_TAGS))


def _is_own(fixture: Callable[..., Any], root: Path) -> bool:
    """True if the project defines a fixture, and no plugin."""
    file = Path(inspect.unwrap(fixture).__code__.co_filename)
    return file.is_relative_to(root) and "site-packages" not in file.parts
