"""Every model of every provider does what it must, over litellm and over our own clients."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from builders import PNG
from generated import part

from pytest_tooleval.engine.models.providers import Provider
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ModelError

from .contract import CHECKS, FORMED, PICTURED, SKY, TARGETS, TRIED, Check, Contract, Target
from .server import PLAIN
from .table import PART, made_from, on_page, page_of
from .talk import Document

pytestmark = pytest.mark.slow

# What is not there yet: why, which models, which check. Whoever brings it takes the entry away.
UNMET = [
    ("litellm loses a refusal over Responses", "*/gpt-5.[46]*litellm*", "refused"),
]


@pytest.mark.parametrize("target", TRIED, ids=lambda one: one.label)
def test_the_contract(contract: Contract, target: Target) -> None:
    """And the docs tell what came of it."""
    outcomes = {check.name: contract.outcome(target, check) for check in CHECKS if target.takes(check)}
    problems = {name: outcome.problem for name, outcome in outcomes.items() if outcome.problem}
    unmet = [checks for _, models, checks in UNMET if fnmatch(target.label, models)]
    assert [name for name in unmet if name not in problems] == [], "take the entry out of UNMET"
    assert {name: why for name, why in problems.items() if name not in unmet} == {}
    page = page_of(target)
    published = [
        row.split(" | ", 1) for row in part(page.read_text(encoding="utf-8"), PART)[0].splitlines()[2:]
    ]
    assert sum(models.count("`") // 2 for models, _ in published) == len(on_page(page))
    model, outcome = made_from(contract, [target]).splitlines()[2].split(" | ", 1)
    assert any(model.strip("| ") in models and outcome == one for models, one in published), (
        "run `PYTHONPATH=tests:tools python -m contracts.table`"
    )


@pytest.mark.parametrize("target", [one for one in TRIED if one.reasons], ids=lambda one: one.label)
def test_a_result_can_be_a_prompt(contract: Contract, target: Target) -> None:
    """Whoever copies a conversation into a suite copies the thoughts, and they must go back, too."""
    assert contract.continued(target) is None


BUDGET = {"sampling": {"thinking": {"type": "enabled", "budget_tokens": 2048}}}


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-sonnet-4-6",
        "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
        "gemini/gemini-2.5-flash",
    ],
)
@pytest.mark.parametrize("check", [one for one in CHECKS if one.reasoning], ids=lambda one: one.name)
def test_a_budget_for_thinking(contract: Contract, model: str, check: Check) -> None:
    assert contract.ask(Target(model, table=BUDGET), check).problem is None


SAME = """
anthropic/claude-haiku-4-5 anthropic/claude-sonnet-5 gemini/gemini-3.1-pro-preview openai/gpt-4o
""".split()


def _told(contract: Contract, target: Target, check: Check) -> list[object]:
    """What a result says of the answers, but for what names litellm and what it leaves empty."""
    transcript = contract.result(target, check).transcript
    assert transcript is not None
    told: list[object] = []
    for reply in transcript.replies:
        message = {
            name: value for name, value in reply.message.items() if value and name != "tool_calls"
        }
        for moved in ("provider_specific_fields", "refusal"):  # which `no_answer` tells
            message.pop(moved, None)
        calls = [(call.name, call.arguments) for call in reply.calls]
        tokens = (reply.prompt_tokens, reply.completion_tokens, reply.reasoning_tokens)
        sent = (reply.tool_choice, reply.temperature, reply.fallbacks)
        told += [message, calls, reply.no_answer, reply.finish_reason, reply.served_model, sent]
        if reply.no_answer is None:  # litellm loses those of what Gemini has blocked
            told += [tokens, None if reply.cost_usd is None else round(reply.cost_usd, 9)]
    return told


@pytest.mark.parametrize("target", [one for one in TARGETS if one.model in SAME and one.api is None])
def test_the_same_by_our_client_and_by_litellm(contract: Contract, target: Target) -> None:
    for check in CHECKS:
        if target.takes(check):
            by_litellm = _told(contract, replace(target, api="litellm"), check)
            assert _told(contract, target, check) == by_litellm, check.name


KEYS = {
    "anthropic/claude-haiku-4-5": "ANTHROPIC_API_KEY",
    "openai/gpt-4o": "OPENAI_API_KEY",
    "gemini/gemini-2.5-flash": "GEMINI_API_KEY",
    "openrouter/openai/gpt-4o": "OPENROUTER_API_KEY",
}


@pytest.mark.parametrize("model", KEYS)
def test_a_missing_key_is_said_before_anything_is_asked(
    contract: Contract, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEYS[model])
    with pytest.raises(ModelError) as missing:
        contract.result(Target(model), CHECKS[0])
    assert (missing.value.kind, missing.value.fatal) == ("credentials", True)
    assert KEYS[model] in missing.value.message
    assert contract.standins.exchanges == []


@pytest.mark.parametrize("row", PLAIN.values(), ids=lambda row: row.name)
def test_a_row_of_the_table_is_a_provider(
    contract: Contract, row: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(f"{row.name}/gpt-4o", reasons=False)
    problems = [contract.outcome(target, check).problem for check in CHECKS if target.takes(check)]
    assert set(problems) == {None}
    monkeypatch.delenv(row.keys[0])
    with pytest.raises(ModelError, match=row.keys[0]):
        contract.result(target, CHECKS[0])


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-haiku-4-5"])
def test_certificates_are_verified(
    contract: Contract, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The contract's own is trusted by SSL_CERT_FILE alone."""
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ModelError, match="certificate verify failed") as raised:
        contract.result(Target(model), CHECKS[0])
    assert raised.value.kind == "unreachable"
    (tmp_path / "cert.txt").write_text("nothing", encoding="ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.txt"))
    with pytest.raises(ModelError, match=r"SSL_CERT_FILE: .*cert\.txt"):
        contract.result(Target(model), CHECKS[0])


