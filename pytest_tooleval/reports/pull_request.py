"""The comment on a pull request: verdict, cases, models, what was changed, and the cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Literal, NamedTuple

from ..figures import points_text, score_text, seconds_text
from ..record.comparison import ComparedModel
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.results import CaseRow
from ..record.summary import ModelSummary
from ..text import counted, first_few, shown
from ..verdicts.loosened import loosened_gates
from ..verdicts.words import run_summary
from .columns import limits_of
from .comparison import listed_cases
from .markdown import case_entry, code, loud, models_table, unreadable_lines
from .notes import spent_text

# Entries of each list; fewer where the comment would be too long.
_MOST = (10, 3, 1)
_LIMIT = 64_800  # with the marker before it, 65,000
_CUT = "\n\nThe rest is too long for a comment; see the report.\n"
_LINE, _ASKED, _COMMAND = 300, 160, 400
_BEFORE = 40  # characters before the first difference of long texts
_GATES = ("**FAILED**", "inconclusive", "passed")
_INTERRUPTED = 2  # pytest's exit status, also for files that cannot be read
_GROUPS = {"forbidden": "Forbidden calls", "error": "Without an answer"}


State = Literal["success", "failure", "pending"]


def state_of(document: RowsDocument) -> State | None:
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
        any(case.model == row.model and case.fails_run for case in document.unchanged)
        or any(gate.model == row.model and gate.failed for gate in document.gates)
        or bool(baseline and baseline.failed and compared and compared.verdict != "passed")
    )


class Changed(NamedTuple):
    """What a pull request changed: in suites, by file; recorded answers; or why this is not known.

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


_NOTHING = Changed()


class Place(NamedTuple):
    """A line of a file, and where the forge shows it; empty if nowhere."""

    text: str
    address: str = ""


def _as_it_is(file: str, line: int) -> Place:
    return Place(f"{file}:{line}" if line else file)


def no_results_text(problem: str, link: str = "") -> str:
    """The comment of a job that has no results; `problem` is why, in one line or more."""
    report = f"\n[report]({link})\n" if link else ""
    why = "There is no verdict on this commit:"
    return f"### Tool calling: **NO RESULTS**\n\n{why}\n\n{_quoted(problem)}\n{report}"


def _quoted(problem: str) -> str:
    return "\n".join(f"- {code(line, _LINE)}" for line in problem.splitlines() if line.strip())


def comment_text(
    document: RowsDocument,
    *,
    changed: Changed = _NOTHING,
    place: Callable[[str, int], Place] = _as_it_is,
    cause: Callable[[CaseRow], Cause] = lambda row: Cause(),
    link: str = "",
    problem: str = "",
    note: str = "",
) -> str:
    """The comment as Markdown. Whatever models and suites say stands in code spans.

    `place` finds a line of a file in the repository, and `cause` what may have broken a case. `link`
    leads to the report; `problem` is why pytest ended early, and `note` a sentence on what was left out.
    """
    text = ""
    for most in _MOST:
        lines = [*_verdict(document, problem, note, most), *_loosened(document, changed, most)]
        lines += [*_lists(document, place, cause, most), *_changes(changed, most)]
        lines += _statistics(document, most)
        text = "\n".join([*lines, f"\n{'; '.join(_facts(document, link))}"]) + "\n"
        if len(text) <= _LIMIT:
            return text
    # Hundreds of models have a row each in the statistics, however short the lists.
    return text[: _LIMIT - len(_CUT)].rpartition("\n")[0] + _CUT


def _verdict(document: RowsDocument, problem: str, note: str, most: int) -> Iterator[str]:
    summary, unread = run_summary(document), document.run.unreadable
    word = summary.verdict.lower() if summary.outcome == "passed" else f"**{loud(summary.verdict)}**"
    yield f"### Tool calling: {word}\n"
    ends = {"failed": "The job fails", "skipped": "Nothing is judged"}.get(summary.outcome)
    why = "; ".join(summary.details) or "the run ended early"
    yield f"{ends or 'The job passes'}: {why}."
    yield from [f"\n{note}"] if note else []
    gates = sorted(document.gates, key=lambda gate: _GATES.index(_word_of(gate)))
    skips = dict.fromkeys(case.reason for case in document.unchanged if summary.outcome == "skipped")
    yield from [""] if gates or unread or problem or skips else []
    yield from (f"- {code(reason, _LINE)}" for reason in [*filter(None, skips)][:most])
    yield from unreadable_lines(unread, most)
    yield from [_quoted(problem)] if problem and not unread else []
    for gate in gates[: 2 * most]:
        yield f"- gate {_word_of(gate)}: {code(gate.message, _LINE)}"
    if len(gates) > 2 * most:
        yield f"- and {counted(len(gates) - 2 * most, 'more gate')}"


def _word_of(gate: Gate) -> str:
    return "**FAILED**" if gate.failed else gate.verdict


