"""An agent at an address, with its own loop and tools: its calls are read, and never run.

The model's table has the address, the request, and the places of text and calls in the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ...errors import ModelError
from ...jsonschemas.subschemas import MISSING, pointer_target
from ...record.status import CallStatus, last_answers, status_in
from ...record.transcript import Message, status_of, text_of
from ...record.untrusted import as_mapping, objects_in
from ...text import json_text
from ..exchange.chat import BLOCKS, ITEMS, ChatAnswer, ChatRequest
from ..models.spec import DeployedAgent
from ..protocols.reading import read_messages
from . import anthropic_messages, openai_responses
from .event_streams import events, is_stream
from .http_client import HttpAnswer, HttpClient
from .joined_streams import StreamEnd, joined_chat, joined_messages, joined_responses
from .provider_errors import one_line
from .transport import not_json

# The end of a pointer to something that is not in every answer.
OPTIONAL = "?"
# The field of an assistant's message with the id of its conversation.
_CONVERSATION = "conversation"
# What the APIs' own clients send back to them; here it would repeat the calls of other replies.
_RAW = (ITEMS, BLOCKS)
_Document = Mapping[str, Any]
# The text of a tool's answer to a call, and the call's status; each None if unknown.
_End = tuple[str | None, CallStatus | None]


# How to join an API's events, and how to convert the result to the chat API's document.
_JOINED = {"chat": joined_chat, "responses": joined_responses, "messages": joined_messages}
_CHAT: Mapping[str, Callable[[_Document], _Document]] = {
    "chat": lambda document: document,
    "responses": openai_responses.chat_document,
    "messages": lambda document: anthropic_messages.chat_document(document, {}),
}


class DeployedClient(HttpClient):
    """One agent, queried once for each turn."""

    _spec: DeployedAgent

    def __init__(self, spec: DeployedAgent) -> None:
        super().__init__(spec, spec.url, "url")

    def _own_headers(self) -> dict[str, str]:
        return {"Accept": "application/json, text/event-stream", **self._spec.header_values()}

    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        messages = [dict(message) for message in chat["messages"]]
        ids = [message.pop(_CONVERSATION, None) for message in messages]
        values = {
            "$prompt": _last_text(messages, "user"),
            "$system": _last_text(messages, "system"),
            "$messages": messages,
            "$tools": chat.get("tools", []),
            "$conversation": next(filter(None, reversed(ids)), None),
        }
        return {name: _filled(value, values) for name, value in self._spec.request.items()}

    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        answer = self._spec.answer
        return _CHAT[answer](document) if isinstance(answer, str) else document

    def _answer(self, answered: HttpAnswer, request: ChatRequest) -> ChatAnswer:
        if not 200 <= answered.status < 300:
            return self._refused(answered.status, answered.text, answered, request)
        documents = self._documents(answered)
        document = self._document(documents, answered)
        results = _results_in(document)
        answer = self._read(_without_results(document), answered, request)
        message = {key: each for key, each in answer.message.items() if key not in _RAW}
        if self._spec.conversation is not None:
            values = self._values("conversation", self._spec.conversation, documents)
            id = next((each for each in reversed(values) if isinstance(each, (str, int))), None)
            if id is not None:
                message = {**message, _CONVERSATION: id}
        answer = structs.replace(answer, message=message)
        if isinstance(self._spec.answer, str):
            answer = _with_results(answer, results)
        else:
            answer = self._with_ends(answer, self._spec.answer, documents)
        return _run(answer, sequential=self._spec.sequential)

    def _documents(self, answered: HttpAnswer) -> list[Any]:
        text = answered.text
        try:
            return list(events(text)) if is_stream(text) else [json.loads(answered.data)]
        except (ValueError, RecursionError):
            raise not_json(one_line(answered.text) or "it is empty") from None

    def _document(self, documents: Sequence[Any], answered: HttpAnswer) -> _Document:
        answer = self._spec.answer
        if not isinstance(answer, str):
            return self._pointed(documents, answer)
        objects = list(map(as_mapping, documents))
        return self._joined(objects).document if is_stream(answered.text) else objects[0]

    def _joined(self, chunks: Sequence[_Document]) -> StreamEnd:
        return _JOINED[str(self._spec.answer)](chunks)

    def _pointed(self, documents: Sequence[Any], answer: Mapping[str, str]) -> _Document:
        """The chat API's document for the values at the pointers. Each must be in the answer."""
        whole = _without_snapshots(documents, answer)
        parts = [part for part in ("text", "calls") if part in answer]
        values = {part: self._values(part, answer[part], whole) for part in parts}
        calls = [self._call(call, answer) for call in self._listed(values.get("calls", ()))]
        said = (value for value in values.get("text", ()) if value is not None)
        text = "".join(value if isinstance(value, str) else json_text(value) for value in said)
        message = {"role": "assistant", "content": text or None, "tool_calls": calls}
        return {"choices": [{"message": message}]}

    def _with_ends(
        self, answer: ChatAnswer, form: Mapping[str, str], documents: Sequence[Any]
    ) -> ChatAnswer:
        """The answer with the tools' answers to its calls and their status, as far as it has them."""
        if "calls" not in form or not form.keys() & {"result", "status"}:
            return answer
        whole = self._values("calls", form["calls"], _without_snapshots(documents, form))
        ends = [self._end(call, form) for call in self._listed(whole)]
        return _ended(answer, ends)

    def _end(self, call: object, form: Mapping[str, str]) -> _End:
        values = {
            part: next(iter(self._values(part, form[part], [call])), MISSING)
            for part in ("result", "status")
            if part in form
        }
        result, word = (values.get(part, MISSING) for part in ("result", "status"))
        content = None if result is MISSING else _text(result)
        if isinstance(word, bool):
            word = "ok" if word else "error"
        if content is None and word in (MISSING, None):
            return None, None
        return content, status_in({} if word is MISSING else {"status": word}, content or "")

    def _listed(self, values: Iterable[object]) -> list[Any]:
        """The calls in lists of calls."""
        return [call for each in values for call in self._list(each)]

    def _list(self, calls: object) -> list[Any]:
        if calls is None or isinstance(calls, list):
            return calls or []
        raise self._broken(f"the calls of the answer are {json_text(calls, 200)}, and not a list")

    def _call(self, call: object, answer: Mapping[str, str]) -> dict[str, Any]:
        where = answer.get("name", "/name")
        name = pointer_target(call, where)
        if not isinstance(name, str):
            raise self._broken(f"a call of the answer has no name at {where}: {json_text(call, 200)}")
        values = self._values("arguments", answer.get("arguments", "/arguments?"), [call])
        arguments = values[0] if values else None
        function = {"name": name, "arguments": _text(arguments)}
        return {"id": None, "type": "function", "function": function}

    def _values(self, part: str, pointer: str, documents: Sequence[Any]) -> list[Any]:
        """The values at a pointer. Raises ModelError if there is none, unless it ends with a `?`."""
        path = pointer.removesuffix(OPTIONAL)
        values = (pointer_target(each, path) for each in documents)
        present = [value for value in values if value is not MISSING]
        if not present and path == pointer:
            shown = json_text(documents[0] if len(documents) == 1 else documents, 200)
            optional = f'if it is not in every answer, write {part} = "{path}{OPTIONAL}"'
            raise self._broken(f"the answer has nothing at {path} ({part}): {shown}; {optional}")
        return present

    def _broken(self, text: str) -> ModelError:
        return ModelError(f"{one_line(text)}; see {self._spec.place}", kind="unread")


