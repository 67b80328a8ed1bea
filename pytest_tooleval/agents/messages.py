"""What the adapters share: making the callable, and reading and writing chat messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

Message = dict[str, Any]
# A case limits the calls of a run; libraries must not do so earlier.
MOST_ROUNDS = 1000
_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True)
class Tool:
    """A tool of the suite."""

    name: str
    description: str
    parameters: Message
    strict: bool


# `call_tool(name, arguments)` returns the answer to a call: a text, in async code an awaitable.
CallTool = Callable[[str, object], Any]
Model = Callable[[list[Message], list[Message], CallTool], Awaitable[list[Message]]]
# The same with the tools of the suite; None for an agent that runs its own.
Run = Callable[[list[Message], "list[Tool] | None", CallTool], Awaitable[list[Message]]]


def as_model(run: Run, run_tools: bool) -> Model:
    """A model's callable. It returns the messages of the assistant and the tools."""

    async def answer(
        messages: list[Message], tools: list[Message], call_tool: CallTool
    ) -> list[Message]:
        return await run(messages, None if run_tools else [_tool(each) for each in tools], call_tool)

    return answer


def _tool(tool: Message) -> Tool:
    function = tool["function"]
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    return Tool(
        function["name"], function.get("description") or "", parameters, bool(function.get("strict"))
    )


def text_of(message: Message) -> str:
    """The text of a message. Raises ValueError for other contents, such as a picture."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content):
        raise ValueError("this agent accepts only text, and the prompt has other parts")
    return "\n".join(part["text"] for part in content)


def calls_of(message: Message) -> Iterator[tuple[str, str, str]]:
    """The id, name and arguments (JSON) of each call in a message."""
    for call in message.get("tool_calls") or ():
        yield call["id"], call["function"]["name"], call["function"]["arguments"]


def names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    """The name of each call by its id."""
    return {id: name for message in messages for id, name, _ in calls_of(message)}


def split_prompt(messages: list[Message]) -> tuple[list[Message], str]:
    """The messages before the last one, and the text of the last one, which is the user's."""
    *before, last = messages
    if last["role"] != "user":
        raise ValueError("expected a prompt that ends with a text of the user")
    return before, text_of(last)


def without_system(messages: list[Message]) -> tuple[str, list[Message]]:
    """The system prompts as one text, and the other messages."""
    system = [text_of(message) for message in messages if message["role"] in _SYSTEM_ROLES]
    rest = [message for message in messages if message["role"] not in _SYSTEM_ROLES]
    return "\n\n".join(system), rest


def assistant(
    text: str, calls: Sequence[tuple[str | None, str, object]] = (), *, usage: Message | None = None
) -> Message:
    """A message of the assistant; `calls` are ids, names and arguments."""
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
            for id, name, arguments in calls
        ]
    return {**message, "usage": usage} if usage else message


def tool_answer(id: str, content: object) -> Message:
    """The answer to a call."""
    return {"role": "tool", "tool_call_id": id, "content": _json(content)}


def usage_of(prompt: int | None, completion: int | None, reasoning: int | None = None) -> Message:
    """The tokens of an answer."""
    details = {"reasoning_tokens": reasoning or 0}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "completion_tokens_details": details,
    }


def with_output(messages: list[Message], output: object) -> list[Message]:
    """The run, with the library's final output as the last text of the assistant."""
    if not messages or messages[-1]["role"] == "tool" or messages[-1].get("tool_calls"):
        messages = [*messages, assistant("")]
    return [*messages[:-1], {**messages[-1], "content": _json(output)}]


def without_calls(messages: list[Message], names: Collection[str]) -> list[Message]:
    """The run without calls of these names, which are not tools, such as an output schema."""
    gone = {id for id, name in names_of_calls(messages).items() if name in names}
    kept = []
    for message in messages:
        calls = [call for call in message.get("tool_calls") or () if call["id"] not in gone]
        if message.get("tool_call_id") not in gone:
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            kept.append({**rest, "tool_calls": calls} if calls else rest)
    return kept


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
