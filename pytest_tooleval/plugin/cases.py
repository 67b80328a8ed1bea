"""The items of a suite file: one per test case and model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ..engine.models.spec import ModelSpec
from ..errors import ConfigError, McpError, ModelError, SuiteError
from ..explain import listing
from ..record.metrics import LIMITS
from ..record.results import CaseRow
from ..record.variants import SEPARATOR
from ..run.job import Job
from ..scoring.registry import ScorerRegistry
from ..suite.fingerprints import ToolsContent, content_of_bytes
from ..suite.model import ResolvedCase, XFail, resolve
from ..suite.overrides import Overrides
from ..text import near, printable
from ..verdicts.rules import PASS_RATE
from .items import CaseFailure, CaseItem, Origin
from .no_model import no_model
from .settings import Settings
from .state import RunState
from .suites import load, worker_user

if TYPE_CHECKING:
    from ..variants.variant import Variant


class Cases:
    """Makes the items of one file."""

    def __init__(self, file: pytest.File, state: RunState) -> None:
        self._file = file
        self._state = state
        self._tags: set[str] = set()

    def items(self) -> Iterator[pytest.Item]:
        file, state = self._file, self._state
        registry = ScorerRegistry()
        try:
            file.ihook.pytest_tooleval_register_scorers(register=registry.register)
            cassette, allowed = state.queue.cassettes.of(file.path), state.settings.allowed_tools
            suite, live = load(file.path, registry.metrics, cassette, allowed)
        except McpError as error:
            raise file.CollectError(f"{file.nodeid}: tools_from: {error}") from None
        except ModelError as error:  # from the cassette, for the tools
            raise pytest.UsageError(printable(error.message)) from None
        except (SuiteError, ConfigError) as error:
            # Show paths as pytest does elsewhere: relative to the root folder.
            raise file.CollectError(str(error).replace(str(file.path), file.nodeid)) from None
        overrides = Overrides(**state.settings.overrides)
        content = content_of_bytes(file.path.read_bytes())
        problem = _unknown_metric(state.settings, registry.metrics)
        if problem:
            raise pytest.UsageError(problem)
        runs = state.transcripts.of_suite(suite) if state.transcripts else None
        models: Sequence[ModelSpec | None] = state.settings.models or (None,)
        if runs:  # transcripts of other suites may have other models
            labels = {run.model for each in runs.values() for run in each}
            models = [spec for spec in state.settings.models if spec.label in labels]
        state.suites[file.nodeid] = suite
        origin = Origin(suite, content, ToolsContent(suite))
        variants = self._variants()
        asks = state.transcripts is None and state.settings.models
        for position, case in enumerate(suite.test_cases):
            try:
                resolved = resolve(suite, case, overrides)
                user = worker_user(file.config, state.settings, case) if asks else None
            except ConfigError as error:
                raise file.CollectError(f"{file.nodeid}:{case.line}: {case.id}: {error}") from None
            varied = list(self._varied(variants, origin, resolved)) if asks else []
            for spec in models:
                job = (
                    None
                    if spec is None
                    else Job(resolved, spec, file.path, registry.scorers, live, user)
                )
                item = self._item(origin, position, resolved, job)
                if runs is not None:
                    of_case = runs.get(resolved.id, ())
                    item.transcripts = [run for run in of_case if spec and run.model == spec.label]
                yield item
                for each in varied:
                    yield self._item(origin, position, each, _of(job, each), resolved)

    def _variants(self) -> list[Variant]:
        """The variants named on the command line, by the names that hooks gave them."""
        names = self._state.settings.variants
        if not names:
            return []
        from ..variants.builtin import add_built_in
        from ..variants.variant import Variants

        known = Variants()
        try:
            add_built_in(known.register)
            self._file.ihook.pytest_tooleval_variants(register=known.register)
            found = [variant for name in names for variant in known.named(name)]
        except ConfigError as error:
            raise pytest.UsageError(f"--tooleval-variant: {error}") from None
        return list({variant.label: variant for variant in found}.values())

    def _varied(
        self, variants: Sequence[Variant], origin: Origin, case: ResolvedCase
    ) -> Iterator[ResolvedCase]:
        state, root = self._state, self._file.config.rootpath
        controls = {variant.against for variant in variants}
        for variant in variants:
            try:
                varied = variant.of(case, origin.suite, self._file.path, root, lambda: state.collected)
            except ConfigError as error:
                given = ":".join(filter(None, (variant.name, variant.argument)))
                raise pytest.UsageError(f"--tooleval-variant={given}: {error}") from None
            if variant.label not in controls:
                applied = state.applied.setdefault(variant.label, set())
                if varied is not None:
                    applied.add((self._file.nodeid, case.id))
            if varied is not None:
                yield varied

    def _item(
        self,
        origin: Origin,
        position: int,
        resolved: ResolvedCase,
        job: Job | None,
        unchanged: ResolvedCase | None = None,
    ) -> CaseItem:
        case, config = resolved.case, self._file.config
        variant = f"{SEPARATOR}{resolved.arm.variant}" if unchanged else ""
        model = job.model.label if job else None
        name = f"{case.id}[{model}{variant}]" if model else str(case.id)
        # The explicit nodeid matters: pytest 9 builds one from a name with brackets that --lf
        # does not find again.
        item: CaseItem = CaseItem.from_parent(
            self._file,
            name=name,
            nodeid=f"{self._file.nodeid}::{name}",
            case=resolved,
            job=job,
            origin=origin,
            position=position,
            answers=self._state.queue,
            unchanged=unchanged,
        )
        item.add_marker(pytest.mark.tooleval(model=model, suite=origin.suite.name, case=case.id))
        for tag in case.tags:
            # Registered, so that --strict-markers accepts a suite's own tags.
            if tag not in self._tags:
                self._tags.add(tag)
                config.addinivalue_line("markers", f"{tag}: tag of a tooleval test case")
            item.add_marker(getattr(pytest.mark, tag))
        if config.getoption("run_eval", False) or config.getoption("run_eval_analysis", False):
            # pytest-evals then runs nothing else, and does not report what it leaves out.
            item.add_marker(pytest.mark.eval(name=origin.suite.name))
        if job is None:
            item.add_marker(pytest.mark.skip(reason=no_model(config)))
        if case.skip:
            reason = printable(case.skip) if isinstance(case.skip, str) else "unconditional skip"
            item.add_marker(pytest.mark.skip(reason=reason))
        if case.xfail:
            item.add_marker(_xfail_mark(case.xfail, is_variant=unchanged is not None))
        return item


def _of(job: Job | None, case: ResolvedCase) -> Job | None:
    """The job with another case, which a variant made of it."""
    return None if job is None else replace(job, case=case)


def _unknown_metric(settings: Settings, known: Collection[str]) -> str:
    """The problem with a metric that an option names; empty if there is none."""
    derived = [PASS_RATE, "pass@K", "pass^K"]
    asked = [
        (f"threshold={name}={'null' if value is None else f'{value:g}'}", name, [*known, *LIMITS])
        for name, value in (settings.overrides["thresholds"] or {}).items()
    ]
    for rule in settings.gates.fail_under:
        if not rule.is_derived:
            asked.append((f"fail-under={rule.metric}={rule.needed:g}", rule.metric, [*known, *derived]))
    for option, metric, names in asked:
        if metric not in names:
            hint = near(metric, names) or f"; expected one of {', '.join(sorted(names))}"
            return f"--tooleval-{option}: unknown metric {metric}{hint}"
    return ""


def unknown_scope(settings: Settings, cases: Sequence[CaseItem]) -> str:
    """The problem with a gate's scope; empty if there is none."""
    rows = [_planned(case) for case in cases]
    for rule in settings.gates.rules:
        known = {name for row in rows for name, _ in rule.scope.keys(row) if name}
        if rule.name is not None and rule.name not in known:
            scope = rule.scope.name
            hint = near(rule.name, known) or f"; there is {listing(sorted(known)) or 'none'}"
            gate = f"--tooleval-fail-{'over' if rule.over else 'under'}={scope}={rule.name}"
            return f"{gate}: no case has this {scope}{hint}"
    return ""


def _planned(item: CaseItem) -> CaseRow:
    return CaseRow(
        nodeid=item.nodeid,
        suite=item.origin.suite.name,
        case=item.case.id,
        model=item.model,
        variant=item.case.arm.variant,
        outcome="skipped",
        tags=tuple(item.case.case.tags),
    )


def _xfail_mark(xfail: bool | str | XFail, *, is_variant: bool) -> pytest.MarkDecorator:
    reason = xfail.reason if isinstance(xfail, XFail) else (xfail if isinstance(xfail, str) else "")
    # A variant never fails the run, not even by passing.
    is_strict = False if is_variant else xfail.strict if isinstance(xfail, XFail) else None
    strict = {} if is_strict is None else {"strict": is_strict}
    # Only a model's failure is expected; a missing answer remains an error.
    return pytest.mark.xfail(reason=printable(reason), raises=CaseFailure, **strict)
