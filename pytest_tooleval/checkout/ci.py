"""The CI job in which a command runs, on GitHub or GitLab. Only this module reads their variables.

As a script, it refuses a job that would give secrets to a fork's code. The action starts it before it
installs anything, so it imports only the standard library.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_MERGE_ON_GITHUB = re.compile(r"refs/pull/\d+/merge")
_MERGES_ON_GITLAB = ("merged_result", "merge_train")
_TOKENS = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}
_DEPENDABOT = "dependabot[bot]"


@dataclass(frozen=True)
class CiJob:
    """A job. Values that the service does not give are empty, 0 or None."""

    service: Literal["github", "gitlab"]
    annotates: bool  # it reads the commands that a job prints
    event: str
    number: int  # of the pull request; 0 without one
    is_fork: bool  # another repository's code is tested
    is_dependabot: bool  # GitHub gives its pull requests no secrets, either
    commit: str  # the head of the pull request, else the tested commit
    branch: str | None  # the branch that is checked out
    base: str  # the base commit of the pull request
    base_branch: str
    merge: str  # the merge with the base that the service made to test it
    run_number: int  # all jobs of a run have it; a later run, of whatever workflow, has a higher one
    is_cancelled: bool
    api: str  # the URL of the forge's API
    graphql: str
    project: str  # the repository or project, as the API names it
    blobs: str  # the URL below which the files are, by commit
    summary_file: Path | None  # the file of the job's summary
    workspace: Path | None  # the folder of the repository

    @classmethod
    def now(cls, environ: Mapping[str, str] | None = None) -> CiJob | None:
        """The job of these variables, by default the process's; None outside of CI."""
        variables = os.environ if environ is None else environ
        # A container may be given only some of them. People also have tokens in their own shells.
        names = set(variables) - {*_TOKENS.values()}
        if "GITLAB_CI" not in names and any(name.startswith("GITHUB_") for name in names):
            return _on_github(variables)
        on_gitlab = any(name.startswith(("GITLAB_", "CI_")) for name in names)
        return _on_gitlab(variables) if on_gitlab else None

    @property
    def has_secrets(self) -> bool:
        """Whether the job may have the project's secrets."""
        return not (self.is_fork or self.is_dependabot)

    @property
    def refusal(self) -> str:
        """Why nothing may run in this job; empty if it may."""
        if self.event == "pull_request_target" or (self.event == "workflow_run" and self.is_fork):
            return (
                f"the event {self.event} gives the secrets of this repository to a fork's code; run on "
                "pull_request, push or schedule"
            )
        return ""

    @property
    def token_variable(self) -> str:
        return _TOKENS[self.service]

    def token(self) -> str:
        """The token for the API; empty if none is set."""
        return os.environ.get(self.token_variable, "")


def ci_run() -> str:
    """The run of the CI service of which this job is a part; empty outside of CI."""
    job = CiJob.now()
    return f"{job.service} {job.run_number}" if job and job.run_number else ""


def _on_github(variables: Mapping[str, str]) -> CiJob:
    def read(name: str) -> str:
        return variables.get(f"GITHUB_{name}", "")

    event = _event(read("EVENT_PATH"))
    request, earlier = event.get("pull_request") or {}, event.get("workflow_run") or {}
    head, base = request.get("head") or {}, request.get("base") or {}
    is_fork = bool(request) and _repository(head) != _repository(base)
    if earlier:
        sides = ({"repo": earlier.get("head_repository")}, {"repo": event.get("repository")})
        is_fork = _repository(sides[0]) != _repository(sides[1])
    author = (request.get("user") or {}).get("login")
    commit, project = read("SHA"), read("REPOSITORY")
    api = read("API_URL") or "https://api.github.com"
    return CiJob(
        service="github",
        annotates=read("ACTIONS") == "true",
        event=read("EVENT_NAME"),
        number=int(request.get("number") or 0),
        is_fork=is_fork,
        is_dependabot=(read("ACTOR") or author) == _DEPENDABOT,
        commit=str(head.get("sha") or commit),
        branch=None if read("REF_TYPE") == "tag" else read("HEAD_REF") or read("REF_NAME") or None,
        base=str(base.get("sha") or ""),
        base_branch=read("BASE_REF"),
        merge=commit if _MERGE_ON_GITHUB.fullmatch(read("REF")) else "",
        run_number=int(read("RUN_ID") or read("RUN_NUMBER") or 0),
        is_cancelled=False,  # GitHub does not say; the action's steps have a condition
        api=api,
        graphql=read("GRAPHQL_URL") or f"{api}/graphql",
        project=project,
        blobs=f"{read('SERVER_URL') or 'https://github.com'}/{project}/blob" if project else "",
        summary_file=_path(read("STEP_SUMMARY")),
        workspace=_path(read("WORKSPACE")),
    )


def _event(path: str) -> dict[str, Any]:
    try:
        event = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return event if isinstance(event, dict) else {}


def _repository(side: dict[str, Any]) -> tuple[Any, Any]:
    repository = side.get("repo") or {}  # null if the fork was deleted
    return repository.get("id"), repository.get("full_name")


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _on_gitlab(variables: Mapping[str, str]) -> CiJob:
    def read(name: str) -> str:
        return variables.get(f"CI_{name}", "")

    commit, url = read("COMMIT_SHA"), read("PROJECT_URL")
    return CiJob(
        service="gitlab",
        annotates=False,
        event=read("PIPELINE_SOURCE"),
        number=int(read("MERGE_REQUEST_IID") or 0),
        is_fork=read("MERGE_REQUEST_PROJECT_ID") != read("MERGE_REQUEST_SOURCE_PROJECT_ID"),
        is_dependabot=False,
        # The tested commit of a merged-results pipeline is a merge that is on no branch.
        commit=read("MERGE_REQUEST_SOURCE_BRANCH_SHA") or commit,
        branch=None if read("COMMIT_TAG") else read("COMMIT_REF_NAME") or None,
        base=read("MERGE_REQUEST_DIFF_BASE_SHA"),
        base_branch=read("MERGE_REQUEST_TARGET_BRANCH_NAME"),
        merge=commit if read("MERGE_REQUEST_EVENT_TYPE") in _MERGES_ON_GITLAB else "",
        run_number=int(read("PIPELINE_IID") or 0),
        is_cancelled=read("JOB_STATUS") == "canceled",
        api=read("API_V4_URL"),
        graphql="",
        project=read("PROJECT_ID"),
        blobs=f"{url}/-/blob" if url else "",
        summary_file=None,
        workspace=None,
    )


if __name__ == "__main__":
    job = CiJob.now()
    if job and job.refusal:
        raise SystemExit(f"::error::{job.refusal}" if job.annotates else job.refusal)
