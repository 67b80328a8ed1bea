"""Result documents by name: files and runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.history import load_document
from pytest_tooleval.reports.document import build_document
from pytest_tooleval.reports.document import write_json

from .conftest import Keep
from .runs import case_row
from .runs import run

GOOD = build_document(run(), [case_row()])


def test_a_file_or_a_run(history: History, keep: Keep, tmp_path: Path) -> None:
    id = keep(1)
    write_json(tmp_path / "a.json", GOOD)
    write_json(tmp_path / "no-suffix", GOOD)
    assert load_document(str(tmp_path / "a.json"), history.folder) == GOOD
    assert load_document(str(tmp_path / "no-suffix"), history.folder) == GOOD
    assert load_document("latest", history.folder) == history.document(id, bulk=False, intervals=False)
    assert load_document(id[:10], history.folder, bulk=True) == history.document(id)


def test_a_name_of_neither(history: History, keep: Keep, tmp_path: Path) -> None:
    keep(1)
    with pytest.raises(ToolevalError, match=r"base\.json: there is no such file"):
        load_document(str(tmp_path / "base.json"), history.folder)
    with pytest.raises(ToolevalError, match="there is no run base"):
        load_document("base", history.folder)
    with pytest.raises(ToolevalError, match="there is no run x"):
        load_document("x" * 5000, history.folder)


def changed(**fields: Any) -> Any:
    row = {**GOOD["cases"][0], **fields}
    return {**GOOD, "cases": [row]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("\ud83d".encode("utf-8", "surrogatepass"), "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a result document of --tooleval-json, version 1"),
        (json.dumps({"version": 2, "run": {}}), "is not a result document"),
        (json.dumps({"version": 1, "run": 3}), "is not a result document"),
        (json.dumps({"version": 1, "run": {}}), "cases: expected an array"),
        (json.dumps({"version": 1, "run": {}, "cases": [3]}), r"cases\[0\]: expected an object"),
        (json.dumps({"version": 1, "run": {"git": []}, "cases": []}), r"run\.git: expected an object"),
        (json.dumps(changed(passes="3")), r"cases\[0\]\.passes: expected a whole number"),
        (json.dumps(changed(model=None)), r"cases\[0\]\.model: expected a string"),
        (json.dumps(changed(scores=[])), r"cases\[0\]\.scores: expected an object"),
        (json.dumps(changed(trials={})), r"cases\[0\]\.trials: expected an array"),
        (json.dumps(changed(trials=[{}])), r"cases\[0\]\.trials: one is not a trial's result"),
    ],
)
def test_a_file_that_is_no_result_document(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ToolevalError, match=rf"bad\.json: {message}"):
        load_document(str(path), tmp_path)
