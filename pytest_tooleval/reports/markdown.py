"""The result as Markdown, for a comment on a pull request or the summary of a CI step.

All text from models, suites and gates is in code spans. Escapes would not do, as GitHub looks for
mentions, references and addresses after rendering, and only leaves code alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from msgspec import structs

from ..figures import seconds_text
from ..record.comparison import Comparison
from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..record.run import SummedRun, Unreadable
from ..record.summary import ModelSummary
from ..record.variants import Effect
from ..text import plural, shown
from ..verdicts.run_summary import OTHER_TEST, excused_words, run_summary
from ..verdicts.summary import group_by
from .columns import Column, RowDict, Table, cell, value_in
from .comparison import ListedCase, case_lists, change_text, compared_text, listed_cases, metrics_table
from .mixed_up import mixed_up
from .model_lines import ModelLine, ModelVerdict, model_lines
from .notes import fallbacks_text
from .tables import model_table, with_own_names
from .variants import curves_of, variant_changes, variant_remarks, variants_table

# The limits of GitHub: 1 MiB for the summary of a step, 65,536 characters for a comment.
SUMMARY_LIMIT = 1024 * 1024
COMMENT_LIMIT = 65_536
# A smaller summary would say nothing.
LEAST_LIMIT = 4096

_MOST_CASES = 50
_NAME, _LINE = 100, 300
_GROUPS = {"forbidden": "with a forbidden call", "error": "without a verdict (errors)"}
_UNKNOWN = "-"
_WORDS: dict[ModelVerdict | Effect, str] = {
    "worse": "**worse**",
    "failed": "**FAILED**",
    "error": "**ERROR**",
    "inconclusive": "**inconclusive**",
    "passed": "passed",
}


@dataclass(frozen=True)
class Section:
    """Entries between head and foot. It can be cut after any entry.

    `total` is the number of all entries, if `entries` are only the first ones; `more` says how many are
    left out.
    """

    head: str
    entries: Sequence[str]
    foot: str = ""
    total: int = 0
    more: str = "\n... and {:,} more\n"

    def cut(self, most: int) -> str:
        shown = list(self.entries[:most])
        left = max(self.total, len(self.entries)) - len(shown)
        more = self.more.format(left) if left else ""
        return "".join([self.head, *shown, more, self.foot])

    def fit(self, room: int) -> tuple[str, int]:
        """As much as fits into `room` bytes, and how many entries are left out."""
        text = self.cut(len(self.entries))
        if _size(text) <= room:
            return text, 0
        room -= _size(self.cut(0))
        most = 0
        for entry in self.entries:
            room -= _size(entry)
            if room < 0:
                break
            most += 1
        return (self.cut(most) if most else ""), len(self.entries) - most


Sections = Iterator[Section]


def markdown_text(document: RowsDocument, limit: int = SUMMARY_LIMIT) -> str:
    """A report of at most `limit` bytes of UTF-8, at least 4,096.

    Entries that do not fit are left out whole, and a line says so.
    """
    return fit_in(_verdict(document), _sections(document), _about(document.run), limit)


def fit_in(head: str, sections: Iterable[Section], foot: str, limit: int) -> str:
    """As much of the sections as fits between head and foot into `limit` bytes."""
    notice = "\nCut to {:,} bytes: {:,} entries were left out.\n"
    room = limit - _size(head) - _size(foot) - _size(notice.format(limit, 10**9))
    parts, missing = [head], 0
    for section in sections:
        text, left = section.fit(room)
        room -= _size(text)
        missing += left
        parts.append(text)
    if missing:
        parts.append(notice.format(limit, missing))
    return "".join([*parts, foot])


def _sections(document: RowsDocument) -> Sections:
    """The most important first."""
    yield from listing("\n", unread_lines(document.run.unreadable))
    yield from listing("\n", [entry for line in model_lines(document) for entry in _model_line(line)])
    if document.baseline:
        yield _baseline(document.baseline)
    models = [row for row in document.models if row.model]
    suites = with_own_names([row for row in document.suites if row.model])
    several = len({row.file for row in suites}) > 1
    if models:
        rows = models if several else suites
        yield _scores(document, rows, "\n### Scores\n\n", suites=not several)
        yield details("All figures", _scores(document, rows, "", suites=not several, whole=True))
    replaced = [(row.model, fallbacks_text(row.fallbacks)) for row in models if row.fallbacks]
    yield from listing("\n", [f"- {code(model)}: {code(text, _LINE)}" for model, text in replaced])
    if document.variants:
        yield _table("\n### Variants\n\n", variants_table(document.variants))
        for about, lines in curves_of(document.variants):
            yield Section(f"\n{code(about, _LINE)}:\n\n", [f"    {line}\n" for line in lines])
        yield Section("\n", [f"- {code(each, _LINE)}\n" for each in variant_remarks(document.variants)])
    yield from _case_sections(document)
    varied = variant_changes(document.variants, document.shared_names, whole=True)
    yield from _folded("Cases under variants", [f"- {code(each, _LINE)}" for each in varied])
    trials = [(case, trial) for case in document.plain_cases for trial in case.trials]
    unplayed = [_of_world(case, line) for case, trial in trials for line in trial.not_played]
    yield from _folded(f"{plural(len(unplayed), 'call')} not played on a world", unplayed)
    differing = [_of_world(case, line) for case, trial in trials for line in trial.differing]
    count = plural(len(differing), "recorded answer")
    yield from _folded(f"{count} that the world gives otherwise", differing)
    for model, cases in group_by(document.plain_cases, lambda case: case.model).items():
        title, wrong = mixed_up(cases)
        choices = [f"- {code(model)}: {code(each, _LINE)} ({n})" for each, n in wrong.most_common()]
        yield from _folded(f"Tools mixed up: {title}", choices)
    if several:
        yield details("Scores by suite", _scores(document, suites, "", suites=True, whole=True))
    if document.baseline:
        yield from _changed_cases(document.baseline)


def _verdict(document: RowsDocument) -> str:
    run, gates = document.run, document.gates
    total, verdict = run.total, run_summary(document)
    unsure = sum(gate.verdict == "inconclusive" for gate in gates)
    counts = {"failed": total.failed, "skipped": total.skipped}
    parts = [f"{total.passed:,} passed", *(f"{n:,} {name}" for name, n in counts.items() if n)]
    parts += [f"{count:,} of these {word}" for word, count in excused_words(document).items()]
    if total.forbidden:
        parts.append(f"**{plural(total.forbidden, 'case')} with a forbidden call**")
    if total.errors:
        parts.append(plural(total.errors, "error"))
    models = sum(bool(row.model) for row in document.models)
    cases = plural(max(total.cases, run.selected), "case")
    if total.cases < run.selected:
        cases = f"{total.cases:,} of {cases}"
    texts = [f"{cases} on {plural(models, 'model')}: {', '.join(parts)}."]
    if gates:
        passed = sum(gate.verdict == "passed" for gate in gates)
        inconclusive = f", {unsure} inconclusive" if unsure else ""
        texts.append(f"{passed} of {plural(len(gates), 'gate')} passed{inconclusive}.")
    if run.collection_errors:
        texts.append(f"{plural(run.collection_errors, 'file')} could not be collected.")
    if OTHER_TEST in verdict.details:
        texts.append(f"{OTHER_TEST.capitalize()}.")
    return f"## Tool calling: {loud(verdict.verdict)}\n\n{' '.join(texts)}\n"


def loud(verdict: str) -> str:
    """A verdict that stands out: `INCOMPLETE (killed)`, `NOT EVALUATED: 0 of 3`."""
    return re.sub(r"^[^(,:]+", lambda match: match[0].upper(), verdict)


def unread_lines(files: Sequence[Unreadable]) -> list[str]:
    """The files that could not be collected, with the reasons."""
    return [f"- {code(each.file)}: {code(each.reason, _LINE)}" for each in files]


def _model_line(line: ModelLine) -> Iterator[str]:
    yield f"- {_WORDS[line.verdict]}: {code(line.model)}, {code(line.text, _LINE)}"
    yield from (f"    - {code(text, _LINE)}" for text in line.more)


def _baseline(comparison: Comparison) -> Section:
    """The compared runs, and the metrics that fell."""
    head = f"\n{code(compared_text(comparison), _LINE)}\n"
    table = _table("\n", metrics_table(comparison, all_changed=False))
    return Section(head + table.head, table.entries)


def _case_sections(document: RowsDocument) -> Sections:
    """Each case that changed or did not pass once, the worst first."""
    for group, same in groupby(listed_cases(document, lambda row: True), lambda case: case.group):
        cases = list(same)
        title = f"{plural(len(cases), 'case')} {_GROUPS.get(group, group)}"
        entries = [case_entry(case) for case in cases[:_MOST_CASES]]
        is_open = group in ("forbidden", "newly broken", "failed")
        yield from _folded(title, entries, len(cases), shown=is_open)


def _scores(
    document: RowsDocument, rows: Sequence[ModelSummary], head: str, *, suites: bool, whole: bool = False
) -> Section:
    """A table of models, or of models and suites: of the columns that decide, or of the `whole`."""
    table = model_table(document, rows, whole=whole)
    names = ("model", "suite") if suites else ("model",)
    named = [Column((name,), name, "name", ()) for name in names]
    return _table(head, structs.replace(table, columns=[*named, *table.columns]))


def models_table(document: RowsDocument, rows: Sequence[ModelSummary]) -> Section:
    """A table of models, with the columns that decide."""
    return _scores(document, rows, "", suites=False)


def _table(head: str, table: Table) -> Section:
    """A table below its heading; nothing without records."""
    texts = sum(column.format == "name" for column in table.columns)
    # Names of metrics are not ours.
    titles = [each.heading or each.name for each in table.columns]
    quoted = [
        code(title, table=True) if column.is_metric else title
        for title, column in zip(titles, table.columns, strict=True)
    ]
    rows = [
        _table_row([_cell(record, each, table.limits) for each in table.columns])
        for record in table.records
    ]
    return Section(head + _table_head(quoted, texts) if rows else "", rows)


def _cell(record: RowDict, column: Column, limits: Sequence[float]) -> str:
    value = value_in(record, column)
    if column.format == "name":
        return code(value, table=True)
    if column.format == "verdict":
        return _WORDS.get(value, str(value))
    text = cell(record, column, limits, intervals=True)
    # GitHub reads dollars as mathematics.
    return code(text, table=True) if text.startswith("$") else text


def case_entry(case: ListedCase, *, on_model: bool = True, place: str = "", address: str = "") -> str:
    """A case with what changed and why; its place is a link if it has an address."""
    row = case.row
    place = code(place or (f"{row.file}:{row.line}" if row.line else row.file), _LINE)
    parts = [code(row.case) + (f" on {code(row.model)}" if on_model else ""), case.excuse]
    if case.move:
        parts.append(code(change_text(case.move)))
    elif len(row.trials) > 1:
        parts.append(f"{row.passes} of {row.answered} trials passed")
    reason = f": {code(row.reason, _LINE)}" if row.reason else ""
    linked = f"[{place}]({address})" if address else place
    return f"- {', '.join(filter(None, parts))}{reason} ({linked})"


def _of_world(case: CaseRow, line: str) -> str:
    return f"- {code(case.case)} on {code(case.model)}: {code(line, _LINE)}"


def _changed_cases(comparison: Comparison) -> Sections:
    """Cases that are not the same in the baseline."""
    lists = [each for each in case_lists(comparison) if not each.is_moved]
    entries = [
        f"- {group.title}: {code(item.of.case)} of {code(item.suite)}"
        + (f": {code(item.more, _LINE)}" if item.more else "")
        for group in lists
        for item in group.items
    ]
    counts = [f"{len(each.items)} {each.title}" for each in lists]
    yield from _folded(f"Cases that differ from the baseline: {', '.join(counts)}", entries)


def listing(head: str, lines: Sequence[str], total: int = 0, more: str = Section.more) -> Sections:
    """Lines below their head, if there are any: the first ones of `total`, or all."""
    if lines:
        yield Section(head, [f"{line}\n" for line in lines], total=total, more=more)


def _folded(title: str, lines: Sequence[str], total: int = 0, *, shown: bool = False) -> Sections:
    """The first lines in a fold, if there are any."""
    for section in listing("", lines[:_MOST_CASES], total or len(lines)):
        yield details(title, section, shown=shown)


def details(summary: str, section: Section, *, shown: bool = False) -> Section:
    """The section in a fold; `summary` is not escaped."""
    head = f"\n<details{' open' if shown else ''}><summary>{summary}</summary>\n\n{section.head}"
    return replace(section, head=head, foot="\n</details>\n")


def _about(run: SummedRun) -> str:
    parts = [f"run {code(run.id)}"]
    parts.append(f"started {code(run.started)}, took {seconds_text(run.duration_s)}")
    git = run.git
    if git:
        branch = f" on {code(git.branch)}" if git.branch else ""
        dirty = ", with uncommitted changes" if git.dirty else ""
        parts.append(f"commit {code(git.commit)}{branch}{dirty}")
    parts.append(f"pytest-tooleval {code(run.pytest_tooleval)}")
    return f"\n{', '.join(parts)}\n"


def _table_head(names: Sequence[str], texts: int) -> str:
    """The first two lines of a table whose first `texts` columns are not numbers."""
    marks = ["---" if number < texts else "--:" for number in range(len(names))]
    return _table_row(names) + _table_row(marks)


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def code(text: str, limit: int = _NAME, *, table: bool = False) -> str:
    """Any text as a code span on one line; `-` if it is empty.

    CommonMark 0.31, "Code spans": the fence is longer than any run of backticks inside, and one space
    at each end is removed. In a table, `|` needs a backslash.
    """
    safe = shown(text, limit)
    if not safe.strip():
        return _UNKNOWN
    if table:
        safe = safe.replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if safe[0] in "` " or safe[-1] in "` " else ""
    return f"{fence}{padding}{safe}{padding}{fence}"


def _size(text: str) -> int:
    return len(text.encode())
