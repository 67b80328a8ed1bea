"""The pytest plugin. Every pytest run imports this module, so it imports nothing heavy.

The first suite, model option or result that turns up imports the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import bytecode  # before all others

# isort: split
from ..suite.discovery import SUITE_ENDING
from . import gc_tuning
from .options import add_options, ini_options, suggest_options, typed_options
from .processes import STANDARD_INPUT, USAGE_ERROR, process_of

if TYPE_CHECKING:
    from ..engine.models.spec import ModelSpec
    from ..settings.settings import Settings
    from .case_session import CaseSession
    from .python_tests import Tooleval
    from .session import EvalSession

_settings_key = pytest.StashKey["Settings"]()
_session_key = pytest.StashKey["EvalSession"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, None, None]:
    suggest_options(args)
    # Set by programs that start pytest; child processes must not see it.
    if os.environ.pop("TOOLEVAL_STOP_ON_EOF", ""):
        early_config.stash[STANDARD_INPUT] = os.dup(0)  # before pytest replaces it
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tooleval(model, suite, case): set on every test case of a *.tooleval.json suite, "
        "for selecting with -m 'tooleval(model=\"...\")'. On a Python test that asks an agent, "
        'tooleval(trials=1, pass_rule="mean", shared_fixtures=False) sets its trials.',
    )
    if config.option.help or config.option.version:
        return
    bytecode.use_own_bytecode()  # again, in a second run of this process
    config.add_cleanup(bytecode.undo_own_bytecode)
    config.add_cleanup(gc_tuning.undo_tuning)  # added first, so called last, after pytest's own cleanups
    config.pluginmanager.register(_Results(config), "tooleval-results")
    # A wrong model or option ends the run here, even without a suite.
    if typed_options(config) or ini_options(config):
        settings = settings_of(config)
        if settings.only_estimates:  # it runs nothing
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        if settings.outputs.events is not None:
            eval_session(config)
    if STANDARD_INPUT in config.stash:
        eval_session(config)


def settings_of(config: pytest.Config) -> Settings:
    """The checked settings, read when first needed: most runs have no case. Raises UsageError."""
    if _settings_key not in config.stash:
        from .settings import read_settings

        config.stash[_settings_key] = read_settings(config)
    return config.stash[_settings_key]


# xdist's own hook starts the workers, and is the last: all imports here run beside their start.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> Generator[None, None, None]:
    yield
    config = session.config
    settings = config.stash.get(_settings_key, None)
    if settings is None:
        return
    gating = settings.gating
    compares = gating.baseline is not None and gating.baseline.run is not None
    if settings.only_estimates:
        eval_session(config).case_session()
    elif settings.outputs.reports or gating.is_typed or compares:
        eval_session(config)
    elif config.getoption("dist", "no") != "no" and config.getoption("tooleval_model"):
        # With cases, the controller needs it once all workers have collected, and all would wait for
        # it. A model in the ini file alone does not promise any.
        from . import session as _  # noqa: F401


def pytest_report_header(config: pytest.Config) -> list[str]:
    settings = config.stash.get(_settings_key, None)
    if settings is None or not settings.asking.models:
        return []
    notes = filter(None, (*settings.replaced, settings.preset_text))
    workers = config.getoption("numprocesses", None)
    return [_asked_header(settings, workers), *(f"tooleval: {text}" for text in notes)]


def _asked_header(settings: Settings, workers: int | None) -> str:
    asking = settings.asking
    names = ", ".join(map(_named, asking.models))
    if asking.transcripts is not None:
        from ..text import printable

        return printable(
            f"tooleval: transcripts ({len(asking.transcripts)}) of {names}; no model is asked"
        )
    shared = (
        f" over {workers} workers (-n0 runs as many in one process, and starts faster)"
        if workers
        else ""
    )
    return f"tooleval: {names}; {asking.concurrency} requests at a time{shared}"


def _named(spec: ModelSpec) -> str:
    """A model's label, and its own name if the label is that of a family."""
    is_family = not spec.source and spec.identity != spec.label
    return f"{spec.label} ({spec.identity})" if is_family else spec.label


class _Results:
    """Collects results from reports: all that an xdist controller sees of a case."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = process_of(config).is_worker
        self._problem = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        text = str(report.longrepr) if report.failed and not self._is_worker else ""
        if text.startswith(USAGE_ERROR):
            self._problem = text.removeprefix(USAGE_ERROR)
        if self._problem:  # raised again at pytest's own report: it catches this where a case is named
            raise pytest.UsageError(self._problem)
        if report.skipped and self._skips_cases(report.nodeid):
            eval_session(self._config).run.note_files({report.nodeid: 0})

    def _skips_cases(self, nodeid: str) -> bool:
        """True for a module of tests that skipped itself, though gates need its cases."""
        settings, file = self._config.stash.get(_settings_key, None), self._config.rootpath / nodeid
        needs = settings is not None and settings.gating.needs_cases and file.suffix == ".py"
        return needs and file.is_file() and b"tooleval" in file.read_bytes()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        if self._is_worker:  # it sends the report on unchanged
            return (yield)
        result: str | None = getattr(report, "tooleval", None)
        if result:
            eval_session(self._config).run.add(result.encode())
        try:
            return (yield)
        finally:
            if result:
                report.tooleval = ""  # type: ignore[attr-defined]  # pytest keeps reports to the end

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Report the case that an xdist worker was running when it died."""
        eval_session(self._config).run.keep_crash(crashitem)


