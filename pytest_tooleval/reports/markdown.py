"""The result as Markdown, for a comment on a pull request or the summary of a CI step.

All text from models, suites and gates is in code spans. Escapes would not do, as GitHub looks for
mentions, references and addresses after rendering, and only leaves code alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..record.comparison import ComparedCase
from ..record.comparison import ComparedCases
from ..record.comparison import ComparedModel
from ..record.comparison import Comparison
from ..record.comparison import Incomparable
from ..record.comparison import Moved
from ..record.comparison import RenamedCase
from ..record.confusion import Confusion
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.gates import Verdict
from ..record.results import CaseRow
from ..record.run import SummedRun
from ..record.summary import ModelSummary
from ..text import counted
from ..text import score_text
from ..text import shown
from .confusion import heading
from .confusion import matrix_rows
from .confusion import notes
from .run_text import OTHER_TEST
from .run_text import fallbacks_text
from .run_text import run_words
from .run_text import tolerated_word
from .tables import score_columns
from .tables import told_apart

# The limits of GitHub: 1 MiB for the summary of a step, 65,536 characters for a comment.
SUMMARY_LIMIT = 1024 * 1024
COMMENT_LIMIT = 65_536
# A smaller summary would say nothing.
LEAST_LIMIT = 4096

_MOST_CASES = 50
_NAME, _LINE = 100, 300
# An outcome, whether it is tolerated, and the words for the outcome.
_OUTCOMES = (
    ("failed", False, "failed"),
    ("error", False, "without a verdict (errors)"),
    ("failed", True, "failed"),
    ("error", True, "without a verdict (errors)"),
)
_UNKNOWN = "-"
_WORDS: dict[Verdict, str] = {
    "failed": "**FAILED**",
    "inconclusive": "**inconclusive**",
    "passed": "passed",
}


@dataclass(frozen=True)
class _Section:
    """Entries of one line each between head and foot. It can be cut after any entry.

    `total` is the number of all entries, if `entries` are only the first ones.
    """

    head: str
    entries: Sequence[str]
    foot: str = ""
    total: int = 0

    def cut(self, most: int) -> str:
        shown = list(self.entries[:most])
        left = max(self.total, len(self.entries)) - len(shown)
        more = f"\n... and {left:,} more\n" if left else ""
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


def markdown_text(document: RowsDocument, limit: int = SUMMARY_LIMIT) -> str:
    """A report of at most `limit` bytes of UTF-8, at least 4,096.

    What does not fit is left out, by whole entries, and a line says so.
    """
    verdict, about = _verdict(document), _about(document.run)
    notice = "\nCut to {:,} bytes: {:,} entries were left out.\n"
    room = limit - _size(verdict) - _size(about) - _size(notice.format(limit, 10**9))
    parts, missing = [verdict], 0
    for section in _sections(document):
        text, left = section.fit(room)
        room -= _size(text)
        missing += left
        parts.append(text)
    if missing:
        parts.append(notice.format(limit, missing))
    return "".join([*parts, about])


def _sections(document: RowsDocument) -> Iterable[_Section]:
    """The most important first."""
    if document.gates:
        yield _gates(document.gates)
    if document.baseline:
        yield from _baseline(document.baseline)
    models = [row for row in document.models if row.model]
    suites = told_apart([row for row in document.suites if row.model])
    several = len({row.file for row in suites}) > 1
    if models:
        yield _scores(models if several else suites, "\n### Scores\n\n", suites=not several)
    replaced = [
        f"- {_code(row.model)}: {_code(fallbacks_text(row.fallbacks), _LINE)}\n"
        for row in models
        if row.fallbacks
    ]
    if replaced:
        yield _Section("\n", replaced)
    for outcome, tolerated, what in _OUTCOMES:
        cases = [c for c in document.cases if (c.outcome, c.tolerated) == (outcome, tolerated)]
        cases.sort(key=lambda case: not case.called_forbidden)
        if cases:
            allowed = f", {tolerated_word(document.run.shard)}" if tolerated else ""
            yield _cases(cases, what + allowed, shown=what == "failed" and not tolerated)
    unplayed = [
        f"- {_code(case.case)} on {_code(case.model)}: {_code(line, _LINE)}\n"
        for case in document.cases
        for trial in case.trials
        for line in trial.not_played
    ]
    if unplayed:
        yield _details(f"{counted(len(unplayed), 'call')} not played on a world", _most(unplayed))
    for confusion in document.confusion:
        yield _confusion(confusion)
    if several:
        yield _details("Scores by suite", _scores(suites, "", suites=True))
    if document.baseline:
        yield from _changed_cases(document.baseline.cases)


def _verdict(document: RowsDocument) -> str:
    run, gates = document.run, document.gates
    total, verdict = run.total, run_words(document)
    # The verdict stands out: INCOMPLETE (killed).
    word = re.sub(r"^[^(,]+", lambda match: match[0].upper(), verdict.words)
    unsure = sum(gate.verdict == "inconclusive" for gate in gates)
    counts = {"failed": total.failed, "skipped": total.skipped}
    parts = [f"{total.passed:,} passed", *(f"{n:,} {name}" for name, n in counts.items() if n)]
    if total.tolerated:
        parts.append(f"{total.tolerated:,} of these {tolerated_word(run.shard)}")
    if total.forbidden:
        parts.append(f"**{counted(total.forbidden, 'result')} with a forbidden call**")
    if total.errors:
        parts.append(counted(total.errors, "error"))
    models = sum(bool(row.model) for row in document.models)
    cases = counted(max(total.cases, run.selected), "result")
    if total.cases < run.selected:
        cases = f"{total.cases:,} of {cases}"
    texts = [f"{cases} on {counted(models, 'model')}: {', '.join(parts)}."]
    if gates:
        passed = sum(gate.verdict == "passed" for gate in gates)
        inconclusive = f", {unsure} inconclusive" if unsure else ""
        texts.append(f"{passed} of {counted(len(gates), 'gate')} passed{inconclusive}.")
    if run.collection_errors:
        texts.append(f"{counted(run.collection_errors, 'file')} could not be collected.")
    if OTHER_TEST in verdict.details:
        texts.append(f"{OTHER_TEST.capitalize()}.")
    return f"## Tool calling: {word}\n\n{' '.join(texts)}\n"


def _gates(gates: Sequence[Gate]) -> _Section:
    entries = [
        f"- {_WORDS[gate.verdict]}: {_code(gate.message, _LINE)}\n"
        for gate in sorted(gates, key=lambda gate: list(_WORDS).index(gate.verdict))
    ]
    return _Section("\n### Gates\n\n", entries)


def _baseline(found: Comparison) -> Iterable[_Section]:
    word = found.verdict if found.is_only_unsure else _WORDS[found.verdict]
    old = _code(found.old.name)
    head = f"\n### Baseline {old}\n\n{word}: {_code(found.message, _LINE)}\n"
    header = ["model", "metric", "baseline", "now", "change", "cases", "p (Holm)", "verdict"]
    rows = [
        [
            _code(_pair(model), table=True),
            _code(row.title + (f" in {row.suite}" if row.suite else ""), table=True),
            f"{row.old:.3f}",
            f"{row.new:.3f}",
            f"{row.new - row.old:+.3f}",
            str(row.n),
            f"{row.p_adjusted:.3f}",
            _WORDS[row.verdict],
        ]
        for model in found.models
        for row in model.metrics
    ]
    yield _Section(head + "\n" + _table_head(header, 2), [_table_row(row) for row in rows])
    worse = [(model.new, case) for model in found.models for case in model.worse]
    better = [(model.new, case) for model in found.models for case in model.better]
    for cases, what in (
        ([each for each in worse if each[1].newly_broken], "newly broken"),
        ([each for each in worse if not each[1].newly_broken], "got worse"),
        (better, "got better"),
    ):
        if entries := [_moved(*each) for each in cases]:
            yield _details(f"{counted(len(entries), 'case')} {what}", _most(entries))


def _pair(model: ComparedModel) -> str:
    return str(model.new) if model.old == model.new else f"{model.old} = {model.new}"


def _moved(model: str, case: Moved) -> str:
    """The old and new passes and overall score of a case."""
    passes = f"{_code(case.old_passes)} to {_code(case.new_passes)} trials passed"
    overall = f"overall {score_text(case.old)} to {score_text(case.new)}"
    return f"- {_where(case)} on {_code(model)}: {passes}, {overall}\n"


def _scores(rows: Sequence[ModelSummary], head: str, *, suites: bool) -> _Section:
    """A table of models, or of models and suites; columns without values are left out."""
    names = ["model", "suite"] if suites else ["model"]
    columns = score_columns(rows, partial(_code, table=True), intervals=True)
    entries = [
        _table_row(
            [*(_code(getattr(row, name), table=True) for name in names), *(c[i] for _, c in columns)]
        )
        for i, row in enumerate(rows)
    ]
    return _Section(head + _table_head([*names, *(name for name, _ in columns)], len(names)), entries)


def _cases(cases: Sequence[CaseRow], what: str, *, shown: bool) -> _Section:
    title = f"{counted(len(cases), 'result')} {what}"
    entries = [_case(case) for case in cases[:_MOST_CASES]]
    return _details(title, _Section("", entries, total=len(cases)), shown=shown)


def _case(case: CaseRow) -> str:
    place = f"{case.file}:{case.line}" if case.line else case.file
    trials = f", {case.passes} of {case.scored} trials passed" if len(case.trials) > 1 else ""
    return (
        f"- {_code(case.case)} on {_code(case.model)}{trials}: "
        f"{_code(case.reason, _LINE)} ({_code(place, _LINE)})\n"
    )


def _confusion(found: Confusion) -> _Section:
    """A model's expected and called tools."""
    rows = matrix_rows(found, partial(_code, table=True))
    texts = [f"{_code(found.model)}\n", *(f"\n{note}\n" for note in notes(found))]
    table = "\n" + _table_head(rows[0], 1) if rows else ""
    section = _Section("".join(texts) + table, [_table_row(row) for row in rows[1:]])
    return _details(f"Tools called: {heading(found)}", section)


