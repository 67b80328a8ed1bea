"""The CI job by the variables of GitHub and GitLab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.checkout.ci import CiJob

HERE, FORK = {"id": 1, "full_name": "me/project"}, {"id": 2, "full_name": "you/project"}
MERGE = {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": "merged"}
TRAIN = {"CI_MERGE_REQUEST_EVENT_TYPE": "merge_train", "CI_COMMIT_SHA": "merged"}


def on_github(tmp_path: Path, head: Any = None, **variables: str) -> CiJob:
    file = tmp_path / "event.json"
    request = {"number": 7, "head": {"sha": "new", "repo": head}, "base": {"sha": "old", "repo": HERE}}
    file.write_text(json.dumps({"pull_request": request} if head != HERE else {}))
    job = CiJob.now({"GITHUB_EVENT_PATH": str(file), **variables})
    assert job is not None
    return job


@pytest.mark.parametrize("variables", [{}, {"CI": "true"}, {"GITHUB_TOKEN": "x", "GITLAB_TOKEN": "x"}])
def test_no_job(variables: dict[str, str]) -> None:
    assert CiJob.now(variables) is None


def test_a_pull_request(tmp_path: Path) -> None:
    job = on_github(tmp_path, FORK, **MERGE, GITHUB_BASE_REF="main", GITHUB_ACTIONS="true")
    assert (job.service, job.number, job.is_fork, job.annotates) == ("github", 7, True, True)
    assert (job.commit, job.base, job.base_branch, job.merge) == ("new", "old", "main", "merged")
    assert on_github(tmp_path, None).is_fork, "the fork was deleted"
    pushed = on_github(tmp_path, HERE, GITHUB_SHA="pushed", GITHUB_REPOSITORY="me/project")
    assert (pushed.number, pushed.is_fork, pushed.commit, pushed.merge) == (0, False, "pushed", "")
    assert pushed.blobs == "https://github.com/me/project/blob"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pull_request": null}'])
def test_an_event_that_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "event.json"
    file.write_text(text)
    job = CiJob.now({"GITHUB_EVENT_PATH": str(file), "GITHUB_EVENT_NAME": "push"})
    assert job is not None
    assert (job.event, job.number, job.is_fork) == ("push", 0, False)


def test_a_merge_request() -> None:
    ids = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2", "CI_MERGE_REQUEST_PROJECT_ID": "1"}
    job = CiJob.now({"GITLAB_CI": "true", "GITHUB_USER": "me", **ids, **TRAIN, "CI_PIPELINE_IID": "12"})
    assert job is not None
    assert (job.service, job.is_fork, job.merge, job.run_number) == ("gitlab", True, "merged", 12)


@pytest.mark.parametrize(
    ("variables", "branch"),
    [
        ({"GITHUB_REF_NAME": "12/merge", "GITHUB_HEAD_REF": "fix/rain"}, "fix/rain"),
        ({"GITHUB_REF_NAME": "main", "GITHUB_HEAD_REF": ""}, "main"),
        ({"GITHUB_REF_NAME": "v1.0", "GITHUB_REF_TYPE": "tag"}, None),
        ({"CI_COMMIT_REF_NAME": "topic"}, "topic"),
        ({"CI_COMMIT_REF_NAME": "v1.0", "CI_COMMIT_TAG": "v1.0"}, None),
    ],
)
def test_the_branch(variables: dict[str, str], branch: str | None) -> None:
    job = CiJob.now(variables)
    assert job is not None
    assert job.branch == branch
