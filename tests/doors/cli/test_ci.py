"""The steps of the action, in a shell, on a repository with two branches and a stand-in of GitHub."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builders import tool
from nightly import at_night

from .conftest import AGENT
from .stand_in import BOT, TOKEN, GitHub, Job

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the steps are scripts of a POSIX shell"),
]


def body(text: str) -> str:
    """The comment without its marker."""
    return re.sub(r"\A<!-- .* -->\n", "", text)


@pytest.mark.nightly
def test_a_first_run_has_no_baseline(job: Job) -> None:
    job.by_scripts = True
    assert job.run() == 1
    assert body(job.comment).startswith("### Tool calling: **FAILED**\n\nThe job fails: 1 of 2")
    assert "not compared, as there is no baseline" in job.comment
    assert "[report](https://github.com/me/project/actions/runs/1/artifacts/2)" in job.comment
    (status,) = job.github.statuses
    assert (status["context"], status["state"]) == ("tooleval", "failure")
    assert status["description"] == "pass rate 0.50 over 2 cases"


@pytest.mark.parametrize(
    ("answers", "status", "lines"),
    [
        (
            {"Paris": "Paris", "Oslo": "Oslo"},
            0,
            ["+50 points", "**Newly right (1)**\n\n- `Oslo`"],
        ),
        at_night(
            {"Paris": "Rome", "Oslo": "Rome"},
            1,
            [
                "-50 points",
                "**Newly broken (1)**\n\n- `Paris`, `1/1 -> 0/1`: ``city: expected \"Paris\", got ",
            ],
        ),
    ],
)  # fmt: skip
def test_better_and_worse(
    job: Job, tmp_path: Path, answers: Mapping[str, str], status: int, lines: list[str]
) -> None:
    job.answers(**answers)
    (job.folder / "agent.py").write_text(AGENT + "# changed, so that it is asked again\n")
    assert job.run(BASELINE=f"{tmp_path}/baseline.json") == status
    assert "recorded answer" not in job.comment
    for line in lines:
        assert line.replace("``", "`") in job.comment.replace("``", "`")
    # A later run edits the comment, and leaves those of others alone.
    job.git("commit", "-q", "-a", "-m", "the answers")
    job.github.head = ""
    job.github.add("<!-- tooleval: tooleval; run 1 --> mine", login="somebody")
    assert job.run(GITHUB_RUN_ID="13") == status
    assert job.comment.startswith("<!-- tooleval: tooleval; run 13 -->")
    assert "\n- 2 recorded answers\n" in job.comment
    assert len(job.github.comments) == 2


@pytest.mark.nightly
def test_the_baseline_is_that_of_the_base_in_a_shared_history(job: Job, tmp_path: Path) -> None:
    shared = {"HISTORY": str(tmp_path / "shared"), "BASELINE": "auto"}
    (job.folder / "new").write_text("")
    job.git("add", "new")
    job.git("commit", "-qm", "feature")
    # Lost, or not there yet, it fails nothing.
    assert job.run(**shared) == 1
    assert "not compared, as there is no baseline" in job.comment
    job.git("checkout", "-q", "main")
    assert job.step("run", event="push", HISTORY=shared["HISTORY"]) == 1
    job.git("checkout", "-q", "feature")
    job.answers(Paris="Rome", Oslo="Rome")
    (job.folder / "agent.py").write_text(AGENT + "# asked again\n")
    assert job.run(**shared) == 1
    base = job.git("rev-parse", "main")[:10]
    assert f"compared with `{base} (1 run, 0 hours old)`" in job.comment
    assert "**Newly broken (1)**\n\n- `Paris`" in job.comment


@pytest.mark.nightly
def test_a_partial_run_says_so(job: Job) -> None:
    assert job.run(OPTIONS="-kParis") == 0
    assert "Only some cases of the suites ran." in job.comment


def test_a_fork_replays_and_comments_in_its_summary(job: Job) -> None:
    job.answers(Paris="Paris", Oslo="Oslo")
    (job.folder / "tapes" / "weather.jsonl").write_text("")
    assert job.run(fork=True) == 0, job.output
    assert not job.github.comments
    # The job passes, but nobody may take that for a verdict.
    assert job.status == ("pending", "not evaluated: 0 of 2")
    assert "## Tool calling: NOT EVALUATED: 0 of 2\n" in job.summary
    assert "### Tool calling: **NOT EVALUATED: 0 of 2**\n" in job.summary
    assert "A fork gets no secrets: only recorded answers were replayed. 2 of 2 cases" in job.summary
    assert "::warning title=not evaluated%3A 0 of 2::not asked: no recorded answer" in job.ran
    assert not (job.folder / ".tooleval" / "history.db").exists()
    job.git("checkout", "tapes")
    # Nor a part for the whole: Paris is right, and Oslo has no recorded answer.
    tape = job.folder / "tapes" / "weather.jsonl"
    tape.write_text("\n".join(line for line in tape.read_text().splitlines() if "in Paris?" in line))
    assert job.run(fork=True) == 0, job.output
    assert job.status[0] == "pending"
    assert "1 of 2 cases could not be evaluated" in job.summary
    # What it was asked before, and gets wrong, is a failure in a fork as well.
    job.git("checkout", "tapes")
    assert job.step("run", fork=True) == 1


@pytest.mark.parametrize(
    ("recorded", "options", "test", "status"),
    [
        # Paris is right, and Oslo wrong. A gate does not count who was not asked.
        ("Paris", "--tooleval-fail-under=0.9", "", 0),
        ("Paris", "--tooleval-fail-under=0.9\n-pxdist\n-n2", "", 0),
        at_night("Oslo", "--tooleval-fail-under=0.9", "", 1),
        # Nor does it excuse another test, or a file that cannot be read.
        ("Paris", "", "def test_other(): assert 0", 1),
        at_night("Paris", "--continue-on-collection-errors", "1 / 0", 1),
        at_night("Oslo", "-x", "", 1),
    ],
)
def test_a_fork_is_excused_only_cases_without_a_recorded_answer(
    job: Job, recorded: str, options: str, test: str, status: int
) -> None:
    tape = job.folder / "tapes" / "weather.jsonl"
    lines = tape.read_text().splitlines()
    tape.write_text("\n".join(line for line in lines if f"Weather in {recorded}?" in line))
    (job.folder / "test_other.py").write_text(test)
    assert job.step("run", fork=True, OPTIONS=f"-pno:randomly\n{options}") == status, job.output
    assert "1 skipped" in job.output or "1 / 0" in test


def test_a_run_of_other_tests_alone_is_no_success(job: Job) -> None:
    (job.folder / "test_other.py").write_text("def test_other(): pass")
    assert job.step("run", OPTIONS="test_other.py") == 1, job.output
    assert "no case was collected: name the folder of your suites or tests" in job.output


@pytest.mark.nightly
def test_a_shallow_clone_finds_the_cassette_of_its_base(job: Job, tmp_path: Path) -> None:
    shallow = Job(tmp_path / "shallow", job.github)
    (job.folder / "new").write_text("")
    job.git("add", "new")
    job.git("commit", "-qm", "feature")
    job.git("push", "-q", "origin", "feature")
    source = (tmp_path / "origin").as_uri()
    command = ["git", "clone", "-q", "--depth=1", "--no-single-branch", "-b", "feature", source]
    subprocess.run([*command, shallow.folder], check=True)
    (shallow.folder / "agent.py").write_text(AGENT + "# changed\n")
    shallow.run()
    shallow.git("commit", "-q", "-a", "-m", "the answers")
    job.github.head = ""
    shallow.run()
    assert "\n- 2 recorded answers\n" in shallow.comment


@pytest.mark.nightly
def test_a_base_that_the_clone_lacks_is_named_with_the_remedy(job: Job) -> None:
    job.base = "f" * 40
    job.run()
    missing = (
        "- not known: the clone lacks the base commit ffffffffff; fetch it with `fetch-depth: 0` of "
    )
    assert f"**Changed by this pull request**\n\n{missing}actions/checkout\n" in job.comment


@pytest.mark.nightly
def test_the_newer_of_two_runs_has_the_comment(job: Job) -> None:
    job.github.add("<!-- tooleval: tooleval; run 13 -->\nnewer")
    job.run()
    assert job.comment.endswith("newer")
    assert "not commented: run 13 is newer" in job.output
    job.github.comments.clear()
    job.github.head = "f" * 40
    job.run()
    assert not job.github.comments
    assert "not commented: the pull request has a newer commit" in job.output


@pytest.mark.nightly
def test_two_runs_at_once_leave_one_comment(job: Job) -> None:
    theirs = {"id": 99, "body": "<!-- tooleval: tooleval; run 13 -->\nnewer", "user": {"login": BOT}}
    job.github.meanwhile = theirs
    job.run()
    assert job.github.comments == [theirs]


def test_without_permission_the_job_has_a_summary(job: Job, tmp_path: Path) -> None:
    job.github.instead = {"^(POST|PATCH)": [403]}
    assert job.run() == 1
    assert "needs the permissions pull-requests: write and statuses: write" in job.output
    assert "1 of 2 cases failed." in (tmp_path / "summary.md").read_text()


def test_a_forge_that_answers_something_else_fails_no_job(job: Job, tmp_path: Path) -> None:
    job.github.instead = {".": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"}
    assert job.run() == 1
    assert "::warning::GET /pulls/7: an odd answer: Expected `object`, got `array`" in job.output
    assert "1 of 2 cases failed." in (tmp_path / "summary.md").read_text()


def test_an_event_that_gives_secrets_to_a_fork_is_refused_before_anything_is_installed(job: Job) -> None:
    job.by_scripts = True
    for step, status in {"install": 1, "run": 2, "comment": 2}.items():
        (job.folder / "pip.py").write_text("print('installed')")
        assert job.step(step, event="pull_request_target") == status
        assert "the event pull_request_target gives the secrets of this repository" in job.output
        assert "installed" not in job.output


def test_a_merge_request_on_gitlab(job: Job) -> None:
    variables = {
        "GITLAB_CI": "true",
        "GITLAB_TOKEN": TOKEN,
        "CI_API_V4_URL": job.github.url,
        "CI_COMMIT_SHA": job.git("rev-parse", "HEAD"),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": job.git("rev-parse", "origin/main"),
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1",
        "CI_PIPELINE_IID": "12",
        "CI_PROJECT_ID": "1",
        "CI_PROJECT_URL": "https://gitlab.example/me/project",
    }
    for _ in range(2):
        assert job.run(**variables) == 1
        assert "1 of 2 cases failed." in job.comment, job.output
        place = f"https://gitlab.example/me/project/-/blob/{variables['CI_COMMIT_SHA']}/weather.tooleval.json#L"
        assert f"]({place}" in job.comment
    assert {each["state"] for each in job.github.statuses} == {"failed"}


def test_inputs_are_no_code(job: Job) -> None:
    mischief = "$(touch pwned)`touch pwned`; touch pwned"
    job.step("run", MODEL=mischief, PATHS=mischief, OPTIONS=mischief)
    job.step("comment", NAME=mischief, LINK=mischief)
    assert not (job.folder / "pwned").exists()


SHOP_AGENT = """
import json