_RESULT = "tool_result"


def _without_results(document: _Document) -> _Document:
    """The document without answers of tools, which the Messages API itself never sends."""
    content = document.get("content")
    if not isinstance(content, list):
        return document
    return {**document, "content": [b for b in content if as_mapping(b).get("type") != _RESULT]}


def _results_in(document: _Document) -> list[Message]:
    """The answers of tools, as chat messages, in a document of the Responses or the Messages API."""
    items = [item for item in objects_in(document.get("output")) if item.get("type") != "message"]
    blocks = objects_in(document.get("content"))
    results = [block for block in blocks if block.get("type") == _RESULT]
    calls = [block for block in blocks if block.get("type") != _RESULT]
    turns = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    read = read_messages([*items, *(turns if blocks else ())]).messages
    return [message for message in read if message.get("role") == "tool"]


def _with_results(answer: ChatAnswer, results: Sequence[Message]) -> ChatAnswer:
    """The answer with these answers to its calls and their status."""
    calls = answer.message.get("tool_calls") or ()
    (ends,) = last_answers([([call.get("id") for call in calls], results)])
    if not any(ends):
        return answer
    return _ended(
        answer,
        [
            (None, None) if end is None else (text_of(end.message), status_of(end.message))
            for end in ends
        ],
    )


