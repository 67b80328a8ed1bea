"""A draft of a test case for a tool: a prompt and expected params for a person to edit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..jsonschemas.values import required_values
from ..text import json_text, printable, shorten
from .made_cases import expected_value
from .tool_names import definition_of, name_in_suite, provider_name
from .tools import Custom

DRAFT = "draft"  # the skip reason of drafts
_EDIT = "[edit: say this as a user would]"
_LONGEST_TEXT = 160
_LONGEST_VALUE = 300
# A sentence ends at a full stop before a capital letter; "e.g. this" goes on.
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s+[A-Z`'\"(*-]|$)|(.+?[。！？])")


def draft_case(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A test case for a tool in OpenAI's format, skipped until somebody edits it.

    The expected params are the required parameters, with the schema's own examples, defaults and options
    if it has any; the prompt names them all. The same tool always gives the same draft.
    """
    function, name = definition_of(tool), name_in_suite(tool)
    schema = Custom.parameters if "custom" in tool else function.get("parameters")
    params = required_values(schema or {})
    return {
        "id": provider_name(name),
        "prompt": f"{_EDIT} {_request(name, function.get('description'))}{_stated(params)}",
        "expected_tool": name,
        "expected_params": {key: expected_value(value) for key, value in params.items()},
        "skip": DRAFT,
    }


def _request(name: str, description: object) -> str:
    """The first sentence of the tool's description."""
    text = " ".join(description[:4000].split()) if isinstance(description, str) else ""
    if not text:
        return f"Use {printable(name)}"
    match = _SENTENCE.match(text)
    sentence = printable(match[0] if match else text)
    if len(sentence) > _LONGEST_TEXT:
        return shorten(sentence, _LONGEST_TEXT)
    return sentence.rstrip(".!?。！？ :")


def _stated(params: Mapping[str, Any]) -> str:
    if not params:
        return "."
    values = [f"{printable(name)} {json_text(value, _LONGEST_VALUE)}" for name, value in params.items()]
    listed = ", ".join(values[:-1]) + " and " + values[-1] if len(values) > 1 else values[0]
    return f", with {listed}."
