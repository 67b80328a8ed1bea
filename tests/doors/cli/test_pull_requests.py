"""What happens around a pull request: bad options, forks, other events, forges that refuse."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from builders import tool
from nightly import at_night

from .stand_in import BOT, Job

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("sys.platform == 'win32'", reason="needs a POSIX shell"),
]

GREEN = "<!-- tooleval: tooleval; run 11 -->\n### Tool calling: passed"
RESULTS = "tooleval-results.json"


def wrote(job: Job, **run: Any) -> None:
    """Leave the results of a finished job: it is the run 12, in which Oslo failed."""
    document = json.loads((job.folder.parent / "baseline.json").read_text())
    document["run"] |= {"ci": "github 12", **run}
    (job.folder / RESULTS).write_text(json.dumps(document))


def suite(*cases: str, name: str = "Weather") -> str:
    asked = [{"prompt": f"Weather in {each}?", "expected_tool": "get_weather"} for each in cases]
    return json.dumps({"name": name, "tools": [tool("get_weather")], "test_cases": asked})


@pytest.mark.parametrize(
    "options",
    [
        "-mnot heavy",
        "--help",
        *map(at_night, ("-kweather", "-pno:cacheprovider", "--collect-only", "-h")),
    ],
)
def test_no_option_lets_a_job_pass_without_a_run(job: Job, options: str) -> None:
    status = job.step("run", OPTIONS=options)
    assert status, job.output
    assert "Usage: tooleval" not in job.output
    if not (job.folder / RESULTS).exists():
        assert "::error title=no results::pytest ended without running tests" in job.output


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"OPTIONS": "--tooleval-fail-undr=0.9"}, "unrecognized arguments: --tooleval-fail-undr=0.9"),
        ({"BASELINE": "gone/results.json"}, "gone/results.json: there is no such file"),
        (
            {"HISTORY": "http://127.0.0.1:1/runs", "BASELINE": "auto"},
            "cannot be read: Connect call failed",
        ),
    ],
)
def test_a_job_without_results_takes_the_earlier_verdict_away(
    job: Job, variables: dict[str, str], why: str
) -> None:
    job.github.add(GREEN)
    job.git("commit", "-q", "--allow-empty", "-m", "feature")
    assert job.run(**variables) == 4
    assert job.comment.startswith(
        "<!-- tooleval: tooleval; run 12 -->\n### Tool calling: **NO RESULTS**"
    )
    assert job.status[0] == "failure"
    for text in (job.comment, job.status[1], job.summary, job.ran):
        assert why in text


@pytest.mark.parametrize("run", [{"ci": "github 11"}, {"ci": ""}, None])
def test_results_that_no_job_of_this_run_wrote_are_never_posted(
    job: Job, run: dict[str, Any] | None
) -> None:
    job.github.add(GREEN)
    if run is not None:
        wrote(job, exitstatus=0, **run)
    assert job.step("comment") == 0
    assert "### Tool calling: **NO RESULTS**" in job.comment
    reason = (
        "does not exist: pytest did not run" if run is None else "not by a job of this run, github 12"
    )
    assert reason in job.comment
    assert job.status[0] == "failure"


def test_a_suite_that_cannot_be_read_is_named_with_the_reason(job: Job) -> None:
    (job.folder / "bad.tooleval.json").write_text('{"name": "Bad", "tools": []')
    assert job.run() == 2
    for text in (job.comment, job.summary):
        assert "- `bad.tooleval.json`: `bad.tooleval.json:1:28: the file ends before" in text
    assert "::error file=bad.tooleval.json,title=cannot be read::bad.tooleval.json:1:28: the" in job.ran
    assert job.status == ("failure", "bad.tooleval.json cannot be read")


@pytest.mark.parametrize("refused", ["^(PATCH|POST .*comments)", "^DELETE", "^GET .*(pulls|comments)"])
@pytest.mark.parametrize("code", [403, at_night(404), at_night(422)])
def test_the_status_is_set_whatever_happens_to_the_comment(job: Job, refused: str, code: int) -> None:
    wrote(job)
    job.github.add(GREEN)
    job.github.add(GREEN)
    job.github.instead = {refused: [code]}
    assert job.step("comment") == 0
    assert job.status == ("failure", "pass rate 0.50 over 2 cases")
    assert f": answered {code}" in job.output
    assert "1 of 2 results failed." in job.summary


def test_the_status_of_a_merge_queue_and_none_on_push(job: Job) -> None:
    wrote(job)
    merged: dict[str, Any] = {
        "GITHUB_SHA": "c" * 40,
        "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7",
    }
    assert job.step("comment", event="merge_group", **merged) == 0
    assert job.status[0] == "failure"
    assert job.github.statuses[0]["commit"] == "c" * 40
    job.github.statuses.clear()
    assert job.step("comment", event="push", **merged) == 0
    assert job.github.statuses == job.github.comments == []


@pytest.mark.parametrize(
    ("run", "state"),
    [
        ({}, ("failure", "pass rate 0.50 over 2 cases")),
        ({"exitstatus": None}, ("failure", "pass rate 0.50 over 2 cases")),
        (
            {"exitstatus": 0, "shard": {"number": 1, "of": 4, "cases": 8, "split": "", "judging": {}}},
            ("pending", "shard 1/4, not judged"),
        ),
        ({"exitstatus": 2}, None),  # interrupted, as by a cancelled job
    ],
)
def test_the_status_of_a_run(job: Job, run: dict[str, Any], state: tuple[str, str] | None) -> None:
    wrote(job, **run)
    if "shard" in run:
        document = json.loads((job.folder / RESULTS).read_text())
        document["cases"] = [case for case in document["cases"] if case["outcome"] == "passed"]
        document["run"]["total"] |= {"failing": 0, "failed": 0}
        (job.folder / RESULTS).write_text(json.dumps(document))
    assert job.step("comment") == 0
    assert [(each["state"], each["description"]) for each in job.github.statuses] == [state] * bool(
        state
    )


def test_the_status_names_the_model_that_failed(job: Job) -> None:
    (job.folder / "tooleval.toml").write_text(
        '[models.good]\ncallable = "good:answer"\n[models.agent]\ncallable = "agent:answer"\n'
    )
    agent = (job.folder / "agent.py").read_text()
    (job.folder / "good.py").write_text(
        agent.replace("city = ", "city = messages[-1]['content'][11:-1] #")
    )
    assert job.run(MODEL="good,agent") == 1
    assert job.status == ("failure", "agent: pass rate 0.50 over 2 cases")


def test_an_older_run_and_a_cancelled_job_set_no_status(job: Job) -> None:
    wrote(job)
    job.github.add("<!-- tooleval: tooleval; run 13 -->\nnewer")
    assert job.step("comment") == 0
    assert "not commented: run 13 is newer" in job.output
    job.github.comments.clear()
    job.github.head = "f" * 40
    assert job.step("comment") == 0
    assert "not commented: the pull request has a newer commit" in job.output
    assert job.step("comment", GITLAB_CI="true", CI_JOB_STATUS="canceled") == 0
    assert job.github.statuses == job.github.comments == []


@pytest.mark.parametrize("cassette", ["addopts", at_night("two arguments"), at_night("environment")])
def test_a_run_without_secrets_replays_strictly_however_the_cassette_is_named(
    job: Job, cassette: str
) -> None:
    (job.folder / "more.tooleval.json").write_text(suite("Rome", name="More"))
    option = "--tooleval-cassette\ntapes"
    variables: dict[str, Any] = {"CASSETTE": "", "MODEL": "agent,builtin/lexical", "OPENAI_API_KEY": ""}
    if cassette == "addopts":
        words = " ".join(option.split())
        (job.folder / "pytest.ini").write_text(f"[pytest]\naddopts = {words}\n")
    elif cassette == "environment":
        variables["PYTEST_ADDOPTS"] = f"{os.environ['PYTEST_ADDOPTS']} {option}"
    else:
        variables["OPTIONS"] = option
    who: dict[str, Any] = (
        {"GITHUB_ACTOR": "dependabot[bot]"} if cassette == "addopts" else {"fork": True}
    )
    assert job.step("run", **variables, **who) == 1, job.output  # Oslo is recorded, and wrong
    assert "more.tooleval.json s." in job.output
    assert not (job.folder / ".tooleval" / "index.db").exists()


def test_models_without_a_key_run_in_a_fork_without_a_cassette(job: Job) -> None:
    variables = {"CASSETTE": "", "OPENAI_API_KEY": "", "OPTIONS": "--tooleval-fail-under=0.9"}
    assert job.run(fork=True, MODEL="openai/gpt-4o", BASELINE="../baseline.json", **variables) == 0, (
        job.ran
    )
    assert "NOT EVALUATED: 0 of 2" in job.summary
    assert job.status[0] == "pending"
    assert job.run(fork=True, MODEL="openai/gpt-4o,agent", **variables) == 1
    assert "2 of 4 results could not be evaluated." in job.summary
    assert job.status == ("failure", "agent: pass rate 0.50 over 2 cases")


@pytest.mark.parametrize(
    "odd",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n[null]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"hello there\r\n\r\n",
        b"",
    ],
)
@pytest.mark.parametrize("where", [".", at_night("POST|PATCH"), at_night("comments")])
def test_an_odd_answer_is_one_line_and_fails_no_job(job: Job, odd: bytes, where: str) -> None:
    wrote(job)
    job.github.instead = {where: odd}
    assert job.step("comment") == 0
    lines = job.output.splitlines()
    assert all(line.startswith(("::warning::", "commented on #7")) for line in lines)
    assert len(lines) <= 2


def test_a_busy_forge_is_asked_again(job: Job) -> None:
    wrote(job)
    job.github.instead = {"comments": [429, 503, 0], "statuses": [502, 0]}
    assert job.step("comment") == 0
    assert job.output == "commented on #7\n"
    assert job.status[0] == "failure"
    assert {each["user"]["login"] for each in job.github.comments} == {BOT}
