"""Test cases made from what others recorded: expected values, ids, and whether a suite takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import SuiteError
from ..record.transcript import text_of
from ..suite.slugs import assign_ids


def expected_value(value: Any) -> Any:
    """A plain JSON value as an expected one: an object with a `$` key would be read as a matcher."""
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            return {"$exact": value}
        return {key: expected_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [expected_value(member) for member in value]
    return value


@dataclass(frozen=True)
class Merged:
    """A suite with others' cases beside its own; `differing` are ids that stand for two things."""

    suite: dict[str, Any]
    added: int
    kept: int
    differing: tuple[str, ...]


def merge_cases(existing: Mapping[str, Any] | None, made: Mapping[str, Any]) -> Merged:
    """The existing suite with those cases of another whose ids it has not; all cases have an id."""
    if existing is None:
        return Merged(dict(made), len(made["test_cases"]), 0, ())
    own = existing.get("test_cases") or []
    known = {case["id"]: case for case in own if isinstance(case, dict) and "id" in case}
    added = [case for case in made["test_cases"] if case["id"] not in known]
    same = [case for case in made["test_cases"] if case["id"] in known]
    differing = tuple(case["id"] for case in same if case != known[case["id"]])
    return Merged({**existing, "test_cases": [*own, *added]}, len(added), len(same), differing)


def case_problem(
    case: Mapping[str, Any], tools: Sequence[Any] = (), system_prompt: str | None = None
) -> str | None:
    """Why a suite with these tools cannot have this case; None when it can."""
    from ..suite.load import parse_suite

    suite: dict[str, Any] = {"name": "import", "tools": list(tools), "test_cases": [case]}
    if system_prompt is not None:
        suite["system_prompt"] = system_prompt
    try:
        parse_suite(json.dumps(suite, ensure_ascii=False))
    except SuiteError as error:
        first = error.problems[0]
        place = first.field.removeprefix("test_cases[0]").lstrip(".")
        return f"{place}: {first.message}" if place else first.message
    except RecursionError:
        return "nested too deeply"
    return None


def prompt_text(prompt: Any) -> str:
    """A prompt, or the text of the last message from the user: what an id is made of."""
    if isinstance(prompt, str):
        return prompt
    asked = [m for m in prompt if m.get("role") == "user"] if isinstance(prompt, list) else []
    return text_of(asked[-1]) if asked else ""


def new_ids(existing: Sequence[Any], prompts: Sequence[Any]) -> list[str]:
    """An id for each prompt that no existing case has, nor gets when its suite is loaded."""
    cases = [case for case in existing if isinstance(case, dict)]
    taken = {case["id"] for case in cases if isinstance(case.get("id"), str)}
    nameless = [case.get("prompt") for case in cases if not isinstance(case.get("id"), str)]
    taken |= set(assign_ids([(n, prompt_text(prompt)) for n, prompt in enumerate(nameless, 1)], taken))
    first = len(existing) + 1
    return assign_ids([(n, prompt_text(prompt)) for n, prompt in enumerate(prompts, first)], taken)
