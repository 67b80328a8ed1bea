"""Compute a suite's mutation score: the share of wrong answers that it notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from ..errors import ScoringError
from ..record.calls import ToolCall
from ..record.metrics import BUILT_IN
from ..suite.case import ResolvedCase
from ..suite.expectations import ExpectedCall
from ..suite.model import Suite
from ..suite.policies import Policy
from ..suite.resolved import resolve
from .answers import AnsweredTurn, UnknownError, calls_in, offered_call, other_call, right_answers, score
from .gaps import PassReason, gap_of, survivors_of
from .mutants import mutants
from .results import CaseMutation, MutantCall, MutantKind, SuiteMutation, share_noticed


def mutate_suite(suite: Suite, file: str = "") -> SuiteMutation:
    """Break the right answer of every case that is not skipped, and score the results."""
    skipped = sum(case.skip is not False for case in suite.test_cases)
    cases = [resolve(suite, case) for case in suite.test_cases if case.skip is False]
    results = tuple(map(mutate_case, cases))
    # Each policy counts as one more wrong answer: one that breaks it.
    lost = tuple(_unnoticed(suite, cases))
    policies = len(suite.policies) + sum(len(case.policies) - len(suite.policies) for case in cases)
    wrong = sum(case.mutants for case in results) + policies
    survivors = sum(len(case.survivors) for case in results) + len(lost)
    return SuiteMutation(
        file=file,
        name=suite.name,
        score=share_noticed(wrong, survivors),
        mutants=wrong,
        survivors=survivors,
        legal=sum(case.legal for case in results),
        unknown=sum(case.calls is None for case in results),
        skipped=skipped,
        unnoticed=lost,
        cases=results,
    )


def mutate_case(case: ResolvedCase) -> CaseMutation:
    """Break the right answer of a case, and score the results by its built-in metrics."""
    # Third-party scorers cannot judge made-up answers, which also have no tokens, cost or latency.
    built_in = {metric: least for metric, least in case.thresholds.items() if metric in BUILT_IN}
    calls = {name: most for name, most in case.limits.items() if name == "max_calls"}
    case = structs.replace(case, thresholds=built_in, limits=calls)
    try:
        rights = right_answers(case)
    except (ScoringError, UnknownError) as error:
        return CaseMutation(id=case.id, line=case.line, calls=None, unknown=str(error))
    seen: set[str] = set()
    count = legal = 0
    passing: list[tuple[MutantKind, tuple[MutantCall, ...], PassReason]] = []
    endings = [
        name for name in ("status", "result") if any(name in e.model_fields_set for e in _ends(case))
    ]
    for right in rights:
        for name in endings:
            count += 1
            trial = score(case, right.answer(), otherwise=name)
            if trial.passed and (reason := gap_of(case, "wrong_end", None, right.trial, trial)):
                passing.append(("wrong_end", calls_in(right.answer()), reason))
            elif trial.passed:
                legal += 1
        for mutant, answer in mutants(case, right, seen):
            count += 1
            try:
                trial = score(case, answer)
            except ScoringError:
                continue
            if trial.passed:
                reason = gap_of(case, mutant.kind, mutant.pass_reason, right.trial, trial)
                if reason is None:
                    legal += 1
                else:
                    passing.append((mutant.kind, calls_in(answer), reason))
    return CaseMutation(
        id=case.id,
        line=case.line,
        calls=calls_in(rights[0].answer()),
        mutants=count - legal,
        legal=legal,
        survivors=survivors_of(passing),
    )


def _ends(case: ResolvedCase) -> list[ExpectedCall]:
    """Return the expected calls whose end is expected."""
    return [call for part in case.expectations for _, call in part.placed_calls if call.has_end]


def _unnoticed(suite: Suite, cases: Sequence[ResolvedCase]) -> Iterator[str]:
    """Yield these policies of a suite and its cases, in words, after their path."""
    for index, policy in enumerate(suite.policies):
        if not any(_notices(case, policy) for case in cases):
            yield f"policies[{index}]: {' and '.join(policy.texts.values())}"
    for case in cases:
        for index, policy in enumerate(case.policies[len(suite.policies) :]):
            if not _notices(case, policy):
                yield f"{case.id}: policies[{index}]: {' and '.join(policy.texts.values())}"


def _notices(case: ResolvedCase, policy: Policy) -> bool:
    if "policies" not in case.thresholds:
        return False
    try:
        return all(
            _is_below(case, replies, approved=policy.after_approval is None, otherwise=otherwise)
            for replies, otherwise in _breaking(case, policy)
        )
    except (ScoringError, UnknownError):
        return False


def _is_below(
    case: ResolvedCase, replies: tuple[tuple[ToolCall, ...], ...], *, approved: bool, otherwise: str
) -> bool:
    """Whether these calls in the last turn cost the threshold on policies."""
    turns = [AnsweredTurn((), "Done.")] * max(1, len(case.turns))
    turns[-1] = AnsweredTurn(replies, None if case.kind == "calls" else "Done.")
    # An approval is what such a policy would miss.
    value = score(case, turns, approved=approved, otherwise=otherwise).values.get("policies")
    return value is not None and value < case.thresholds["policies"]


def _breaking(
    case: ResolvedCase, policy: Policy
) -> Iterator[tuple[tuple[tuple[ToolCall, ...], ...], str]]:
    """Yield calls that break a policy, by reply, and what of their end is not as it should be.

    None are to a tool that the case does not offer.
    """
    judged = offered_call(case, policy.tools, policy.params)
    if policy.at_least is not None or judged is None:
        yield (), ""
        return
    often = 1 if policy.at_most is None else int(policy.at_most) + 1
    if policy.sum is not None and policy.at_most is not None:
        name, often = policy.sum.removeprefix("/"), 1
        amount = {name: policy.at_most + 1}
        judged = structs.replace(judged, arguments={**(judged.arguments or {}), **amount})
    # Two calls need two words of the user.
    calls = [judged] * (often if policy.word is None else max(2, often))
    needed = None
    for field, other in policy.others:
        earlier = other_call(case, other, judged)
        if field == "never_after" and earlier is not None:
            calls.insert(0, earlier)
        elif field == "only_after" and earlier is not None and other.has_end:
            needed = earlier, "status" if other.status is not None else "result"
    # Nothing was looked up, and the arguments are none that the policy names.
    yield (tuple(calls),) if case.kind == "calls" else tuple((call,) for call in calls), ""
    if needed is not None and case.kind != "calls":
        yield tuple((call,) for call in (needed[0], *calls)), needed[1]
