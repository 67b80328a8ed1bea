"""A dialect: one way in which models write calls into a text, and the server options that parse it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...record.repeated_keys import keep_repeated, refuse_constant

# What must follow an opener before JSON: an object (or a list of them) with a first key and the
# beginning of its value, or a text that ends before that. `{...}` and `{"name": <name>}` are mentions.
# Small models copy the doubled braces of their templates.
_KEY = r"""["']?\w+["']?\s*(?:\Z|:\s*(?:\Z|["'{\[\dtfn-]))"""
_OBJECT = rf"""\{{{{1,2}}\s*(?:\Z|["']?\w*\Z|{_KEY})"""
JSON_NEXT = rf"(?={_OBJECT})"
# Arguments alone may also be empty.
ARGUMENTS_NEXT = rf"(?:{JSON_NEXT}|(?=\{{\s*\}}))"
LIST_NEXT = rf"(?=(?:\[\s*)?{_OBJECT})"
NAME = r"""[^\s<>{}\[\]()"'`=]{1,200}"""


class RawCall(NamedTuple):
    """A call in a text. `arguments` are an object, or text that should be one; None: there are none."""

    name: str
    arguments: object
    id: str | None = None


class NotACall(Exception):
    """An opener turns out to be a mention."""


class BadCall(Exception):
    """A call begins and cannot be read. `name` is its tool, if that can be read."""

    def __init__(self, why: str, name: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.name = name


# The parameters' schema of a tool by its name in the text; None for an unknown tool.
SchemaOf = Callable[[str], Mapping[str, Any] | None]


class Cursor:
    """A place in a text, which moves forward as parts are read."""

    __slots__ = ("at", "schema_of", "text")

    def __init__(self, text: str, at: int, schema_of: SchemaOf) -> None:
        self.text = text
        self.at = at
        self.schema_of = schema_of

    def skip(self, literal: str) -> bool:
        """Move behind white space and this text, if it follows."""
        at = self._after_space()
        if not self.text.startswith(literal, at):
            return False
        self.at = at + len(literal)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move behind white space and a match, if one follows."""
        match = pattern.match(self.text, self._after_space())
        if match is not None:
            self.at = match.end()
        return match

    def until(self, closer: str) -> str:
        """Return the text up to `closer`, and move behind that. Raises BadCall if there is none."""
        end = self.text.find(closer, self.at)
        if end < 0:
            raise BadCall(f"{closer} is missing")
        text, self.at = self.text[self.at : end], end + len(closer)
        return text

    def close(self, *closers: str) -> None:
        """Move behind a closing tag. Servers often remove the last one, as it is a stop sequence.

        Raises BadCall if text follows instead.
        """
        if closers and not any(map(self.skip, closers)) and self.rest[:1] not in ("", "<", "["):
            raise BadCall(f"{closers[0]} is missing")

    @property
    def rest(self) -> str:
        """The beginning of the text that follows white space."""
        at = self._after_space()
        return self.text[at : at + 40]

    def json(self) -> Any:
        """Read a JSON value. Raises BadCall."""
        try:
            value, self.at = DECODER.raw_decode(self.text, self._after_space())
        except (ValueError, RecursionError):
            raise BadCall("its JSON is invalid or cut off") from None
        return value

    def arguments(self, name: str) -> dict[str, Any]:
        """Read the JSON object with the arguments of the tool `name`. Raises BadCall."""
        value = self.json()
        if not isinstance(value, dict):
            raise BadCall("its arguments are no object", name)
        return value

    def _after_space(self) -> int:
        space = _SPACE.match(self.text, self.at)
        return space.end() if space else self.at


_SPACE = re.compile(r"\s*")


DECODER = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=keep_repeated)


@dataclass(frozen=True)
class Dialect:
    """One way to write calls.

    `opener` matches where a call begins, with what its grammar requires next. `read` yields the calls
    from there, and leaves the cursor behind them; it raises BadCall or NotACall. An opener for which
    `counts` is false, given the tools, is text. `starts` matches the beginning of every opener, quickly:
    openers are tried only there. `vllm`, `sglang` and `ollama` are the names of the servers' parsers;
    `models` says whose dialect it is.
    """

    name: str
    models: str
    opener: str
    read: Callable[[Cursor, re.Match[str]], Iterator[RawCall]]
    counts: Callable[[re.Match[str], SchemaOf], bool] = lambda opened, schema_of: True
    starts: str = "<"
    vllm: str = ""
    sglang: str = ""
    ollama: str = ""

    @property
    def options(self) -> str:
        """The options of the servers that parse this dialect."""
        named = {"vLLM": self.vllm, "SGLang": self.sglang}
        options = [f"{server} --tool-call-parser {name}" for server, name in named.items() if name]
        options.append("llama.cpp --jinja")
        if self.ollama:
            options.append(f"Ollama PARSER {self.ollama} (in the Modelfile)")
        return ", ".join(options)
