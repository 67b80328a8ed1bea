"""Before a run: what it would send, and which drops a comparison with it would detect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..figures import usd_text
from ..record.events import Estimated
from ..text import aligned, counted, printable

if TYPE_CHECKING:
    from ..verdicts.simulation import DrawRates

_TRIALS = (1, 3, 5)
_DROP = 0.05


def estimate_lines(estimated: Estimated) -> list[str]:
    """The table's lines, first its header, and notes on it."""
    rows = estimated.models
    cells = [["model", "cases", "replayed", "calls", "prompt tokens", "reasoning", "cost"]]
    for row in rows:
        calls = str(row.calls) if row.calls == row.most_calls else f"{row.calls} to {row.most_calls}"
        if row.least_usd is None or row.most_usd is None:
            cost = "tokens unknown" if row.has_price else "price unknown"
        else:
            cost = f"{usd_text(row.least_usd)} to {usd_text(row.most_usd)}" if row.most_usd else "-"
        tokens = f"{row.prompt_tokens:,}" if row.prompt_tokens else "-"
        reasoning = f"up to {row.most_reasoning_tokens:,}" if row.most_reasoning_tokens else "-"
        counts = [str(row.cases), str(row.replayed), calls, tokens, reasoning]
        cells.append([printable(row.model), *counts, cost])
    if all(row[5] == "-" for row in cells[1:]):
        cells = [[*row[:5], row[6]] for row in cells]
    lines = [*aligned(cells, texts=(0,))]
    if any(row.prompt_tokens for row in rows):
        lines.append("prompt tokens: one for each 4 characters of the first question and its tools")
    if not all(row.has_price for row in rows):
        lines.append(
            "give a model prices with input_price and output_price in its table (USD per million tokens)"
        )
    return lines


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
