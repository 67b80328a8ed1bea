"""An agent of one's own, evaluated like a model: `pytest --tooleval-model=my-agent`.

`callable = "my_agent:answer"` in pyproject.toml names a function that gets the chat messages and the
tools, both as the chat API has them, and returns the assistant's message. What happens inside is
yours: rules as here, a framework, several models. A function that raises makes the case an error.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

Message = dict[str, Any]
Tool = dict[str, Any]

_CITY = re.compile(r"\b(?:in|for) ([A-Z]\w+(?: (?:de )?[A-Z]\w+)*)")
_DAYS = re.compile(r"\b(\d+)[ -]days?\b")
_UNITS = re.compile(r"\b(celsius|fahrenheit)\b", re.IGNORECASE)


def answer(messages: list[Message], tools: list[Tool]) -> Message:
    """Answer questions about the weather by three rules, and everything else in words."""
    question = messages[-1]["content"]
    offered = {tool["function"]["name"] for tool in tools}
    city = _CITY.search(question)
    if city is None:
        return {"role": "assistant", "content": "Which city do you mean?"}
    days = _DAYS.search(question)
    if days and "get_forecast" in offered:
        return _call("get_forecast", {"city": city[1], "days": int(days[1])})
    if "get_weather" in offered:
        units = _UNITS.search(question)
        return _call("get_weather", {"city": city[1], **({"units": units[1].lower()} if units else {})})
    return {"role": "assistant", "content": "I only know about the weather."}


async def answer_async(messages: list[Message], tools: list[Tool], tool_choice: str) -> Message:
    """The same, async, and told whether a call is required: parameters of that name are filled in."""
    await asyncio.sleep(0)  # here an agent would wait for its own model or database
    message = answer(messages, tools)
    if tool_choice == "required" and "tool_calls" not in message:
        return _call(tools[0]["function"]["name"], {})
    return message


def _call(name: str, arguments: dict[str, Any]) -> Message:
    call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
