"""The comment on a pull request: verdict, cases, models, what was changed, and the cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, takewhile
from typing import Literal, NamedTuple

from ..figures import points_text, score_text, seconds_text
from ..record.comparison import ComparedModel
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.results import CaseRow
from ..record.summary import ModelSummary
from ..text import first_few, plural, shown
from ..verdicts.loosened import loosened_gates
from ..verdicts.run_summary import run_summary
from .columns import rounding_bounds
from .comparison import listed_cases
from .markdown import (
    Section,
    case_entry,
    code,
    details,
    fit_in,
    listing,
    loud,
    models_table,
    unread_lines,
)
from .notes import spent_text

_MOST = 10  # entries of each list
_LIMIT = 64_800  # with the marker before it, 65,000
_LINE, _ASKED, _COMMAND = 300, 160, 400
_BEFORE = 40  # characters before the first difference of long texts
_GATES = ("**FAILED**", "inconclusive", "passed")
_list = partial(listing, more="- and {} more\n")
_INTERRUPTED = 2  # pytest's exit status, even for files that cannot be read
_GROUPS = {"forbidden": "Forbidden calls", "error": "Without an answer"}


CommitState = Literal["success", "failure", "pending"]


def commit_state(document: RowsDocument) -> CommitState | None:
    """The state of the commit by this run; None if it was interrupted, like a cancelled job's."""
    run, summary = document.run, run_summary(document)
    if run.exitstatus == _INTERRUPTED and not run.collection_errors:
        return None
    if run.exitstatus or summary.outcome == "failed":
        return "failure"
    return "pending" if summary.outcome == "skipped" else "success"


def headline(document: RowsDocument) -> str:
    """`pass rate 0.97 over 412 cases, -0.4 points`; of several models, the worst.

    A model that failed is worse than others, then one that lost more, then one with a lower pass rate.
    """
    run, summary, models = document.run, run_summary(document), _evaluated(document)
    unread = first_few([shown(each.file, 60) for each in run.unreadable], 1)
    reasons = [f"{unread} cannot be read"] if unread else []
    if not reasons and summary.outcome == "skipped":
        return summary.verdict[0].lower() + summary.verdict[1:]
    if not models:
        return "; ".join(reasons or summary.details)
    failing = [row for row in models if _fails(document, row)]
    if run.exitstatus and not (failing or reasons):
        reasons = list(summary.details[:1])

    def goodness(row: ModelSummary) -> tuple[float, float]:
        return _gain(document, row) or 0.0, row.pass_rate.mean if row.pass_rate else 0.0

    worst = min(failing or models, key=goodness)
    several = len([row for row in document.models if row.model]) > 1
    of = f"{shown(worst.model, 60)}: " if several else ""
    return "; ".join([*reasons, of + _of_model(document, worst)])


def _fails(document: RowsDocument, row: ModelSummary) -> bool:
    """True if a case, a gate or the comparison of this model fails the run."""
    compared, baseline = _compared(document, row), document.baseline
    return (
        any(case.model == row.model and case.fails_run for case in document.plain_cases)
        or any(gate.model == row.model and gate.failed for gate in document.gates)
        or bool(baseline and baseline.failed and compared and compared.verdict != "passed")
    )


class PullRequestChanges(NamedTuple):
    """A pull request's changes: in suites, by file; recorded answers; or why this is not known.

    `loosened` is what makes suites easier to pass, by file.
    """

    suites: Mapping[str, Sequence[str]] = {}
    answers: int = 0
    unknown: str = ""
    loosened: Mapping[str, Sequence[str]] = {}


class Cause(NamedTuple):
    """What may have broken a case: edits, each with the text before and now; commands to find out."""

    edits: Sequence[tuple[str, str, str]] = ()
    commands: Sequence[str] = ()


_NO_CHANGES = PullRequestChanges()


class ForgePlace(NamedTuple):
    """A line of a file, and where the forge shows it; empty if nowhere."""

    text: str
    address: str = ""


def _as_it_is(file: str, line: int) -> ForgePlace:
    return ForgePlace(f"{file}:{line}" if line else file)


def no_results_text(problem: str, link: str = "") -> str:
    """The comment of a job that has no results; `problem` is why, in one line or more."""
    report = f"\n[report]({link})\n" if link else ""
    why = "There is no verdict on this commit:"
    lines = "\n".join(_quoted(problem))
    return f"### Tool calling: **NO RESULTS**\n\n{why}\n\n{lines}\n{report}"


