"""The head of a run: its summary, which can be read without its document.

A head's name contains the commit, so one listing finds the runs of a commit.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from ..project.ci import CiJob
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
    if (job := CiJob.now()) and job.is_fork:
        return "fork"
    dirty = run.git is not None and run.git.dirty
    whole = not (run.partial or dirty or run.collection_errors or ending(run.status, run.exitstatus))
    return "whole" if whole else "partial"
