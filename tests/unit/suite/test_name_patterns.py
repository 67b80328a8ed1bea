"""Names by pattern, in forbidden calls and policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.name_patterns import fits

from ..scoring.cases import call, score, suite_of, tool

TOOLS = [tool(name) for name in ("look_up", "delete_account", "delete_order", "undelete")]
LOOK_UP: dict[str, Any] = {"expected_tool": "look_up"}


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("delete_*", "delete_account", True),
        ("delete_*", "delete_", True),
        ("delete_*", "undelete_account", False),
        ("*_account", "delete_account", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("crm.*", "crm.find", True),
        ("a.c", "abc", False),
    ],
)
def test_a_star_stands_for_any_text(pattern: str, name: str, expected: bool) -> None:
    assert fits(pattern, name) is expected


@pytest.mark.parametrize(
    ("forbidden", "made", "wrong"),
    [
        ("delete_*", "delete_order", True),
        ("delete_*", "Delete_Order", True),  # may run
        ("delete_*", "functions.delete_order", True),
        ("delete_*", "delete_everything", True),  # not offered
        ("delete_*", "undelete", False),
        ({"tool": "delete_*", "params": {"id": 1}}, "delete_order", False),
        ({"tool": ["undelete", "*_account"]}, "delete_account", True),
    ],
)
def test_forbidden_calls(forbidden: Any, made: str, wrong: bool) -> None:
    calls = [call("look_up"), call(made)]
    found = score(calls, TOOLS, **LOOK_UP, forbidden_calls=[forbidden])
    assert (found.failure == "forbidden_call") is wrong


@pytest.mark.parametrize(
    ("policy", "made", "wrong"),
    [
        ({"tool": "delete_*", "at_most": 0}, ["delete_order"], True),
        ({"tool": "*_order", "at_most": 1}, ["delete_order", "delete_order"], True),
        ({"tool": "undelete", "never_after": "delete_*"}, ["delete_account", "undelete"], True),
        ({"tool": "undelete", "never_after": "delete_*"}, ["look_up", "undelete"], False),
    ],
)
def test_policies(policy: Any, made: list[str], wrong: bool) -> None:
    suite = suite_of(TOOLS, expected_calls=[{"tool": "*"}], policies=[policy])
    scores = score_calls(suite, suite.test_cases[0], [call(name) for name in made]).scores
    assert (scores["policies"].value != 1) is wrong


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (
            {"forbidden_calls": ["drop_*"]},
            'no tool of the suite fits the pattern "drop_*"; defined tools:',
        ),
        ({"forbidden_calls": ["*_a_*"]}, 'only one "*" may be in a name, got "*_a_*"'),
        ({"policies": [{"tool": "x*", "at_most": 1}]}, 'no tool of the suite fits the pattern "x*"'),
        ({"expected_tool": "delete_*"}, '"delete_*" is a pattern, for policies and forbidden_calls'),
        (
            {"expected_tool": "delete_order", "forbidden_calls": ["delete_*"]},
            '"delete_order" is also in forbidden_calls',
        ),
    ],
)
def test_misuse_is_named(case: dict[str, Any], problem: str) -> None:
    document = {"name": "s", "tools": TOOLS, "test_cases": [{"prompt": "?", **LOOK_UP, **case}]}
    with pytest.raises(SuiteError) as raised:
        parse_suite(json.dumps(document))
    (found,) = raised.value.problems
    assert problem in found.message


def test_a_server_may_have_a_tool_that_fits() -> None:
    case = {"prompt": "?", "expected_tool": None, "forbidden_calls": ["drop_*"]}
    source = {"mcp": {"stdio": "server"}}
    parse_suite(json.dumps({"name": "s", "tools_from": source, "test_cases": [case]}))
