"""The processes of a run: what the first one tells the workers of xdist."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ..run.process import Process
from .workers import worker_count

_PROCESS: pytest.StashKey[Process] = pytest.StashKey()


def process_of(config: pytest.Config) -> Process:
    """This process. The first call in the run's first process is when the run started."""
    if _PROCESS not in config.stash:
        process = Process(config.rootpath, datetime.now(timezone.utc), pytest.__version__)
        process.keeps = not config.option.collectonly
        if hasattr(config, "workerinput"):
            told = config.workerinput["tooleval"]
            process.started = datetime.fromisoformat(told["started"])
            process.answers, process.ledger = Path(told["answers"]), Path(told["ledger"])
            process.workers = worker_count(config)
        config.stash[_PROCESS] = process
    return config.stash[_PROCESS]


def tell_worker(node: Any, *, resume: bool) -> None:
    """Tell a worker what only the controller knows."""
    config, process = node.config, process_of(node.config)
    if process.ledger is None or process.answers is None:
        from ..engine.cassettes.folders import answers_folder

        process.answers = answers_folder(config.rootpath, resume=resume)
        folder = Path(tempfile.mkdtemp(prefix="tooleval-"))
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
        process.ledger = folder / "spent"
    node.workerinput["tooleval"] = {
        "started": process.started.isoformat(),
        "answers": str(process.answers),
        "ledger": str(process.ledger),
        "paths": bool(config.getoption("file_or_dir")),
    }


def evaluates(config: pytest.Config) -> bool:
    """False with --collect-only and --setup-only, which evaluate and save nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def will_run(session: pytest.Session) -> bool:
    """True if pytest will run the session's tests: with collection errors, it usually does not."""
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return evaluates(session.config) and not failed
