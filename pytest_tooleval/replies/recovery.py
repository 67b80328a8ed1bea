"""Read the calls in a message: native ones, and those that a model wrote as text.

Models write calls as text if they or their servers do not support the tools API, or if the server has
the wrong parser. Two kinds are read:

- a dialect's own openers (`dialects`), anywhere outside code and thinking. A call that begins with one
  and cannot be read is `unread`, and the model's mistake. A bare opener is text, as is Cline's without a
  known tool;
- JSON, lists as in Python, and fenced code, only if the whole reply consists of calls to known tools. A
  closed `tool_code` fence (Gemma) may also be within a text.

A call within closed thinking is a draft. Within thinking that never ends, it cannot be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..record.calls import ToolCall, native_calls
from ..record.names import NO_TOOLS, KnownTools
from ..record.transcript import CallFormat
from ..record.unread import Owner, Unread
from ..record.untrusted import as_text
from .code_and_thinking import FENCE, STARTS, THINKING, TICKS, Code, begin_of_answer, end_of_thought
from .dialects import DIALECTS, options_for
from .dialects.dialect import DECODER, BadCall, Cursor, Dialect, NotACall, RawCall
from .dialects.json_calls import calls_in_json, read_values
from .dialects.pythonic import read_list

MAX_TEXT = 1_000_000

_TOOL_CODE = "tool_code"
_NO_DIALECT = "JSON"  # calls without a dialect's opener
_OPENERS = re.compile("|".join(f"(?:{dialect.opener})" for dialect in DIALECTS))
_STOPS = re.compile("|".join((f"(?P<thinking>{THINKING})", FENCE, TICKS, _OPENERS.pattern)))

_TICKS = re.compile(TICKS)
# Where something may begin: most of a text is passed over quickly.
_HINTS = re.compile("|".join(dict.fromkeys((STARTS, *(dialect.starts for dialect in DIALECTS)))))
_COMPILED = tuple((dialect, re.compile(dialect.opener)) for dialect in DIALECTS)
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\(")
_LONGEST_TOKEN, _MOST_TOKENS = 40, 3
_TOKEN = re.compile(r"(?:<[|｜][^<>\s]+[|｜]>|</s>|<end_of_turn>|</tool_call>)\Z")
# A text with more unreadable calls is read no further.
_MOST_UNREAD = 20
_MOST_SPANS = 100
_PRINTED = re.compile(r"\s*print\((.*)\)\s*\Z", re.DOTALL)


class Reading(NamedTuple):
    """The calls of a message, how they were written, and what could not be read.

    `dialect` is that of the first call that was written as text; empty if there is none. `recovered` is
    the number of calls that were.
    """

    calls: tuple[ToolCall, ...]
    format: CallFormat = "native"
    dialect: str = ""
    unread: tuple[Unread, ...] = ()
    recovered: int = 0

    @property
    def lost_calls(self) -> int:
        """The number of calls that were written as text and cannot be read."""
        return sum(each.owner == "model" for each in self.unread)


NO_READING = Reading(())


class _Text(NamedTuple):
    """The calls in a text, what could not be read, and the text around them."""

    calls: tuple[RawCall, ...] = ()
    dialect: str = ""
    unread: tuple[Unread, ...] = ()
    prose: str = ""


def read_calls(
    message: Mapping[str, Any], text: str, offered: KnownTools = NO_TOOLS, *, cut_off: bool = False
) -> Reading:
    """Read the calls in a message and in its `text`.

    `cut_off`: the answer ended early, so that empty arguments may have lost their text.
    """
    native = [_native(call, offered, cut_off) for call in native_calls(message)]
    repaired = [repair_call(call, offered) or call for call in native]
    in_text = _in_text(text, offered) if offered.in_text else _Text()
    written = [_call_of(call, offered) for call in in_text.calls]
    if native:  # a server that reads calls may leave their text, or a part of them
        written = [call for call in written if not any(_same(call, each) for each in repaired)]
    is_native = repaired == native and not written
    dialect = in_text.dialect if written or in_text.unread else ""
    recovered = len(written) + sum(one != other for one, other in zip(native, repaired, strict=True))
    form: CallFormat = "native" if is_native else "recovered"
    return Reading((*repaired, *written), form, dialect, in_text.unread, recovered)


def of_server(reading: Reading, text: str, error: str) -> Reading:
    """Return what is known of a call that a server could not parse, with the server's error.

    `text` is the part of it that the server quotes. If we can read the call, or if nothing is quoted,
    it is the server's fault; else the model's.
    """
    if reading.unread:
        return reading
    owner: Owner = "model" if text and not reading.calls else "other"
    why = "the server could not parse the model's call"
    if reading.calls:
        names = ", ".join(call.name for call in reading.calls)
        options = options_for(reading.dialect)
        why = f"the server could not parse a readable call of {names} ({reading.dialect}: {options})"
    return reading._replace(unread=(Unread.at(error, text, why, owner, reading.dialect),))


def prose_of(text: str, offered: KnownTools) -> str:
    """Return a text without the calls in it."""
    return _in_text(text, offered).prose.strip()


def _native(call: object, offered: KnownTools, cut_off: bool) -> ToolCall:
    if not isinstance(call, (Mapping, ToolCall)):
        return ToolCall.parse("", call)
    namespace = as_text(call.get("namespace")) if isinstance(call, Mapping) else ""
    return offered.read(ToolCall.coerce(call), namespace, cut_off=cut_off)


def _call_of(written: RawCall, offered: KnownTools) -> ToolCall:
    """Make a call, whose arguments are text if a key appears twice in them."""
    call = ToolCall.parse(written.name, written.arguments, written.id)
    if isinstance(written.arguments, dict) and call.arguments is not None:
        again = ToolCall.parse(written.name, json.dumps(written.arguments), written.id)
        call = call if again.arguments is not None else again
    return offered.read(call)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and _texts(one.arguments) == _texts(other.arguments)


def _texts(arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """The values as text, as a server may not type them by the tool's schema."""
    return {name: str(value).casefold() for name, value in (arguments or {}).items()}


