"""The message of the baseline gate: one line that is safe to print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set

from ..engine.fallbacks import fallback_text
from ..record.comparison import ComparedCases
from ..record.comparison import ComparedMetric
from ..record.comparison import ComparedModel
from ..record.comparison import Incomparable
from ..record.comparison import Moved
from ..text import counted
from ..text import first_few
from ..text import shown
from .pairing import Pairing
from .sides import Rescored

_MOST_LABELS = 5
Fallbacks = Set[tuple[str, "str | None"]]


def labels_text(labels: Iterable[str]) -> str:
    """`a, b`, cut after five; `no model` for none."""
    known = list(labels)
    more = [f"{len(known) - _MOST_LABELS} more"] if len(known) > _MOST_LABELS else []
    return ", ".join([*map(shown, known[:_MOST_LABELS]), *more]) or "no model"


def no_model_text(names: tuple[str, str], models: tuple[Mapping[str, object], ...]) -> str:
    """Which models each run has, if they share none."""
    has = [f"{shown(name)} has {labels_text(side)}" for name, side in zip(names, models, strict=True)]
    return f"nothing to compare, no model is in both runs: {', '.join(has)}; pair them as OLD=NEW"


def nothing_text(model: str, pairing: Pairing, names: tuple[str, str]) -> str:
    """Why no case of a model could be compared."""
    found: dict[str, Sequence[object]] = {
        "skipped or without an answer in one of the runs": pairing.same,
        "with another prompt or expectation": pairing.changed,
        f"only in {shown(names[0])}": pairing.removed,
        f"only in {shown(names[1])}": pairing.added,
    }
    parts = [f"{len(cases)} {word}" for word, cases in found.items() if cases]
    return f"nothing to compare, no case of {shown(model)} is the same in both runs: {', '.join(parts)}"


def left_out_text(unanswered: int, skipped: int, changes: ComparedCases, models: Sequence[str]) -> str:
    """The cases and models that were not compared, empty if there are none."""
    parts = [f"{counted(unanswered, 'case')} without an answer"] if unanswered else []
    parts += [f"{counted(skipped, 'case')} skipped"] if skipped else []
    kinds = {"changed": changes.changed, "added": changes.added, "removed": changes.removed}
    parts += [f"{counted(len(cases), 'case')} {kind}" for kind, cases in kinds.items() if cases]
    if models:
        parts.append(f"{labels_text(models)} (no such model in the other run)")
    return ", ".join(parts)


def otherwise_text(model: str, old: Fallbacks, new: Fallbacks, names: tuple[str, str]) -> str:
    """The fallbacks that a model needed in only one of the runs."""
    parts = [
        f"in {shown(name)}: {', '.join(fallback_text(*each) for each in sorted(only, key=str))}"
        for name, only in zip(names, (old - new, new - old), strict=True)
        if only
    ]
    return f"{shown(model)} was not asked the same way: only {'; only '.join(parts)}"


def served_text(model: str, old: Set[str], new: Set[str], names: tuple[str, str]) -> str:
    """The different models that answered under one label."""
    sides = zip(names, (old, new), strict=True)
    parts = [f"{labels_text(sorted(served))} in {shown(name)}" for name, served in sides]
    return f"{shown(model)} was served by {' and by '.join(parts)}"


def incomparable_text(cases: Sequence[Incomparable]) -> str:
    """Why cases cannot be judged by the same rules in both runs."""
    counts = Counter(case.why for case in cases)
    whys = [f"{shown(why, 200)} ({count})" for why, count in counts.items()]
    why = first_few(whys, 3) if len(whys) > 1 else shown(cases[0].why, 200)
    return f"{counted(len(cases), 'case')} not comparable: {why}; run it again"


def rescored_text(both: Sequence[Rescored]) -> str:
    """Which of the runs were scored again."""
    names = [shown(each.side.name) for each in both if each.cases]
    cases = counted(sum(each.cases for each in both), "case")
    were = "was" if len(names) == 1 else "were"
    return f"{' and '.join(names)} {were} scored again by today's rules: {cases}"


def verdict_text(models: Sequence[ComparedModel], alpha: float) -> str:
    """The verdict on the compared models."""
    failures = [text for model in models for text in _failures(model)]
    if failures:
        return "; ".join(failures)
    allowed = [
        text
        for model in models
        for text in _drops(model, [row for row in model.metrics if row.p_adjusted < alpha])
    ]
    parts = [_open(model) for model in models if model.verdict == "inconclusive"]
    if not parts:
        most = max(0.0, *(model.metrics[0].largest_drop for model in models))
        parts = [f"no significant drop over {_cases_text(models)}; a drop above {most:.2f} is ruled out"]
    broken = [case for model in models for case in model.newly_broken]
    if broken:
        allowed.append(_broken(broken) + ("" if allowed else ", which may be due to chance"))
    return "; ".join([*parts, *allowed])


def _open(model: ComparedModel) -> str:
    """What is known about an inconclusive model, and what would decide."""
    row = model.metrics[0]
    if not model.got_worse:
        up_to = f"drops up to {row.largest_drop:.2f}" if row.largest_drop < row.old else "any drop"
        few = f"too few answers to rule out {up_to}"
        return f"no drop seen over {_cases_text([model])} of {shown(model.new)}; {few}; {_more(model)}"
    return (
        f"{_metric(row, model.new)} went from {row.old:.2f} to {row.new:.2f} over "
        f"{counted(row.n, 'case')}, and a drop of up to {row.largest_drop:.2f} is not ruled out; "
        f"{_more(model)}"
    )


def _more(model: ComparedModel) -> str:
    if model.more_trials is not None:
        return f"about {counted(model.more_trials, 'more trial')} of each case would decide"
    if model.trials_in_both is not None:
        return (
            "more trials of this run alone would not decide, because the older run has too few; about "
            f"{model.trials_in_both} of each case in both runs would"
        )
    return "more trials would not decide, only more cases would"


def _cases_text(models: Sequence[ComparedModel]) -> str:
    if len(models) == 1:
        return counted(models[0].cases, "case")
    texts = [f"{counted(model.cases, 'case')} of {shown(model.new)}" for model in models]
    return ", ".join(texts[:_MOST_LABELS] + (["..."] if len(texts) > _MOST_LABELS else []))


def _failures(model: ComparedModel) -> Iterable[str]:
    yield from _drops(model, [metric for metric in model.metrics if metric.verdict == "failed"])
    if model.newly_broken_failed and model.newly_broken_p_adjusted is not None:
        chance = _p(model.newly_broken_p_adjusted)
        yield f"{_broken(model.newly_broken)} on {shown(model.new)} ({chance})"


def _drops(model: ComparedModel, rows: Sequence[ComparedMetric]) -> Iterable[str]:
    """A text for these metrics, with the figures of the first."""
    if not rows:
        return
    first = min(rows, key=lambda row: (row.suite is not None, row.metric != "overall", row.p_adjusted))
    others = [_metric(row) for row in rows if row is not first]
    # As many decimals as needed to show the drop.
    digits = next((digits for digits in range(2, 9) if round(first.drop, digits) > 0), 9)
    means = f"{first.old:.{digits}f} to {first.new:.{digits}f}"
    yield (
        f"{_metric(first, model.new)} dropped by {first.drop:.{digits}f} "
        f"({means} over {counted(first.n, 'case')}, {_p(first.p_adjusted)})"
        + (f", so did {', '.join(others)}" if others else "")
    )


def _broken(cases: Sequence[Moved]) -> str:
    if len(cases) > 1:
        return f"{len(cases)} cases newly broken"
    (case,) = cases
    return f"{shown(case.case)} newly broken ({case.old_passes} to {case.new_passes} trials passed)"


def _metric(row: ComparedMetric, model: str | None = None) -> str:
    name = "the share of passing trials" if row.metric == "pass" else shown(row.metric)
    of = "" if model is None else f" of {shown(model)}"
    return name + of + ("" if row.suite is None else f" in {shown(row.suite)}")


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
