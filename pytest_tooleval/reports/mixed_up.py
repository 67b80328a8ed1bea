"""Tools that a model mixed up: which one it should have called, and which one it did call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..record.results import CaseRow
from ..text import align_rows, plural, printable


def mixed_up(cases: Sequence[CaseRow]) -> tuple[str, Counter[str]]:
    """How many choices were right over all trials, in words, and the wrong ones, each with its count."""
    judged = [case for case in cases if case.outcome in ("passed", "failed")]
    choices = [choice for case in judged for trial in case.trials for choice in trial.call_pairs]
    wrong = Counter(choice.text for choice in choices if not choice.is_right)
    right = len(choices) - wrong.total()
    return f"{right} of {plural(len(choices), 'choice')} of a tool right", wrong


def mixed_up_text(model: str, cases: Sequence[CaseRow]) -> list[str]:
    """A model's line, and one for each wrong choice, the most frequent first."""
    title, wrong = mixed_up(cases)
    rows = [[str(count), printable(choice)] for choice, count in wrong.most_common()]
    return [printable(f"{model}: {title}"), *(f"  {line}" for line in align_rows(rows, texts=(1,)))]
