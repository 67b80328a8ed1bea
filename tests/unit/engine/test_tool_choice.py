from __future__ import annotations

import pytest

from pytest_tooleval.engine.tool_choice import refuses_tool_choice

REFUSALS = [
    (400, "tool_choice 'required' is not supported by this model"),
    (400, "Thinking may not be enabled when tool_choice forces tool use."),
    (400, "deepseek-reasoner does not support this tool_choice"),
    (400, "The tool_choice parameter does not support being set to required in thinking mode"),
    (404, "No endpoints found that support the provided 'tool_choice' value"),
    (422, "unsupported value for tool choice"),
    (None, "ollama does not support parameters: ['tool_choice']"),
]


@pytest.mark.parametrize(("status", "message"), REFUSALS)
def test_refusals_in_providers_own_words(status: int | None, message: str) -> None:
    assert refuses_tool_choice(status, message, "required")


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503])
def test_other_failures_are_never_a_refusal(status: int) -> None:
    assert not refuses_tool_choice(status, "tool_choice", "required")


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_only_required_is_refused(choice: str | None) -> None:
    assert not refuses_tool_choice(400, "tool_choice is not supported", choice)


@pytest.mark.parametrize(
    "message",
    [
        "Tool choice is required, but model did not call a tool",
        '{"error": {"code": "tool_use_failed", "message": "tool choice ..."}}',
        "messages.0.content: expected a string",
    ],
)
def test_a_model_that_did_not_obey_is_no_refusal(message: str) -> None:
    assert not refuses_tool_choice(400, message, "required")
