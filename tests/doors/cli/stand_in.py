"""A stand-in of GitHub and GitLab, and a job in which the steps of the action run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from builders import git
from click.testing import CliRunner

from pytest_tooleval.cli import main

STEPS = Path(__file__).parents[3] / ".github" / "action"
TOKEN = "ghs_0123456789abcdef"
BOT = "github-actions[bot]"
_OF_CI = ("GITHUB_", "CI_", "GITLAB_")


class GitHub:
    """Comments and statuses of one pull request, and what was asked."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.head = ""
        self.url = ""
        self.login = BOT  # of the job's token
        # What is answered instead, by a pattern of `METHOD PATH`: one status after the other until the
        # last, or bytes as they go over the wire.
        self.instead: dict[str, list[int] | bytes] = {}
        self.asked: list[str] = []
        # What another job does while ours adds its comment.
        self.meanwhile: dict[str, Any] | None = None

    def other(self, asked: str) -> int | bytes | None:
        """What is answered instead."""
        self.asked.append(asked)
        found = next((each for key, each in self.instead.items() if re.search(key, asked)), None)
        if not isinstance(found, list):
            return found
        return (found.pop(0) if len(found) > 1 else found[0]) or None

    def add(self, text: str, login: str = "") -> dict[str, Any]:
        id = 1 + max((each["id"] for each in self.comments), default=0)
        self.comments.append({"id": id, "body": text, "user": {"login": login or self.login}})
        return self.comments[-1]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET" and path == "/repos/me/project/pulls/7":
            return 200, {"head": {"sha": self.head}}
        if method == "GET" and path.startswith("/repos/me/project/issues/7/comments?"):
            page = int(path.rpartition("=")[2])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if method == "POST" and path == "/repos/me/project/issues/7/comments":
            if self.meanwhile is not None:
                self.comments.append(self.meanwhile)
            return 201, self.add(body["body"])
        if method == "POST" and path.startswith("/repos/me/project/statuses/"):
            self.statuses.append({**body, "commit": path.rpartition("/")[2]})
            return 201, body
        if path == "/graphql":
            return 200, {"data": {"viewer": {"login": self.login}}}
        if path.startswith("/projects/1"):
            return self.gitlab(method, path, body)
        if path == "/user":
            return 200, {"username": self.login}
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
        if path.startswith("/projects/1/statuses/"):
            self.statuses.append({**body, "commit": path.rpartition("/")[2]})
            return 201, body
        if method == "GET" and path.startswith(f"{notes}?"):
            found = ({**each, "author": {"username": each["user"]["login"]}} for each in self.comments)
            return 200, list(found)
        if method == "POST":
            return 201, self.add(body["body"])
        assert (method, path) == ("PUT", f"{notes}/{self.comments[0]['id']}")
        self.comments[0]["body"] = body["body"]
        return 200, body


@contextmanager
def served() -> Iterator[GitHub]:
    """A forge at an address."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            bearer = (self.headers["Authorization"] or "").removeprefix("Bearer ")
            assert TOKEN in (bearer, self.headers["PRIVATE-TOKEN"])
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            other = state.other(f"{self.command} {self.path}")
            if isinstance(other, bytes):
                self.wfile.write(other)
                return
            status, body = (other, {"message": "no"}) if other else (0, None)
            if not status:
                status, body = state.answer(self.command, self.path, json.loads(text or b"null"))
            self.send_response(status)
            self.send_header("Retry-After", "0")
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
        self.output = ""  # of the last step
        self.ran = ""  # of the last run
        self.base = ""  # of the pull request; default: that of origin/main
        self.by_scripts = False  # whether the step `comment` is the action's own script
        self.head = ""  # default: the commit that is checked out

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def answers(self, **cities: str) -> None:
        """What the agent answers from now on, by case."""
        found = {f"Weather in {id}?": city for id, city in cities.items()}
        (self.folder / "answers.json").write_text(json.dumps(found))

    def step(self, name: str, event: str = "pull_request", fork: bool = False, **variables: str) -> int:
        is_request = event.startswith("pull_request")
        repositories = ("you/project" if fork else "me/project", "me/project")
        shas = self.git("rev-parse", "HEAD", "origin/main").split()
        self.github.head = self.github.head or shas[0]
        shas = [self.head or shas[0], self.base or shas[1]]
        head, base = (
            {"repo": {"full_name": name}, "sha": sha}
            for name, sha in zip(repositories, shas, strict=True)
        )
        payload = {"pull_request": {"number": 7, "head": head, "base": base}} if is_request else {}
        (self.folder.parent / "event.json").write_text(json.dumps(payload))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_OF_CI)},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(STEPS.parents[1]),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(self.folder.parent / "event.json"),
            "GITHUB_REPOSITORY": "me/project",
            "GITHUB_RUN_ID": "12",
            "GITHUB_STEP_SUMMARY": str(self.folder.parent / "summary.md"),
            "GITHUB_TOKEN": TOKEN,
            "MODEL": "agent",
            "CASSETTE": "tapes",
            "NAME": "tooleval",
            "LINK": "https://github.com/me/project/actions/runs/1/artifacts/2",
            "OPTIONS": "-pno:randomly\n",
            **variables,
        }
        if name == "comment" and not self.by_scripts:
            status = self._comments(environment)
        else:
            done = subprocess.run(
                [STEPS / name],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            status, self.output = done.returncode, done.stdout + done.stderr
        assert TOKEN not in self.output
        return status

    def _comments(self, environment: dict[str, str]) -> int:
        """What the step `comment` does, without two more processes."""
        arguments = ["ci", "comment", f"--name={environment['NAME']}", f"--link={environment['LINK']}"]
        if environment["CASSETTE"]:
            arguments.append(f"--cassette={environment['CASSETTE']}")
        unset = dict.fromkeys(os.environ.keys() - environment.keys())
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            done = CliRunner().invoke(main, arguments, env={**environment, **unset})
        finally:
            os.chdir(here)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        self.output = done.output
        return done.exit_code

    def run(self, **options: Any) -> int:
        """Both steps; the status of pytest."""
        status = self.step("run", **options)
        self.ran = self.output
        assert self.step("comment", **options) == 0, self.output
        return status

    @property
    def summary(self) -> str:
        """What the job's summary has so far."""
        file = self.folder.parent / "summary.md"
        return file.read_text() if file.exists() else ""

    @property
    def status(self) -> tuple[str, str]:
        """The state of the last status, and its description."""
        last = self.github.statuses[-1]
        return last["state"], last["description"]

    @property
    def comment(self) -> str:
        (found,) = [each for each in self.github.comments if each["user"]["login"] == BOT]
        return str(found["body"])
