"""Names of runs: `latest`, `good~2`, `latest:main`, the beginning of an id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from ..errors import NoBaseline, ToolevalError
from ..record.run import RunSummary
from ..text import first_few, local_time, near, plural, printable
from ..verdicts.sides import RUN_WORD
from .heads import Head, KeptRun
from .runs import Listing, Runs

_GOOD_LOOKED_AT = 100
_LISTED = 8


def find_run(runs: Runs, name: str, holding: Collection[tuple[str, str]], root: str | None) -> str:
    """The id of the run that a name means.

    `latest` is the newest run that was not cut short, `latest~2` the second before it, and
    `latest:BRANCH` and `latest:BRANCH~2` count on one git branch only. `good` is the newest that ran all
    cases of its suites, and in which no case, gate or baseline failed, and no large drop was
    inconclusive; unless a gate allowed errors, each case has an answer. With `holding`, pairs of file
    and model, only the good runs with the most of these count. `@release-1` is the run with this tag.
    Anything else is an id, or the beginning of one. With a `root` within the repository, `latest` and
    `good` are runs of that one, or of an unknown one. Raises ToolevalError for no run and for several:
    NoBaseline, if there is no good one yet.
    """
    listing, place = runs.listing(), runs.place.name
    ids = listing.ids
    if name.startswith("@"):
        return _find_tagged(listing.tags, place, name[1:])
    match = RUN_WORD.fullmatch(name)
    # For `good`, an empty history and one with only this run give the same message.
    if not ids and not (match and match["word"] == "good"):
        raise ToolevalError(f"{place}: there are no runs yet; pytest with a model makes one")
    if match:
        return _find_newest(runs.newest(listing), place, match, holding, root)
    matching = [id for id in ids if name and id.startswith(name)]
    matching = [id for id in matching if id == name] or matching
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = _listed(runs, listing, matching)
        raise ToolevalError(f"{plural(len(matching), 'run')} begin with {name}: {listed}")
    meant = near(name, ["latest", "good", *(f"@{tag}" for tag in listing.tags)])
    raise ToolevalError(
        f'{place}: run "{printable(name)}" not found{printable(meant)}; expected latest, latest~N, '
        f"latest:BRANCH, good, @TAG, or the beginning of one of {_listed(runs, listing, ids)}"
    )


def _find_tagged(tags: Mapping[str, str], place: str, tag: str) -> str:
    if tag not in tags:
        listed = ", ".join(tags) or "none; `tooleval history tag RUN NAME` makes one"
        name = printable(tag) or "(no name)"
        meant = printable(near(tag, tags, "@"))
        raise ToolevalError(f"{place}: no run has the tag {name}{meant}; tags: {printable(listed)}")
    return tags[tag]


def _find_newest(
    runs: Iterable[KeptRun],
    place: str,
    name: re.Match[str],
    holding: Collection[tuple[str, str]],
    root: str | None,
) -> str:
    is_good, branch, back = name["word"] == "good", name["branch"], int(name["back"] or 0)
    branches: set[str] = set()
    matching: list[str] = []

    def meant() -> Iterator[Head]:
        for run in runs:
            summary = run.head.summary
            run_branch = summary.git.branch if summary.git else None
            if not run.is_of(root):
                continue
            if run_branch is not None:
                branches.add(run_branch)
            if branch in (None, run_branch) and (summary.is_good if is_good else _has_ended(summary)):
                matching.append(summary.id)
                yield run.head

    heads = meant()
    if is_good and holding:
        fitting = _with_most(islice(heads, _GOOD_LOOKED_AT), set(holding), back)
        if len(fitting) > back:
            return fitting[back]
    while len(matching) <= back and next(heads, None) is not None:
        pass
    if len(matching) > back:
        return matching[back]
    where = "" if branch is None else f" on the branch {printable(branch)}"
    hint = ""
    if branch is not None and not matching:
        hint = f"; branches with runs: {', '.join(map(printable, sorted(branches))) or 'none'}"
    if is_good and not matching:
        text = f"no whole run{where} that passed is in the history yet{hint}"
        raise NoBaseline(f"{text}; the next one becomes the first good run")
    kind = "without errors or failures" if is_good else "finished"
    what = f"{plural(len(matching), 'run')}{where} {kind}, too few for {printable(name[0])}"
    raise ToolevalError(f"{place}: {what}{hint}")


def _has_ended(run: RunSummary) -> bool:
    """Whether pytest did not end it early, by an interrupt, an internal error or wrong usage."""
    return run.status == "finished" and run.exitstatus in (None, 0, 1)


def _with_most(heads: Iterable[Head], wanted: set[tuple[str, str]], back: int) -> list[str]:
    """The runs with the most of the wanted files and models, in order, until enough have all."""
    most, fitting = -1, list[str]()
    for head in heads:
        known = len(wanted.intersection((part.file, part.model) for part in head.parts))
        if known > most:
            most, fitting = known, []
        if known == most:
            fitting.append(head.summary.id)
        if most == len(wanted) and len(fitting) > back:
            break
    return fitting


def _listed(runs: Runs, listing: Listing, ids: Sequence[str]) -> str:
    """The first runs of these, with time and branch."""
    few = (run.head.summary for run in islice(runs.newest(listing, ids), _LISTED))
    labels = {each.id: _label(each) for each in few}
    return first_few([*labels.values(), *(id for id in ids if id not in labels)], _LISTED)


def _label(run: RunSummary) -> str:
    branch = run.git.branch if run.git else None
    return f"{run.id} ({local_time(run.started)}{'' if branch is None else f', {printable(branch)}'})"
