"""The steps of the action, in a shell, on a repository with two branches and a stand-in of GitHub."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from builders import git, tool
from nightly import at_night

STEPS = Path(__file__).parents[3] / ".github" / "action"
TOKEN = "ghs_0123456789abcdef"
BOT = "github-actions[bot]"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the steps are scripts of a POSIX shell"),
]

AGENT = """
import json
from pathlib import Path

def answer(messages, tools):
    city = json.loads(Path("answers.json").read_text())[messages[-1]["content"]]
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
"""


class GitHub:
    """Comments and statuses of one pull request, and what was asked."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.head = ""
        self.url = ""
        self.refuses = False
        self.is_odd = False
        # What another job does while ours adds its comment.
        self.meanwhile: dict[str, Any] | None = None

    def add(self, text: str, login: str = BOT) -> dict[str, Any]:
        id = 1 + max((each["id"] for each in self.comments), default=0)
        self.comments.append({"id": id, "body": text, "user": {"login": login}})
        return self.comments[-1]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.is_odd:
            return 200, []
        if self.refuses and method != "GET":
            return 403, {"message": "Resource not accessible by integration"}
        if method == "GET" and path == "/repos/me/project/pulls/7":
            return 200, {"head": {"sha": self.head}}
        if method == "GET" and path.startswith("/repos/me/project/issues/7/comments?"):
            page = int(path.rpartition("=")[2])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if method == "POST" and path == "/repos/me/project/issues/7/comments":
            if self.meanwhile is not None:
                self.comments.append(self.meanwhile)
            return 201, self.add(body["body"])
        if method == "POST" and path == f"/repos/me/project/statuses/{self.head}":
            self.statuses.append(body)
            return 201, body
        if path.startswith("/projects/1"):
            return self.gitlab(method, path, body)
        if path == "/user":
            return 200, {"username": BOT}
        id = int(path.removeprefix("/repos/me/project/issues/comments/"))
        (found,) = [each for each in self.comments if each["id"] == id]
        if method == "DELETE":
            self.comments.remove(found)
            return 204, None
        assert method == "PATCH"
        found["body"] = body["body"]
        return 200, found

    def gitlab(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """The same as GitLab has it."""
        notes = "/projects/1/merge_requests/7/notes"
        if path == "/projects/1/merge_requests/7":
            return 200, {"sha": self.head}
        if path == f"/projects/1/statuses/{self.head}":
            self.statuses.append(body)
            return 201, body
        if method == "GET" and path.startswith(f"{notes}?"):
            found = ({**each, "author": {"username": each["user"]["login"]}} for each in self.comments)
            return 200, list(found)
        if method == "POST":
            return 201, self.add(body["body"])
        assert (method, path) == ("PUT", f"{notes}/{self.comments[0]['id']}")
        self.comments[0]["body"] = body["body"]
        return 200, body


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            bearer = (self.headers["Authorization"] or "").removeprefix("Bearer ")
            assert TOKEN in (bearer, self.headers["PRIVATE-TOKEN"])
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = state.answer(self.command, self.path, json.loads(text or b"null"))
            self.send_response(status)
            self.end_headers()
            if body is not None:
                self.wfile.write(json.dumps(body).encode())

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    server.server_close()


class Job:
    """A clone in which the steps of the action run, as a job of GitHub does."""

    def __init__(self, folder: Path, github: GitHub) -> None:
        self.folder = folder
        self.github = github
        self.output = ""
        self.base = ""  # of the pull request; default: that of origin/main

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def answers(self, **cities: str) -> None:
        """What the agent answers from now on, by case."""
        found = {f"Weather in {id}?": city for id, city in cities.items()}
        (self.folder / "answers.json").write_text(json.dumps(found))

    def step(self, name: str, event: str = "pull_request", fork: bool = False, **variables: str) -> int:
        repositories = ("you/project" if fork else "me/project", "me/project")
        shas = self.git("rev-parse", "HEAD", "origin/main").split()
        self.github.head = self.github.head or shas[0]
        shas[1] = self.base or shas[1]
        head, base = (
            {"repo": {"full_name": name}, "sha": sha}
            for name, sha in zip(repositories, shas, strict=True)
        )
        payload = {"pull_request": {"number": 7, "head": head, "base": base}}
        (self.folder.parent / "event.json").write_text(json.dumps(payload))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(self.folder.parent / "event.json"),
            "GITHUB_REPOSITORY": "me/project",
            "GITHUB_RUN_NUMBER": "12",
            "GITHUB_STEP_SUMMARY": str(self.folder.parent / "summary.md"),
            "GITHUB_TOKEN": TOKEN,
            "MODEL": "agent",
            "CASSETTE": "tapes",
            "NAME": "tooleval",
            "LINK": "https://github.com/me/project/actions/runs/1/artifacts/2",
            "OPTIONS": "-pno:randomly\n",
            **variables,
        }
        done = subprocess.run(
            [STEPS / name], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        self.output = done.stdout + done.stderr
        assert TOKEN not in self.output
        return done.returncode

    def run(self, **options: Any) -> int:
        """Both steps; the status of pytest."""
        status = self.step("run", **options)
        assert self.step("comment", **options) == 0, self.output
        return status

    @property
    def comment(self) -> str:
        (found,) = [each for each in self.github.comments if each["user"]["login"] == BOT]
        return str(found["body"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository `origin`, in which the agent has `Oslo` wrong, and its `baseline.json`."""
    folder = tmp_path_factory.mktemp("made")
    origin = Job(folder / "origin", GitHub())
    origin.folder.mkdir()
    cases = [
        {
            "id": city,
            "prompt": f"Weather in {city}?",
            "expected_tool": "get_weather",
            "expected_params": {"city": city},
        }
        for city in ("Paris", "Oslo")
    ]
    suite = {"name": "Weather", "tools": [tool("get_weather")], "test_cases": cases}
    for name, text in {
        "agent.py": AGENT,
        "tooleval.toml": '[models.agent]\ncallable = "agent:answer"\n',
        "weather.tooleval.json": json.dumps(suite),
        ".gitignore": ".tooleval\ntooleval-*\n__pycache__\n",
    }.items():
        (origin.folder / name).write_text(text)
    origin.answers(Paris="Paris", Oslo="Rome")
    origin.git("init", "-q", "-b", "main")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tooleval-model=agent", "--tooleval-cassette=tapes",
         f"--tooleval-report={folder}/baseline.json"],
        cwd=origin.folder, check=False, capture_output=True,
    )  # fmt: skip
    origin.git("add", ".")
    origin.git("commit", "-q", "-m", "main")
    return folder


@pytest.fixture
def job(tmp_path: Path, made: Path, github: GitHub) -> Job:
    """A clone of it, on the branch of a pull request."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    clone = Job(tmp_path / "clone", github)
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", clone.folder], check=True)
    clone.git("checkout", "-q", "-b", "feature")
    return clone


def body(text: str) -> str:
    """The comment without its marker."""
    return re.sub(r"\A<!-- .* -->\n", "", text)


@pytest.mark.nightly
def test_a_first_run_has_no_baseline(job: Job) -> None:
    assert job.run() == 1
    assert body(job.comment).startswith("### Tool calling: **FAILED**\n\n1 of 2 results failed.\n")
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
    assert "\n- 2 recorded answers\n" in job.comment
    for line in lines:
        assert line.replace("``", "`") in job.comment.replace("``", "`")
    # A later run edits the comment, and leaves those of others alone.
    job.github.add("<!-- tooleval: tooleval; run 1 --> mine", login="somebody")
    assert job.run(GITHUB_RUN_NUMBER="13") == status
    assert job.comment.startswith("<!-- tooleval: tooleval; run 13 -->")
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


def test_a_fork_replays_and_comments_in_its_summary(job: Job, tmp_path: Path) -> None:
    job.answers(Paris="Paris", Oslo="Oslo")
    (job.folder / "tapes" / "weather.jsonl").write_text("")
    assert job.run(fork=True) == 0, job.output
    assert not job.github.comments
    assert not job.github.statuses
    summary = (tmp_path / "summary.md").read_text()
    assert "2 cases without an answer" in summary
    assert "A fork gets no secrets" in summary
    assert not (job.folder / ".tooleval" / "history.db").exists()
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
        # Paris, which was not asked, ends the run before Oslo.
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
    assert ("1 case not asked" in job.output) == (not status)


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
    job.github.refuses = True
    assert job.run() == 1
    assert "needs the permissions pull-requests: write and statuses: write" in job.output
    assert "1 of 2 results failed." in (tmp_path / "summary.md").read_text()


def test_a_forge_that_answers_something_else_fails_no_job(job: Job, tmp_path: Path) -> None:
    job.github.is_odd = True
    assert job.run() == 1
    assert "::warning::GET /pulls/7: an odd answer: Expected `object`, got `array`" in job.output
    assert "1 of 2 results failed." in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_an_event_that_gives_secrets_to_a_fork_is_refused(job: Job, event: str) -> None:
    for step in ("run", "comment"):
        assert job.step(step, event=event) == 2
        assert f"the event {event} gives the secrets of this repository" in job.output


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
        "GITHUB_RUN_NUMBER": "",
    }
    for _ in range(2):
        assert job.run(**variables) == 1
        assert "1 of 2 results failed." in job.comment, job.output
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
