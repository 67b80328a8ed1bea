"""The tables of the docs have what the code has."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import get_args

import generated
import pytest

from pytest_tooleval.mutation.results import MutantKind
from pytest_tooleval.record.metrics import BUILT_IN
from pytest_tooleval.record.results import FailureCategory
from pytest_tooleval.suite.schema import schema_text as suite_schema_text

STALE = "run `python tools/generated.py`"


@pytest.mark.parametrize("file", generated.FILES)
def test_a_generated_file_is_fresh(file: str) -> None:
    published = (generated.ROOT / file).read_text(encoding="utf-8")
    assert published == generated.FILES[file](), STALE


@pytest.mark.parametrize(("file", "name"), generated.PARTS)
def test_a_generated_part_is_fresh(file: str, name: str) -> None:
    text = (generated.ROOT / file).read_text(encoding="utf-8")
    assert generated.part(text, name)[0] == generated.PARTS[file, name](), STALE


@pytest.mark.parametrize(
    ("file", "names", "parts"),
    [
        (
            "docs/reference/metrics.md",
            BUILT_IN,
            ["metrics", "metrics of chains", "metrics of conversations", "metrics of variants"],
        ),
        ("docs/reference/metrics.md", get_args(FailureCategory), ["failures"]),
        ("docs/guides/mutation.md", get_args(MutantKind), ["mutants"]),
    ],
)
def test_a_table_explains_each_name(file: str, names: Collection[str], parts: list[str]) -> None:
    text = (generated.ROOT / file).read_text(encoding="utf-8")
    rows = [
        row for name in parts for row in re.findall(r"^\| `(\w+)`", generated.part(text, name)[0], re.M)
    ]
    assert list(dict.fromkeys(rows)) == list(names)


def test_the_suite_format_lists_each_field() -> None:
    schema = json.loads(suite_schema_text())
    text = (generated.ROOT / "docs/reference/suite-format.md").read_text(encoding="utf-8")
    for part, fields in (("suite", schema), ("case", schema["$defs"]["TestCase"])):
        parts = re.findall(rf"<!-- (?!end )((?:\w+ )+of a {part}) -->", text)
        rows = [
            row
            for name in parts
            for row in re.findall(r"^\| \[?`([$\w]+)`", generated.part(text, name)[0], re.M)
        ]
        assert sorted(rows) == sorted(fields["properties"])
