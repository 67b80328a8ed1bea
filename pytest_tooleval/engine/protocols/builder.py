"""Builds chat messages from the items, blocks or parts of other APIs.

A reply may have three fields that the chat API lacks:

- `tool_searches`: `[{"id", "arguments", "tools"}]`, with the names of the tools found, null if unknown;
- `programs`: `[{"id", "code", "result"}]`, code that the provider ran, and that may have made calls;
- `unread`: items of unknown types, unchanged.

A call keeps the `caller` that made it and the `namespace` of its tool, as the provider wrote them. It is
`hosted` if the provider itself runs the tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...record.transcript import SEARCHES, Message
from ...record.untrusted import as_text, objects_in
from ...replies.call_like import UNREAD, orphan, unread_fields

PROGRAMS = "programs"
EXTENSIONS = (SEARCHES, PROGRAMS, UNREAD)


class ChatBuilder:
    """The messages so far."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        # By ids as text, because ids may be of any type.
        self._searches: dict[str, dict[str, Any]] = {}
        self._programs: dict[str, dict[str, Any]] = {}
        # The ids of the calls so far; None once some of them may have been compacted.
        self._called: set[str] | None = set()

    def add(self, message: Any) -> None:
        """Add a chat message. A reply is merged with the searches and programs before it."""
        last = self.reply()
        if last is not None and _role(message) == "assistant" and _only_runs(last):
            last |= {key: value for key, value in message.items() if value is not None}
        else:
            self.messages.append(_copied(message))
        if not isinstance(message, Mapping):
            return
        for call in objects_in(message.get("tool_calls")):
            self._know(call.get("id"))
        if message.get("function_call"):  # the old form has no id
            self._know(None)
        if message.get("role") in ("tool", "function"):
            self._require_call(message.get("tool_call_id"), message.get("content"))
        for field in unread_fields(message):
            self.keep(field)

    def say(self, text: str) -> None:
        """Add text to the current reply."""
        reply = self._current()
        reply["content"] = (reply.get("content") or "") + text

    def call(
        self,
        id: object,
        name: object,
        arguments: object,
        *,
        caller: object = None,
        namespace: object = None,
        custom: bool = False,
        hosted: bool = False,
    ) -> None:
        """Add a call to the current reply. For a custom tool, `arguments` is its text."""
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        kind, field = ("custom", "input") if custom else ("function", "arguments")
        call: dict[str, Any] = {"id": id, "type": kind, kind: {"name": as_text(name), field: arguments}}
        if namespace:
            call["namespace"] = namespace
        if isinstance(caller, Mapping) and caller.get("type") != "direct":
            call["caller"] = dict(caller)
        if hosted:
            call["hosted"] = True
        _append(self._current(), "tool_calls", call)
        self._know(id)

    def answer(self, id: object, content: object, **fields: object) -> Message:
        """Add a tool's answer to a call. The `fields` describe the call's outcome."""
        outcome = {name: value for name, value in fields.items() if value is not None}
        message = {"role": "tool", "tool_call_id": id, "content": as_content(content), **outcome}
        self.messages.append(message)
        self._require_call(id, content)
        return message

    def note_compaction(self) -> None:
        """Note that earlier messages were compacted, and with them perhaps calls."""
        self._called = None

    def _know(self, id: object) -> None:
        if self._called is not None:
            self._called.add(str(id))

    def _require_call(self, id: object, content: object) -> None:
        """Keep the answer to a call that stands nowhere as unread."""
        if self._called is not None and (str(id) not in self._called if id else not self._called):
            self.keep(orphan(id, content))

    def search(self, id: object, arguments: object, *, names_shown: bool = False) -> None:
        """Add a search for tools. `names_shown`: the model knows their names without searching."""
        search = {"id": id, "arguments": arguments, "tools": None}
        if names_shown:
            search["names_shown"] = True
        self._searches[str(id)] = search
        _append(self._current(), SEARCHES, search)

    def tools_found(self, id: object, names: Sequence[str]) -> None:
        """Set the tools that a search found; the last search if the id is unknown."""
        search = self._searches.get(str(id)) or next(reversed(self._searches.values()), None)
        if search is None:
            self.search(id, None)
            search = self._searches[str(id)]
        search["tools"] = [*(search["tools"] or ()), *names]

    def program(self, id: object, code: object) -> None:
        """Add code that the provider runs."""
        program = {"id": id, "code": code, "result": None}
        self._programs[str(id)] = program
        _append(self._current(), PROGRAMS, program)

    def result(self, id: object, result: object) -> None:
        """Set the result of a program; of the last program if the id is unknown."""
        program = self._programs.get(str(id)) or next(reversed(self._programs.values()), None)
        if program is not None:
            program["result"] = result

    def keep(self, item: Mapping[str, Any], *, replies: bool = False) -> None:
        """Keep an item of an unknown type with the last message; with a reply if it `replies`."""
        last = self._current() if replies else self.messages[-1] if self.messages else None
        _append(last if isinstance(last, dict) else self._current(), UNREAD, item)

    def reply(self) -> Message | None:
        """The last message, if it is a reply."""
        last = self.messages[-1] if self.messages else None
        return last if _role(last) == "assistant" else None

    def _current(self) -> Message:
        """The last message if it is a reply, else a new reply."""
        reply = self.reply()
        if reply is None:
            reply = {"role": "assistant", "content": None}
            self.messages.append(reply)
        return reply


def _copied(message: Any) -> Any:
    """A copy of the message whose lists can grow without changing the caller's lists."""
    if not isinstance(message, Mapping):
        return message
    grow = ("tool_calls", *EXTENSIONS)
    return {
        key: [*value] if key in grow and isinstance(value, list) else value
        for key, value in message.items()
    }


def _append(message: Message, field: str, entry: Mapping[str, Any]) -> None:
    value = message.get(field)
    if not isinstance(value, list):
        value = message[field] = [] if value is None else [value]
    value.append(entry)


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, Mapping) else None


def _only_runs(reply: Mapping[str, Any]) -> bool:
    """Whether a reply has searches, programs or unknown items, and nothing else so far."""
    says = any(reply.get(field) is not None for field in ("content", "refusal", "tool_calls"))
    return not says and any(field in reply for field in EXTENSIONS)


_PARTS = ("text", "input_text", "output_text", "input_image", "input_file", "image_url", "file")


def as_content(content: object) -> object:
    """A text, or parts of the chat or the Responses API; anything else as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    is_parts = isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in _PARTS)
        for part in content
    )
    return content if is_parts else json.dumps(content, ensure_ascii=False)
