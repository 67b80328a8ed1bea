"""Notes on a run: what its numbers alone would hide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..engine.models.spec import LEXICAL
from ..engine.models.traits import wants_warmth
from ..figures import most_text, usd_text
from ..record.document import RowsDocument
from ..record.run import Payments, Run, is_other
from ..record.summary import Fallback, ModelSummary, fallback_text
from ..replies.dialects import options_for
from ..text import first_few, plural, printable
from .columns import cases_text

_LEAST_USD = 0.00005  # less is 0 in four digits
_SOURCES = {
    "replayed": "replayed from the cassette",
    "resumed": "reused from the last run",
    "shared": "shared with an identical question",
}


def notes(document: RowsDocument, *, whole: bool = True) -> list[str]:
    """Lines about each model, then about the run; safe for a terminal.

    Without `whole`, nothing about columns that only the whole table has.
    """
    shared = document.shared_names
    errors: dict[str, dict[str, list[str]]] = {}  # of each model, the cases by their reason
    for case in document.plain_cases:
        if case.outcome == "error":
            name = case.identity.case_name(shared)
            errors.setdefault(case.model, {}).setdefault(case.reason, []).append(name)
    lines = [
        f"{printable(row.model)}: {note}"
        for row in document.models
        for note in (
            *_of_model(row, document.run, errors.get(row.model, {})),
            *(_reliability(row) if whole else ()),
        )
    ]
    lines += _too_cold(document)
    lines += _not_played(document)
    run, total = document.run, document.run.total
    what = f"applies to none of the {run.selected} selected cases"
    if run.selected == 1:
        what = "does not apply to the selected case"
    lines += [f"{printable(variant)}: {what}" for variant in run.unapplied]
    if total.cases < run.selected:
        cases = cases_text(total.cases, run.selected)
        lines.insert(0, f"{cases} results arrived before the run ended")
    if run.cached_answers_from == "resumed" and not total.cached:
        lines.append("--tooleval-resume: the last run has no answers to reuse")
    return lines + _money(document)


def _money(document: RowsDocument) -> list[str]:
    """The cost of this run, including variants and answers of unfinished cases."""
    shown: dict[str, float] = {}
    varied = 0.0
    for case in document.cases:
        new = sum(trial.cost_usd or 0.0 for trial in case.trials if not trial.cached)
        shown[case.model] = shown.get(case.model, 0.0) + new
        varied += new if case.variant else 0.0
    spent = document.run.spent
    lines = [
        f"{printable(model)}: spent {usd_text(amount.usd)} in this run, "
        f"{usd_text(amount.usd - shown.get(model, 0.0))} of it for answers of unfinished cases"
        for model, amount in spent.items()
        if amount.usd - shown.get(model, 0.0) > _LEAST_USD and not is_other(model)
    ]
    total = document.run.total
    # A run that only asked the built-in model cost nothing.
    cancelled = any(each.cancelled for each in spent.values())
    if (
        lines
        or cancelled
        or total.cost_usd
        or (total.cost_usd is not None and total.priced < total.trials)
    ):
        cost = usd_text(total.cost_usd, is_least=total.priced < total.trials)
        of_it = f", {usd_text(varied)} of it for variants" if varied > _LEAST_USD else ""
        lines.append(f"cost: {cost}; spent in this run: {spent_text(spent.values())}{of_it}")
    lines += _above_the_limit(document.run)
    # Not the sum over trials: they share verdicts, and those without an answer have no cost.
    others = sum((each for model, each in spent.items() if is_other(model)), Payments())
    if others.priced or total.others_cost_usd is not None:
        paid = spent_text([others])
        lines.append(
            f"judge and simulated user: spent {paid} in this run, not included in the models' cost"
        )
    return lines


def _written_as_text(row: ModelSummary) -> str:
    """The calls that the server returned as text, and the options that parse them."""
    calls = plural(row.native_calls + row.recovered_calls, "call")
    parts = [f"{row.recovered_calls} of {calls} written as text"] if row.recovered_calls else []
    if row.lost_calls:
        parts.append(f"{plural(row.lost_calls, 'call')} written as text and unreadable")
    parsers = "".join(f"; {name} is parsed by {options_for(name)}" for name in row.dialects)
    return f"{', '.join(parts)}, which applications would miss{parsers}"


def _above_the_limit(run: Run) -> Iterator[str]:
    if run.max_cost_usd is None:
        return
    most = run.max_cost_usd / (run.shard.of if run.shard else 1)
    spent = sum(each.usd for each in run.spent.values())
    if spent > most + _LEAST_USD / 100:
        yield (
            f"spent {usd_text(spent)}, more than the {most_text('cost_usd', most)} allowed by "
            "--tooleval-max-cost, because "
            "requests in flight cost more than was reserved; known prices and max_tokens prevent that"
        )


def _too_cold(document: RowsDocument) -> Iterator[str]:
    warm = {each.model for each in document.run.models if wants_warmth(each.identity)}
    cold = {
        case.model: trial.temperature
        for case in document.plain_cases
        if case.model in warm
        for trial in case.trials
        if trial.temperature is not None and trial.temperature < 1
    }
    for model, temperature in cold.items():
        yield (
            f"{printable(model)}: asked at temperature {temperature:g}; Google warns of loops "
            "and worse answers below 1 with Gemini 3; set temperature = 1.0 in the model's table"
        )


def _not_played(document: RowsDocument) -> Iterator[str]:
    kinds = {
        "not_played": ("call", "answered with an error and not played on the world"),
        "differing": ("recorded answer", "that the world gives otherwise"),
    }
    for field, (what, words) in kinds.items():
        lines = [
            (case, line)
            for case in document.plain_cases
            for trial in case.trials
            for line in getattr(trial, field)
        ]
        if lines:
            case, line = lines[0]
            first = printable(f"{case.identity.case_name(document.shared_names)}: {line}")
            yield f"{plural(len(lines), what)} {words}; the first: {first}"


def _got(reason: str) -> str:
    """The start of a reason: the terminal has shown what was expected above."""
    return reason.partition("; expected ")[0]


def _reliability(row: ModelSummary) -> Iterator[str]:
    if row.reliability is not None:
        k = row.reliability.trials
        enough, answered = row.reliability.cases[str(k)], row.reliability.cases["1"]
        if enough < answered:
            yield (
                f"pass@{k} and pass^{k} are over {enough} of {answered} cases; "
                "the others had fewer trials with an answer"
            )


def _of_model(row: ModelSummary, run: Run, errors: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if row.errors:
        reason, cases = next(iter(errors.items()), ("", ()))
        which = "the first" if len(cases) < 2 else first_few(cases)
        count = plural(row.errors, "error")
        yield printable(f"{count}, not counted in any score; {which}: {_got(reason)}")
    if row.fallbacks:
        yield fallbacks_text(row.fallbacks)
    if len(row.upstreams) > 1:
        counts = ", ".join(f"{printable(name)} {count}" for name, count in row.upstreams.items())
        yield f"{len(row.upstreams)} upstreams: {counts}"
    if row.recovered_calls or row.lost_calls:
        yield _written_as_text(row)
    if row.cached:
        yield f"{row.cached} of {row.trials} answers {_SOURCES[run.cached_answers_from]}"
    unpriced = row.trials - row.priced - row.cached
    if run.max_cost_usd is not None and unpriced > 0 and row.model != LEXICAL:
        yield (
            f"{plural(unpriced, 'answer')} without a complete price; "
            "--tooleval-max-cost counted only the known part; if tokens have no price, set "
            "input_price and output_price in the model's table"
        )


def spent_text(spent: Iterable[Payments]) -> str:
    """The money spent: `unknown` if no cost is known, `at least` if some are not.

    Requests that were cancelled may be billed.
    """
    total = sum(spent, start=Payments())
    is_least = total.priced < total.answers or total.cancelled > 0
    text = usd_text(total.usd if total.usd or not is_least else None, is_least=is_least)
    return f"{text}, {plural(total.cancelled, 'request')} cancelled" if total.cancelled else text


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """The substitutes for parameters that a model refuses, on one line; empty for none."""
    return "; ".join(
        f"{fallback_text(fallback.parameter, fallback.sent)} ({plural(fallback.cases, 'case')})"
        for fallback in fallbacks
    )
