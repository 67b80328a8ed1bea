"""The texts of `--tooleval-fail-under` and `--tooleval-fail-over`: what they mean, or why not."""

from __future__ import annotations

import re

import pytest

from pytest_tooleval.verdicts.rules import Rule, read_rule

UNDER = {
    "0.9": "pass_rate 0.9 of each model",
    "66%": "pass_rate 0.66 of each model",
    "1": "pass_rate 1 of each model",
    " overall = 0.8 ": "overall 0.8 of each model",
    "calls=0.5": "calls 0.5 of each model",  # also a metric of conversations
    "pass^3=0.9": "pass^3 0.9 of each model",
    "suite:0.9": "pass_rate 0.9 of each suite",
    "tag = smoke : overall=80%": "overall 0.8 of tag smoke",
    "model=ollama/llama3:8b:0.5": "pass_rate 0.5 of model ollama/llama3:8b",
}
OVER = {
    "errors=0": "errors 0 of each model",
    "errors=3": "errors 3 of each model",
    "errors=1": "errors 1 of each model",
    "errors=2%": "errors 0.02 as a share of each model",
    "errors=100%": "errors 1 as a share of each model",
    "errors=0.2": "errors 0.2 as a share of each model",
    "cost_usd=0.01": "cost_usd 0.01 of each model",
    "tag=slow:calls=1": "calls 1 of tag slow",
    "variant=inject:attack_success=5%": "attack_success 0.05 as a share of variant inject",
    "suite:latency_s=50": "latency_s 50 of each suite",
}
_UNDER = "expected [SCOPE:][METRIC=]VALUE with a value from 0 to 1"
_OVER = "expected [SCOPE:]NAME=VALUE"
WRONG_UNDER = {
    "": _UNDER,
    "90": "a share is at most 1, did you mean 90%?",
    "suite:overall=95": "did you mean suite:overall=95%?",
    "nan": _UNDER,
    "-0.1": _UNDER,
    "101%": _UNDER,
    "suite=:0.9": _UNDER,
    "case:0.9": "unknown scope case, did you mean tag=case:0.9 or suite=case:0.9?",
    "suit:0.9": "unknown scope suit, did you mean suite?",
    "pass@=0.9": "expected a number of trials after pass@",
    "pass^0=0.9": "expected a number of trials after pass^",
    "redundancy_penalty=0.5": "lower is better for redundancy_penalty; use overall",
    "cost_usd=0.5": "lower is better for cost_usd; use --tooleval-fail-over",
    "attack_success=0.5": "lower is better for attack_success; use --tooleval-fail-over",
    "errors=0.5": "lower is better for errors; use --tooleval-fail-over",
    "suite=0.5": "suite is a scope, not a metric; write suite:VALUE, or suite=NAME:VALUE",
}
WRONG_OVER = {
    "errors=inf": _OVER,
    "errors=-1": _OVER,
    "errors=": _OVER,
    "errors=1.5": _OVER,
    "errors=101%": _OVER,
    "calls=-1": _OVER,
    "calls=2%": _OVER,
    "overall=1": "names are calls, tokens, cost_usd, latency_s, attack_success, recovered, broken and e",
    "attack_success=101%": _OVER,
    "attack_success=": _OVER,
    "cost=1": "unknown name cost, did you mean cost_usd?",
}


def in_words(rule: Rule) -> str:
    share = " as a share" if rule.is_share else ""
    of = f"{rule.scope.name} {rule.name}" if rule.name else f"each {rule.scope.name}"
    return f"{rule.metric} {rule.needed:g}{share} of {of}"


@pytest.mark.parametrize(("over", "texts"), [(False, UNDER), (True, OVER)])
def test_what_a_text_means(over: bool, texts: dict[str, str]) -> None:
    assert {text: in_words(read_rule(text, over=over)) for text in texts} == texts


@pytest.mark.parametrize(
    ("over", "text", "message"),
    [
        *((False, text, message) for text, message in WRONG_UNDER.items()),
        *((True, text, message) for text, message in WRONG_OVER.items()),
    ],
)
def test_what_cannot_be_read(over: bool, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_rule(text, over=over)
