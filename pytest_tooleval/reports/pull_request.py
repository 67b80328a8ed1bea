"""The comment on a pull request: the verdict first, then the cases that changed, and the cost."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from ..record.comparison import ComparedModel
from ..record.comparison import Moved
from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..record.run import Spent
from ..record.summary import ModelSummary
from ..text import counted
from ..text import shown
from .comparison import rows_of
from .markdown import code

_MOST = 10  # cases of each list
_LINE = 300


def headline(document: RowsDocument) -> str:
    """`97% of 412 cases, -0.4 points, 2 newly broken`; of several models, the one that lost the most."""
    models = _evaluated(document)
    if not models:
        return "nothing was evaluated"
    worst = min(models, key=lambda row: _gain(document, row) or 0.0)
    text = _of_model(document, worst)
    return text if len(models) == 1 else f"{shown(worst.model, 60)}: {text}"


def comment_text(
    document: RowsDocument, *, changed_answers: int = 0, link: str = "", note: str = ""
) -> str:
    """The comment as Markdown. Whatever models and suites say stands in code spans.

    `changed_answers` are those of the cassettes that the pull request changes; `link` leads to the
    report; `note` is a sentence on what was left out.
    """
    return "\n".join(_lines(document, changed_answers, link, note)) + "\n"


def _lines(document: RowsDocument, changed: int, link: str, note: str) -> Iterator[str]:
    if changed:
        yield f"**{counted(changed, 'recorded answer')} changed in this pull request.**\n"
    verdict = "**FAILED**" if document.run.exitstatus else "passed"
    yield f"### Tool calling: {verdict}\n"
    for row in _evaluated(document):
        yield f"- {code(row.model)}: {_of_model(document, row)}"
    for gate in document.gates:
        if gate.failed:
            yield f"- failed gate: {code(gate.message, _LINE)}"
    if document.baseline is not None:
        models = document.baseline.models
        broken = [(each.new, case) for each in models for case in each.newly_broken]
        right = [(each.new, case) for each in models for case in _mended(each)]
        yield from _cases("Newly broken", rows_of(document, broken))
        yield from _cases("Newly right", rows_of(document, right))
    for each in document.variants[:_MOST]:
        yield f"- variant {code(each.variant)} on {code(each.model)}: {code(each.message, _LINE)}"
    errors = [case for case in document.unchanged if case.outcome == "error"]
    if errors:
        first = f"{code(errors[0].case)}: {code(errors[0].reason, _LINE)}"
        yield f"\n{counted(len(errors), 'case')} without an answer, such as {first}"
    yield from [f"\n{note}"] if note else []
    yield f"\n{'; '.join(_facts(document, link))}"


def _facts(document: RowsDocument, link: str) -> Iterator[str]:
    found = document.baseline
    if found is None:
        yield "not compared, as there is no baseline"
    else:
        commit = f", commit {code(found.old.git.commit[:10])}" if found.old.git else ""
        yield f"compared with {code(found.old.name)}{commit}, of {found.old.started[:10]}"
    spent = sum(document.run.spent.values(), Spent())
    least = "at least " if spent.usd and spent.priced < spent.answers else ""
    yield f"{least}${spent.usd:.2f} spent in {document.run.duration_s:.0f} s"
    if link:
        yield f"[report]({link})"


def _evaluated(document: RowsDocument) -> list[ModelSummary]:
    return [row for row in document.models if row.model and row.passed + row.failed + row.errors]


def _of_model(document: RowsDocument, row: ModelSummary) -> str:
    judged = row.passed + row.failed
    texts = [f"{_percent(row)} of {counted(judged, 'case')}" if judged else "no case has an answer"]
    gain = _gain(document, row)
    if gain is not None:
        texts.append(f"{gain:+.1f} points" if round(gain, 1) else "as before")
    model = _compared(document, row)
    if model is not None and model.newly_broken:
        texts.append(f"{len(model.newly_broken)} newly broken")
    if row.errors:
        texts.append(f"{counted(row.errors, 'case')} without an answer")
    return ", ".join(texts)


def _percent(row: ModelSummary) -> str:
    """Rounded down: 100% means all."""
    share = row.pass_rate.mean if row.pass_rate else 0.0
    return f"{int(100 * share + 1e-9)}%"


def _compared(document: RowsDocument, row: ModelSummary) -> ComparedModel | None:
    found = document.baseline
    return next((each for each in found.models if each.new == row.model), None) if found else None


def _gain(document: RowsDocument, row: ModelSummary) -> float | None:
    """The difference of the share of passed trials from the baseline, in points."""
    model = _compared(document, row)
    return -100 * model.metrics[0].drop if model is not None and model.metrics else None


def _mended(model: ComparedModel) -> list[Moved]:
    """Cases that passed no trial before, and now all."""
    return [
        case
        for case in model.better
        if case.old_passes.startswith("0/") and len(set(case.new_passes.split("/"))) == 1
    ]


def _cases(title: str, rows: Sequence[CaseRow]) -> Iterator[str]:
    if not rows:
        return
    yield f"\n**{title} ({len(rows)})**\n"
    for row in rows[:_MOST]:
        yield f"- {code(row.case)}" + (f": {code(row.reason, _LINE)}" if row.reason else "")
    if len(rows) > _MOST:
        yield f"- and {len(rows) - _MOST} more"
