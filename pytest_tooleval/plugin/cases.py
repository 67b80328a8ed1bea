"""The items of a suite file: one per test case, model and variant."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..engine.models.spec import Agent, ModelSpec
from ..engine.trial import Job
from ..errors import ConfigError, McpError, ModelError, SuiteError
from ..replies.outside_transcript import OutsideTranscript
from ..run.nodeids import CaseId, split_nodeid
from ..run.origin import Origin
from ..run.task import Task
from ..run.unknown_names import unknown_metric
from ..scoring.registry import ScorerRegistry
from ..suite.case import ResolvedCase, XFail
from ..suite.resolved import offers
from ..text import printable
from .items import CaseFailure, CaseItem
from .preconditions import no_model
from .suites import NO_MODEL, load

if TYPE_CHECKING:
    from ..variants.variant import Variant
    from .case_session import CaseSession


class ItemFactory:
    """Makes the items of one file."""

    def __init__(self, file: pytest.File, session: CaseSession) -> None:
        self._file = file
        self._session = session
        self._tags: set[str] = set()

    def items(self) -> Iterator[pytest.Item]:
        file, session = self._file, self._session
        run, asking = session.run, session.run.settings.asking
        registry = ScorerRegistry()
        try:
            file.ihook.pytest_tooleval_register_scorers(register=registry.register)
            loaded = load(file.path, run, registry)
        except McpError as error:
            raise file.CollectError(f"{file.nodeid}: tools_from: {error}") from None
        except ModelError as error:  # from the cassette, for the tools
            raise pytest.UsageError(printable(error.message)) from None
        except (SuiteError, ConfigError) as error:
            # Show paths as pytest does elsewhere: relative to the root folder.
            raise file.CollectError(str(error).replace(str(file.path), file.nodeid)) from None
        problem = unknown_metric(run.settings, registry.metrics)
        if problem:
            raise pytest.UsageError(problem)
        suite = loaded.suite
        transcripts = session.transcripts.of_suite(suite, file.nodeid) if session.transcripts else None
        models: Sequence[ModelSpec] = asking.models or (NO_MODEL,)
        if transcripts:  # transcripts of other suites may have other models
            labels = {each.model for of_case in transcripts.values() for each in of_case}
            models = [spec for spec in asking.models if spec.label in labels]
        run.suites[file.nodeid] = suite
        origin = Origin(suite, file.path)
        variants = self._variants()
        asks = session.transcripts is None and bool(asking.models)
        for case in suite.test_cases:
            try:
                job = loaded.job(file.config, asking, case, asks=asks)
            except ConfigError as error:
                raise file.CollectError(f"{file.nodeid}:{case.line}: {case.id}: {error}") from None
            varied = list(self._varied(variants, origin, job.case)) if asks else []
            for spec in models:
                of_case = None if transcripts is None else transcripts.get(job.case.id, ())
                runs = of_case and [each for each in of_case if each.model == spec.label]
                yield self._item(origin, replace(job, model=spec), transcripts=runs)
                for variant_case in varied:
                    yield self._item(origin, replace(job, case=variant_case, model=spec), job.case)

    def _variants(self) -> list[Variant]:
        """The variants named on the command line, by the names that hooks gave them."""
        names = self._session.run.settings.asking.variants
        if not names:
            return []
        from ..variants.builtin import add_built_in
        from ..variants.variant import Variants

        registry = Variants()
        try:
            add_built_in(registry.register)
            self._file.ihook.pytest_tooleval_variants(register=registry.register)
            variants = [variant for name in names for variant in registry.select(name)]
        except ConfigError as error:
            raise pytest.UsageError(f"--tooleval-variant: {error}") from None
        return list({variant.label: variant for variant in variants}.values())

    def _varied(
        self, variants: Sequence[Variant], origin: Origin, case: ResolvedCase
    ) -> Iterator[ResolvedCase]:
        session, file, root = self._session, self._file, self._file.config.rootpath
        controls = {variant.against for variant in variants}
        for variant in variants:
            try:
                varied = variant.of(case, origin.suite, file.path, root, lambda: session.named_suites)
            except ConfigError as error:
                name = ":".join(filter(None, (variant.name, variant.argument)))
                raise pytest.UsageError(f"--tooleval-variant={name}: {error}") from None
            if variant.label not in controls:
                applied = session.applied.setdefault(variant.label, set())
                if varied is not None:
                    applied.add((file.nodeid, case.id))
            if varied is not None:
                yield varied

    def _item(
        self,
        origin: Origin,
        job: Job,
        unchanged: ResolvedCase | None = None,
        transcripts: Sequence[OutsideTranscript] | None = None,
    ) -> CaseItem:
        config, case, model = self._file.config, job.case, job.model.label
        id = CaseId(self._file.nodeid, case.id, model, case.variant.label)
        # The explicit nodeid matters: pytest 9 builds one from a name with brackets that --lf
        # does not find again.
        task = Task(id.nodeid, job, origin, unchanged, transcripts)
        item: CaseItem = CaseItem.from_parent(
            self._file, name=id.name, nodeid=id.nodeid, task=task, queue=self._session.queue
        )
        item.add_marker(pytest.mark.tooleval(model=model or None, suite=origin.suite.name, case=case.id))
        for tag in case.tags:
            # Registered, so that --strict-markers accepts a suite's own tags.
            if tag not in self._tags:
                self._tags.add(tag)
                config.addinivalue_line("markers", f"{tag}: tag of a tooleval test case")
            item.add_marker(getattr(pytest.mark, tag))
        if config.getoption("run_eval", False) or config.getoption("run_eval_analysis", False):
            # pytest-evals then runs nothing else, and does not report what it leaves out.
            item.add_marker(pytest.mark.eval(name=origin.suite.name))
        if not model:
            item.add_marker(pytest.mark.skip(reason=no_model(config)))
        is_plain = model and not isinstance(job.model, Agent) and self._session.transcripts is None
        reason = _needs_agent(case)
        if reason and is_plain:
            item.add_marker(pytest.mark.skip(reason=reason))
        if case.skip:
            reason = printable(case.skip) if isinstance(case.skip, str) else "unconditional skip"
            item.add_marker(pytest.mark.skip(reason=reason))
        if case.xfail:
            item.add_marker(_xfail_mark(case.xfail, is_variant=unchanged is not None))
        return item


def _needs_agent(case: ResolvedCase) -> str:
    """Why only an agent can pass the case; empty if a plain model can."""
    if case.expected_stop is not None:
        return "expected_stop: only an agent can end its own run"
    approved = (policy for policy in case.policies if policy.after_approval and case.has_tool_rounds)
    if any(offers(case, policy.tools) for policy in approved):
        return "after_approval: only an agent can ask for an approval"
    return ""


def _xfail_mark(xfail: bool | str | XFail, *, is_variant: bool) -> pytest.MarkDecorator:
    reason = xfail.reason if isinstance(xfail, XFail) else (xfail if isinstance(xfail, str) else "")
    # A variant never fails the run, not even by passing.
    is_strict = False if is_variant else xfail.strict if isinstance(xfail, XFail) else None
    strict = {} if is_strict is None else {"strict": is_strict}
    # Only a model's failure is expected; a missing answer remains an error.
    return pytest.mark.xfail(reason=printable(reason), raises=CaseFailure, **strict)


def not_asked(config: pytest.Config, path: Path, nodeids: Iterable[str]) -> str:
    """The problem if `FILE::CASE[MODEL]` on the command line names a model that is not in the run.

    Empty if there is none. pytest would only report that it cannot find the case.
    """
    ids = list(map(split_nodeid, nodeids))
    models = dict.fromkeys(each.model for each in ids)
    for argument in config.args:
        file, case, model, _ = split_nodeid(argument)
        is_here = os.path.abspath(config.invocation_params.dir / file) == str(path)
        if is_here and model not in ("", *models) and any(case == each.case for each in ids):
            labels = ", ".join(filter(None, models)) or "no model"
            return f"{argument}: this run asks {labels}, not {model}; use --tooleval-model={model}"
    return ""
