"""Reads the results of a Python function that is used as a model."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from msgspec import structs

from ...errors import AgentGaveUp, ErrorKind, ModelError, error_text
from ...record.transcript import AGENT, INNER, SYSTEM_ROLES, Message
from ...record.untrusted import as_mapping, as_text
from ...replies.endings import GAVE_UP, ending_of, usual_reason
from ...replies.messages import gist_of, statuses_of
from ...secrets import scrub, secret_values
from ...text import shorten
from ..exchange.chat import ChatAnswer
from ..models.spec import CallableModel


def read_result(
    spec: CallableModel, result: object, prompt: Sequence[Mapping[str, Any]], latency_s: float
) -> ChatAnswer:
    """The function's result as an answer. Raises ModelError, with the expected forms, for anything else.

    A list is a whole run: the messages of the assistant and its tools, perhaps after the prompt.
    """
    if not isinstance(result, (list, tuple)):
        return _read_message(spec, _plain(spec, result), latency_s, result)
    replies: list[ChatAnswer] = []
    for message in _without_prompt([_plain(spec, each) for each in result], prompt):
        role = message.get("role") if isinstance(message, dict) else "assistant"
        if role in (None, "assistant"):
            replies.append(_read_message(spec, message, 0.0, result))
        elif replies:
            index = _answered_by(replies, message)
            answers = (*replies[index].tool_answers, message)
            replies[index] = structs.replace(replies[index], tool_answers=answers)
        elif role == "tool":
            raise _unexpected(spec, result, " after the call that a tool's message answers")
    if not replies:
        raise _unexpected(spec, result)
    *earlier, last = _with_status([answers_in_order(each) for each in replies])
    for name in last.zeros:
        if all(getattr(each, name) is None for each in earlier):
            earlier = [structs.replace(each, **{name: 0}) for each in earlier]  # it is for the whole run
    return structs.replace(last, earlier=tuple(earlier), latency_s=latency_s)


def _answered_by(replies: Sequence[ChatAnswer], answer: Message) -> int:
    """The place of the reply that an answer belongs to: the last, or one before inner agents'."""
    index, id = len(replies) - 1, answer.get("tool_call_id")
    while index and replies[index].is_inner:
        if any(call.get("id") == id for call in replies[index].message.get("tool_calls") or ()):
            break
        index -= 1
    return index


def _with_status(replies: Sequence[ChatAnswer]) -> list[ChatAnswer]:
    """The replies with the status of their calls, moved out of the messages.

    The messages are part of later requests, and providers do not know the `status` field.
    """
    statuses = statuses_of((each.message, each.tool_answers) for each in replies)
    return [
        structs.replace(
            reply,
            statuses=status,
            tool_answers=tuple({k: m[k] for k in m if k != "status"} for m in reply.tool_answers),
        )
        for reply, status in zip(replies, statuses, strict=True)
    ]


def read_giving_up(
    spec: CallableModel, error: AgentGaveUp, prompt: Sequence[Mapping[str, Any]], latency_s: float
) -> ChatAnswer:
    """The run of an agent that gave up, as an answer that cannot be used."""
    last = ChatAnswer(
        {"role": "assistant", "content": None},
        finish_reason="_".join(filter(None, (GAVE_UP, error.kind))),
        finish_message=callable_error(str(error)).message,
        latency_s=latency_s,
    )
    if not error.messages:
        return last
    answer = read_result(spec, error.messages, prompt, latency_s)
    return structs.replace(last, earlier=tuple(structs.replace(e, earlier=None) for e in answer.replies))


