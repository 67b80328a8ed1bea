"""What one comment and one status need of the REST APIs of GitHub and GitLab."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import ToolevalError

_TIMEOUT_S = 30.0
_PAGE = 100


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

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, self._headers, method=method)
        what = f"{method} {path.partition('?')[0]}"
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            kind = Refused if error.code in (401, 403, 404) else ToolevalError
            raise kind(f"{what}: answered {error.code}") from None
        except (OSError, ValueError) as error:
            raise ToolevalError(f"{what}: {error}") from None

    def _pages(self) -> Iterator[Any]:
        page = 1
        while found := self._send("GET", f"{self._comments}?per_page={_PAGE}&page={page}"):
            yield from found
            if len(found) < _PAGE:
                return
            page += 1


class GitHub(Forge):
    """A pull request on GitHub, with a job's token."""

    _edit, _title, _failure = "PATCH", "context", "failure"

    def __init__(self, url: str, repository: str, number: int, token: str) -> None:
        version = {"X-GitHub-Api-Version": "2022-11-28", "Authorization": f"Bearer {token}"}
        super().__init__(f"{url.rstrip('/')}/repos/{repository}", version)
        self._request, self._statuses = f"/pulls/{number}", "/statuses"
        self._comments, self._comment = f"/issues/{number}/comments", "/issues/comments"

    def head(self) -> str:
        return str(self._send("GET", self._request)["head"]["sha"])

    def comments(self) -> Iterator[Comment]:
        for each in self._pages():
            login = (each.get("user") or {}).get("login")
            yield Comment(int(each["id"]), str(each.get("body")), login == "github-actions[bot]")


class GitLab(Forge):
    """A merge request on GitLab, with a project access token: a job's may not comment."""

    _edit, _title, _failure = "PUT", "name", "failed"

    def __init__(self, url: str, project: str, number: int, token: str) -> None:
        super().__init__(url.rstrip("/"), {"PRIVATE-TOKEN": token})
        self._request = f"/projects/{project}/merge_requests/{number}"
        self._statuses = f"/projects/{project}/statuses"
        self._comments = self._comment = f"{self._request}/notes"

    def head(self) -> str:
        return str(self._send("GET", self._request)["sha"])

    def comments(self) -> Iterator[Comment]:
        own = self._send("GET", "/user")["username"]
        for each in self._pages():
            yield Comment(int(each["id"]), str(each["body"]), each["author"]["username"] == own)
