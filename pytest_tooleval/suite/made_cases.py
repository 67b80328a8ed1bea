"""Helpers for imported test cases: expected values, ids and validation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SuiteError
from .load import parse_suite
from .model import Suite
from .slugs import assign_ids, prompt_text


def expected_value(value: Any) -> Any:
    """A plain JSON value as an expected one, in which objects with a `$` key would be matchers."""
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            return {"$exact": value}
        return {key: expected_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [expected_value(member) for member in value]
    return value


def case_problem(
    case: Mapping[str, Any],
    tools: Sequence[Any] = (),
    system_prompt: str | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> str | None:
    """Why a suite with these tools cannot have this case; None if it can."""
    suite: dict[str, Any] = {"name": "import", "tools": list(tools), "test_cases": [case]}
    if namespaces:
        suite["namespaces"] = dict(namespaces)
    if system_prompt is not None:
        suite["system_prompt"] = system_prompt
    try:
        parse_suite(json.dumps(suite, ensure_ascii=False))
    except SuiteError as error:
        first = error.problems[0]
        field = first.field.removeprefix("test_cases[0]").lstrip(".")
        return f"{field}: {first.message}" if field else first.message
    except RecursionError:
        return "nested too deeply"
    return None


def new_ids(suite: Suite, prompts: Sequence[Any]) -> list[str]:
    """A new id for each prompt, different from those in the suite."""
    first = len(suite.test_cases) + 1
    taken = {str(case.id) for case in suite.test_cases}
    return assign_ids([(n, prompt_text(prompt)) for n, prompt in enumerate(prompts, first)], taken)
