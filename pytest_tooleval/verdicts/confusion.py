"""The confusion matrix of a model's tools, with each tool's precision, recall and F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..record.confusion import Cell, Choice, Confusion, ToolFigures
from ..record.results import CaseRow
from ..record.summary import Mean
from .statistics import clusters_of, mean_of


class _Seen(NamedTuple):
    """A tool's counts over a case's trials; `weight` is that of one trial."""

    expected: int
    called: int
    right: int
    weight: float
    cluster: int


def confusion_of(model: str, cases: Sequence[CaseRow]) -> Confusion:
    """The confusion matrix of a model's cases, and the figures of each tool in it.

    Cells count trials. Figures are weighted means over cases, whatever the number of trials: each case
    is a cluster whose share of right calls weighs as much as its calls. So the precision and recall of
    cases that are either right or wrong have Wilson's interval. F1, 2 right / (expected + called), is
    also such a mean, with the linearised variance of a ratio (the delta method, as in Takahashi et al.
    2022, "Confidence interval for micro-averaged F1 and macro-averaged F1 scores"), but without
    assuming normality: see `mean_interval`.
    """
    cells: Counter[Choice] = Counter()
    seen: dict[str, list[_Seen]] = {}
    for case, cluster in zip(cases, clusters_of(cases), strict=True):
        choices = [choice for trial in case.trials for choice in trial.choices]
        cells.update(map(_bucket, choices))
        known = [choice for choice in choices if not choice.hallucinated]
        expected, called = _expected(choices), _called(known)
        right = _called(choice for choice in known if choice.expected == choice.called)
        for tool in expected | called:
            counts = (expected[tool], called[tool], right[tool])
            seen.setdefault(tool, []).append(_Seen(*counts, case.weight / case.scored, cluster))
    return Confusion(
        model=model,
        tools=tuple(_figures(tool, seen[tool]) for tool in sorted(seen)),
        cells=tuple(
            Cell(
                expected=choice.expected,
                called=choice.called,
                hallucinated=choice.hallucinated,
                not_found=choice.not_found,
                count=count,
            )
            for choice, count in cells.most_common()
        ),
    )


def _bucket(choice: Choice) -> Choice:
    """The bucket of a choice: hallucinated names share one, as do calls for want of a hidden tool."""
    if choice.not_found:
        return Choice(expected=choice.expected, not_found=True)
    return Choice(expected=choice.expected, hallucinated=True) if choice.hallucinated else choice


def _expected(choices: Iterable[Choice]) -> Counter[str]:
    return Counter(choice.expected for choice in choices if choice.expected is not None)


def _called(choices: Iterable[Choice]) -> Counter[str]:
    return Counter(choice.called for choice in choices if choice.called is not None)


def _figures(tool: str, seen: Sequence[_Seen]) -> ToolFigures:
    def ratio(part: Callable[[_Seen], int], of: Callable[[_Seen], int]) -> Mean | None:
        found = [(part(s) / of(s), s.weight * of(s), s.cluster) for s in seen if of(s)]
        return mean_of(found) if found else None

    return ToolFigures(
        tool=tool,
        expected=sum(s.expected for s in seen),
        called=sum(s.called for s in seen),
        right=sum(s.right for s in seen),
        precision=ratio(lambda s: s.right, lambda s: s.called),
        recall=ratio(lambda s: s.right, lambda s: s.expected),
        f1=ratio(lambda s: 2 * s.right, lambda s: s.expected + s.called),
    )
