"""Every command that reads a suite, on every suite of the examples, of the docs and of the seed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nightly import at_night

from .test_docs import DOCS, ROOT, blocks, change

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no such path on this system"),
]
_DATA = Path(__file__).parents[1] / "data"
_RIGHT = dict.fromkeys(("validate", "mutate", "tools", "estimate", "collect", "page", "ended"), 0)


def of_the_docs(folder: Path) -> None:
    """Write each page's files into a folder; a suite without a name gets one."""
    for page in sorted([*DOCS.rglob("*.md"), ROOT / "README.md"]):
        place = folder / page.stem
        for number, block in enumerate(blocks(page)):
            title = block.title
            if block.word == "change" and (place / str(block.why)).exists():
                change(place / str(block.why), block.text)
            elif title is None and block.language == "json" and '"test_cases"' in block.text:
                title = f"{number}.tooleval.json"
            # Not every machine has the server of a suite's tools.
            is_whole = "--8<--" not in block.text and '"tools_from"' not in block.text
            if title and not title.startswith(".") and is_whole:
                (place / title).parent.mkdir(parents=True, exist_ok=True)
                (place / title).write_text(block.text, encoding="utf-8")


def of_the_examples(folder: Path) -> None:
    leave = shutil.ignore_patterns(".tooleval", "__pycache__", ".pytest_cache")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=leave)
    for file in (
        _DATA / "seed"
    ).iterdir():  # under another name, so that no run of the tests collects them
        shutil.copy(file, folder / f"{file.stem}.tooleval.json")


@pytest.mark.parametrize("write", [of_the_examples, at_night(of_the_docs)])
def test_every_command_ends_on_every_suite(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path)
    suites = sorted(tmp_path.rglob("*.tooleval.json"))
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("each_command.py"), *suites],
        cwd=tmp_path,
        # A suite's MCP server is started by `python`.
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(zip(suites, map(json.loads, done.stdout.splitlines()), strict=True))
    wrong = [
        (suite.relative_to(tmp_path).as_posix(), each)
        for suite, each in found.items()
        if each.pop("megabytes") > 1000 or each != _RIGHT
    ]
    assert not wrong, done.stderr[-5000:]
    assert "Traceback" not in done.stderr
