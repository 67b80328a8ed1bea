"""Result documents by name: files and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.history import load_document
from pytest_tooleval.record.encoding import to_json

from .conftest import Keep


def test_a_file_or_a_run(history: History, keep: Keep, tmp_path: Path) -> None:
    id = keep(1)
    rows = history.rows_document(id)
    for name in ("a.json", "no-suffix"):
        (tmp_path / name).write_bytes(to_json(history.rows_document(id)))
        assert load_document(str(tmp_path / name), history.folder) == rows
    assert load_document("latest", history.folder) == load_document(id[:10], history.folder) == rows


def test_a_name_of_neither(history: History, keep: Keep, tmp_path: Path) -> None:
    keep(1)
    with pytest.raises(ToolevalError, match=r"base\.json: there is no such file"):
        load_document(str(tmp_path / "base.json"), history.folder)
    with pytest.raises(ToolevalError, match="there is no run base"):
        load_document("base", history.folder)
    with pytest.raises(ToolevalError, match="there is no run x"):
        load_document("x" * 5000, history.folder)
