"""On generated cases: right answers pass, survivors do too, and the line to add has them noticed."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given

from pytest_tooleval.mutation.results import MutantCall, Survivor
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.model import Suite

from ..scoring.cases import NAMES
from ..scoring.test_properties import CASES

SCHEMA = {
    "type": "object",
    "properties": {
        "p": {"type": ["string", "integer", "null"]},
        "q": {"enum": [1, "x", [2]], "default": 1},
        "r": {},
    },
}


def made(case: dict[str, Any]) -> dict[str, Any]:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": copy.deepcopy(SCHEMA)}}
        for name in (*NAMES, "delete_all")
    ]
    return {"name": "s", "tools": tools, "test_cases": [{"id": "one", "prompt": "?", **case}]}


def passes(suite: dict[str, Any], calls: tuple[MutantCall, ...]) -> bool:
    loaded = Suite.model_validate(suite)
    answer = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return score_calls(loaded, loaded.test_cases[0], answer).passed


def add_line(suite: dict[str, Any], survivor: Survivor) -> None:
    """Put the line where it belongs."""
    (place,) = suite["test_cases"]
    if survivor.to.startswith("the parameters of "):
        name = survivor.to.removeprefix("the parameters of ")
        functions = {tool["function"]["name"]: tool["function"] for tool in suite["tools"]}
        place = functions[name]["parameters"]
    elif survivor.to.startswith("expected_calls["):
        index, _, params = survivor.to.removeprefix("expected_calls[").partition("]")
        place = place["expected_calls"][int(index)]
        place = place[params[1:]] if params else place
    elif survivor.to == "expected_params":
        place = place["expected_params"]
    for name, value in json.loads(f"{{{survivor.add}}}").items():
        if name in ("thresholds", "expected_params", "params", "properties"):
            place[name] = {**(place.get(name) or {}), **value}
        elif name == "forbidden_calls":
            place[name] = [*place.get(name, ()), *value]
        else:
            place[name] = value


@given(CASES)
def test_what_is_said_of_a_case_is_so(case: dict[str, Any]) -> None:
    suite = made(case)

    (found,) = mutate_suite(Suite.model_validate(suite)).cases

    assert (found.calls is None) == bool(found.unknown)
    if found.calls is None:
        return
    assert passes(suite, found.calls)
    strict = copy.deepcopy(suite)
    noticed = []
    for survivor in found.survivors:
        assert survivor.calls != found.calls
        assert passes(suite, survivor.calls), survivor
        if "..." not in survivor.add:
            add_line(strict, survivor)
            noticed.append(survivor)
    assert passes(strict, found.calls)
    for survivor in noticed:
        assert not passes(strict, survivor.calls), survivor
