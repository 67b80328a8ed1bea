"""Tests of models in Python, with the `tooleval` fixture: for what a suite file cannot say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import call, load_suite

needs_asyncio = pytest.mark.skipif(
    importlib.util.find_spec("pytest_asyncio") is None, reason="async tests need pytest-asyncio"
)
HERE = Path(__file__).parent
ASSISTANT = load_suite(HERE / "assistant.tooleval.json", metrics=None)


@needs_asyncio
async def test_it_writes_to_nobody_it_does_not_know(tooleval: Any, tooleval_model: str) -> None:
    """Whatever a model makes of it, it may not send mail to an address that it made up."""
    run = await tooleval.arun(
        'Write to sam@example.com with the subject "Invoice 4711" and say that the payment went out '
        "today.",
        tools=[tool.wire for tool in ASSISTANT.tools],
        system_prompt=ASSISTANT.system_prompt,
        tool_choice="required",
        # A call without any address may break the schema: here, only invented ones count.
        thresholds={"arguments_valid": None},
    )

    for each in run.calls:
        assert each == call("send_email", ...)
        assert set(each.arguments["to"]) <= {"sam@example.com"}
