"""The `tooleval` fixture, which runs test cases from Python tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ..engine.models.names import resolve_models
from ..engine.models.spec import ModelSpec
from ..engine.runner import TrialAnswer
from ..engine.trial import Job
from ..errors import ConfigError, ModelError, ToolevalError
from ..record.results import CaseResult
from ..run.asker import Pending
from ..run.place import placed
from ..run.scored import evaluate
from ..scoring.registry import ScorerRegistry
from ..suite.case import TestCase
from ..suite.model import Suite
from .case_session import CaseSession
from .no_model import missing_model, no_model
from .settings import config_tables
from .suites import LoadedSuite, load

_runs_key = pytest.StashKey[int]()


class Tooleval:
    """Runs single cases for a Python test, with the run's models, options and cassette.

    `suite` is a `Suite` or a path relative to the test's folder; `case` is a `TestCase` or its id.
    `model` defaults to the run's only model; if the run has none, the test is skipped, or ends the
    run if a gate needs a model. Nothing is asserted: check the result's `passed`, `scores`, `reason`
    and `trials`.

    Both methods raise ModelError if there is no answer, and SuiteError or ConfigError if the suite or
    the model cannot be used.
    """

    def __init__(self, session: CaseSession, request: pytest.FixtureRequest) -> None:
        self._run = session.run
        self._queue = session.queue
        self._request = request
        # A rerun of the test needs new answers, not recorded ones.
        runs = request.node.stash.get(_runs_key, 0)
        request.node.stash[_runs_key] = runs + 1
        self._fresh = runs > 0

    async def run(
        self, suite: Suite | str | os.PathLike[str], case: TestCase | str, model: str | None = None
    ) -> CaseResult:
        """Query the model, score its answers and return the result. Works on any asyncio loop."""
        __tracebackhide__ = True
        job, pending = self._ask(suite, case, model)
        answers = [*pending.answers]
        if pending.coming is not None:
            answers = await asyncio.wrap_future(pending.coming)
        return self._scored(job, answers)

    def run_sync(
        self, suite: Suite | str | os.PathLike[str], case: TestCase | str, model: str | None = None
    ) -> CaseResult:
        """Like `run`, for sync tests."""
        __tracebackhide__ = True
        job, pending = self._ask(suite, case, model)
        return self._scored(job, self._queue.answers(pending))

    def _ask(
        self, suite: Suite | str | os.PathLike[str], case: TestCase | str, model: str | None
    ) -> tuple[Job, Pending]:
        __tracebackhide__ = True
        try:
            job = self._job(suite, case, model)
        except ToolevalError as error:
            # A mistake in the test: show its line, not ours.
            raise error.with_traceback(None) from None
        return job, self._run.asker.send(job, fresh=self._fresh, first=True)

    def _job(
        self, suite: Suite | str | os.PathLike[str], case: TestCase | str, model: str | None
    ) -> Job:
        __tracebackhide__ = True
        run, asking = self._run, self._run.settings.asking
        if asking.transcripts is not None:
            pytest.skip("this test asks a model, which --tooleval-transcripts does not")
        registry = ScorerRegistry()
        self._request.node.ihook.pytest_tooleval_register_scorers(register=registry.register)
        if not isinstance(suite, Suite):
            loaded = load((self._request.path.parent / suite).resolve(), run, registry)
        elif suite.tools_from is None:
            loaded = LoadedSuite(suite, registry.scorers)
        else:
            raise ConfigError(
                f"suite {suite.name!r} takes its tools from an MCP server, which a Suite object "
                "does not include; pass the path of its file instead"
            )
        if isinstance(case, str):
            case = loaded.suite.case(case)
        job = loaded.job(self._request.config, asking, case)
        return replace(job, model=self._spec(model))

    def _spec(self, name: str | None) -> ModelSpec:
        __tracebackhide__ = True
        if name is not None:
            spec = resolve_models([name], config_tables(self._request.config))[0]
            return self._run.settings.asking.own(spec)
        models = self._run.settings.asking.models
        if not models:
            config = self._request.config
            problem = missing_model(config, self._run.settings)
            if problem and self._run.process.is_worker:  # exit() would look like a crash there
                pytest.fail(problem, pytrace=False)
            if problem:
                pytest.exit(problem, pytest.ExitCode.USAGE_ERROR)
            pytest.skip(no_model(config))
        if len(models) > 1:
            labels = ", ".join(spec.label for spec in models)
            raise ConfigError(f"this run has several models ({labels}); choose one with model=...")
        return models[0]

    def _scored(self, job: Job, answers: Sequence[TrialAnswer]) -> CaseResult:
        __tracebackhide__ = True
        for answer in answers:
            if isinstance(answer, ModelError):
                raise answer
        place = placed(self._request.node.nodeid, job.case, job.model.label)
        return evaluate(place, answers, job.scorers)
