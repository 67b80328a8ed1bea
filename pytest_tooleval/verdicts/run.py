"""The verdict on a whole run: its gates and the comparison with a baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..errors import NoBaseline, ToolevalError
from ..figures import given_text
from ..record.comparison import Comparison
from ..record.gates import Gate
from ..record.results import CaseRow, without_variants
from ..record.run import Run
from ..text import plural
from .gating import Gates, Gating
from .sides import FindSuite


class RunProblem(NamedTuple):
    """A problem with the run instead of a case. An inconclusive one may not fail the run."""

    name: str
    message: str
    failed: bool = True


@dataclass(frozen=True)
class RunVerdict:
    """Gates, and the comparison with the baseline, or why there is none."""

    gates: Sequence[Gate] = ()
    comparison: Comparison | None = None
    why_uncompared: str = ""
    problems: Sequence[RunProblem] = ()

    @property
    def other_messages(self) -> list[str]:
        """What failed apart from gates and the comparison."""
        messages = {gate.message for gate in self.gates}
        messages |= {self.comparison.message} if self.comparison else set()
        return [problem.message for problem in self.problems if problem.message not in messages]

    @property
    def failed(self) -> bool:
        return any(problem.failed for problem in self.problems)


def decide_run(
    cases: Sequence[CaseRow],
    run: Run,
    gating: Gating,
    without_known_case: Sequence[str] = (),
    suites: FindSuite | None = None,
    test_files: Collection[str] = (),
) -> RunVerdict:
    """The verdict on a finished run.

    `without_known_case` are transcripts that name an unknown case, so gates may lack results. `suites`
    finds this run's suites if they are loaded. `test_files` have Python tests that may be cases.
    """
    comparison, why_uncompared, problem = None, "", ""
    try:
        comparison = _compared(cases, run, gating, suites)
    except NoBaseline as error:
        why_uncompared = str(error)
        how = "make it without strict or --tooleval-fail-inconclusive"
        problem = f"{why_uncompared}; {how}" if gating.strict else ""
    except ToolevalError as error:  # such as a model of --tooleval-baseline-model without cases
        problem = str(error)
    on_models = [case for case in cases if case.model]
    # The ini file's gates do not apply to a run of other tests.
    may_have_cases = bool(gating.is_typed or on_models or test_files)
    gates = judge_gates(cases, gating, run.case_counts, comparison) if may_have_cases else []
    findings = list(_findings(gates, comparison, problem, without_known_case))
    has_run = any(case.outcome != "skipped" or gating.excuses_unasked for case in on_models)
    if gating.cases_needed_by and may_have_cases and not (findings or has_run):
        findings.append(RunProblem("cases", f"{gating.cases_needed_by}: no case was evaluated"))
    elif gating.needs_cases and has_run:
        findings += _skipped(on_models, test_files)
    return RunVerdict(gates, comparison, why_uncompared, findings)


def _skipped(cases: Sequence[CaseRow], test_files: Iterable[str]) -> Iterator[RunProblem]:
    """The files and models of which every case was skipped, as by a missing key or package."""
    is_skipped = dict.fromkeys(test_files, True)
    for case in cases:
        for name in (case.file, case.model):
            is_skipped[name] = is_skipped.get(name, True) and case.outcome == "skipped"
    for name in filter(is_skipped.get, is_skipped):
        text = f"{name}: every case was skipped; leave it out if that is meant"
        yield RunProblem(f"cases of {name}", text)


def _findings(
    gates: Sequence[Gate], comparison: Comparison | None, problem: str, without_known_case: Sequence[str]
) -> Iterator[RunProblem]:
    if problem:
        yield RunProblem("baseline", problem)
    for gate in gates:
        if gate.verdict != "passed":
            yield RunProblem(f"gate {gate.name}", gate.message, gate.failed)
    if gates and without_known_case:
        first, *more = without_known_case
        others = f" (and {plural(len(more), 'more run')})" if more else ""
        message = f"the gates judged without these transcripts: {first}{others}"
        yield RunProblem("transcripts", message)
    if comparison is not None and comparison.verdict != "passed" and not comparison.is_only_unsure:
        yield RunProblem("baseline", comparison.message, comparison.failed)


def is_judged_by_gate(gates: Gates, case: CaseRow) -> bool:
    """True if a gate judges a case that failed or has no answer, in place of its own outcome.

    None judges a variant, a forbidden call or an unread part that may be one, or an exception in a
    Python test.
    """
    if case.variant or not gates:
        return False
    if case.fails_despite.gates or case.may_hide_forbidden:
        return False
    return any(rule.covers(case) for rule in gates.rules)


def is_outside_verdict(gates: Gates, case: CaseRow) -> bool:
    """True if a case under a variant has no part in the verdict on the run.

    It has one if it passed on the secret of an attack, and no gate of the variant judges it.
    """
    is_judged = any(rule.scope.name == "variant" and rule.covers(case) for rule in gates.rules)
    return bool(case.variant) and (is_judged or not case.leaked)


def judge_gates(
    cases: Sequence[CaseRow],
    gating: Gating,
    collected: Mapping[str, int] = MappingProxyType({}),
    comparison: Comparison | None = None,
) -> list[Gate]:
    """Judge all gates."""
    gates = gating.gates
    if not gates:
        return []
    from .gates import decide_gates

    rules = gates.rules
    if gating.excuses_unasked:
        evaluated = [case for case in cases if case.outcome != "skipped"]
        rules = tuple(rule for rule in rules if any(map(rule.keys, evaluated)))
    strict, confidence = gating.strict, gates.confidence
    return decide_gates(
        cases, rules, confidence, strict=strict, collected=collected, comparison=comparison
    )


def gates_that_cannot_pass(perfect: Sequence[CaseRow], gates: Gates) -> list[str]:
    """A line for each gate with an interval that too few cases decide, even these perfect ones."""
    from .gates import decide_gates

    return [
        f"{gate.name}: inconclusive even if all of its {plural(gate.cases, 'case')} pass: "
        f"{given_text(gate.needed or 0)} is above the interval's lower end, {gate.low or 0:.2f}"
        for gate in decide_gates(perfect, gates.fail_under, gates.confidence)
        if gate.verdict == "inconclusive"
    ]


def _compared(
    cases: Sequence[CaseRow], run: Run, gating: Gating, suites: FindSuite | None
) -> Comparison | None:
    """The comparison with the baseline; None without one.

    Raises ToolevalError for models that one of the runs does not have, and NoBaseline if there is
    no such run yet. `good`, `latest` and `auto` name no particular run, so the comparison does not
    fail if nothing is comparable.
    """
    baseline = gating.baseline
    if baseline is None or (baseline.run is None and not any(case.model for case in cases)):
        return None
    from .baseline import compare_runs
    from .paired_metrics import ComparisonRules
    from .sides import BASE_WORD, RUN_WORD, Side

    evaluated = [case for case in without_variants(cases) if case.model]
    old = baseline.run
    word, is_base = RUN_WORD.fullmatch(baseline.name), BASE_WORD.fullmatch(baseline.name) is not None
    # Which run is the last good one, or the base's, depends on this run's files and models.
    former = {now: before for before, now in baseline.models}
    pairs = frozenset((case.file, str(former.get(case.model) or case.model)) for case in evaluated)
    if is_base and old is not None and not old.has_answer_in(pairs):
        old = baseline.load(baseline.name, pairs)
    if old is None:
        raise NoBaseline(baseline.missing)
    if word and word["word"] == "good":
        old = baseline.load(baseline.name, pairs)
    return compare_runs(
        old._replace(suites=suites or old.suites),
        Side("this run", run, evaluated),
        ComparisonRules(
            max_drop=baseline.max_drop,
            strict=gating.strict,
            must_compare=word is None and not is_base and not gating.excuses_unasked,
        ),
        baseline.models,
    )
