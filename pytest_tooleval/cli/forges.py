"""What one comment and one status need of the REST APIs of GitHub and GitLab."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from ..checkout.ci import CiJob
from ..errors import ToolevalError
from ..reports.pull_request import CommitState

_TIMEOUT_S = 30.0
# A busy forge is asked again until then, in all requests together.
_PATIENCE_S = 20.0
_PAUSES_S = (1.0, 2.0, 4.0, 8.0)
_PAGE = 100
_MOST_PAGES = 100

_T = TypeVar("_T")


class NoPermission(ToolevalError):
    """The token lacks permission, like a fork's."""


class Missing(NoPermission):
    """It is not there, or the token may not see it."""


class Busy(ToolevalError):
    """The forge could not answer now; `after_s` is the pause that it asks for."""

    def __init__(self, text: str, after_s: float | None) -> None:
        super().__init__(text)
        self.after_s = after_s


class BadRequest(ToolevalError):
    """The forge finds the request wrong."""


class PullComment(NamedTuple):
    """A comment, and whether our token's user wrote it."""

    id: int
    text: str
    is_own: bool


_KINDS = {400: BadRequest, 401: NoPermission, 403: NoPermission, 404: Missing}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Never sends the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Forge(ABC):
    """One pull request. All methods raise ToolevalError, such as Busy."""

    # What the forges call the same things: paths, a method, a field of a status and its value.
    _comments: str
    _comment: str
    _statuses: str
    _edit: str
    _title: str
    _failure: str

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        self._base = base
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._until = time.monotonic() + _PATIENCE_S

    @abstractmethod
    def head(self) -> str:
        """The newest commit of the pull request."""

    @abstractmethod
    def comments(self) -> Iterator[PullComment]: ...

    def add_comment(self, text: str) -> None:
        self._send("POST", self._comments, {"body": text})

    def edit_comment(self, id: int, text: str) -> None:
        self._send(self._edit, f"{self._comment}/{id}", {"body": text})

    def delete_comment(self, id: int) -> None:
        with suppress(Missing):  # another run has deleted it
            self._send("DELETE", f"{self._comment}/{id}")

    def set_status(self, commit: str, state: CommitState, name: str, text: str, link: str) -> None:
        about = {self._title: name, "description": text[:140], "target_url": link or None}
        named = self._failure if state == "failure" else state
        self._send("POST", f"{self._statuses}/{commit}", {"state": named, **about})

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        """The answer; a busy forge is asked again."""
        for usual_s in _PAUSES_S:
            try:
                return self._send_once(method, path, body)
            except Busy as busy:
                pause_s = usual_s if busy.after_s is None else busy.after_s
                if time.monotonic() + pause_s > self._until:
                    raise
                time.sleep(pause_s)
        return self._send_once(method, path, body)

    def _send_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        url = path if "://" in path else self._base + path
        request = urllib.request.Request(url, data, self._headers, method=method)
        what = _named(method, path)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            text = f"{what}: answered {error.code}"
            if error.code == 429 or error.code >= 500:
                after = error.headers.get("Retry-After") or ""
                raise Busy(text, float(after) if after.isdecimal() else None) from None
            raise _KINDS.get(error.code, ToolevalError)(text) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ToolevalError(f"{what}: {error or type(error).__name__}") from None

    def _get(self, path: str, type: type[_T]) -> _T:
        try:
            return msgspec.json.decode(self._send("GET", path), type=type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ToolevalError(f"{_named('GET', path)}: an odd answer: {error}") from None

    def _pages(self, type: type[_T]) -> Iterator[_T]:
        for page in range(1, _MOST_PAGES + 1):
            items = self._get(f"{self._comments}?per_page={_PAGE}&page={page}", list[type])  # type: ignore[valid-type]
            yield from items
            if len(items) < _PAGE:
                return


def _named(method: str, path: str) -> str:
    return f"{method} {path.partition('?')[0]}"


class _Commit(Struct):
    sha: str


class _Request(Struct):
    head: _Commit


class _Login(Struct):
    login: str


class _GitHubComment(Struct):
    id: int
    body: str | None = None
    user: _Login | None = None


class _Data(Struct):
    viewer: _Login


class _Viewer(Struct):
    data: _Data


class GitHub(Forge):
    """A pull request on GitHub, with the token of a job, an App or a user."""

    _edit, _title, _failure = "PATCH", "context", "failure"

    def __init__(self, job: CiJob, token: str) -> None:
        version = {"X-GitHub-Api-Version": "2022-11-28", "Authorization": f"Bearer {token}"}
        super().__init__(f"{job.api.rstrip('/')}/repos/{job.project}", version)
        number = job.number
        self._graphql = job.graphql
        self._request, self._statuses = f"/pulls/{number}", "/statuses"
        self._comments, self._comment = f"/issues/{number}/comments", "/issues/comments"

    def head(self) -> str:
        return self._get(self._request, _Request).head.sha

    def comments(self) -> Iterator[PullComment]:
        for comment in self._pages(_GitHubComment):
            is_own = comment.user is not None and comment.user.login == self._own_login
            yield PullComment(comment.id, comment.body or "", is_own)

    @cached_property
    def _own_login(self) -> str:
        """The token's login: of the REST API, only GET /user knows it, and refuses an App's token."""
        try:
            answer = self._send("POST", self._graphql, {"query": "{viewer{login}}"})
            return msgspec.json.decode(answer, type=_Viewer).data.viewer.login
        except (ToolevalError, msgspec.MsgspecError, UnicodeDecodeError):
            return "github-actions[bot]"

    def add_comment(self, text: str) -> None:
        answer = self._send("POST", self._comments, {"body": text})
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # its author is the token's login
            if user := msgspec.json.decode(answer, type=_GitHubComment).user:
                self._own_login = user.login


class _Username(Struct):
    username: str


class _Note(Struct):
    id: int
    body: str | None = None
    author: _Username | None = None


class GitLab(Forge):
    """A merge request on GitLab, with a project access token: a job's may not comment."""

    _edit, _title, _failure = "PUT", "name", "failed"

    def __init__(self, job: CiJob, token: str) -> None:
        super().__init__(job.api.rstrip("/"), {"PRIVATE-TOKEN": token})
        self._request = f"/projects/{job.project}/merge_requests/{job.number}"
        self._statuses = f"/projects/{job.project}/statuses"
        self._comments = self._comment = f"{self._request}/notes"

    def head(self) -> str:
        return self._get(self._request, _Commit).sha

    def comments(self) -> Iterator[PullComment]:
        login = self._get("/user", _Username).username
        for note in self._pages(_Note):
            is_own = note.author is not None and note.author.username == login
            yield PullComment(note.id, note.body or "", is_own)

    def set_status(self, commit: str, state: CommitState, name: str, text: str, link: str) -> None:
        try:
            super().set_status(commit, state, name, text, link)
        except BadRequest:
            if state != "pending":  # GitLab refuses to set what is set
                raise
