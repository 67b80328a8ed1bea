"""What one comment and one status need of the REST APIs of GitHub and GitLab."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from ..errors import ToolevalError

_TIMEOUT_S = 30.0
_PAGE = 100
_MOST_PAGES = 100

_T = TypeVar("_T")


class Refused(ToolevalError):
    """The token lacks permission, like a fork's."""


class Comment(NamedTuple):
    """A comment, and whether our token's user wrote it."""

    id: int
    text: str
    is_own: bool


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Never sends the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Forge(ABC):
    """One pull request. All methods raise Refused, and ToolevalError for other problems."""

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

    @abstractmethod
    def head(self) -> str:
        """The newest commit of the pull request."""

    @abstractmethod
    def comments(self) -> Iterator[Comment]: ...

    def add_comment(self, text: str) -> None:
        self._send("POST", self._comments, {"body": text})

    def edit_comment(self, id: int, text: str) -> None:
        self._send(self._edit, f"{self._comment}/{id}", {"body": text})

    def delete_comment(self, id: int) -> None:
        self._send("DELETE", f"{self._comment}/{id}")

    def set_status(self, commit: str, passed: bool, name: str, text: str, link: str) -> None:
        about = {self._title: name, "description": text[:140], "target_url": link or None}
        state = "success" if passed else self._failure
        self._send("POST", f"{self._statuses}/{commit}", {"state": state, **about})

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, self._headers, method=method)
        what = _named(method, path)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            kind = Refused if error.code in (401, 403, 404) else ToolevalError
            raise kind(f"{what}: answered {error.code}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ToolevalError(f"{what}: {error or type(error).__name__}") from None

    def _get(self, path: str, type: type[_T]) -> _T:
        try:
            return msgspec.json.decode(self._send("GET", path), type=type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ToolevalError(f"{_named('GET', path)}: an odd answer: {error}") from None

    def _pages(self, type: type[_T]) -> Iterator[_T]:
        for page in range(1, _MOST_PAGES + 1):
            found = self._get(f"{self._comments}?per_page={_PAGE}&page={page}", list[type])  # type: ignore[valid-type]
            yield from found
            if len(found) < _PAGE:
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


class GitHub(Forge):
    """A pull request on GitHub, with a job's token."""

    _edit, _title, _failure = "PATCH", "context", "failure"

    def __init__(self, url: str, repository: str, number: int, token: str) -> None:
        version = {"X-GitHub-Api-Version": "2022-11-28", "Authorization": f"Bearer {token}"}
        super().__init__(f"{url.rstrip('/')}/repos/{repository}", version)
        self._request, self._statuses = f"/pulls/{number}", "/statuses"
        self._comments, self._comment = f"/issues/{number}/comments", "/issues/comments"

    def head(self) -> str:
        return self._get(self._request, _Request).head.sha

    def comments(self) -> Iterator[Comment]:
        for each in self._pages(_GitHubComment):
            is_own = each.user is not None and each.user.login == "github-actions[bot]"
            yield Comment(each.id, each.body or "", is_own)


class _Username(Struct):
    username: str


class _Note(Struct):
    id: int
    body: str | None = None
    author: _Username | None = None


class GitLab(Forge):
    """A merge request on GitLab, with a project access token: a job's may not comment."""

    _edit, _title, _failure = "PUT", "name", "failed"

    def __init__(self, url: str, project: str, number: int, token: str) -> None:
        super().__init__(url.rstrip("/"), {"PRIVATE-TOKEN": token})
        self._request = f"/projects/{project}/merge_requests/{number}"
        self._statuses = f"/projects/{project}/statuses"
        self._comments = self._comment = f"{self._request}/notes"

    def head(self) -> str:
        return self._get(self._request, _Commit).sha

    def comments(self) -> Iterator[Comment]:
        own = self._get("/user", _Username).username
        for each in self._pages(_Note):
            is_own = each.author is not None and each.author.username == own
            yield Comment(each.id, each.body or "", is_own)