def _ended(answer: ChatAnswer, ends: Sequence[_End]) -> ChatAnswer:
    """The answer with what became of each call."""
    calls = answer.message.get("tool_calls") or ()
    ids = [call.get("id") or f"call_{number}" for number, call in enumerate(calls)]
    called = [{**call, "id": id} for id, call in zip(ids, calls, strict=True)]
    answers = (
        {"role": "tool", "tool_call_id": id, "content": content}
        for id, (content, _) in zip(ids, ends, strict=True)
    )
    return structs.replace(
        answer,
        message={**answer.message, "tool_calls": called},
        tool_answers=tuple(answers),
        statuses=tuple(status for _, status in ends),
    )


def _without_snapshots(documents: Sequence[Any], answer: Mapping[str, str]) -> list[Any]:
    """The documents without those that a later one with the same `id` repeats and extends."""
    pointers = [answer[part].removesuffix(OPTIONAL) for part in ("text", "calls") if part in answer]
    values: list[Any] = []
    for document in documents:
        last = values[-1] if values else None
        id = as_mapping(document).get("id")
        if last is not None and id is not None and as_mapping(last).get("id") == id:
            pairs = [(pointer_target(last, path), pointer_target(document, path)) for path in pointers]
            if all(_extends(old, new) for old, new in pairs):
                values.pop()
        values.append(document)
    return values


def _extends(old: object, new: object) -> bool:
    """Whether a value of a stream is an earlier one with more at its end."""
    if isinstance(old, str) and isinstance(new, str):
        return bool(old) and new.startswith(old)
    if isinstance(old, list) and isinstance(new, list):
        return new[: len(old)] == old
    return old is MISSING or old is None or old == new


def _run(answer: ChatAnswer, *, sequential: bool) -> ChatAnswer:
    """The answer as a whole run: its calls, which nobody answers again, and then its text.

    With `sequential`, each call is in its own reply.
    """
    message = dict(answer.message)
    calls = message.get("tool_calls") or []
    if not calls or not (text_of(message) or sequential):
        return structs.replace(answer, earlier=())
    del message["tool_calls"]
    steps = [slice(n, n + 1) for n in range(len(calls))] if sequential else [slice(None)]
    if not text_of(message):  # the run ends with a call
        message, last = {**message, "tool_calls": calls[steps[-1]]}, steps.pop()
        ends = {"tool_answers": answer.tool_answers[last], "statuses": answer.statuses[last]}
    else:
        ends = {"tool_answers": (), "statuses": ()}
    # The last reply has the tokens and cost of all.
    earlier = tuple(
        ChatAnswer(
            {"role": "assistant", "content": None, "tool_calls": calls[step]},
            tool_answers=answer.tool_answers[step],
            statuses=answer.statuses[step],
            **answer.zeros,
        )
        for step in steps
    )
    return structs.replace(answer, message=message, earlier=earlier, **ends)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _last_text(messages: Sequence[Mapping[str, Any]], role: str) -> str | None:
    last = next((each for each in reversed(messages) if each.get("role") == role), None)
    return None if last is None else text_of(last)


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with these values in place of their placeholders."""
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    return template
