"""A comparison of two runs: its blocks, and as text for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ..figures import score_text
from ..record.comparison import CaseShift, ComparedRun, Comparison, Incomparable, RenamedCase
from ..record.document import RowsDocument
from ..record.identity import Identity
from ..record.results import CaseRow
from ..text import align_rows, plural, printable, shown
from ..verdicts.run_summary import excuse
from .columns import Table, table_lines, table_of
from .model_lines import VERDICTS

MAX_LISTED = 20
# Kinds of changed cases, the worst first.
CHANGE_GROUPS = ("forbidden", "newly broken", "worse", "failed", "error", "newly right", "better")
_IMPROVED = ("newly right", "better")
_MOVED = ("newly broken", "worse", *_IMPROVED)
_NAME = 60


class ChangedCase(Struct, frozen=True):
    """A case that changed from `old` to `new`, or that the runs do not share.

    `was` is the old case, `suite` the name that tells the suite from others.
    """

    of: Identity
    was: Identity
    suite: str
    old: str = ""
    new: str = ""
    more: str = ""


class CaseList(Struct, frozen=True):
    """Cases with what they have in common; `is_moved`: they were compared."""

    title: str
    items: tuple[ChangedCase, ...]
    is_moved: bool


class ListedCase(NamedTuple):
    """A case of a run in its group; `excuse` is the word for a failure that does not itself fail
    the run.
    """

    group: str
    row: CaseRow
    move: ChangedCase | None
    excuse: str


def render_comparison(comparison: Comparison) -> list[str]:
    """Lines safe for a terminal; the last one is the verdict. Lists of cases are cut after 20."""
    several = len(comparison.models) > 1
    lists = case_lists(comparison)
    changes = [
        (group.title, change_text(item), _case(item) + (f" on {_on(item)}" if several else ""))
        for group in lists
        if group.is_moved
        for item in group.items
    ]
    lines = [f"old: {_run(comparison.old)}", f"new: {_run(comparison.new)}"]
    lines += [_pair(model.old, model.new) for model in comparison.models if model.old != model.new]
    if metrics := table_lines(metrics_table(comparison)):
        lines += ["", *metrics]
    if changes:
        lines += ["", *_cut(align_rows(changes, texts=(0, 1, 2)))]
    lines += ["", f"{plural(comparison.cases.same, 'case')} in both", *list_lines(lists)]
    verdict = comparison.verdict if comparison.is_only_unsure else VERDICTS[comparison.verdict][0]
    return [*lines, "", f"comparison {verdict}: {printable(comparison.message)}"]


def metrics_table(comparison: Comparison, *, all_changed: bool = True) -> Table:
    """The share of passed trials, and the metrics that changed, or only those that failed."""
    return table_of(
        "comparison",
        (
            {
                **msgspec.to_builtins(row),
                "model": model.new if model.old == model.new else f"{model.old} -> {model.new}",
                "difference": -row.drop,
                "title": row.title + (f" in {row.suite}" if row.suite else ""),
            }
            for model in comparison.models
            for row in model.metrics
            if row is model.passing or (row.drop if all_changed else row.verdict == "failed")
        ),
    )


def case_lists(comparison: Comparison) -> list[CaseList]:
    """The cases that changed, the worst first, then those that could not be paired as they are."""
    shared = comparison.shared_names
    moved: dict[str, list[ChangedCase]] = {name: [] for name in _MOVED}
    for model in comparison.models:
        worse = (("newly broken" if case.newly_broken else "worse", case) for case in model.worse)
        better = (("newly right" if case.newly_right else "better", case) for case in model.better)
        for name, case in (*worse, *better):
            moved[name].append(moved_item(case, shared))
    cases = comparison.cases
    unshared: dict[str, Sequence[Identity]] = {
        "added": cases.added,
        "removed": cases.removed,
        "changed": cases.changed,
        "renamed": cases.renamed,
        "not comparable": cases.incomparable,
    }
    return [
        *(CaseList(title, tuple(items), is_moved=True) for title, items in moved.items() if items),
        *(
            CaseList(title, tuple(_unshared(case, shared) for case in identities), is_moved=False)
            for title, identities in unshared.items()
            if identities
        ),
    ]


def moved_item(case: CaseShift, shared: Container[str]) -> ChangedCase:
    """A case that changed, by the figure that was compared: overall, else the passed trials."""
    now = Identity(case.suite, case.case, case.file, case.model, case.variant)
    old, new = case.old_passes, case.new_passes
    is_whole = case.newly_broken or case.newly_right
    if not (is_whole or case.old is None or case.new is None or case.old == case.new):
        old, new = score_text(case.old), score_text(case.new)
    return ChangedCase(now, case.was, now.suite_name(shared), old, new)


def _unshared(case: Identity, shared: Container[str]) -> ChangedCase:
    more = case.why if isinstance(case, Incomparable) else ""
    was = case.of_case
    if isinstance(case, RenamedCase):
        was = Identity(case.old_suite, case.old_case, case.old_file)
        more = f"was {was.suite} :: {was.case}"
    return ChangedCase(case.of_case, was, case.suite_name(shared), more=more)


def listed_cases(document: RowsDocument, listed: Callable[[CaseRow], bool]) -> list[ListedCase]:
    """The cases that made a forbidden call, changed, or did not pass: each once, the worst first.

    A case that did not get worse is there only if it is `listed`.
    """
    moved = {
        item.of: (group.title, item)
        for group in reversed(case_lists(document.baseline) if document.baseline else ())
        for item in group.items
        if group.is_moved
    }
    cases = []
    for row in (*document.plain_cases, *document.leaks):
        group, move = moved.get(row.identity, ("", None))
        if row.called_forbidden:
            group = "forbidden"
        elif group in ("", *_IMPROVED) and row.outcome in ("failed", "error") and listed(row):
            group = row.outcome
        if group:
            word = "" if group in _IMPROVED else excuse(row, document)
            cases.append(ListedCase(group, row, move, word))
    return sorted(cases, key=lambda case: (CHANGE_GROUPS.index(case.group), bool(case.excuse)))


def change_text(item: ChangedCase) -> str:
    return f"{_name(item.old)} -> {_name(item.new)}"


def _cut(lines: Sequence[str], indent: str = "") -> list[str]:
    """The first 20 lines."""
    left = len(lines) - MAX_LISTED
    return [*lines[:MAX_LISTED], f"{indent}and {left} more"] if left > 0 else list(lines)


def compared_text(comparison: Comparison) -> str:
    """With which run, how the cases were paired, and what else to know."""
    run = comparison.old
    of = f" ({_name(run.id)})" if run.id != run.name else ""
    pairs = (_pair(model.old, model.new) for model in comparison.models if model.old != model.new)
    both = f"{plural(comparison.cases.same, 'case')} in both"
    renamed = len(comparison.cases.renamed)
    # Else the line of a model says so.
    alone = comparison.verdict == "failed" and all(
        model.verdict != "failed" for model in comparison.models
    )
    about = [", ".join(pairs), both, f"{renamed} renamed" if renamed else ""]
    about += map(printable, comparison.remarks)
    begin = "baseline FAILED: " if alone else ""
    if comparison.verdict == "inconclusive" and not any(model.cases for model in comparison.models):
        begin = "baseline INCONCLUSIVE: "  # else a changed label or prompt would switch it off unseen
    return f"{begin}compared with {_name(run.name)}{of}: {'; '.join(filter(None, about))}"


def _run(side: ComparedRun) -> str:
    git = side.git
    commit = git.commit[:10] + ("+" if git.dirty else "") if git else ""
    branch = f"({git.branch})" if git and git.branch else ""
    started = side.started.replace("T", " ").replace("+00:00", " UTC")
    parts = [side.name, side.id if side.id != side.name else "", started, commit, branch]
    return "  ".join(shown(part, _NAME) for part in parts if part)


def _pair(old: str, new: str) -> str:
    return _name(new) if old == new else f"{_name(old)} -> {_name(new)}"


def list_lines(lists: Sequence[CaseList]) -> list[str]:
    """The cases that could not be paired as they are."""
    lines = []
    for group in lists:
        if not group.is_moved:
            items = [f"  {_case(item)}  {shown(item.more, 200)}".rstrip() for item in group.items]
            lines += ["", f"{len(items)} {group.title}:", *_cut(items, "  ")]
    return lines


def _case(item: ChangedCase) -> str:
    return f"{_name(item.suite)} :: {_name(item.of.case)}"


def _on(item: ChangedCase) -> str:
    return _pair(item.was.model, item.of.model)


def _name(text: str) -> str:
    return shown(text, _NAME)
