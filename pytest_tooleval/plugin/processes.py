"""The processes of a run: what the first one tells the workers of xdist, and their queues."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ..run.process import Process

# A duplicate of pytest's standard input, if the run must end with it.
STANDARD_INPUT: pytest.StashKey[int] = pytest.StashKey()
# Prefix of a collection report whose problem concerns the whole run.
USAGE_ERROR = "usage error: "
_PROCESS: pytest.StashKey[Process] = pytest.StashKey()


def process_of(config: pytest.Config) -> Process:
    """This process. The first call in the run's first process is when the run started."""
    if _PROCESS not in config.stash:
        process = Process(config.rootpath, datetime.now(timezone.utc), pytest.__version__)
        process.leaves_files = not config.option.collectonly
        process.has_paths = bool(config.getoption("file_or_dir"))
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            process.workers = max(1, int(worker["workercount"]))
            process.number = worker_number(worker["workerid"])
        if worker is not None and "tooleval" in worker:  # not if the controller lacks this plugin
            summary = worker["tooleval"]
            process.started = datetime.fromisoformat(summary["started"])
            process.answers_folder = Path(summary["answers"])
            process.ledger_path = Path(summary["ledger"])
            process.has_paths = summary["paths"]  # xdist gives it some even if the user gave none
        config.stash[_PROCESS] = process
    return config.stash[_PROCESS]


def tell_worker(node: Any, *, resume: bool) -> None:
    """Tell a worker what only the controller knows."""
    config, process = node.config, process_of(node.config)
    if process.ledger_path is None or process.answers_folder is None:
        from ..engine.cassettes.folders import answers_folder

        process.answers_folder = answers_folder(config.rootpath, resume=resume)
        folder = Path(tempfile.mkdtemp(prefix="tooleval-"))
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
        process.ledger_path = folder / "spent"
    node.workerinput["tooleval"] = {
        "started": process.started.isoformat(),
        "answers": str(process.answers_folder),
        "ledger": str(process.ledger_path),
        "paths": process.has_paths,
    }


def worker_number(id: str) -> int:
    """3 for `gw3`."""
    return int("".join(c for c in id if c.isdigit()) or 0)


def next_items(config: pytest.Config, items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """The first `most` items that this worker will run after the current one, in order.

    xdist has no public API for this, so this reads its internal queue; empty if that has changed.
    """
    for plugin in config.pluginmanager.get_plugins():
        torun = getattr(plugin, "torun", None)
        if torun is not None and hasattr(torun, "lock"):
            with torun.lock() as queue:
                indexes = list(itertools.islice(queue, most))
            return [items[index] for index in indexes if isinstance(index, int)]
    return []


def evaluates(config: pytest.Config) -> bool:
    """False with --collect-only and --setup-only, which evaluate and save nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def will_run(session: pytest.Session) -> bool:
    """True if pytest will run the session's tests: with collection errors, it usually does not."""
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return evaluates(session.config) and not failed


def may_ask(item: pytest.Item) -> bool:
    """True for a Python test that requests the fixture, and may so be a case."""
    return "tooleval" in getattr(item, "fixturenames", ())
