"""Suites, and servers-sent events, for tests of the page's API."""

from __future__ import annotations

import json
from typing import Any

CITIES = ("Paris", "Tokyo", "Lima", "Oslo")


def tool(name: str = "get_weather", **keywords: Any) -> dict[str, Any]:
    city = {"city": {"type": "string"}}
    parameters = {"type": "object", "properties": city, "required": ["city"], **keywords}
    description = "Get current weather for a city"
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def case(city: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": city.lower(),
        "prompt": f"What is the weather in {city}?",
        "expected_tool": "get_weather",
        "expected_params": {"city": city},
        **fields,
    }


def weather(*cases: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A suite; by default of one case per city."""
    return {
        "name": "Weather",
        **fields,
        "tools": [tool()],
        "test_cases": list(cases) or [case(city) for city in CITIES],
    }


def as_text(suite: dict[str, Any]) -> dict[str, str]:
    """The body with which the page sends a suite."""
    return {"text": json.dumps(suite)}


def events_of(text: str) -> list[tuple[str, str, Any]]:
    """The id, the name and the data of each event in a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.split("\n") if line)
        if "event" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found
