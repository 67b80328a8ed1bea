"""Result documents by name: files and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, load_side
from pytest_tooleval.record.encoding import to_json

from .conftest import Keep


def test_a_file_or_a_run(history: History, keep: Keep, tmp_path: Path) -> None:
    id = keep(1)
    document = history.document(id)
    for name in ("a.json", "no-suffix"):
        (tmp_path / name).write_bytes(to_json(document))
    for name in (str(tmp_path / "a.json"), str(tmp_path / "no-suffix"), "latest", id[:10]):
        side = load_side(name, history.folder)
        assert (side.name, side.run.id, side.cases) == (name, id, history.rows_document(id).cases)
        assert side.whole is not None
        assert side.whole() == document.cases


def test_a_name_of_neither(history: History, keep: Keep, tmp_path: Path) -> None:
    keep(1)
    with pytest.raises(ToolevalError, match=r"base\.json: there is no such file"):
        load_side(str(tmp_path / "base.json"), history.folder)
    with pytest.raises(ToolevalError, match='run "base" not found'):
        load_side("base", history.folder)
    with pytest.raises(ToolevalError, match=r'run "x.*" not found'):
        load_side("x" * 5000, history.folder)
