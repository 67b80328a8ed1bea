"""Generated recordings, against a judge of policies written from docs/guides/policies.md alone."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from pytest_tooleval import score_messages
from pytest_tooleval.suite.model import Suite

NAMES = ("look", "pay", "cancel")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": None}} for name in NAMES]
OF_ORDER = {"tool": "look", "params": {"id": {"$same": "/order"}}}
TOTAL = {"tool": "look", "at": "/total"}
YES = {"$regex": "(?i)^yes"}
# Each seed makes 220 recordings.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 6))]


class Call(NamedTuple):
    """A call of a recording: its reply, and how it ended; `answer` None is no answer."""

    reply: int
    name: str
    arguments: dict[str, Any]
    status: str
    answer: Any


class Recording(NamedTuple):
    calls: list[Call]
    said: list[tuple[int, str]]  # the user's messages, each before the reply of this number
    messages: list[dict[str, Any]]


def recording(draw: random.Random) -> Recording:
    calls: list[Call] = []
    said = [(0, draw.choice(("yes", "?")))]
    messages: list[dict[str, Any]] = [{"role": "user", "content": said[0][1]}]
    silent = draw.random() < 0.1
    length = draw.randint(1, 5)
    for reply in range(length):
        if reply and draw.random() < 0.3:
            said.append((reply, draw.choice(("Yes, please", "no", "yes"))))
            messages.append({"role": "assistant", "content": "sure?"})
            messages.append({"role": "user", "content": said[-1][1]})
        made = [_call(draw, reply, silent) for _ in range(draw.choice((1, 1, 1, 2)))]
        if calls and draw.random() < 0.4:  # again what was called before
            made[0] = made[0]._replace(name=calls[-1].name, arguments=calls[-1].arguments)
        if draw.random() < 0.1 and made[0].answer is not None:
            made.append(made[0]._replace(status=draw.choice(("ok", "error"))))
        calls += made
        wire = [
            {
                "id": f"{reply}.{n}",
                "type": "function",
                "function": {"name": each.name, "arguments": json.dumps(each.arguments)},
            }
            for n, each in enumerate(made)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": wire})
        for n, each in enumerate(made):
            if each.answer is not None:
                answer = {
                    "role": "tool",
                    "tool_call_id": f"{reply}.{n}",
                    "content": json.dumps(each.answer),
                }
                if draw.random() < 0.2:  # an earlier answer, which does not count
                    messages.append(
                        {**answer, "content": '{"total": 9}', "status": draw.choice(("ok", "error"))}
                    )
                messages.append({**answer, "status": each.status})
    return Recording(calls, said, [*messages, {"role": "assistant", "content": "done"}])


def _call(draw: random.Random, reply: int, silent: bool) -> Call:
    name = draw.choice(("look", "look", "pay", "pay", "cancel"))
    arguments: dict[str, Any] = {}
    if draw.random() < 0.9:
        arguments["id" if name == "look" else "order"] = draw.choice(("A1", "B2"))
    if name == "pay" and draw.random() < 0.9:
        arguments["amount"] = draw.choice((1, 2, 2.5, 5, -1, "5"))
    if silent or draw.random() < 0.1:
        return Call(reply, name, arguments, "unknown", None)
    status = draw.choice(("ok", "ok", "ok", "error", "refused", "waiting", "unknown"))
    return Call(
        reply, name, arguments, status, draw.choice(({"total": 2}, {"total": 5, "ok": True}, {}, "no"))
    )


def policy(draw: random.Random) -> dict[str, Any]:
    end = draw.choice(({}, {}, {"status": "ok"}, {"status": "error"}, {"result": {"total": 5}}))
    limit = draw.choice(
        ({"at_most": 0}, {"at_most": 1}, {"at_most": 2}, {"at_least": 1}, {"at_least": 2})
    )
    per = draw.choice(({}, {"per": "/order"}))
    tool = draw.choice(("pay", "pay", "cancel", ["pay", "cancel"], "*"))
    return draw.choice(
        [
            {"tool": "pay", "only_after": {**draw.choice((OF_ORDER, {"tool": "look"})), **end}},
            {"tool": tool, "only_after": {"user": YES}},
            {"tool": "pay", "never_after": {"tool": "cancel", **end}},
            {"tool": tool, **limit, **per},
            {"tool": "pay", "status": "ok", **limit},
            {"tool": "pay", "sum": "/amount", "at_most": draw.choice((2, 4.5, 7)), **per},
            {"tool": "pay", "sum": "/amount", "at_least": draw.choice((2, 4.5, 7)), **per},
            {
                "tool": "pay",
                "expected_params": {
                    "amount": {"$lte": {"$from": {**TOTAL, "any": draw.random() < 0.5}}}
                },
            },
        ]
    )


def is_kept(policy: dict[str, Any], run: Recording) -> bool:
    """As the page says."""
    tools = [policy["tool"]] if isinstance(policy["tool"], str) else policy["tool"]
    judged = [each for each in run.calls if "*" in tools or each.name in tools]
    if "status" in policy:
        judged = [each for each in judged if each.status == policy["status"]]
    kept = True
    if "only_after" in policy and "user" in policy["only_after"]:
        kept = _has_words(judged, run)
    elif "only_after" in policy:
        kept = all(_has_lookup(each, policy["only_after"], run) for each in judged)
    if "never_after" in policy:
        kept = not any(_is_late(each, policy["never_after"], run) for each in judged)
    if "expected_params" in policy:
        source = policy["expected_params"]["amount"]["$lte"]["$from"]
        kept = all(_has_amount(each, source, run) for each in judged)
    if "at_most" in policy or "at_least" in policy:
        kept = _is_within(judged, policy)
    return kept


def _ended(call: Call, other: dict[str, Any], default: str) -> bool:
    if call.status != other.get("status", default):
        return False
    return "result" not in other or (isinstance(call.answer, dict) and call.answer.get("total") == 5)


def _has_lookup(call: Call, other: dict[str, Any], run: Recording) -> bool:
    if "params" in other and "order" not in call.arguments:
        return False
    found = [each for each in run.calls if each.name == other["tool"] and each.reply < call.reply]
    if "params" in other:
        found = [each for each in found if each.arguments.get("id") == call.arguments["order"]]
    if all(each.answer is None for each in run.calls):
        return bool(found) and not {"status", "result"} & other.keys()
    return any(_ended(each, other, "ok") for each in found if each.answer is not None)


def _is_late(call: Call, other: dict[str, Any], run: Recording) -> bool:
    before = run.calls[: next(i for i, each in enumerate(run.calls) if each is call)]
    for each in before:
        if each.name != other["tool"] or each.status not in (other.get("status", "ok"), "unknown"):
            continue
        if "result" not in other or each.answer is None:
            return True
        if isinstance(each.answer, dict) and each.answer.get("total") == 5:
            return True
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _has_amount(call: Call, source: dict[str, Any], run: Recording) -> bool:
    found = [
        each.answer
        for each in run.calls
        if each.name == "look"
        and each.reply < call.reply
        and each.status == "ok"
        and each.answer is not None
    ]
    considered = found if source["any"] else found[-1:]
    totals = [each["total"] for each in considered if isinstance(each, dict) and "total" in each]
    amount = call.arguments.get("amount")
    return _is_number(amount) and any(amount <= total for total in totals)


def _first_tries(judged: list[Call]) -> list[Call]:
    """The calls without repetitions of one whose last answer, given before, was a failure."""
    found = []
    for index, call in enumerate(judged):
        same = [e for e in judged[:index] if (e.name, e.arguments) == (call.name, call.arguments)]
        failed = same and same[-1].status in ("error", "refused") and same[-1].reply < call.reply
        if not failed:
            found.append(call)
    return found


def _has_words(judged: list[Call], run: Recording) -> bool:
    last = -1
    for call in _first_tries(judged):
        words = [text for place, text in run.said if last < place <= call.reply]
        if not any(text.lower().startswith("yes") for text in words):
            return False
        last = call.reply
    return True


def _is_within(judged: list[Call], policy: dict[str, Any]) -> bool:
    if "sum" in policy:
        counted = [each for each in judged if each.status not in ("refused", "error")]
    else:
        counted = _first_tries(judged)
    totals: dict[Any, Fraction] = {}
    for call in counted:
        amount: Any = call.arguments.get("amount") if "sum" in policy else 1
        if not _is_number(amount) or amount < 0 or ("per" in policy and "order" not in call.arguments):
            return False
        key = call.arguments["order"] if "per" in policy else None
        totals[key] = totals.get(key, Fraction(0)) + Fraction(str(amount))
    values = list(totals.values()) or [Fraction(0)]
    if "at_most" in policy:
        return max(values) <= Fraction(str(policy["at_most"]))
    return min(values) >= Fraction(str(policy["at_least"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_recordings_are_judged_as_the_page_says(seed: int) -> None:
    draw = random.Random(seed)
    seen = set()
    for _ in range(220):
        rule, run = policy(draw), recording(draw)
        turns = [{"prompt": text} for _, text in run.said]
        case = {"id": "one", "turns": turns, "may_change_nothing": True, "policies": [rule]}
        suite = Suite.model_validate({"name": "s", "tools": TOOLS, "test_cases": [case]})
        found = score_messages(suite, "one", run.messages).scores["policies"]
        assert (found.value == 1.0) == is_kept(rule, run), (rule, run.calls, run.said, found)
        seen.add((*rule, found.value))
    assert len(seen) > 12
