"""How to reach an MCP server that the command line, a suite or the page names."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import ConfigError
from ..secrets import keep_secret, key_values, longest_first, scrub, scrub_json, secret_values
from ..text import printable, shorten

Transport = Literal["stdio", "http", "sse"]
Answers = Literal["content", "structured"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
SERVER_TIMEOUT_S = 30.0
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_NAME_OF_VARIABLE = "the name of an environment variable"
# Arguments between a launcher and the name of the package or script that it launches.
_LAUNCHING = ("-y", "--yes", "-m", "-u", "run", "exec", "x", "dlx", "tool")
_LONG = 500
_SHORT_WORD = 5


@dataclass(frozen=True)
class McpServer:
    """A server and how to reach it. Contains no secrets, only the names of their variables.

    `target` is the command with its arguments for `stdio`, or else a URL. `headers` maps names of HTTP
    headers to the environment variables with their values. `env` are the variables that a command gets
    in addition to safe ones like `PATH` and `HOME`. `timeout_s` applies to connecting and to each
    request; `time_limit` says how to set it. `answers` says which of a tool's answer models get, if it
    has both.
    """

    transport: Transport
    target: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    env: tuple[str, ...] = ()
    timeout_s: float = SERVER_TIMEOUT_S
    time_limit: str = field(default="--timeout", compare=False)
    answers: Answers = "content"

    def __post_init__(self) -> None:
        if self.transport == "stdio":
            if not self.target or not self.target[0]:
                raise ConfigError('the command of an MCP server is empty; expected "command args"')
            if self.headers:
                raise ConfigError("headers are for servers over HTTP; a command gets variables (env)")
        else:
            _check_url(self.target)
            if self.env:
                raise ConfigError("env is for servers started by a command; over HTTP use headers")
        for name, variable in self.headers.items():
            if not _HEADER.fullmatch(name):
                raise ConfigError("expected a header name such as Authorization, without its value")
            if not _VARIABLE.fullmatch(variable):
                # The value is not shown, because it may be the secret itself.
                raise ConfigError(f"the header {name} needs {_NAME_OF_VARIABLE}, not the value")
        if not all(_VARIABLE.fullmatch(variable) for variable in self.env):
            raise ConfigError(f"env needs {_NAME_OF_VARIABLE}, not the value")
        if not self.timeout_s > 0:
            raise ConfigError(f"a time-out is a number of seconds above 0, got {self.timeout_s:g}")
        for variable in self._variables:
            keep_secret(variable)

    @property
    def url(self) -> str:
        return self.target[0]

    @property
    def label(self) -> str:
        """The server's name in messages, without most arguments, credentials and queries."""
        if self.transport == "stdio":
            return printable(shorten(" ".join(_safe_words(self.target))))
        parts = urlsplit(self.url)
        return printable(shorten(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", 200))

    def header_values(self) -> dict[str, str]:
        """The headers with their values. Raises ConfigError if a variable is not set or not valid."""
        values = {}
        for name, variable in self.headers.items():
            value = os.environ.get(variable, "").strip()
            if not value:
                raise ConfigError(
                    f"the header {name} needs {_NAME_OF_VARIABLE}, but no such variable is set"
                )
            if not value.isascii() or not value.isprintable():
                raise ConfigError(
                    f"the header {name} cannot be sent: its variable holds a line break or a "
                    "character that is not printable ASCII"
                )
            values[name] = value
        return values

    def env_values(self) -> dict[str, str]:
        """The variables for a command. Raises ConfigError if one is not set."""
        missing = [name for name in self.env if name not in os.environ]
        if missing:
            raise ConfigError(f"not set in the environment: {', '.join(missing)}")
        return {name: os.environ[name] for name in self.env}

    def quote(self, text: str, limit: int = _LONG) -> str:
        """Text from the server, such as an error, on one line and without secrets."""
        # Scrub before cutting, because half of a secret would not be recognised.
        return shorten(printable(" ".join(self.without_secrets(text)[: 20 * limit].split())), limit)

    def without_secrets(self, text: str) -> str:
        """The text without the values of the variables and the secrets in the URL."""
        sent = self._sent(self._variables)
        return scrub(text, longest_first({*sent, *secret_values()}))

    def scrubbed_data(self, data: Any) -> Any:
        """A copy of a JSON value from the server, without the secrets that the server was sent.

        Short words stay, so that a password that is an ordinary word does not change a tool.
        """
        values = {value for value in self._sent(self.headers.values()) if len(value) > _SHORT_WORD}
        # Not `scrub`, which takes the word after "Basic" for credentials. All names are scrubbed,
        # because `required` repeats those of `properties`.
        secrets = longest_first({*values, *key_values()})
        return scrub_json(data, secrets, all_names=True)

    @property
    def _variables(self) -> list[str]:
        return [*self.headers.values(), *self.env]

    def _sent(self, variables: Iterable[str]) -> set[str]:
        """The values of these variables and the secrets in the URL, which the server may echo."""
        values = [os.environ.get(name, "").strip() for name in variables]
        values += [word for value in values for word in value.split() if len(word) > _SHORT_WORD]
        if self.transport != "stdio":
            parts = urlsplit(self.url)
            values += [parts.password or "", unquote(parts.password or ""), parts.query]
            values += [value for _, value in parse_qsl(parts.query) if len(value) > _SHORT_WORD]
        return set(filter(None, values))

    @property
    def identity(self) -> dict[str, Any]:
        """The server as part of cassette keys, with variable names instead of secrets."""
        data: dict[str, Any] = {
            self.transport: list(self.target) if self.transport == "stdio" else self.url
        }
        if self.headers:
            data["headers"] = dict(self.headers)
        if self.env:
            data["env"] = list(self.env)
        if self.answers != "content":
            data["answers"] = self.answers
        return data

    @classmethod
    def of(
        cls,
        stdio: str | Sequence[str] | None,
        http: str | None,
        sse: str | None,
        headers: Mapping[str, str] | None = None,
        env: Sequence[str] | None = None,
        timeout: float | None = None,
        answers: Answers = "content",
    ) -> McpServer:
        """The server as in a suite's `tools_from`. Exactly one of the first three must be given."""
        named = {"stdio": stdio, "http": http, "sse": sse}
        ways = [way for way in TRANSPORTS if named[way] is not None]
        if len(ways) != 1:
            raise ConfigError("an MCP server has one of stdio, http and sse")
        target = named[ways[0]] or ""
        if isinstance(target, str):
            target = split_command(target) if stdio is not None else (target,)
        limit_s = SERVER_TIMEOUT_S if timeout is None else timeout
        settings = (headers or {}, tuple(env or ()), limit_s)
        return cls(ways[0], tuple(target), *settings, answers=answers)


def _safe_words(command: tuple[str, ...]) -> list[str]:
    """`npx @scope/server` for `npx -y @scope/server --key ...`: later arguments may be secrets."""
    words = [os.path.basename(command[0]) or command[0]]
    for word in command[1:]:
        if word in _LAUNCHING:
            continue
        if not word.startswith("-"):
            words.append(word if word.startswith("@") else os.path.basename(word) or word)
        break
    return words


def split_command(text: str, *, windows: bool = os.name == "nt") -> tuple[str, ...]:
    """Split a command line like a shell. Raises ConfigError for an unclosed quote.

    On Windows, backslashes are plain characters, and only double quotes group words.
    """
    try:
        if not windows:
            return tuple(shlex.split(text))
        lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
        lexer.whitespace_split = True
        lexer.escape = lexer.commenters = ""
        lexer.quotes = '"'
        return tuple(lexer)
    except ValueError as error:
        raise ConfigError(f"the command cannot be parsed: {error}") from None


def _check_url(target: tuple[str, ...]) -> None:
    url = target[0] if len(target) == 1 else ""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_good = False
    if not is_good or not url.isprintable() or " " in url:
        # The address is not shown, as it may contain a misplaced key.
        raise ConfigError("the address of an MCP server is a URL such as https://example.com/mcp")
