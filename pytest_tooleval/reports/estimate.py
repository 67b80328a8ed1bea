"""Before a run: what it would send."""

from __future__ import annotations

from ..figures import usd_text
from ..record.events import Estimated
from ..text import align_rows, printable


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
    lines = [*align_rows(cells, texts=(0,))]
    if any(row.prompt_tokens for row in rows):
        lines.append("prompt tokens: one for each 4 characters of the first question and its tools")
    if not all(row.has_price for row in rows):
        lines.append(
            "give a model prices with input_price and output_price in its table (USD per million tokens)"
        )
    return lines
