"""The scripts of page and report, by the types in their comments, checked with TypeScript."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_the_scripts_keep_to_their_types() -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("TypeScript's compiler is not installed: npm install --global typescript")
    project = Path(__file__).with_name("tsconfig.json")
    done = subprocess.run([compiler, "--project", project], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