def _changed_cases(cases: ComparedCases) -> Iterable[_Section]:
    """Cases that are not the same in the baseline."""
    kinds: dict[str, Sequence[ComparedCase]] = {
        "added": cases.added,
        "removed": cases.removed,
        "changed": cases.changed,
        "renamed": cases.renamed,
    }
    if cases.incomparable:
        kinds["not comparable"] = cases.incomparable
    entries = [
        f"- {kind}: {_where(case)}{_more(case)}\n" for kind, found in kinds.items() for case in found
    ]
    if entries:
        counts = [f"{len(found)} {kind}" for kind, found in kinds.items()]
        summary = f"Cases that differ from the baseline: {', '.join(counts)}"
        yield _details(summary, _most(entries))


def _more(case: ComparedCase) -> str:
    if isinstance(case, Incomparable):
        return f": {_code(case.why, _LINE)}"
    if isinstance(case, RenamedCase):
        return f", was {_where(ComparedCase(case.old_suite, case.old_case))}"
    return ""


def _where(case: ComparedCase) -> str:
    return f"{_code(case.case)} of {_code(case.suite)}"


def _most(entries: Sequence[str]) -> _Section:
    return _Section("", entries[:_MOST_CASES], total=len(entries))


def _details(summary: str, section: _Section, *, shown: bool = False) -> _Section:
    """The section in a fold; `summary` is not escaped."""
    head = f"\n<details{' open' if shown else ''}><summary>{summary}</summary>\n\n{section.head}"
    return _Section(head, section.entries, "\n</details>\n", section.total)


def _about(run: SummedRun) -> str:
    parts = [f"run {_code(run.id)}"]
    parts.append(f"started {_code(run.started)}, took {run.duration_s:.1f} s")
    git = run.git
    if git:
        branch = f" on {_code(git.branch)}" if git.branch else ""
        dirty = ", with uncommitted changes" if git.dirty else ""
        parts.append(f"commit {_code(git.commit)}{branch}{dirty}")
    parts.append(f"pytest-tooleval {_code(run.pytest_tooleval)}")
    return f"\n{', '.join(parts)}\n"


def _table_head(names: Sequence[str], texts: int) -> str:
    """The first two lines of a table whose first `texts` columns are not numbers."""
    marks = ["---" if number < texts else "--:" for number in range(len(names))]
    return _table_row(names) + _table_row(marks)


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _code(text: str, limit: int = _NAME, *, table: bool = False) -> str:
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
