"""Lists of runs, and the files of a suite in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import structs

from ..errors import ToolevalError
from ..record.run import RunSummary
from ..suite.discovery import SUITE_ENDING
from ..text import first_few, printable
from ..verdicts.run_summary import sums_of
from .heads import Head, KeptRun, Sums

# Whether a suite's file is in the project.
IsThere = Callable[[str], bool]


def first_runs(
    runs: Iterable[KeptRun],
    limit: int | None,
    tags: Mapping[str, Sequence[str]],
    *,
    model: str | None,
    suite: str | None,
    branch: str | None,
    file_exists: IsThere,
) -> list[RunSummary]:
    """The first runs with this model, suite and branch. `tags` are by id.

    `suite` is a file if it ends like one, else a suite's name. Raises ToolevalError for a name that
    several suites have in the runs that were read.
    """
    is_file = suite is not None and suite.endswith(SUITE_ENDING)
    summaries, files = [], []
    for run in runs:
        head = run.head
        parts = _parts(head, suite, is_file)
        if suite is not None and not is_file:
            files.append({part.file for part in parts})
        summary = head.summary
        if branch is not None and (summary.git is None or summary.git.branch != branch):
            continue
        if model is not None or suite is not None:
            if not any(part.model and model in (None, part.model) for part in parts):
                continue
            summary = _narrowed(summary, parts, model, suite)
        summaries.append(structs.replace(summary, tags=tuple(tags.get(summary.id, ()))))
        if len(summaries) == limit:
            break
    check_one_file(files, suite or "", file_exists)
    return summaries


def _parts(head: Head, suite: str | None, is_file: bool) -> list[Sums]:
    """The sums over one suite, or over all."""
    if suite is None:
        return [part for part in head.parts if not part.file and not part.suite]
    return [part for part in head.parts if suite == (part.file if is_file else part.suite)]


def _narrowed(
    summary: RunSummary, parts: Iterable[Sums], model: str | None, suite: str | None
) -> RunSummary:
    """The summary of a run with the sums over one suite, one model or both."""
    sums = {part.model: part for part in parts if part.total}
    models = sorted(each for each in sums if each and model in (None, each))
    whole = sums.get(model or "")
    changes = sums_of(whole.total) if whole and whole.total else {}
    if suite is not None:
        changes["is_partial"] = any(
            part.total and part.total.cases < part.suite_cases for part in map(sums.__getitem__, models)
        )
    return structs.replace(summary, **changes, models=tuple(models), selected=0)


def check_one_file(
    of_runs: Iterable[Collection[str]], suite: str, is_there: IsThere, case: str = ""
) -> None:
    """Raise ToolevalError if runs have the suite or case in several files, unless one file moved."""
    files_of_runs = list(of_runs)
    files = {file for each in files_of_runs for file in each}
    if all(len(each) < 2 for each in files_of_runs) and sum(map(is_there, files)) < 2:
        return
    what, after = ("a case", f"::{case}") if case else ("a suite", "")
    names = [printable(file + after) for file in sorted(files)]
    raise ToolevalError(
        f"{len(names)} files have {what} {printable(case or suite)}; name one of {first_few(names)}"
    )