def repair_call(call: ToolCall, offered: KnownTools) -> ToolCall | None:
    """Return the call that a model wrote as JSON into the function's name.

    None if the name is anything else. Arguments inside the name override the call's own.
    """
    text = call.name.strip()
    if not text.startswith("{") or len(text) > MAX_TEXT or call.name in offered:
        return None
    try:
        (written,) = calls_in_json(DECODER.decode(text))
    except (BadCall, ValueError, RecursionError):
        return None
    if written.arguments is None:
        inner = offered.read(ToolCall(written.name, call.arguments, call.raw_arguments, call.id))
    else:
        inner = _call_of(written._replace(id=call.id), offered)
    return inner if offered.has(inner.name) else None


def _in_text(text: str, offered: KnownTools) -> _Text:
    if not text:
        return _Text()
    begin = begin_of_answer(text)
    for start in sorted({0, begin}):  # the end of thinking may also be an argument
        if whole := _whole_reply(text[start:].strip(), offered):
            return _Text(whole, _NO_DIALECT)
    if len(text) > MAX_TEXT:
        _, opened = next(_openings(text, 0, len(text), offered), (None, None))
        why = f"a call in a text of more than {MAX_TEXT} characters"
        return _Text(unread=(Unread.at("content", text[opened.start() :], why),) if opened else ())
    if _call_over(text, 0, begin, offered) is not None:
        begin = 0  # the end of thinking is an argument
    return _Scan(text, begin, offered).read()


def _call_over(text: str, start: int, end: int, offered: KnownTools) -> int | None:
    """Return where a call begins that goes on behind `end`; None if none does."""
    begun = [*_openings(text, start, end, offered)]
    if not begun:
        return None
    dialect, opened = begun[-1]
    cursor = Cursor(text, opened.end(), offered.schema_of)
    try:
        is_call = any(True for _ in dialect.read(cursor, opened))
    except (BadCall, NotACall, RecursionError):
        return None
    return opened.start() if is_call and cursor.at > end else None


def _openings(
    text: str, start: int, end: int, offered: KnownTools
) -> Iterator[tuple[Dialect, re.Match[str]]]:
    """Yield the openers in a part of a text, each with its dialect."""
    for opener in _OPENERS.finditer(text, start, end):
        if begun := _opened_at(text, opener.start(), offered):
            yield begun


def _opened_at(text: str, start: int, offered: KnownTools) -> tuple[Dialect, re.Match[str]] | None:
    """Return the dialect whose opener stands here, and its match."""
    for dialect, opener in _COMPILED:
        opened = opener.match(text, start)
        if opened and dialect.counts(opened, offered.schema_of):
            return dialect, opened
    return None


def _whole_reply(text: str, offered: KnownTools) -> tuple[RawCall, ...]:
    """Return the calls of a reply that consists only of calls to known tools; otherwise empty."""
    language, body = _unfenced(_without_tokens(text))
    if not body.startswith(("{", "[")) and language != _TOOL_CODE:
        return ()
    cursor = Cursor(body, 0, offered.schema_of)
    for read in (read_values, _python_calls):
        cursor.at = 0
        try:
            calls = tuple(read(cursor))
        except (BadCall, RecursionError):
            continue
        named = all(offered.has(call.name) and call.arguments is not None for call in calls)
        return calls if named and not cursor.rest else ()
    return ()


def _without_tokens(text: str) -> str:
    """Return a reply without the tokens at its end that a server may have kept."""
    for _ in range(_MOST_TOKENS):
        token = _TOKEN.search(text, max(0, len(text) - _LONGEST_TOKEN))
        if token is None:
            break
        text = text[: token.start()].rstrip()
    return text