@pytest.mark.parametrize("target", TRIED, ids=lambda one: one.label)
def test_what_the_user_sets_is_sent_or_an_error(contract: Contract, target: Target) -> None:
    single = CHECKS[0]
    check = replace(single, case={**single.case, "temperature": 0.5})
    problem = contract.ask(target, check).problem
    assert problem is None or "temperature is set by" in problem


def test_openrouter_tells_what_the_provider_behind_it_said(contract: Contract) -> None:
    target = next(one for one in TARGETS if one.wants_thoughts)
    check = next(one for one in CHECKS if one.after)
    with pytest.raises(ModelError, match="Function call is missing a thought_signature"):
        contract.result(target, check)


@pytest.mark.parametrize("api", [None, "litellm"])
def test_openrouter_tells_what_it_cost(contract: Contract, api: str | None) -> None:
    target = next(one for one in TARGETS if (one.model, one.api) == ("openrouter/openai/gpt-4o", api))
    transcript = contract.result(target, CHECKS[0]).transcript
    assert transcript is not None
    assert transcript.replies[0].cost_usd == 0.00042
    assert transcript.replies[0].upstream == "OpenAI"


def _form_in(body: Document) -> object:
    """The schema of the answer in a request of our clients."""
    chat = body.get("response_format", {}).get("json_schema", {})
    forms = (
        chat,
        body.get("text", {}).get("format", {}),
        body.get("output_config", {}).get("format", {}),
    )
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    return next((form["schema"] for form in forms if "schema" in form), schema)


@pytest.mark.parametrize("target", TRIED, ids=lambda one: one.label)
def test_the_form_of_an_answer_is_sent_or_an_error(contract: Contract, target: Target) -> None:
    problem = contract.ask(target, FORMED).problem
    sent = [one.body for one in contract.standins.exchanges]
    if HttpModel("m", model=target.model, api=target.api).protocol is None:
        # litellm asks each provider in its own way, for some by a tool.
        is_refused = problem is not None and "response_format is set by the case" in problem
        assert is_refused or '"sky"' in json.dumps(sent).replace("\\", "")
    else:
        assert problem is None
        assert _form_in(sent[-1]) == SKY


@pytest.mark.parametrize("target", TRIED, ids=lambda one: one.label)
def test_an_image_in_a_tools_answer_is_sent(contract: Contract, target: Target) -> None:
    result = contract.result(target, PICTURED)
    assert (result.passed, result.fallbacks.get("images")) == (True, None)
    sent = [json.dumps(one.body) for one in contract.standins.exchanges if one.asked]
    assert [body.count(PNG) for body in sent] == [0, 1]


@pytest.mark.parametrize(
    ("model", "form", "message"),
    [
        ("anthropic/claude-haiku-4-5", {"type": "json_object"}, "knows no form of the type json_object"),
        (
            "anthropic/claude-haiku-4-5",
            {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
            "'additionalProperties' must be explicitly set to false",
        ),
    ],
)
def test_a_form_that_a_model_cannot_take_is_an_error(
    contract: Contract, model: str, form: Document, message: str
) -> None:
    check = replace(FORMED, case={**FORMED.case, "response_format": form})
    with pytest.raises(ModelError, match=message) as raised:
        contract.result(Target(model), check)
    assert raised.value.message.endswith("(response_format is set by the case: remove it there)")
