"""The public files of BFCL become suites."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from bfcl_data import bfcl_suite, bfcl_suite_file
from nightly import at_night

from pytest_tooleval.suite.load import parse_suite

SPEC = importlib.util.find_spec("bfcl_eval")
if SPEC is None or SPEC.origin is None:
    pytest.skip("bfcl-eval is not installed; tox -e leaderboards installs it", allow_module_level=True)
PUBLIC = Path(SPEC.origin).parent / "data"


@pytest.mark.parametrize(
    "category",
    ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "irrelevance"],
)
def test_they_become_the_suites_that_were_converted_by_hand(category: str) -> None:
    file = bfcl_suite_file(category)
    questions = PUBLIC / f"BFCL_v4_{category}.json"
    made = bfcl_suite(questions)
    wanted = json.loads(file.read_text("utf-8"))
    assert made["name"] == wanted["name"]
    assert [json.dumps(case) for case in made["test_cases"]] == [
        json.dumps(case) for case in wanted["test_cases"]
    ]


@pytest.mark.parametrize(
    "category", [at_night("live_multiple"), "live_parallel", "live_parallel_multiple", "live_relevance"]
)
def test_the_others_become_valid_suites(category: str) -> None:
    questions = PUBLIC / f"BFCL_v4_{category}.json"
    made = bfcl_suite(questions)
    assert len(parse_suite(json.dumps(made)).test_cases) == len(
        questions.read_text("utf-8").splitlines()
    )
