"""The head of a run: its summary, which can be read without its document.

A head's name contains the commit, so one listing finds the runs of a commit.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ..record.run import Run, RunSummary
from ..verdicts.words import ending

VERSION: Literal[1] = 1
Trust = Literal["whole", "partial", "fork"]


class Head(Struct, frozen=True, kw_only=True):
    """`summary` has the totals, commit and branch; `bytes` and `sha256` verify the document."""

    version: Literal[1] = VERSION
    trust: Trust
    summary: RunSummary
    bytes: int
    sha256: str


class HeadName(NamedTuple):
    """A run and its commit, from the name of its head; `commit` is `-` if there is none."""

    id: str
    commit: str

    @property
    def head(self) -> str:
        return f"heads/{self.id}.{self.commit}.json"

    @property
    def document(self) -> str:
        return f"runs/{self.id}.json.gz"


def read_name(name: str) -> HeadName | None:
    """The run of `heads/ID.COMMIT.json`; None for another file."""
    parts = name.rpartition("/")[2].split(".")
    return HeadName(parts[0], parts[1]) if len(parts) == 3 and parts[2] == "json" else None


def name_of(run: Run | RunSummary) -> HeadName:
    return HeadName(run.id, run.git.commit if run.git else "-")


def trust_of(run: Run) -> Trust:
    """Whether the run can serve as an automatic baseline."""
    if _is_of_a_fork():
        return "fork"
    dirty = run.git is not None and run.git.dirty
    whole = not (run.partial or dirty or run.collection_errors or ending(run.status, run.exitstatus))
    return "whole" if whole else "partial"


def _is_of_a_fork() -> bool:
    """Whether GitHub or GitLab runs another repository's code."""
    gitlab = [os.environ.get(f"CI_MERGE_REQUEST_{each}") for each in ("SOURCE_PROJECT_ID", "PROJECT_ID")]
    if all(gitlab):
        return gitlab[0] != gitlab[1]
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError):
        return False
    request = event.get("pull_request")
    return request is not None and _repository(request, "head") != _repository(request, "base")


def _repository(request: Any, side: str) -> Any:
    return (request[side]["repo"] or {}).get("id")  # null when the fork was deleted
