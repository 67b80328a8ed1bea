"""Result documents to make pages of: a rich one, a big one and a hostile one."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from typing import Any

import msgspec
from builders import picture, result_of, trial_of
from msgspec import structs

from pytest_tooleval.history import Trend, TrendPoint
from pytest_tooleval.record.call_pairs import CallPair
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.comparison import Comparison
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import (
    CaseResult,
    Check,
    FailureCategory,
    Outcome,
    Score,
    TrialError,
    TrialResult,
)
from pytest_tooleval.record.run import Run
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.record.variants import Change
from pytest_tooleval.verdicts.summary import rows_document, whole_document

MODELS = ("gpt-4o-mini", "claude-3-5-haiku", "qwen2.5-coder-1.5b")
_QUALITY = (0.9, 0.85, 0.55)
_SECONDS = (0.8, 1.4, 6.0)
_PRICES = (0.00021, 0.00105, None)
_SYSTEM = (
    "You are an assistant with tools. Today is 2026-11-02. " + "Call a tool when one is needed. " * 8
)
_CITIES = ("Paris", "Tokyo", "São Paulo", "Reykjavík", "Zürich", "القاهرة", "New York", "Ulan Bator")
_TOOLS = ("get_weather", "book_flight", "send_email", "create_event", "search_web")


def run(**fields: Any) -> dict[str, Any]:
    return {
        "id": "20261122-101530-3fa9c1",
        "started": "2026-11-22T10:15:30+00:00",
        "duration_s": 83.2,
        "pytest_tooleval": "0.1.0",
        "pytest": "9.2.0",
        "python": "3.11.7",
        "exitstatus": 1,
        "collection_errors": 0,
        "max_cost_usd": None,
        "cached_answers_from": "replayed",
        "models": [{"model": MODELS[0], "identity": "openai/gpt-4o-mini"}],
        "options": {"--tooleval-trials": 5, "--tooleval-fail-under": "0.9"},
        "git": {"commit": "3fa9c1d2e4b5a697", "branch": "main", "dirty": True},
        "partial": False,
        **fields,
    }


def trial(
    number: int, dice: random.Random, model: int, prompt: str, tool: str, arguments: dict[str, Any]
) -> TrialResult:
    """A trial that is right, has a wrong value, a wrong tool, or no answer."""
    luck = dice.random()
    if luck > 0.995:
        return TrialResult(error=TrialError("timeout", "no answer within 60 s"), trial=number)
    failure: FailureCategory | None = None
    made, called = dict(arguments), tool
    if luck > _QUALITY[model]:
        failure = dice.choice(("wrong_value", "wrong_tool", "missing_argument"))
        if failure == "wrong_value":
            made["date"] = "2026-11-06"
        elif failure == "wrong_tool":
            called = dice.choice([each for each in _TOOLS if each != tool])
        else:
            del made["date"]
    values = {key: (1.0 if made.get(key) == value else 0.0) for key, value in arguments.items()}
    checks = [
        Check(
            key,
            f'"{arguments[key]}"',
            f'"{made.get(key, "(absent)")}"',
            value,
            "equal" if value else "different text",
        )
        for key, value in values.items()
    ]
    chosen = 1.0 if called == tool else 0.0
    accuracy = sum(values.values()) / len(values)
    overall = 0.6 * chosen + 0.4 * accuracy
    calls = (ToolCall.parse(called, dict(made), f"call_{number}"),)
    reply = Reply(
        message={"role": "assistant", "content": None},
        calls=calls,
        format="recovered" if model == 2 and number == 1 else "native",
        tool_choice="required",
        finish_reason="tool_calls",
        latency_s=dice.lognormvariate(0, 0.6) * _SECONDS[model],
        prompt_tokens=600 + len(prompt),
        completion_tokens=dice.randint(20, 80),
        cost_usd=_PRICES[model],
        cached=number % 2 == 0,
    )
    scores = {
        "tool_selection": Score(
            chosen, f"expected {tool}, got {called}", (Check("tool", tool, called, chosen, ""),)
        ),
        "parameter_accuracy": Score(accuracy, "parameters of the call", tuple(checks)),
        "overall": Score(
            overall, f"{overall:.2f} = 0.6 × {chosen:.0f} (tool) + 0.4 × {accuracy:.2f} (arguments)"
        ),
        "arguments_valid": Score(1.0, "the arguments of every call are valid under its tool's schema"),
    }
    messages = (
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": prompt},
    )
    return trial_of(
        Transcript(messages, (reply,)),
        scores=scores,
        passed=overall >= 1.0 - 1e-9,
        failure=failure,
        call_pairs=(CallPair(expected=tool, called=called),),
        trial=number,
    )


def case(
    number: int,
    model: int,
    trials: Sequence[TrialResult],
    *,
    prompt: str,
    tags: tuple[str, ...],
    tolerated: bool,
    **fields: Any,
) -> CaseResult:
    answered = [each for each in trials if each.error is None]
    metrics = answered[0].scores if answered else {}
    means = {m: sum(each.values[m] or 0.0 for each in answered) / len(answered) for m in metrics}
    outcome: Outcome = "failed"
    reason = f"overall {means.get('overall', 0):.2f} < 1.00 (wrong value)"
    if not answered:
        outcome, reason = "error", "timeout: no answer within 60 s"
    elif all(each.passed for each in answered):
        outcome, reason = "passed", ""
    suite = "Travel desk" if number % 3 else "Weather"
    file = f"suites/{suite.split(maxsplit=1)[0].lower()}.tooleval.json"
    given: dict[str, Any] = {
        "nodeid": f"{file}::case-{number}[{MODELS[model]}]",
        "suite": suite,
        "case": f"case-{number:04d}",
        "model": MODELS[model],
        "outcome": outcome,
        "tolerated": tolerated and outcome == "failed",
        "scores": means,
        "thresholds": {"overall": 1.0},
        "trials": tuple(trials),
        "reason": reason,
        "tags": tags,
        "tool_choice": "required",
        "prompt_text": prompt,
        "file": file,
        "line": 10 + 12 * number,
        "position": number,
        **fields,
    }
    return result_of(**given)


def rich_document(cases: int = 24, trials: int = 5, models: int = 3, **fields: Any) -> Document:
    """Real-looking results: gates, a baseline, costs, errors, several trials."""
    dice = random.Random(7)
    rows = []
    for number in range(cases):
        tool = dice.choice(_TOOLS)
        city = dice.choice(_CITIES)
        prompt = f"Please use what fits for {city} on 2026-11-05, request {number}."
        arguments = {"city": city, "date": "2026-11-05", "note": "as discussed on the phone"}
        tags = ("smoke",) if number % 5 == 0 else ("slow", "booking") if number % 7 == 0 else ()
        for model in range(models):
            made = [trial(i, dice, model, prompt, tool, arguments) for i in range(trials)]
            rows.append(case(number, model, made, prompt=prompt, tags=tags, tolerated=number % 4 == 0))
    gates = [
        gate("overall of gpt-4o-mini", 0.9, 0.93, True),
        gate("overall of qwen2.5-coder-1.5b", 0.9, 0.64, False),
    ]
    return whole(run(**fields), rows, gates, comparison())


def varied_document(cases: int = 8) -> Document:
    """Cases that pass; with 50 tools more, the first five fail."""
    rows = [_of(row, True) for row in rich_document(cases, 2, 2).cases]
    changes = (
        Change("tool", "", "search_news"),
        Change("description of send_email", "Sends", "Sends mail"),
    )
    varied = [
        structs.replace(
            _of(row, not number or row.position > 4),
            nodeid=row.nodeid.replace("]", f", distractors:{number}]"),
            variant=f"distractors:{number}",
            tolerated=True,
            changes=changes if number else (),
            is_same=not number,
        )
        for number in (0, 50)
        for row in rows
    ]
    return whole(run(), [*rows, *varied], [], comparison())


def _of(row: CaseResult, passed: bool) -> CaseResult:
    """The case, with all its trials passed or failed."""
    trials = tuple(structs.replace(each, passed=passed, error=None) for each in row.trials)
    count = len(trials)
    return structs.replace(
        row,
        outcome="passed" if passed else "failed",
        trials=trials,
        passes=count * passed,
        answered=count,
        weight=1.0,
    )


def whole(run: Any, rows: Sequence[CaseResult], gates: Any, baseline: Any) -> Document:
    document = rows_document(
        msgspec.convert(run, Run),
        rows,
        msgspec.convert(gates, list[Gate]),
        msgspec.convert(baseline, Comparison),
        intervals=True,
    )
    return whole_document(document, rows)


def big_document(cases: int = 1000, trials: int = 1) -> Document:
    return rich_document(cases, trials)


def gate(name: str, needed: float, value: float, passed: bool) -> dict[str, Any]:
    return {
        "kind": "fail_under",
        "name": name,
        "model": name.rpartition(" ")[2],
        "scope": "model",
        "of": name.rpartition(" ")[2],
        "metric": "overall",
        "needed": needed,
        "value": value,
        "low": value - 0.05,
        "high": value + 0.04,
        "confidence": None,
        "cases": 60,
        "errors": 0,
        "verdict": "passed" if passed else "failed",
        "failed": not passed,
        "message": f"{name}: {value:.2f} {'>=' if passed else '<'} {needed:.2f}, over 60 cases",
        "detail": f"overall: {value:.2f} {'>=' if passed else '<'} {needed:.2f}, over 60 cases",
    }


def comparison() -> dict[str, Any]:
    def measured(metric: str, old: float, new: float, p: float, failed: bool) -> dict[str, Any]:
        return {
            "metric": metric,
            "suite": None,
            "old": old,
            "new": new,
            "drop": old - new,
            "n": 58,
            "p": p,
            "p_adjusted": min(1.0, 2 * p),
            "test": "permutation",
            "largest_drop": old - new + 0.06,
            "verdict": "failed" if failed else "passed" if new > old else "inconclusive",
        }

    moved = {
        "suite": "Weather",
        "case": "case-0003",
        "was": {"suite": "Weather", "case": "case-0003"},
        "old": 1.0,
        "new": 0.6,
        "old_passes": "5/5",
        "new_passes": "1/5",
    }
    broken = {**moved, "case": "case-0006", "new": 0.0, "new_passes": "0/5", "newly_broken": True}
    side = {"id": "20261121-101530-aaaaaa", "started": "2026-11-21T10:15:30+00:00", "git": None}
    return {
        "old": {"name": "main.json", **side},
        "new": {"name": "this run", **side},
        "alpha": 0.05,
        "max_drop": 0.0,
        "margin": 0.1,
        "models": [
            {
                "old": MODELS[2],
                "new": MODELS[2],
                "cases": 58,
                "verdict": "failed",
                "metrics": [
                    measured("pass", 0.72, 0.55, 0.0004, True),
                    measured("overall", 0.86, 0.81, 0.21, False),
                    measured("tool_selection", 0.84, 0.93, 0.003, False),
                ],
                "newly_broken_p": 0.01,
                "newly_broken_p_adjusted": 0.02,
                "newly_broken_failed": True,
                "worse": [broken, moved],
                "better": [],
            }
        ],
        "cases": {
            "same": 58,
            "added": [{"suite": "Weather", "case": "case-0059"}],
            "removed": [],
            "changed": [{"suite": "Weather", "case": "case-0000"}],
            "renamed": [],
            "incomparable": [{"suite": "Weather", "case": "case-0001", "why": "its tools changed"}],
        },
        "verdict": "failed",
        "failed": True,
        "message": "passing trials of qwen2.5-coder-1.5b dropped by 0.17 (p 0.001)",
    }


def point_of(**fields: Any) -> TrendPoint:
    """A point of a trend: a whole run of a suite."""
    about = {"id": "run", "started": "2026-11-01T10:00:00+00:00", "status": "finished", "exitstatus": 0}
    made = {"ending": "", "scoring_version": 1, "git": None, "model": "gpt-4o", "outcome": None}
    counts = {"cases": 2, "passed": 1, "passes": 1, "answered": 2, "suite_cases": 2, "is_part": False}
    rates = {"pass_rate": 0.5, "overall": 0.5, "fingerprint": ""}
    return msgspec.convert({**about, **made, **counts, **rates, **fields}, TrendPoint)


def trends(runs: int = 12) -> list[Trend]:
    dice = random.Random(3)
    points: dict[str, list[TrendPoint]] = {"Weather": [], "Travel desk": []}
    for i in range(runs):
        for place, model in enumerate(MODELS):
            for found in points.values():
                is_part = i == 4 and place == 1
                point = point_of(
                    id=f"run-{i}",
                    started=f"2026-11-{i + 1:02d}T10:00:00+00:00",
                    git={"commit": f"{i:07x}abc", "branch": "main", "dirty": False},
                    scoring_version=1 if i < runs - 2 else 2,
                    model=model,
                    is_part=is_part,
                    pass_rate=0.3 if is_part else min(1.0, _QUALITY[place] + dice.uniform(-0.08, 0.08)),
                )
                found.append(point)
    return [Trend(suite, None, tuple(found)) for suite, found in points.items()]


# Everything that could run, reorder or break the page. `%s` is where a place puts its name.
EVIL = (
    "<script>window.evil=1;alert(1)</script>",
    '<img src=x onerror="window.evil=1;alert(1)">',
    "</script><script>window.evil=1</script>",
    "<!--<script>",
    "</style></title></textarea></noscript><svg onload=window.evil=1>",
    "javascript:window.evil=1",
    "\x1b[31mred\x1b[0m\x1b]8;;http://evil.example\x07link",
    "\u202eright to left\u2066\u200b\ufeff",
    "lone \ud800 surrogate \udfff",
    "\x00\x08\x7f\x85\u2028\u2029",
    "&lt;b&gt; &#x3c; \"'`",
    "__proto__",
    "constructor",
    "]]>{{7*7}}${window.evil=1}",
)
LONG = "W" * 20_000


def hostile_document() -> Document:
    """Every text of the document is one that should do harm."""
    rows = []
    texts = [*EVIL, LONG]
    for number, text in enumerate(texts):
        for model in (text if number < 3 else EVIL[0], "ordinary"):
            rows.append(_hostile_row(number, text, model))
    gates = [
        {**gate(text, 0.9, float("nan"), False), "message": text, "detail": text, "of": text}
        for text in texts
    ]
    found = comparison()
    found["old"]["name"] = EVIL[1]
    found["models"][0].update(old=EVIL[0], new=EVIL[2])
    (broken, *_) = found["models"][0]["worse"]
    found["models"][0]["worse"] = [
        {**broken, "suite": t, "case": t, "old_passes": t[:9], "new_passes": t[:9]} for t in texts
    ]
    found["cases"]["renamed"] = [{"suite": t, "case": t, "old_suite": t, "old_case": t} for t in texts]
    fields = {
        "git": {"commit": EVIL[0], "branch": EVIL[7], "dirty": True},
        "options": {EVIL[0]: LONG},
        "models": [{"model": EVIL[0], "identity": EVIL[1]}],
        "started": EVIL[2],
        "id": LONG,
    }
    return whole(run(**fields), rows, gates, found)


def hostile_trends() -> list[Trend]:
    found = []
    for i, text in enumerate([*EVIL, LONG]):
        points = [
            point_of(
                id=each,
                started=each,
                git={"commit": each, "branch": each, "dirty": True},
                model=text,
                is_part=number == 1,
                pass_rate=float("nan") if number == 2 else 0.5,
            )
            for number, each in enumerate(EVIL[:3])
        ]
        found.append(Trend(EVIL[i - 1], None, tuple(points)))
    return found


def _hostile_row(number: int, text: str, model: str) -> CaseResult:
    call = ToolCall(text, {text: text, "number": 123456789012345678901234567890, "nan": float("nan")})
    broken = ToolCall(text, None, text)
    message = {"role": "assistant", "content": text, "reasoning_content": text, "tool_calls": text}
    reply = Reply(
        message=message,
        calls=(call, broken),
        format="recovered",
        tool_choice=text,
        finish_reason="length",
        latency_s=1.0,
    )
    prompt = (
        {"role": text, "content": text},
        {"role": "user", "content": [{"type": "text", "text": text}, {"type": text}, text]},
        {"role": "assistant", "tool_calls": [{"function": {"name": text, "arguments": text}}, text]},
    )
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='evil = 1'/>").decode()
    urls = (text, "https://evil.example/i.png", f"data:image/svg+xml;base64,{svg}")
    images = [picture(), *({"type": "image_url", "image_url": {"url": url}} for url in urls)]
    answers = tuple(
        {"role": "tool", "content": content, "tool_call_id": text} for content in (text, images)
    )
    metric = text if len(text) < 100 else "long"
    scores = {
        "overall": Score(
            float("nan") if number == 4 else 0.4, text, (Check(text, text, text + " ", 0.4, text),)
        ),
        metric: Score(0.0, text, (Check(text, "", text, 0.0, text),)),
    }
    made = trial_of(
        Transcript(prompt, (structs.replace(reply, tool_answers=answers, statuses=("refused", None)),)),
        scores=scores,
        failure="wrong_value",
        not_played=(text,),
        calls_made=1,
        call_pairs=(CallPair(expected=text, called="x"), CallPair(called=text, hallucinated=True)),
    )
    failed = TrialResult(error=TrialError("timeout", text), trial=1)
    return result_of(
        nodeid=text,
        suite=text,
        case=text,
        model=model,
        outcome="failed",
        scores={"overall": 0.4, metric: 0.0},
        thresholds={"overall": 1.0, metric: 1.0},
        trials=(made, failed),
        reason=text,
        tags=(text, f"tag {text}"),
        tool_choice=text,
        file=text,
        line=7,
        position=number,
        prompt_text=text,
    )