def _without_prompt(messages: list[Any], prompt: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The messages after the prompt, if the agent also returned that, or the end of it.

    In its copy, the texts of either the assistant or the user may differ, but not the calls, so that no
    new call is cut off. System prompts, which may be the agent's own, and empty messages do not count.
    """
    spoken = [index for index, message in enumerate(messages) if _speaks(message)]
    prompts = [dict(message) for message in prompt if _speaks(message)]
    # Tool answers are often shortened or rewritten.
    for inexact in ((), ("assistant", "tool"), ("user", "tool")):
        returned = [_compared(messages[index], inexact) for index in spoken]
        sent = [_compared(message, inexact) for message in prompts]
        for start, message in enumerate(prompts):
            length = len(prompts) - start
            begins = start == 0 or message.get("role") == "user"
            if begins and returned[:length] == sent[start:]:
                return messages[spoken[length - 1] + 1 :]
    return messages


def _speaks(message: Any) -> bool:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role is None:
        return True  # an answer in another form
    has_content = any(message.get(field) for field in ("content", "tool_calls", "function_call"))
    return has_content and role not in SYSTEM_ROLES


def _compared(message: Any, inexact: Sequence[str]) -> object:
    """The parts of a message that its copy must repeat; for `inexact` roles, only the calls."""
    if not isinstance(message, dict):
        return None
    role, text, calls = gist_of(message)
    return role, "" if role in inexact else text, calls


def answers_in_order(answer: ChatAnswer) -> ChatAnswer:
    """The answer, with the answers to its calls in the order of the calls."""
    calls = answer.message.get("tool_calls") or ()
    order = {str(call.get("id")): index for index, call in enumerate(calls)}

    def position(message: Message) -> int:
        return order.get(str(message.get("tool_call_id")), len(order))

    return structs.replace(answer, tool_answers=tuple(sorted(answer.tool_answers, key=position)))


def _plain(spec: CallableModel, result: Any) -> Any:
    """The result as JSON types, because it is recorded and reported."""
    try:
        plain = result
        if not isinstance(result, (str, Mapping)) and hasattr(result, "model_dump"):
            plain = result.model_dump(exclude_none=True)
        return json.loads(json.dumps(plain))
    except (Exception, RecursionError) as error:
        raise _unexpected(spec, result, f" ({error_text(error)})") from None


def _unexpected(spec: CallableModel, shown: object, more: str = "") -> ModelError:
    return callable_error(f"{spec.callable} returned {_shown(shown)}; {_EXPECTED}{more}")


# Base classes of connection errors that may have no cause: of httpx, aiohttp, openai and anthropic.
_NETWORK = frozenset(("TransportError", "ClientConnectionError", "APIConnectionError"))


def callable_error(text: str, *, fatal: bool = False, raised: BaseException | None = None) -> ModelError:
    """The error for a function that cannot be used, or that `raised`, on one line without secrets."""
    # Without the addresses of objects, one mistake has one text, however many cases it concerns.
    clean = " ".join(_ADDRESS.sub("", scrub(text, secret_values())).split())
    return ModelError(shorten(clean, 1000), kind=_kind_of(raised), fatal=fatal)


def _kind_of(raised: BaseException | None) -> ErrorKind:
    """The kind of an exception: an outage of what the function called, or its own mistake.

    The clients of providers have the status in `status_code`, or in that of their `response`, and
    raise their exceptions from those of the network.
    """
    seen: list[BaseException] = []
    while isinstance(raised, Exception) and raised not in seen:
        seen.append(raised)
        answer = getattr(raised, "response", raised)
        status = getattr(answer, "status_code", getattr(raised, "code", None))
        if status == 429:
            return "rate_limit"
        if isinstance(status, int) and 500 <= status < 600:
            return "server"
        if isinstance(raised, (TimeoutError, asyncio.TimeoutError)):
            return "timeout"
        names = {kind.__name__ for kind in type(raised).__mro__}
        if isinstance(raised, (ConnectionError, socket.gaierror)) or not _NETWORK.isdisjoint(names):
            return "unreachable"
        raised = raised.__cause__ or raised.__context__
    return "callable"


def _read_message(spec: CallableModel, result: Any, latency_s: float, shown: object) -> ChatAnswer:
    """A message of JSON types as an answer. Errors show `shown`, the function's result."""
    ending, usual = ending_of(result, {"choices": [{"message": result}]}), usual_reason(result)
    usage = None
    if isinstance(result, dict) and isinstance(result.get("choices"), list) and result["choices"]:
        usage = result.get("usage")
        result = as_mapping(result["choices"][0]).get("message")
    if isinstance(result, str):
        result = {"content": result}
    if not isinstance(result, dict) or not (ending or {"content", "tool_calls"} & set(result)):
        raise _unexpected(spec, shown)
    of_message = result.pop("usage", None)
    agent, inner = as_text(result.pop(AGENT, None)) or None, result.pop(INNER, None) is True
    message = {"content": None, **result, "role": "assistant"}
    if message.get("tool_calls"):
        message["tool_calls"] = _calls(spec, message["tool_calls"])
    answer = ChatAnswer.from_chat(message, ending, usual, {"usage": usage or of_message}, latency_s)
    return structs.replace(answer, agent=agent, is_inner=inner) if agent or inner else answer


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_EXPECTED = (
    "expected the assistant's message: a text, or "
    '{"tool_calls": [{"name": ..., "arguments": {...}}]}, or as the chat API has it '
    '{"role": "assistant", "content": ..., "tool_calls": [{"id": ..., "type": "function", '
    '"function": {"name": ..., "arguments": {...}}}]}, or a list of all messages of the run'
)


def _calls(spec: CallableModel, calls: object) -> list[dict[str, Any]]:
    """The calls in the chat API's form; the short `{"name", "arguments"}` is also accepted.

    Another framework's form is an error, because it must not be scored as a call without a name.
    """
    if not isinstance(calls, list):
        raise _unexpected(spec, {"tool_calls": calls})
    read: list[dict[str, Any]] = []
    for index, call in enumerate(calls):
        if _has_chat_form(call):
            read.append({**(call or {}), "function": (call or {}).get("function") or {}})
        elif isinstance(call, dict) and isinstance(call.get("name"), str):
            short = {"name": call["name"], "arguments": call.get("arguments")}
            read.append({"id": call.get("id"), "type": "function", "function": short})
        else:
            text = f"{spec.callable} returned tool_calls[{index}] as {_shown(call)}; {_EXPECTED}"
            raise callable_error(text)
    return read


def _has_chat_form(call: Any) -> bool:
    """Whether it has the chat API's form, even with invalid contents: null counts as a call."""
    if call is None:
        return True
    return isinstance(call, dict) and isinstance(call.get("function", ""), (dict, NoneType))


def _shown(value: object) -> str:
    return f"{type(value).__name__} {shorten(repr(value), 120)}"
