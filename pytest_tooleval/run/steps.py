"""`--tooleval-trials=auto`: asks step by step, until each verdict is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..engine.runner import TrialAnswer
from ..engine.trial import Job
from ..errors import ModelError
from ..record.results import CaseRow
from ..record.thresholds import needed_of
from .asker import Asker, Pending


@dataclass(frozen=True, slots=True)
class Stepped:
    """A job whose trials are asked in steps, and `row`, which evaluates its answers."""

    job: Job
    pending: Pending
    row: Callable[[Sequence[TrialAnswer]], CaseRow]


def in_steps(
    jobs: Sequence[Stepped],
    asker: Asker,
    undecided: Callable[[Sequence[CaseRow]], Collection[str]],
    most_trials: int,
) -> None:
    """Ask all jobs again, step by step, until each is decided or had the most trials.

    `undecided` returns the node ids of the cases to run again. Verdicts over many cases decide which
    cases continue. Stopping a case because of its own answers would bias its mean. All variants of a
    case get as many trials as the case itself, so that they stay comparable.
    """
    again = list(range(len(jobs)))
    while again:
        answers = [asker.answers(each.pending) for each in jobs]
        spent = [index for index in again if _is_spent(answers[index])]
        for index in spent:
            if len(answers[index]) > jobs[index].job.case.trials:
                answers[index].pop()
        if spent:
            return
        rows = [each.row(answer) for each, answer in zip(jobs, answers, strict=True)]
        found = undecided(rows)
        answered = [index for index in again if rows[index].outcome != "error"]
        cases = {rows[index].identity.under("") for index in answered if rows[index].nodeid in found}
        again = [index for index in answered if rows[index].identity.under("") in cases]
        again = [i for i in again if len(answers[i]) < _most(jobs[i].job, most_trials)]
        for index in again:
            more = asker.once_more(jobs[index].job, len(answers[index]))
            answers[index] += more.answers
            jobs[index].pending.coming = more.coming


def _most(job: Job, most_trials: int) -> int:
    """The most trials a job may get. A K/N rule fixes the number."""
    return job.case.trials if needed_of(job.case.pass_rule) else most_trials


def _is_spent(answers: Sequence[TrialAnswer]) -> bool:
    """True if --tooleval-max-cost stopped the last trial. More trials would get no answer either."""
    return isinstance(answers[-1], ModelError) and answers[-1].kind == "max_cost"
