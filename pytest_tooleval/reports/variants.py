"""The variants of a run: a table, the cases that changed most, and curves of series."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from msgspec import Struct

from ..figures import score_text
from ..record.variants import ComparedVariant
from ..text import align_rows, printable
from .columns import Table, table_lines, table_of
from .comparison import moved_item

_FEW = 5
_WIDTH = 50  # characters from a pass rate of 0 to one of 1
# The number in `distractors:50:tools.json`, and what is around it.
_NUMBER = re.compile(r"(?P<name>[^:]+:)(?P<number>[0-9]+)(?P<rest>(:.*)?)")


class Series(Struct, frozen=True):
    """A variant with several numbers; `about` is its name, with `N` for the number."""

    about: str
    points: dict[int, list[ComparedVariant]]


def series_of(variants: Sequence[ComparedVariant]) -> list[Series]:
    """The variants that differ in a number alone, if at least two have answers."""
    series: dict[str, dict[int, list[ComparedVariant]]] = {}
    for variant in variants:
        match = _NUMBER.fullmatch(variant.variant)
        if match and variant.difference is not None and not variant.is_earlier:
            points = series.setdefault(_about(match), {})
            points.setdefault(int(match["number"]), []).append(variant)
    return [
        Series(name, dict(sorted(points.items()))) for name, points in series.items() if len(points) > 1
    ]


def _about(number: re.Match[str]) -> str:
    return f"{number['name']}N{number['rest']}"


def variants_table(variants: Sequence[ComparedVariant]) -> Table:
    return table_of("variants", [each for each in variants if each.cases])


def variant_lines(
    variants: Sequence[ComparedVariant], shared: Container[str], *, whole: bool
) -> Iterator[str]:
    """The table, and the worst cases of each variant, for a terminal."""
    yield from table_lines(variants_table(variants))
    for about, lines in curves_of(variants):
        yield from (f"{printable(about)}:", *(f"  {line}" for line in lines))
    yield from map(printable, variant_remarks(variants))
    yield from map(printable, variant_changes(variants, shared, whole=whole))


def curves_of(variants: Sequence[ComparedVariant]) -> Iterator[tuple[str, list[str]]]:
    """Each curve's title and lines: a mark for the pass rate, dashes for its interval."""
    for series in series_of(variants):
        numbered = [(n, each) for n, points in series.points.items() for each in points]
        for model in dict.fromkeys(each.model for _, each in numbered):
            points = [(n, each) for n, each in numbered if each.model == model]
            rows = [["N", "pass rate", f"0{'1':>{_WIDTH}}"]]
            rows += [[str(n), score_text(each.new), _bar(each)] for n, each in points]
            yield f"{series.about} on {model}, with 95% intervals", align_rows(rows, {2})


def _bar(variant: ComparedVariant) -> str:
    """The pass rate and the interval of its difference, on a scale from 0 to 1."""
    old = variant.old or 0.0
    ends = (old + (variant.low or 0.0), variant.new or 0.0, old + (variant.high or 0.0))
    low, mark, high = (round(_WIDTH * min(max(each, 0.0), 1.0)) for each in ends)
    inside = dict.fromkeys(range(low, high + 1), "-") | {mark: "o"}
    return "".join(inside.get(at, " ") for at in range(_WIDTH + 1))


def variant_remarks(variants: Sequence[ComparedVariant]) -> Iterator[str]:
    """Why a variant has no row or no verdict, and how often attacks were followed."""
    for name, variant in _named(variants):
        if not variant.cases:
            yield f"{name}: {variant.message}"
        if variant.attack:
            yield f"{name}: {variant.attack.message}"
        if variant.apart:
            yield f"{name}: not judged: {variant.apart}"


def variant_changes(
    variants: Sequence[ComparedVariant], shared: Container[str], *, whole: bool
) -> Iterator[str]:
    """The cases that changed most, calls to added tools, and cases that were left out.

    `shared` are names of suites that need their file. All numbers of a series leave out the same
    cases, so that is said once.
    """
    left_out: dict[str, None] = {}
    for name, variant in _named(variants):
        moved = [*variant.worse, *variant.better] if whole else variant.worse[:_FEW]
        for case in moved:
            item = moved_item(case, shared)
            yield f"{name}: {case.case_name(shared)} {item.old} -> {item.new}"
        if not whole and len(variant.worse) > _FEW:
            yield f"{name}: {len(variant.worse) - _FEW} more got worse (-v shows them)"
        if variant.added_called:
            counts = (f"{tool} ({cases})" for tool, cases in variant.added_called.items())
            yield f"{name}: calls to added tools, in cases: {', '.join(counts)}"
        if variant.left_out:
            shown = variant.left_out if whole else variant.left_out[:_FEW]
            names = ", ".join(case.case_name(shared) for case in shown)
            more = "" if whole or len(variant.left_out) <= _FEW else ", ..."
            match = _NUMBER.fullmatch(variant.variant)
            about = name.replace(variant.variant, _about(match), 1) if match else name
            left_out[f"{about}: left out, as it does not apply or was not run: {names}{more}"] = None
    yield from left_out


def _named(variants: Sequence[ComparedVariant]) -> Iterator[tuple[str, ComparedVariant]]:
    """With the model in the name if there are several."""
    several = len({each.model for each in variants}) > 1
    for variant in variants:
        yield f"{variant.variant} on {variant.model}" if several else variant.variant, variant
