"""What a reviewer reads of a suite's changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from builders import git, tool

from pytest_tooleval.variants.blame import changed_suites

CASE = {"expected_tool": "search"}


def write(folder: Path, name: str, cases: list[dict[str, Any]], **fields: Any) -> None:
    suite = {"name": name, "tools": [tool("search"), tool("stop")], "test_cases": cases, **fields}
    (folder / f"{name}.tooleval.json").write_text(json.dumps(suite), encoding="utf-8")


def test_each_change_of_a_suite_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    folder = tmp_path / "evals"
    folder.mkdir()
    cases = [{"id": id, "prompt": f"{id}?", **CASE} for id in ("a", "b", "c")]
    for name in ("shop", "same", "gone", "broken"):
        write(folder, name, cases)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    (folder / "gone.tooleval.json").unlink()
    (folder / "broken.tooleval.json").write_text("{")
    write(folder, "ne\u00fc", cases)
    write(
        folder,
        "shop",
        [{**cases[0], "xfail": "known"}, cases[1], {**cases[2], "id": "d"}],
        tools=[tool("search", description="Looks it up.")],
        system_prompt="Be brief.",
        thresholds={"overall": 0.5},
    )
    git(tmp_path, "add", ".")
    assert changed_suites("HEAD", folder) == {
        "broken.tooleval.json": ["its file; one of the two versions cannot be read"],
        "gone.tooleval.json": ["the suite is gone"],
        "ne\u00fc.tooleval.json": ["a new suite with 3 cases"],
        "shop.tooleval.json": [
            "the new system prompt",
            "the new description of search",
            "adding, removing or replacing stop",
            "the new thresholds of the suite",
            "1 case added: d",
            "1 case removed: c",
            "1 case changed: a",
        ],
    }