def _unfenced(text: str) -> tuple[str, str]:
    """Return the language and the body of a reply that is a single fence; else no language."""
    if not text.startswith("```") or not text.endswith("```") or len(text) < 6:
        return "", text
    language, newline, body = text[3:-3].partition("\n")
    return (language.strip(), body.strip()) if newline else ("", "")


def _python_calls(cursor: Cursor) -> Iterator[RawCall]:
    """Read calls as in Python, one or a list on each line, perhaps in `print(...)`."""
    printed = _PRINTED.match(cursor.text)
    inner = Cursor(printed[1], 0, cursor.schema_of) if printed else cursor
    while inner.rest:
        yield from read_list(inner)
    cursor.at = len(cursor.text)


class _Scan:
    """Reads the dialects' calls in a text, from left to right."""

    def __init__(self, text: str, begin: int, offered: KnownTools) -> None:
        self._text = text
        self._at = begin
        self._offered = offered
        self._code = Code(text)
        self._calls: list[RawCall] = []
        self._prose: list[str] = []
        self._unread: list[Unread] = []
        self._dialect = ""
        self._spans = 0  # how many were looked into

    def read(self) -> _Text:
        kept = self._at  # where the text begins that is not yet in the prose
        while len(self._unread) < _MOST_UNREAD and (hint := _HINTS.search(self._text, self._at)):
            stop = _STOPS.match(self._text, hint.start())
            if stop is None:
                self._at = hint.start() + 1
                continue
            before = len(self._calls)
            self._at = self._behind(stop)
            if len(self._calls) > before:
                self._prose.append(self._text[kept : stop.start()])
                kept = self._at
        self._prose.append(self._text[kept:])
        return _Text(tuple(self._calls), self._dialect, tuple(self._unread), "".join(self._prose))

    def _behind(self, stop: re.Match[str]) -> int:
        """Return the end of what begins here, after reading its calls."""
        if stop["thinking"] is not None:
            return self._thought(stop)
        if stop["ticks"] is not None:
            return self._span(stop)
        if stop["fence"] is not None:
            return self._fenced(stop)
        begun = _opened_at(self._text, stop.start(), self._offered)
        return self._opened(*begun) if begun else max(stop.end(), stop.start() + 1)

    def _thought(self, stop: re.Match[str]) -> int:
        closed_at = end_of_thought(self._text, stop)
        if closed_at is not None:
            return closed_at
        _, opened = next(_openings(self._text, stop.end(), len(self._text), self._offered), (None, None))
        if opened is not None:
            why = "a call within thinking that never ends"
            self._unread.append(Unread.at("content", self._text[opened.start() :], why))
        return len(self._text)

    def _span(self, stop: re.Match[str]) -> int:
        """Return the end of a code span, which no tick in an argument of an unquoted call is."""
        end = self._code.span_end(stop)
        if self._spans < _MOST_SPANS and _OPENERS.search(self._text, stop.end() + 1, end):
            self._spans += 1
            begin = _call_over(self._text, stop.end() + 1, end, self._offered)
            return end if begin is None else begin
        return end

    def _fenced(self, stop: re.Match[str]) -> int:
        fence = self._code.fence(stop)
        if fence is None:
            ticks = _TICKS.match(self._text, stop.start())
            return self._span(ticks) if ticks else stop.end("fence")
        body, end = fence
        if stop["language"].strip() == _TOOL_CODE:
            cursor = Cursor(body, 0, self._offered.schema_of)
            try:
                calls = tuple(_python_calls(cursor))
            except (BadCall, RecursionError):
                if any(self._offered.has(name) for name in _CALLED.findall(body)):
                    why = "a Gemma 3 call: it is no call with named arguments"
                    self._unread.append(Unread.at("content", body, why, dialect="Gemma 3"))
                return end
            if all(self._offered.has(call.name) for call in calls):
                self._add(calls, "Gemma 3")
        return end

    def _opened(self, dialect: Dialect, opened: re.Match[str]) -> int:
        cursor = Cursor(self._text, opened.end(), self._offered.schema_of)
        calls: list[RawCall] = []
        try:
            calls.extend(dialect.read(cursor, opened))
        except NotACall:
            return opened.end() if opened.end() > opened.start() else opened.end() + 1
        except (BadCall, RecursionError) as error:
            why = error.why if isinstance(error, BadCall) else "it is nested too deeply"
            raw = self._text[opened.start() :]
            self._unread.append(
                Unread.at("content", raw, f"a {dialect.name} call: {why}", dialect=dialect.name)
            )
            if isinstance(error, BadCall) and error.name:
                calls.append(RawCall(error.name, raw))
        self._add(calls, dialect.name)
        return max(cursor.at, opened.start() + 1)

    def _add(self, calls: list[RawCall] | tuple[RawCall, ...], dialect: str) -> None:
        self._calls.extend(calls)
        self._dialect = self._dialect or dialect
