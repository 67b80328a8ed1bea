"""The texts that an assistant must say: each is a check, and a judge decides on rubrics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from ..errors import CannotCompare
from ..jsonschemas.patterns import search
from ..jsonschemas.values import NO_VALUE
from ..matchers.modes import DEFAULT_MODE, MODES, Mode
from ..matchers.numerals import numbers
from ..record.results import NOT_SAID, Check, FailureCategory
from ..record.transcript import Transcript
from ..suite.case import ResolvedCase
from ..text import folded_words, json_text
from .assessment import EXPECTED_GOT, Assessment, Draft, SpanCheck, explain_all, mean, span_check
from .json_texts import json_flaw, json_of
from .turns import Span, spans_of

_JUDGED = "{0.name}: {0.reason} ({0.expected})"
_OTHERWISE = "{0.name}: {0.reason}"
_SAID = "{0.name}: expected {0.expected}, but {0.actual} {0.reason}"


def with_texts(assessment: Assessment, texts: Sequence[SpanCheck]) -> Assessment:
    """Add the checks of texts to the assessment of a single reply or a chain, but for `overall`."""
    if not texts:
        return assessment

    def failure(failing: Collection[str]) -> FailureCategory | None:
        of_calls = None if failing == {"text"} else assessment.failure(failing)
        return of_calls or next((check.failure for check in texts if check.value < 1.0), None)

    text = Draft(mean(texts), partial(explain_all, texts))
    return assessment._replace(drafts={**assessment.drafts, "text": text}, failure=failure)


def mean_with(value: float, texts: Sequence[SpanCheck]) -> float:
    """Return the mean of the check of the calls, which has this value, and those of the texts."""
    return (value + sum(check.value for check in texts)) / (1 + len(texts))


def text_checks(case: ResolvedCase, transcript: Transcript) -> list[SpanCheck]:
    """Return the checks of the texts of a case without turns."""
    if not case.expected.expected_text:
        return []
    spans, fails = spans_of(case, transcript)
    return [check for span in spans for check in text_parts(case, span, transcript, spans, fails=fails)]


def text_parts(
    case: ResolvedCase, span: Span, transcript: Transcript, turns: Sequence[Span], *, fails: bool
) -> Iterator[SpanCheck]:
    """Yield the checks of a span's texts; those of a lost conversation are not judged."""
    rules = MODES[case.param_scoring]
    last = next((text for text in reversed(span.texts) if text.strip()), "")
    for expected in span.expected.expected_text or ():
        if isinstance(expected, dict) and "$judge" in expected:
            shown = json_text(expected["$judge"])
            right, why = _by_judge(span, expected["$judge"], transcript, fails=fails)
            row = Check("judge", shown, json_text(last), float(right), why)
            yield span_check("text", "wrong_text", span.place, row, _JUDGED)
        else:
            try:
                right = says(expected, span.texts, rules)
            except CannotCompare as error:
                raise error.within(span.place + "expected_text") from None
            why, text, line = "" if right else NOT_SAID, last, EXPECTED_GOT
            if not right and isinstance(expected, dict) and "$not" in expected:
                (why, text), line = _forbidden_text(span, expected, turns, rules), _SAID
            elif not right and isinstance(expected, dict) and "$json" in expected and last:
                (why, text), line = _other_json(span, expected["$json"], rules), _OTHERWISE
            row = Check("text", json_text(expected), json_text(text), float(right), why)
            yield span_check("text", "wrong_text", span.place, row, line)


def _other_json(span: Span, expected: Any, rules: Mode) -> tuple[str, str]:
    """Return why a message is not the expected JSON, and the message: the last one that is any."""
    texts = [text for text in reversed(span.texts) if text.strip()]
    text = next((each for each in texts if json_of(each) is not NO_VALUE), texts[0])
    return json_flaw(expected, text, rules), text


def _forbidden_text(
    span: Span, forbidden: dict[str, Any], turns: Sequence[Span], rules: Mode
) -> tuple[str, str]:
    """Return where a forbidden text was said, and the first message that has it."""
    several = not span.turn and len(turns) > 1
    for turn in turns if several else [span]:
        for text in turn.texts:
            if not says(forbidden, [text], rules):
                return f"was said{f' in turn {turn.last_turn}' if several else ''}", text
    return "was said", ""


def _by_judge(span: Span, rubric: str, transcript: Transcript, *, fails: bool) -> tuple[bool, str]:
    for verdict in reversed(transcript.judged):
        if (verdict.turn, verdict.rubric) == (span.turn, rubric):
            return verdict.passed, verdict.reason
    if fails:
        return False, "not judged, because the conversation has already failed"
    if not span.is_said:
        return False, "nothing was said"
    message = f"the rubric {json_text(rubric)} needs a judge; set --tooleval-judge=MODEL"
    raise CannotCompare(message, span.place + "expected_text")


def says(
    expected: str | dict[str, Any], texts: Sequence[str], rules: Mode = MODES[DEFAULT_MODE]
) -> bool:
    """True if a text contains what is expected, ignoring case, white space and commas (1,000).

    `rules` are for values in `$json`, which may raise CannotCompare.
    """
    if isinstance(expected, str):
        return any(folded_words(expected) in folded_words(text) for text in texts)
    ((key, operand),) = expected.items()
    if key == "$not":
        return not says(operand, texts, rules)
    if key == "$json":
        return any(not json_flaw(operand, text, rules) for text in texts)
    if key == "$regex":
        return any(search(operand, text) for text in texts)
    return any(Decimal(str(operand)) in numbers(text) for text in texts)
