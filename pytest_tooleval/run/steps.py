"""`--tooleval-trials=auto`: asks step by step, until each verdict is decided."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.runner import TrialAnswer
from ..engine.trial import Job
from ..errors import ModelError
from ..record.thresholds import needed_of
from .asker import Tick
from .eval_run import EvalRun
from .task import Task


def in_steps(
    run: EvalRun, tasks: Sequence[Task], first: Sequence[list[TrialAnswer]], tick: Tick
) -> list[list[TrialAnswer]]:
    """The first answers of all tasks, and those of the trials that decide them or are their last.

    Verdicts over many cases decide which cases continue. Stopping a case because of its own answers
    would bias its mean. All variants of a case get as many trials as the case itself, so that they stay
    comparable.
    """
    answers, again = [*first], list(range(len(tasks)))
    while again:
        spent = [index for index in again if _is_spent(answers[index])]
        for index in spent:
            if len(answers[index]) > tasks[index].job.case.trials:
                answers[index] = answers[index][:-1]
        if spent:
            break
        rows = [task.row(found) for task, found in zip(tasks, answers, strict=True)]
        undecided = run.undecided(rows)
        answered = [index for index in again if rows[index].outcome != "error"]
        cases = {rows[index].identity.under("") for index in answered if rows[index].nodeid in undecided}
        again = [index for index in answered if rows[index].identity.under("") in cases]
        again = [i for i in again if len(answers[i]) < _most(tasks[i].job, run.settings.judging.looks)]
        more = [run.asker.once_more(tasks[index].job, len(answers[index])) for index in again]
        for index, pending in zip(again, more, strict=True):
            answers[index] = [*answers[index], *run.asker.answers(pending, tick)]
    return answers


def _most(job: Job, most_trials: int) -> int:
    """The most trials a job may get. A K/N rule fixes the number."""
    return job.case.trials if needed_of(job.case.pass_rule) else most_trials


def _is_spent(answers: Sequence[TrialAnswer]) -> bool:
    """True if --tooleval-max-cost stopped the last trial. More trials would get no answer either."""
    return isinstance(answers[-1], ModelError) and answers[-1].kind == "max_cost"
