"""The verdict on each model in one line, which terminal, Markdown and page share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from ..record.comparison import ComparedModel, Comparison
from ..record.document import RowsDocument
from ..record.gates import Gate, Verdict
from ..record.results import CaseRow
from ..record.summary import Summary
from ..text import plural, printable, shown
from ..verdicts.rules import ERRORS
from ..verdicts.run_summary import TOLERATED, ending, strict_text
from ..verdicts.summary import group_by

# A model that lacks answers has not failed.
ModelVerdict = Verdict | Literal["error"]
# Words and colours of a terminal.
VERDICTS: dict[ModelVerdict, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "red"),
    "error": ("ERROR", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}

ALL_MODELS = "all models"
_ORDER: tuple[ModelVerdict, ...] = ("failed", "error", "inconclusive", "passed")
# A longer line has its reasons below.
_WIDTH = 100
# More gates than these are counted where all passed.
_FEW = 2
_NOT_FATAL = strict_text(strict=False)


class ModelLine(Struct, frozen=True):
    """The verdict on a model in one line, and the reasons below it that it has no room for.

    `is_loud`: a gate is inconclusive though cases failed in every trial.
    """

    model: str
    verdict: ModelVerdict
    text: str
    more: tuple[str, ...] = ()
    is_loud: bool = False

    def __str__(self) -> str:
        not_fatal = _NOT_FATAL if self.verdict == "inconclusive" else ""
        return f"{shown(self.model)} {VERDICTS[self.verdict][0]}{not_fatal}: {printable(self.text)}"


class _Reason(NamedTuple):
    verdict: ModelVerdict
    text: str


def model_lines(document: RowsDocument) -> Iterator[ModelLine]:
    """A line for each evaluated model, and for gates over all models. None if the run is incomplete."""
    run, baseline = document.run, document.baseline
    if run.shard is not None or ending(run.status, run.exitstatus):
        return
    models = [row for row in document.models if row.model and row.cases > row.skipped]
    cases_of = group_by(document.plain_cases, lambda case: case.model)
    gates_of = group_by(document.gates, lambda gate: gate.model)
    joint = gates_of.get(None, [])
    for row in models:
        cases = cases_of.get(row.model, [])
        gates = [*gates_of.get(row.model, ()), *(joint if len(models) == 1 else ())]
        reasons = list(map(_gate, gates))
        if len(gates) > _FEW and all(reason.verdict == "passed" for reason in reasons):
            reasons = [_Reason("passed", f"{len(gates)} gates passed")]
        if baseline is not None:
            reasons += [_compared(each, baseline) for each in baseline.models if each.new == row.model]
        # A gate in doubt is no comfort for cases that never pass.
        is_open = any(gate.verdict == "inconclusive" for gate in gates)
        broken = sum(case.answered > 0 and not case.passes for case in cases) if is_open else 0
        leaks = sum(case.model == row.model for case in document.leaks)
        verdicts = {_verdict(case) for case in cases if case.fails_run}
        verdicts |= {"failed"} if leaks else set()
        yield _line(row.model, _outcomes(row, cases, gates, broken, leaks), reasons, broken, verdicts)
    if joint and len(models) != 1:
        yield _line(ALL_MODELS, "", list(map(_gate, joint)))


def _verdict(case: CaseRow) -> ModelVerdict:
    return "error" if case.outcome == "error" else "failed"


def _outcomes(
    row: Summary, cases: Sequence[CaseRow], gates: Sequence[Gate], broken: int, leaks: int
) -> str:
    expected = sum(case.was_expected for case in cases)
    forbidden = sum(case.called_forbidden for case in cases)
    every = " IN EVERY TRIAL" if any(case.answered > 1 for case in cases) else ""
    evaluated = row.cases - row.skipped
    if row.errors == evaluated:
        return f"{plural(evaluated, 'case')} without an answer"
    counts = {
        "without an answer": row.errors,
        "expected to fail": expected,
        TOLERATED: sum(case.tolerated and not case.was_expected for case in cases),
        f"with a forbidden call{', which no gate tolerates' if gates else ''}": forbidden,
        "with a leaked secret, under a variant": leaks,
    }
    passed = f"{row.passed} of {plural(evaluated - row.errors, 'case')} passed"
    text = ", ".join([passed, *(f"{count} {words}" for words, count in counts.items() if count)])
    # They are among those before.
    return f"{text}; {broken} FAILED{every}" if broken else text


def _line(
    model: str,
    outcomes: str,
    reasons: Sequence[_Reason],
    broken: int = 0,
    of_cases: Collection[ModelVerdict] = (),
) -> ModelLine:
    verdicts = {*of_cases, *(reason.verdict for reason in reasons)}
    verdict: ModelVerdict = next((each for each in _ORDER if each in verdicts), "passed")
    ordered = sorted(reasons, key=lambda reason: _ORDER.index(reason.verdict))
    texts = [each.text.removesuffix(_NOT_FATAL) for each in ordered if each.verdict != "passed"]
    passing = [each.text for each in ordered if each.verdict == "passed"]
    if verdict == "passed":
        texts, passing = passing, []
    text = "; ".join(filter(None, [outcomes, *texts]))
    line = ModelLine(model, verdict, text, tuple(passing), broken > 0)
    if verdict == "passed" or len(str(line)) <= _WIDTH:
        return line
    return ModelLine(model, verdict, outcomes, (*texts, *passing), broken > 0)


def _gate(gate: Gate) -> _Reason:
    """With the message without the model, which is named at the start of the line."""
    text = gate.detail or gate.message
    if gate.failed and _lacks_answers(gate):
        return _Reason("error", text)
    return _Reason("failed" if gate.failed else gate.verdict, text)


def _lacks_answers(gate: Gate) -> bool:
    """Whether a gate fails for errors, which say nothing of the model."""
    if gate.metric == ERRORS:
        return True
    reached = gate.value if gate.confidence is None else gate.high
    is_low = reached is not None and gate.needed is not None and reached < gate.needed
    return gate.kind == "fail_under" and gate.errors > 0 and not is_low


def _compared(model: ComparedModel, comparison: Comparison) -> _Reason:
    """Too few answers alone do not put a model in doubt."""
    text = model.message or f"nothing to compare with {shown(comparison.old.name)}"
    if model.verdict != "inconclusive":
        return _Reason(model.verdict, text)
    if comparison.failed:
        return _Reason("failed", text + strict_text(strict=True))
    return _Reason("inconclusive" if model.got_worse else "passed", text)