def _loosened(document: RowsDocument, changed: Changed, most: int) -> Iterator[str]:
    """What makes it easier to pass than before the pull request."""
    found = document.baseline
    old = found.old.gates if found else ()
    lines = [
        f"- {code(text, _LINE)}" for text in loosened_gates(old, document.gates, document.unchanged)
    ]
    for file, texts in changed.loosened.items():
        lines.append(f"- {code(file)}: {first_few([code(text, _LINE) for text in texts], most)}")
    if lines:
        yield "\n**Loosened by this pull request** (reported, not judged)\n"
        yield from lines[: 2 * most]
    if len(lines) > 2 * most:
        yield f"- and {len(lines) - 2 * most} more"


def _lists(
    document: RowsDocument,
    place: Callable[[str, int], Place],
    cause: Callable[[CaseRow], Cause],
    most: int,
) -> Iterator[str]:
    """The cases that decide, each once; newly broken ones with what may have broken them."""
    several = len(_evaluated(document)) > 1
    found = listed_cases(document, lambda row: not row.was_expected)
    for group, listed in groupby(found, lambda case: case.group):
        cases = list(listed)
        yield f"\n**{_GROUPS.get(group, group.capitalize())} ({len(cases)})**\n"
        for case in cases[:most]:
            where = place(case.row.file, case.row.line)
            yield case_entry(case, on_model=several, place=where.text, address=where.address)
            if case.group in ("forbidden", "newly broken"):
                yield from _cause(case.row, cause(case.row), most)
        if len(cases) > most:
            yield f"- and {len(cases) - most} more"


def _cause(row: CaseRow, found: Cause, most: int) -> Iterator[str]:
    if row.asked:
        yield f"    - asks: {code(row.asked, _ASKED)}"
    for what, old, new in found.edits[:most]:
        texts = [code(text, _LINE) if text else "nothing" for text in _apart(old, new)]
        yield f"    - {code(what)}: {' -> '.join(texts)}" if old or new else f"    - {code(what)}"
    if len(found.edits) > most:
        yield f"    - and {counted(len(found.edits) - most, 'more edit')}"
    if found.commands:
        yield f"    - try: {', or '.join(code(each, _COMMAND) for each in found.commands)}"


def _apart(old: str, new: str) -> tuple[str, str]:
    """Two texts; if they are too long, from shortly before the first difference on."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    start = sum(1 for _ in same) - _BEFORE
    if start <= 0 or max(len(old), len(new)) <= _LINE:
        return old, new
    return f"…{old[start:]}", f"…{new[start:]}"


def _statistics(document: RowsDocument, most: int) -> Iterator[str]:
    """The models in figures, and compared, folded."""
    lines = [*_models(document, most)]
    if lines:
        yield "\n<details><summary>Statistics</summary>"
        yield from lines
        yield "\n</details>"


def _models(document: RowsDocument, most: int) -> Iterator[str]:
    rows = _evaluated(document)
    if rows:
        yield f"\n{models_table(document, rows)}".removesuffix("\n")
    compared = document.baseline.models if document.baseline else ()
    yield from [""] if compared or document.variants else []
    for each in compared:
        if each.message:
            yield f"- {code(each.new)}: {code(each.message, _LINE)}"
    for found in document.variants[:most]:
        yield f"- variant {code(found.variant)} on {code(found.model)}: {code(found.message, _LINE)}"


def _changes(changed: Changed, most: int) -> Iterator[str]:
    if changed.suites or changed.answers or changed.unknown:
        yield "\n**Changed by this pull request**\n"
    for file, texts in list(changed.suites.items())[:most]:
        yield f"- {code(file)}: {first_few([code(text, _LINE) for text in texts], most)}"
    if len(changed.suites) > most:
        yield f"- and {len(changed.suites) - most} more suites"
    if changed.answers:
        yield f"- {counted(changed.answers, 'recorded answer')}"
    if changed.unknown:
        yield f"- not known: {changed.unknown}"


def _facts(document: RowsDocument, link: str) -> Iterator[str]:
    found = document.baseline
    if found is None:
        why = f": {code(document.run.uncompared, _LINE)}" if document.run.uncompared else ""
        yield f"not compared, as there is no baseline{why}"
    else:
        old = found.old
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
        f"{_rate(document, row)} over {counted(judged, 'case')}" if judged else "no case has an answer"
    ]
    gain = _gain(document, row)
    if gain is not None:
        texts.append(points_text(gain, None, None) if gain else "as before")
    model = _compared(document, row)
    if model is not None and model.newly_broken:
        texts.append(f"{len(model.newly_broken)} newly broken")
    if row.errors:
        texts.append(f"{counted(row.errors, 'case')} without an answer")
    return ", ".join(texts)


def _rate(document: RowsDocument, row: ModelSummary) -> str:
    return f"pass rate {score_text(row.pass_rate.mean if row.pass_rate else None, limits_of(document))}"


def _compared(document: RowsDocument, row: ModelSummary) -> ComparedModel | None:
    found = document.baseline
    return next((each for each in found.models if each.new == row.model), None) if found else None


def _gain(document: RowsDocument, row: ModelSummary) -> float | None:
    """The difference of the share of passed trials from the baseline."""
    model = _compared(document, row)
    return -model.metrics[0].drop if model is not None and model.metrics else None
