"""Result documents by name: files and runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.history import load_document
from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.reports.document import build_document
from pytest_tooleval.reports.document import write_json

from .conftest import Keep
from .runs import case_row
from .runs import run

GOOD = build_document(run(), [case_row()])


def rows_of(document: dict[str, Any]) -> RowsDocument:
    return msgspec.convert(document, RowsDocument)


def test_a_file_or_a_run(history: History, keep: Keep, tmp_path: Path) -> None:
    id = keep(1)
    write_json(tmp_path / "a.json", GOOD)
    write_json(tmp_path / "no-suffix", GOOD)
    assert load_document(str(tmp_path / "a.json"), history.folder) == rows_of(GOOD)
    assert load_document(str(tmp_path / "no-suffix"), history.folder) == rows_of(GOOD)
    assert load_document("latest", history.folder) == rows_of(history.document(id))


def test_a_name_of_neither(history: History, keep: Keep, tmp_path: Path) -> None:
    keep(1)
    with pytest.raises(ToolevalError, match=r"base\.json: there is no such file"):
        load_document(str(tmp_path / "base.json"), history.folder)
    with pytest.raises(ToolevalError, match="there is no run base"):
        load_document("base", history.folder)
    with pytest.raises(ToolevalError, match="there is no run x"):
        load_document("x" * 5000, history.folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a result document"),
        ("\ud83d".encode("utf-8", "surrogatepass"), "not a result document"),
        ("[" * 100_000, "not a result document"),
        ("[]", "not a result document"),
        ("{}", "not a result document of --tooleval-json: it has no version"),
        (json.dumps({"version": 1, "run": {}}), "a result document of version 1; .* reads version 2"),
        (json.dumps({"version": 2, "run": {}, "cases": [3]}), "not a result document"),
    ],
)
def test_a_file_that_is_no_result_document(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ToolevalError, match=rf"bad\.json: {message}"):
        load_document(str(path), tmp_path)
