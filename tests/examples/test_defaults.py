"""The defaults that the docs name are the code's, on every page that names one."""

from __future__ import annotations

import re

import pytest

from pytest_tooleval.cli.blame import blame
from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.runner import DEFAULT_CONCURRENCY, MODEL_TIMEOUT_S
from pytest_tooleval.mcp.server import SERVER_TIMEOUT_S
from pytest_tooleval.settings.options import OPTIONS
from pytest_tooleval.suite.case import DEFAULT_MAX_ROUNDS, DEFAULT_MAX_TURNS

from .test_docs import PAGES, ROOT

TRIALS = next(each.default for each in blame.params if each.name == "trials")
RETRY = RetryPolicy()
# A default, and how pages name it; the groups are its values.
DEFAULTS = [
    (DEFAULT_CONCURRENCY, r"(\d+) requests at a time|`--tooleval-concurrency` \((\d+)\)"),
    (
        MODEL_TIMEOUT_S,
        r"has (\d+) seconds to answer|one answer\.\n\n- Type: `SECONDS`\n- Default: (\d+)",
    ),
    (SERVER_TIMEOUT_S, r"no complete answer within (\d+) s"),
    (
        DEFAULT_MAX_ROUNDS,
        r"`max_rounds`\]?(?:\(\S+\))?\s+replies \((?:a field of the case, |default )?(\d+)",
    ),
    (DEFAULT_MAX_ROUNDS, r"The most replies in a chain, or in a turn; default (\d+)"),
    (DEFAULT_MAX_TURNS, r"that needs more is an error\. Default: (\d+)"),
    (TRIALS, r"\(default: (\d+), at least 3\)"),
    (RETRY.attempts, r"broken connections \| at most (\d+)"),
    (RETRY.rate_limit_attempts, r"\"overloaded\" \| at most (\d+)"),
    (RETRY.timeout_attempts, r"timeouts \| at most (\d+)"),
    (OPTIONS["max_drop"].default or 0, r"`--tooleval-max-drop` \(default (\d+)\)"),
]


@pytest.mark.parametrize(("default", "named"), DEFAULTS)
def test_pages_agree_with_the_code(default: float, named: str) -> None:
    values = {
        (page.relative_to(ROOT).as_posix(), value)
        for page in PAGES
        for found in re.finditer(named, page.read_text(encoding="utf-8"))
        for value in found.groups()
        if value
    }
    assert values, "no page names it so"
    assert {(page, value) for page, value in values if float(value) != default} == set()