def answer(messages, tools):
    words = set(messages[-1]["content"].lower().rstrip("?.").split())

    def fit(tool):
        return len(words & set(tool["function"]["description"].lower().rstrip(".").split()))

    function = {"name": max(tools, key=fit)["function"]["name"], "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
"""


def shop(*more: object, **descriptions: str) -> str:
    """A suite with these tools, and more cases."""
    cases = [
        {"id": "where", "prompt": "Where is my order?", "expected_tool": "track"},
        {"id": "late", "prompt": "When does my order arrive?", "expected_tool": "track"},
        {"id": "broken", "prompt": "Please pay back", "expected_tool": "refund"},
    ]
    cases[0]["forbidden_calls"] = ["refund"]  # type: ignore[assignment]
    tools = [tool(name, {"type": "object"}, description=text) for name, text in descriptions.items()]
    return json.dumps({"name": "Shop", "tools": tools, "test_cases": [*cases, *more]}, indent=2)


def expected(name: str) -> str:
    return (Path(__file__).parents[2] / "data" / "comments" / f"{name}.md").read_text(encoding="utf-8")


def test_the_comments_of_a_project_that_begins(github: GitHub, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "origin"], check=True)
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", tmp_path / "clone"], check=True)
    job = Job(tmp_path / "clone", github)
    job.git("checkout", "-q", "-b", "main")
    shared: dict[str, Any] = {"HISTORY": str(tmp_path / "shared"), "BASELINE": "auto"}

    def commit(name: str, text: str) -> None:
        (job.folder / name).write_text(text)
        job.git("add", ".")
        job.git("commit", "-q", "-m", name)
        github.head = job.git("rev-parse", "HEAD")

    def comment() -> str:
        base = job.git("rev-parse", "origin/main")
        text = body(job.comment).replace(github.head, "HEAD").replace(base[:10], "BASE")
        text = re.sub(r": `/[^`]+: no whole run", ": `PLACE: no whole run", text)
        return re.sub(r"took [\d.]+ m?s;", "took 1 s;", re.sub(r"of \d{4}-\d\d-\d\d", "of DAY", text))

    (job.folder / "agent.py").write_text(SHOP_AGENT)
    (job.folder / ".gitignore").write_text(".tooleval\ntooleval-*\n__pycache__\n")
    commit("tooleval.toml", '[models.agent]\ncallable = "agent:answer"\n')
    job.git("push", "-q", "origin", "main")

    job.git("checkout", "-q", "-b", "first")
    commit("shop.tooleval.json", shop(track="Where it is.", refund="Pay back an order."))
    assert job.run(**shared) == 1
    assert comment() == expected("first")
    commit("shop.tooleval.json", shop(track="Where and when an order will arrive.", refund="Pay back."))
    assert job.run(**shared) == 0
    # Merged, and run on main, for later pull requests to compare with.
    commit("merged", "")
    for command in ("checkout -q main", "merge -q first", "push -q origin main"):
        job.git(*command.split())
    assert job.step("run", event="push", **shared) == 0

    job.git("checkout", "-q", "-b", "second")
    github.comments.clear()
    gift = {"id": "gift", "prompt": "Wrap it!", "expected_tool": None}
    changed = shop(gift, track="When it will arrive.", refund="Where an order is, or pay back.")
    commit("shop.tooleval.json", changed)
    assert job.run(**shared) == 1
    assert comment() == expected("red")
    commit("shop.tooleval.json", shop(track="Where is it and when will it arrive.", refund="Pay back."))
    assert job.run(**shared) == 0
    assert comment() == expected("repaired")