def _quoted(problem: str) -> list[str]:
    return [f"- {code(line, _LINE)}" for line in problem.splitlines() if line.strip()]


def comment_text(
    document: RowsDocument,
    *,
    changed: PullRequestChanges = _NO_CHANGES,
    place: Callable[[str, int], ForgePlace] = _as_it_is,
    cause: Callable[[CaseRow], Cause] = lambda row: Cause(),
    link: str = "",
    problem: str = "",
    note: str = "",
) -> str:
    """The comment as Markdown. Text from models and suites is in code spans.

    `place` finds a line of a file in the repository, and `cause` what may have broken a case. `link`
    leads to the report; `problem` is why pytest ended early, and `note` a sentence on what was left out.
    """
    sections = [
        *_reasons(document, problem),
        *_loosened(document, changed),
        *_lists(document, place, cause),
        *_changes(changed),
        *_statistics(document),
    ]
    return fit_in(_verdict(document, note), sections, f"\n{'; '.join(_facts(document, link))}\n", _LIMIT)


def _verdict(document: RowsDocument, note: str) -> str:
    summary = run_summary(document)
    word = summary.verdict.lower() if summary.outcome == "passed" else f"**{loud(summary.verdict)}**"
    ends = {"failed": "The job fails", "skipped": "Nothing is judged"}.get(summary.outcome)
    why = "; ".join(summary.details) or "the run ended early"
    end = f"\n{note}\n" if note else ""
    return f"### Tool calling: {word}\n\n{ends or 'The job passes'}: {why}.\n{end}"


def _reasons(document: RowsDocument, problem: str) -> Iterator[Section]:
    """Why a run ended early or evaluated nothing, and the gates, failed ones first."""
    unread = document.run.unreadable
    lines = unread_lines(unread) or _quoted(problem)
    if run_summary(document).outcome == "skipped":
        lines += _quoted("\n".join(dict.fromkeys(case.reason for case in document.plain_cases)))
    yield from _list("\n", lines[:_MOST], len(lines))
    gates = sorted(document.gates, key=lambda gate: _GATES.index(_word_of(gate)))
    shown = [f"- gate {_word_of(gate)}: {code(gate.message, _LINE)}" for gate in gates[: 5 * _MOST]]
    yield from _list("\n", shown, len(gates))


def _word_of(gate: Gate) -> str:
    return "**FAILED**" if gate.failed else gate.verdict


def _loosened(document: RowsDocument, changed: PullRequestChanges) -> Iterator[Section]:
    """What makes it easier to pass than before the pull request."""
    old = document.baseline.old.gates if document.baseline else ()
    gates = loosened_gates(old, document.gates, document.plain_cases)
    lines = [*(f"- {code(text, _LINE)}" for text in gates), *_by_file(changed.loosened)]
    head = "\n**Loosened** (reported, not judged)\n\n"
    yield from _list(head, lines[: 2 * _MOST], len(lines))


