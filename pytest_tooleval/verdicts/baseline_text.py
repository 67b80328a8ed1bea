"""The baseline gate's message: one line that is safe to print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from ..figures import TOLERANCE, p_text, points_text, score_text
from ..record.comparison import ComparedCases, ComparedMetric, ComparedModel, Incomparable
from ..text import first_few, plural, shown
from .pairing import Pairing
from .sides import Side

_MOST_LABELS = 5

_MORE = "more trials or cases may decide"


def labels_text(labels: Iterable[str]) -> str:
    """Labels such as `a, b and 3 more`; `no model` for none."""
    return first_few([*map(shown, labels)], _MOST_LABELS) or "no model"


def no_model_text(names: tuple[str, str], models: tuple[Mapping[str, object], ...]) -> str:
    """The models of each run, for runs that share none."""
    has = [f"{shown(name)} has {labels_text(side)}" for name, side in zip(names, models, strict=True)]
    return f"nothing to compare, no model is in both runs: {', '.join(has)}; pair them as OLD=NEW"


def nothing_text(model: str, pairing: Pairing, names: tuple[str, str]) -> str:
    """Why no case of a model could be compared."""
    cases_by_word: dict[str, Sequence[object]] = {
        "skipped or without an answer in one of the runs": pairing.same,
        "with another prompt or expectation": pairing.changed,
        f"only in {shown(names[0])}": pairing.removed,
        f"only in {shown(names[1])}": pairing.added,
        "not selected in one of the runs": pairing.not_selected,
    }
    parts = [f"{len(cases)} {word}" for word, cases in cases_by_word.items() if cases]
    return f"nothing to compare, no case of {shown(model)} is the same in both runs: {', '.join(parts)}"


def left_out_text(unanswered: int, skipped: int, changes: ComparedCases, models: Sequence[str]) -> str:
    """The cases and models that were not compared; empty if there are none."""
    parts = [f"{plural(unanswered, 'case')} without an answer"] if unanswered else []
    parts += [f"{plural(skipped, 'case')} skipped"] if skipped else []
    kinds = {"changed": changes.changed, "added": changes.added, "removed": changes.removed}
    parts += [f"{plural(len(cases), 'case')} {kind}" for kind, cases in kinds.items() if cases]
    if changes.not_selected:
        parts.append(f"{plural(changes.not_selected, 'case')} not selected")
    if models:
        parts.append(f"{labels_text(models)} (no such model in the other run)")
    return ", ".join(parts)


def differ_text(what: str, old: Set[str], new: Set[str], names: tuple[str, str]) -> str:
    """A fact of a model's requests, or of the model that answered, that differs between the runs."""
    return f"{what} " + ", ".join(
        f"{first_few([*map(shown, sorted(values))], _MOST_LABELS) or 'none'} in {shown(name)}"
        for name, values in zip(names, (old, new), strict=True)
    )


def incomparable_text(cases: Sequence[Incomparable]) -> str:
    """The reason that cases cannot be judged by the same rules in both runs."""
    counts = Counter(case.why for case in cases)
    whys = [f"{shown(why, 200)} ({count})" for why, count in counts.items()]
    why = first_few(whys, 3) if len(whys) > 1 else shown(cases[0].why, 200)
    again = (
        "run it again (--tooleval-cassette=FOLDER --tooleval-record=none replays its answers at no cost)"
    )
    return f"{plural(len(cases), 'case')} not comparable: {why}; {again}"


def other_rules_text(old: Side, new: Side) -> str:
    """Why the cases of two runs cannot be compared that were scored by different rules."""
    before, now = (side.run.scoring_version or "unknown" for side in (old, new))
    return f"{shown(old.name)} has scores of other rules (version {before}, {shown(new.name)} has {now})"


def verdict_text(model: ComparedModel, name: str, *, strict: bool) -> str:
    """The verdict on a compared model, and both shares of passed trials; `name` is the old side's."""
    row = model.metrics[0]
    points = points_text(-row.drop, row.low, row.high)
    return f"{_verdict(model, row, name, strict=strict)}; {row.title} {_means(row)}, {points}"


def _verdict(model: ComparedModel, row: ComparedMetric, name: str, *, strict: bool) -> str:
    worse = ", ".join(_worse(model))
    if model.verdict == "failed":
        return f"worse than {shown(name)}: {worse}"
    if model.verdict == "passed":
        but = f", {worse}" if worse else ""
        return f"no worse than {shown(name)}: drops above {score_text(row.largest_drop)} ruled out{but}"
    up_to = f"drops up to {score_text(row.largest_drop)}" if row.largest_drop < row.old else "any drop"
    if model.got_worse:
        open = f"{up_to} not ruled out" if row.largest_drop < row.old else "no drop ruled out"
        return f"perhaps worse than {shown(name)}: {worse}; {open}; {_MORE}"
    more = f"; {_MORE}" if strict else ""
    return f"no drop from {shown(name)} seen, too few answers to rule out {up_to}{more}"


def _worse(model: ComparedModel) -> Iterator[str]:
    """What got worse, with p for the significant parts."""
    broken, others = model.newly_broken, len(model.worse) - len(model.newly_broken)
    if broken:
        p = _chance(model.newly_broken_p_adjusted) if model.newly_broken_failed else ""
        what = shown(broken[0].case) if len(broken) == 1 else f"{len(broken)} cases"
        clusters = model.newly_broken_clusters
        once = f" (rows of one parametrize count once: as {clusters})" if clusters < len(broken) else ""
        yield f"{what} newly broken{p}{once}"
    if others:
        yield f"{plural(others, 'case')} worse"
    dropped = [row for row in model.metrics if row.verdict == "failed"]
    # The drop over all suites comes first, because it matters most.
    dropped.sort(key=lambda row: (row.suite is not None, row.metric != "overall", row.p_adjusted))
    for row in dropped[:1]:
        where = f" in {shown(row.suite)}" if row.suite else ""
        means = "worse" if row is model.passing else _means(row)
        yield f"{shown(row.title)}{where} {means}{_chance(row.p_adjusted)}"
    if len(dropped) > 1:
        yield f"{plural(len(dropped) - 1, 'more metric')} worse"


def _means(row: ComparedMetric) -> str:
    """Both means, with as many decimals as needed to show a drop."""
    differs = abs(row.old - row.new) > TOLERANCE
    old, new = ([row.old], [row.new]) if differs else ((), ())
    return f"{score_text(row.old, new)} -> {score_text(row.new, old)}"


def _chance(p: float | None) -> str:
    return "" if p is None else " (p < 0.001)" if p < 0.001 else f" (p = {p_text(p)})"
