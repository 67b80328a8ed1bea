"""Which drops a comparison with a baseline can detect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..figures import usd_text
from ..text import counted

if TYPE_CHECKING:
    from ..verdicts.simulation import DrawRates

_TRIALS = (1, 3, 5)
_DROP = 0.05


class Design(NamedTuple):
    """A suite as it is run; `draws` are estimates of its pass rates, or two limits."""

    title: str
    cases: int
    trials: int
    draws: list[DrawRates]
    trial_usd: float | None = None


def design_lines(design: Design) -> Iterator[str]:
    """What a comparison with a run like this one can detect, by simulation."""
    from ..verdicts.simulation import enough_cases, seen, smallest_drop

    cases, trials = design.cases, design.trials
    size = f"{counted(cases, 'case')}, {counted(trials, 'trial')} each"
    yield f"{design.title}: {size}, compared with a run like it, by simulation"
    if len(design.draws) > 1:
        yield "  single trials do not show how much answers vary, so each range has both extremes"
    falls = [seen(draw, cases, trials, 0.0) for draw in design.draws]
    yield f"  fails without a change: {_range([f'{fall:.1%}' for fall in falls])} of runs"
    drops = [smallest_drop(draw, cases, trials) for draw in design.draws]
    texts = ["none" if drop is None else f"{drop * 100:.0f} points" for drop in drops]
    yield f"  smallest drop seen in 80% of runs: {_range(texts)}"
    yield f"  to see a drop of {_DROP * 100:.0f} points in 80% of runs:"
    for number in _TRIALS:
        needed = [enough_cases(draw, number, _DROP) for draw in design.draws]
        texts = ["more than 800 cases" if each is None else f"{each} cases" for each in needed]
        usd = design.trial_usd
        costs = ["" if each is None or usd is None else usd_text(each * number * usd) for each in needed]
        cost = f", {_range(costs)} a run" if all(costs) else ""
        yield f"    {counted(number, 'trial')}: {_range(texts)}{cost}"


def _range(texts: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(texts))