def _by_file(texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for file, changes in [*texts.items()][:_MOST]:
        yield f"- {code(file)}: {first_few([code(text, _LINE) for text in changes], _MOST)}"
    if len(texts) > _MOST:
        yield f"- and {len(texts) - _MOST} more suites"


def _lists(
    document: RowsDocument, place: Callable[[str, int], ForgePlace], cause: Callable[[CaseRow], Cause]
) -> Iterator[Section]:
    """The cases that decide, each once; newly broken ones with what may have broken them."""
    several = len(_evaluated(document)) > 1
    listed = listed_cases(document, lambda row: not row.was_expected)
    for group, grouped in groupby(listed, lambda case: case.group):
        cases, entries = list(grouped), []
        edits: Sequence[tuple[str, str, str]] = ()
        for case in cases[:_MOST]:
            where = place(case.row.file, case.row.line)
            lines = [case_entry(case, on_model=several, place=where.text, address=where.address)]
            if case.group in ("forbidden", "newly broken"):
                causes = cause(case.row)
                lines += _cause(case.row, causes, edits)
                edits = causes.edits
            entries.append("\n".join(lines))
        title = f"\n**{_GROUPS.get(group, group.capitalize())} ({len(cases)})**\n\n"
        yield from _list(title, entries, len(cases))


def _cause(row: CaseRow, cause: Cause, above: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The edits that may have broken a case; `above` are those of the case before it."""
    if row.prompt_text:
        yield f"    - asks: {code(row.prompt_text, _ASKED)}"
    is_same = bool(above) and list(cause.edits) == list(above)
    if is_same:
        yield "    - the same edits"
    for what, old, new in () if is_same else cause.edits[:_MOST]:
        texts = [code(text, _LINE) if text else "nothing" for text in _apart(old, new)]
        yield f"    - {code(what)}: {' → '.join(texts)}" if old or new else f"    - {code(what)}"
    if not is_same and len(cause.edits) > _MOST:
        yield f"    - and {plural(len(cause.edits) - _MOST, 'more edit')}"
    if cause.commands:
        yield f"    - try: {', or '.join(code(each, _COMMAND) for each in cause.commands)}"


def _apart(old: str, new: str) -> tuple[str, str]:
    """Two texts; if they are too long, from shortly before the first difference on."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    start = sum(1 for _ in same) - _BEFORE
    if start <= 0 or max(len(old), len(new)) <= _LINE:
        return old, new
    return f"…{old[start:]}", f"…{new[start:]}"


def _statistics(document: RowsDocument) -> Iterator[Section]:
    """The models in figures, and compared, folded."""
    rows, compared = _evaluated(document), document.baseline.models if document.baseline else ()
    table = models_table(document, rows)
    lines = [f"- {code(each.new)}: {code(each.message, _LINE)}\n" for each in compared if each.message]
    for variant in document.variants[:_MOST]:
        about = f"variant {code(variant.variant)} on {code(variant.model)}"
        lines.append(f"- {about}: {code(variant.message, _LINE)}\n")
    blank = ["\n"] if rows and lines else []
    if entries := [*table.entries, *blank, *lines]:
        yield details("Statistics", Section(table.head, entries))


def _changes(changed: PullRequestChanges) -> Iterator[Section]:
    lines = [*_by_file(changed.suites)]
    if changed.answers:
        lines.append(f"- {plural(changed.answers, 'recorded answer')}")
    if changed.unknown:
        lines.append(f"- not known: {changed.unknown}")
    yield from _list("\n**Changed by this pull request**\n\n", lines)


def _facts(document: RowsDocument, link: str) -> Iterator[str]:
    baseline = document.baseline
    if baseline is None:
        why = f": {code(document.run.why_uncompared, _LINE)}" if document.run.why_uncompared else ""
        yield f"not compared, as there is no baseline{why}"
    else:
        old = baseline.old
        commit = old.git.commit[:10] if old.git else ""
        also = f", commit {code(commit)}" if commit and commit not in old.name else ""
        yield f"compared with {code(old.name)}{also}, of {old.started[:10]}"
    cost, time = spent_text(document.run.spent.values()), seconds_text(document.run.duration_s)
    yield f"cost {code(cost)}, took {time}"
    if link:
        yield f"[report]({link})"


def _evaluated(document: RowsDocument) -> list[ModelSummary]:
    return [row for row in document.models if row.model and row.passed + row.failed + row.errors]


def _of_model(document: RowsDocument, row: ModelSummary) -> str:
    judged = row.passed + row.failed
    texts = [
        f"{_rate(document, row)} over {plural(judged, 'case')}" if judged else "no case has an answer"
    ]
    gain = _gain(document, row)
    if gain is not None:
        texts.append(points_text(gain, None, None) if gain else "as before")
    model = _compared(document, row)
    if model is not None and model.newly_broken:
        texts.append(f"{len(model.newly_broken)} newly broken")
    if row.errors:
        texts.append(f"{plural(row.errors, 'case')} without an answer")
    return ", ".join(texts)


def _rate(document: RowsDocument, row: ModelSummary) -> str:
    mean = row.pass_rate.mean if row.pass_rate else None
    return f"pass rate {score_text(mean, rounding_bounds(document))}"


def _compared(document: RowsDocument, row: ModelSummary) -> ComparedModel | None:
    baseline = document.baseline
    return next((each for each in baseline.models if each.new == row.model), None) if baseline else None


def _gain(document: RowsDocument, row: ModelSummary) -> float | None:
    """The difference of the share of passed trials from the baseline."""
    model = _compared(document, row)
    return -model.metrics[0].drop if model is not None and model.metrics else None
