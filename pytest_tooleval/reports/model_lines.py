"""The verdict on each model in one line, which terminal, Markdown and page share."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from ..record.comparison import ComparedModel
from ..record.comparison import Comparison
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.gates import Verdict
from ..record.results import CaseRow
from ..record.summary import Summary
from ..text import counted
from ..text import printable
from ..text import shown
from ..verdicts.options import strict_text
from .run_text import VERDICTS
from .run_text import ending
from .run_text import tolerated_word

ALL = "all models"
_ORDER: tuple[Verdict, ...] = ("failed", "inconclusive", "passed")
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
    verdict: Verdict
    text: str
    more: tuple[str, ...] = ()
    is_loud: bool = False

    def __str__(self) -> str:
        not_fatal = _NOT_FATAL if self.verdict == "inconclusive" else ""
        return f"{shown(self.model)} {VERDICTS[self.verdict][0]}{not_fatal}: {printable(self.text)}"


class _Reason(NamedTuple):
    verdict: Verdict
    text: str


def model_lines(document: RowsDocument) -> Iterator[ModelLine]:
    """A line for each evaluated model; for gates over all models, too. None if the run is incomplete."""
    run, found = document.run, document.baseline
    if run.shard is not None or ending(run.status, run.exitstatus):
        return
    models = [row for row in document.models if row.model and row.cases > row.skipped]
    joint = [gate for gate in document.gates if gate.model is None]
    for row in models:
        cases = [case for case in document.cases if case.model == row.model]
        gates = [gate for gate in document.gates if gate.model == row.model]
        gates += joint if len(models) == 1 else ()
        reasons = list(map(_gate, gates))
        if len(gates) > _FEW and all(reason.verdict == "passed" for reason in reasons):
            reasons = [_Reason("passed", f"{len(gates)} gates passed")]
        if found is not None:
            reasons += [_compared(each, found) for each in found.models if each.new == row.model]
        # A gate in doubt is no comfort for cases that never pass.
        is_open = any(gate.verdict == "inconclusive" for gate in gates)
        broken = sum(case.scored > 0 and not case.passes for case in cases) if is_open else 0
        yield _line(row.model, _outcomes(row, cases, broken), reasons, broken, failed=row.fails_run)
    if joint and len(models) != 1:
        yield _line(ALL, "", list(map(_gate, joint)))


def _outcomes(row: Summary, cases: Sequence[CaseRow], broken: int) -> str:
    expected = sum(case.was_expected for case in cases)
    forbidden = sum(case.called_forbidden and not case.tolerated for case in cases)
    every = " IN EVERY TRIAL" if any(case.scored > 1 for case in cases) else ""
    found = {
        f"FAILED{every}": broken,
        "without an answer": row.errors,
        "expected to fail": expected,
        tolerated_word(None): row.tolerated - expected,
        "with a forbidden call, which no gate tolerates": forbidden,
    }
    passed = f"{row.passed} of {counted(row.cases - row.skipped, 'case')} passed"
    return ", ".join([passed, *(f"{count} {words}" for words, count in found.items() if count)])


def _line(
    model: str, outcomes: str, reasons: Sequence[_Reason], broken: int = 0, *, failed: bool = False
) -> ModelLine:
    verdicts = {reason.verdict for reason in reasons} | ({"failed"} if failed else set())
    verdict: Verdict = next((each for each in _ORDER if each in verdicts), "passed")
    ordered = sorted(reasons, key=lambda reason: _ORDER.index(reason.verdict))
    texts = [
        reason.text.removesuffix(_NOT_FATAL)
        for reason in ordered
        if verdict == "passed" or reason.verdict != "passed"
    ]
    line = ModelLine(model, verdict, "; ".join(filter(None, [outcomes, *texts])), is_loud=broken > 0)
    if verdict == "passed" or len(str(line)) <= _WIDTH:
        return line
    return ModelLine(model, verdict, outcomes, tuple(texts), broken > 0)


def _gate(gate: Gate) -> _Reason:
    """With the message without the model, which is named at the start of the line."""
    name = gate.name.replace(f" of {gate.model}", "", 1)
    text = f"{name}: {gate.message.removeprefix(f'{gate.name}: ')}"
    return _Reason("failed" if gate.failed else gate.verdict, text)


def _compared(model: ComparedModel, found: Comparison) -> _Reason:
    is_fatal = found.failed and model.verdict == "inconclusive"
    text = _compared_text(model, found) + (strict_text(strict=True) if is_fatal else "")
    return _Reason(_compared_verdict(model, found), text)


def _compared_verdict(model: ComparedModel, found: Comparison) -> Verdict:
    """Too few answers alone do not put a model in doubt."""
    if model.verdict != "inconclusive":
        return model.verdict
    return "failed" if found.failed else "inconclusive" if model.got_worse else "passed"


def _compared_text(model: ComparedModel, found: Comparison) -> str:
    name = shown(found.old.name)
    if not model.metrics:
        return f"nothing to compare with {name}"
    row = model.metrics[0]
    worse = ", ".join(_worse(model))
    if model.verdict == "failed":
        return f"worse than {name}: {worse}"
    if model.verdict == "passed":
        but = f", {worse}" if worse else ""
        return f"no worse than {name}: drops above {row.largest_drop:.2f} ruled out{but}"
    if model.got_worse:
        return f"perhaps worse than {name}: {worse}; {_more(model)}"
    up_to = f"drops up to {row.largest_drop:.2f}" if row.largest_drop < row.old else "any drop"
    return f"no drop from {name} seen, too few answers to rule out {up_to}"


def _worse(model: ComparedModel) -> Iterator[str]:
    """What got worse, the significant parts with their chance."""
    broken = len(model.newly_broken)
    if broken:
        p = _chance(model.newly_broken_p_adjusted) if model.newly_broken_failed else ""
        yield f"{counted(broken, 'case')} newly broken{p}"
    if len(model.worse) > broken:
        yield f"{counted(len(model.worse) - broken, 'case')} worse"
    dropped = [row for row in model.metrics if row.verdict == "failed"]
    for row in dropped[:1]:
        where = f" in {shown(row.suite)}" if row.suite else ""
        yield f"{shown(row.title)}{where} {row.old:.2f} -> {row.new:.2f}{_chance(row.p_adjusted)}"
    if len(dropped) > 1:
        yield f"{counted(len(dropped) - 1, 'more metric')} worse"


def _chance(p: float | None) -> str:
    return "" if p is None else " (p < 0.001)" if p < 0.001 else f" (p = {p:.3f})"


def _more(model: ComparedModel) -> str:
    if model.more_trials is not None:
        return f"about {counted(model.more_trials, 'more trial')} of each case would decide"
    if model.trials_in_both is not None:
        return f"about {counted(model.trials_in_both, 'trial')} of each case in both runs would decide"
    return "only more cases would decide"
