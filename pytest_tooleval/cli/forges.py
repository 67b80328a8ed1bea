"""What one comment and one status need of the REST APIs of GitHub and GitLab."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

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


class Forge(Protocol):
    """One pull request. All methods raise Refused, and ToolevalError for other problems."""

    def head(self) -> str:
        """The newest commit of the pull request."""

    def comments(self) -> Iterator[Comment]: ...

    def add_comment(self, text: str) -> None: ...

    def edit_comment(self, id: int, text: str) -> None: ...

    def delete_comment(self, id: int) -> None: ...

    def set_status(self, commit: str, passed: bool, name: str, text: str, link: str) -> None: ...


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Never sends the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Api:
    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        self._base = base
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        self._opener = urllib.request.build_opener(_NoRedirects)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = self._base + path
        request = urllib.request.Request(url, data, dict(self._headers), method=method)
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

    def pages(self, path: str) -> Iterator[Any]:
        page = 1
        while found := self.send("GET", f"{path}?per_page={_PAGE}&page={page}"):
            yield from found
            if len(found) < _PAGE:
                return
            page += 1


class GitHub:
    """A pull request on GitHub, with a job's token."""

    def __init__(self, url: str, repository: str, number: int, token: str) -> None:
        version = {"X-GitHub-Api-Version": "2022-11-28", "Authorization": f"Bearer {token}"}
        self._api = _Api(f"{url.rstrip('/')}/repos/{repository}", version)
        self._number = number

    def head(self) -> str:
        return str(self._api.send("GET", f"/pulls/{self._number}")["head"]["sha"])

    def comments(self) -> Iterator[Comment]:
        for each in self._api.pages(f"/issues/{self._number}/comments"):
            login = (each.get("user") or {}).get("login")
            yield Comment(int(each["id"]), str(each.get("body")), login == "github-actions[bot]")

    def add_comment(self, text: str) -> None:
        self._api.send("POST", f"/issues/{self._number}/comments", {"body": text})

    def edit_comment(self, id: int, text: str) -> None:
        self._api.send("PATCH", f"/issues/comments/{id}", {"body": text})

    def delete_comment(self, id: int) -> None:
        self._api.send("DELETE", f"/issues/comments/{id}")

    def set_status(self, commit: str, passed: bool, name: str, text: str, link: str) -> None:
        state = "success" if passed else "failure"
        body = {"state": state, "context": name, "description": text[:140], "target_url": link or None}
        self._api.send("POST", f"/statuses/{commit}", body)


class GitLab:
    """A merge request on GitLab, with a project access token: a job's may not comment."""

    def __init__(self, url: str, project: str, number: int, token: str) -> None:
        self._all = _Api(url.rstrip("/"), {"PRIVATE-TOKEN": token})
        self._project = f"/projects/{project}"
        self._notes = f"{self._project}/merge_requests/{number}/notes"
        self._number = number

    def head(self) -> str:
        return str(self._all.send("GET", f"{self._project}/merge_requests/{self._number}")["sha"])

    def comments(self) -> Iterator[Comment]:
        own = self._all.send("GET", "/user")["username"]
        for each in self._all.pages(self._notes):
            yield Comment(int(each["id"]), str(each["body"]), each["author"]["username"] == own)

    def add_comment(self, text: str) -> None:
        self._all.send("POST", self._notes, {"body": text})

    def edit_comment(self, id: int, text: str) -> None:
        self._all.send("PUT", f"{self._notes}/{id}", {"body": text})

    def delete_comment(self, id: int) -> None:
        self._all.send("DELETE", f"{self._notes}/{id}")

    def set_status(self, commit: str, passed: bool, name: str, text: str, link: str) -> None:
        state = "success" if passed else "failed"
        body = {"state": state, "name": name, "description": text[:140], "target_url": link or None}
        self._all.send("POST", f"{self._project}/statuses/{commit}", body)
