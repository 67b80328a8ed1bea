"""The copy of CodeMirror is what vendor/codemirror/build makes, with the licences of its parts."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
VENDOR = ROOT / "pytest_tooleval" / "web" / "static" / "vendor"


def test_the_editor_is_made_of_the_locked_packages() -> None:
    lock = json.loads((ROOT / "vendor" / "codemirror" / "package-lock.json").read_text())
    locked = {
        path.removeprefix("node_modules/"): package["version"]
        for path, package in lock["packages"].items()
        if path and not package.get("dev")
    }
    banner = (VENDOR / "codemirror.js").read_text().splitlines()[1]
    assert dict(re.findall(r"(\S+)@(\d\S+)", banner)) == locked
    licenses = (VENDOR / "codemirror.LICENSES.txt").read_text()
    assert dict(re.findall(r"^==== (\S+) (\S+) ====$", licenses, re.MULTILINE)) == locked