def eval_session(config: pytest.Config) -> EvalSession:
    """The plugin's state in this run, created when first needed."""
    session = config.stash.get(_session_key, None)
    if session is None:
        from .session import EvalSession

        session = config.stash[_session_key] = EvalSession(config, settings_of(config))
    return session


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    if not file_path.name.endswith(SUITE_ENDING):
        return _misnamed(file_path, parent)
    from .collection import SuiteFile

    def cases() -> CaseSession:
        return eval_session(parent.config).case_session()

    if file_path.is_relative_to(parent.config.rootpath):
        return SuiteFile.from_parent(parent, path=file_path, cases=cases)
    # Outside the root folder, pytest derives node ids from the command line, so two files could have
    # the same id.
    return SuiteFile.from_parent(parent, path=file_path, nodeid=file_path.as_posix(), cases=cases)


def _misnamed(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """A suite under another name, which pytest would call "not found" or pass over."""
    name = file_path.name.lower()
    is_named = parent.session.isinitpath(file_path) or "tooleval" in name
    if not name.endswith(".json") or not is_named:
        return None
    from .collection import MisnamedSuite, holds_cases

    return MisnamedSuite.from_parent(parent, path=file_path) if holds_cases(file_path) else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    from .processes import tell_worker

    tell_worker(node, resume=settings_of(node.config).asking.resume)


# Before the stream of events, which names the cases.
@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """The xdist controller collects nothing, but takes the cases that its workers leave."""
    from .processes import worker_number

    process, number = process_of(node.config), worker_number(node.gateway.id)
    file = process.cases_path(number)
    if file is None or not file.is_file():
        return
    from ..run.worker_cases import read_from_worker
    from .preconditions import missing_keys

    run = eval_session(node.config).run
    run.take_cases(read_from_worker(process, number))
    # Other hosts have their own keys.
    is_here = node.gateway.spec.popen
    if is_here and len(ids) == sum(not c.if_crashed.is_python for c in run.selected_cases.values()):
        problem = missing_keys(settings_of(node.config))
        if problem:
            raise pytest.UsageError(problem)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    facts = getattr(node, "workeroutput", {}).get("tooleval")
    if facts is not None:
        eval_session(node.config).run.add_worker_facts(facts)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "load":
        return None  # xdist's own
    from .xdist import EvalScheduling

    return EvalScheduling(config, log, settings_of(config).asking)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that a run of everything has no case, which the ini file's gates are for."""
    # Without settings, nobody set an option.
    if _settings_key not in config.stash or _session_key in config.stash:
        return
    is_part = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.collectonly
    if is_part or config.option.no_summary:
        return
    ini = ini_options(config)
    key = next((key for key in ("preset", "fail_under", "fail_over", "baseline") if key in ini), None)
    if key is not None:
        text = f"no tool calling case was collected: tooleval_{key} of the ini file judged nothing"
        terminalreporter.write_line(text, yellow=True, bold=True)


# Gates are reported after the terminal's [100%].
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    # Not in pytest_collection_finish, which also runs for --collect-only and after errors.
    session_so_far = session.config.stash.get(_session_key, None)
    if session_so_far is not None:
        from .redaction import capture_agents

        capture_agents(session.config)
    cases = session_so_far.cases if session_so_far is not None else None
    with cases.running(session) if cases is not None else nullcontext():
        result = yield
    # The xdist controller may have received its first case only now.
    session_of_run = session.config.stash.get(_session_key, None)
    if session_of_run is not None:
        session_of_run.decide(session)
    return result


@pytest.fixture
def tooleval(request: pytest.FixtureRequest) -> Tooleval:
    """Ask an agent or a model: `run = tooleval("Refund order A1", agent=agent, world=Shop)`."""
    __tracebackhide__ = True
    return eval_session(request.config).case_session().python.fixture(request)


@pytest.fixture
def tooleval_model() -> str | None:
    """The name of one of the run's models. A test that requests it runs once for each model."""
    return None  # without models; `pytest_generate_tests` makes parameters of them


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "tooleval" in metafunc.fixturenames:
        # Before the tests are selected, as this registers their hooks.
        eval_session(metafunc.config).case_session().python.note_function(metafunc)
    if "tooleval_model" in metafunc.fixturenames:
        labels = [spec.label for spec in settings_of(metafunc.config).asking.models]
        if labels:
            metafunc.parametrize("tooleval_model", labels, ids=labels)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    # Without this module, there are no calls to compare.
    if "pytest_tooleval.python.like" not in sys.modules:
        return None
    from ..python.differences import explanation

    return explanation(op, left, right)
