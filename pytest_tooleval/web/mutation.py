"""A suite's mutation score, from `tooleval mutate` in its own process.

A world may hang or grow, so the process ends with its time, or with the request that it is for.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from ..mutation.results import Mutations, SuiteMutation
from ..secrets import scrub, secret_values
from ..suite.model import Suite
from ..text import printable
from .responses import ApiError

TIME_LIMIT_S = 20.0
_TICK_S = 0.05


async def mutation_of(
    suite: Suite, root: Path, file: str, is_gone: Callable[[], Awaitable[bool]]
) -> SuiteMutation | None:
    """Return the results for a saved suite; None if they take too long, or nobody waits any more."""
    thresholds = [suite.thresholds, *(case.thresholds for case in suite.test_cases)]
    metrics = {metric for each in thresholds for metric in each or ()}
    with tempfile.TemporaryDirectory(prefix="tooleval-mutate-") as folder:
        out, said = Path(folder, "results.json"), Path(folder, "output.txt")
        options = [f"--json={out}", *(f"--metric={metric}" for metric in metrics)]
        with said.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest_tooleval", "mutate", *options, "--", file],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        deadline = time.monotonic() + TIME_LIMIT_S
        try:
            while process.poll() is None:
                if time.monotonic() > deadline or await is_gone():
                    return None
                await asyncio.sleep(_TICK_S)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            text = scrub(said.read_text(encoding="utf-8", errors="replace"), secret_values())
            lines = printable(text, keep_newlines=True).strip().splitlines()
            raise ApiError(500, f"tooleval mutate failed: {lines[-1] if lines else process.returncode}")
        return msgspec.json.decode(out.read_bytes(), type=Mutations).suites[0]
