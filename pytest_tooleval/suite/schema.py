"""The published JSON Schema of the suite format, for editors and other tools.

It is made from the models. Checks that compare values, such as for duplicate ids, are in `suite.load`.
"""

from __future__ import annotations

import json
from typing import Any, get_args

from ..matchers.matcher import VALUE, by_tier
from ..record.status import CallStatus
from .case import TestCase, Turn
from .fields import SuiteObject, fields_of, tier_of
from .mocks import EXACT, SEQUENCE, WHEN
from .model import Suite
from .policies import FROM, SAME
from .types import SCHEMA_ID

_VALUES = {"type": "object", "additionalProperties": VALUE}


def suite_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a `*.tooleval.json` file."""
    # The types refer to definitions by full URL.
    text = json.dumps(Suite.model_json_schema(by_alias=True)).replace(f"{SCHEMA_ID}#", "#")
    schema: dict[str, Any] = json.loads(text)
    definitions: dict[str, Any] = schema.pop("$defs")
    for definition in (schema, *definitions.values()):
        # pydantic's titles repeat the names.
        for kind in (definition, *definition.get("properties", {}).values()):
            kind.pop("title", None)
    definitions.update(_matchers())
    definitions.update(_policy_values())
    definitions.update(_expected_texts())
    case, turn = definitions["TestCase"], definitions["Turn"]
    for kind, definition in ((Suite, schema), (TestCase, case), (Turn, turn)):
        definition["properties"] = _by_tier(kind, definition["properties"])
    definitions["Tool"]["oneOf"] = [{"required": ["function"]}, {"required": ["custom"]}]
    del case["properties"]["prompt"]["default"]
    case["anyOf"] = _kinds()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "pytest-tooleval suite",
    }
    return {**head, **schema, "$defs": dict(sorted(definitions.items()))}


def _by_tier(kind: type[SuiteObject], properties: dict[str, Any]) -> dict[str, Any]:
    """The properties in the order in which readers need them, each with its tier."""
    return {
        name: {**properties[name], "x-tier": tier_of(kind, name)}
        for name in fields_of(kind)
        if name in properties
    }


def schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(suite_schema(), indent=2, ensure_ascii=False) + "\n"


def _kinds() -> list[dict[str, Any]]:
    """Return the valid combinations of fields: one expected call, conversations, several calls."""
    null = {"type": "null"}
    no_prompt = {"prompt": False, "expected_tool": False, "expected_params": null}
    several = {
        "expected_calls": {"type": ["array", "object"]},
        "expected_tool": False,
        "expected_params": null,
    }
    return [
        {"required": ["prompt", "expected_tool"], "properties": {"expected_calls": null}},
        {"required": ["turns"], "properties": {**no_prompt, "user": null}},
        {"required": ["user"], "properties": {**no_prompt, "turns": null}},
        {"required": ["prompt", "expected_calls"], "properties": several},
        {"required": ["prompt", "world"], "properties": {"turns": null, "user": null}},
    ]


def _expected_texts() -> dict[str, Any]:
    text = {"type": "string", "pattern": r"\S"}
    conditions = [
        text,
        _matcher("$regex", {"type": "string", "minLength": 1}, "A pattern that a message contains."),
        _matcher("$number", {"type": "number"}, "A number that a message contains."),
        _matcher("$json", VALUE, "The JSON that a message is, as a whole."),
        _matcher("$not", {"$ref": "#/$defs/SaidText"}, "What no message contains."),
    ]
    judge = _matcher("$judge", text, "A rubric for a model that judges the messages.")
    return {
        "ExpectedText": {
            "description": "What the assistant says, or a rubric to judge it by.",
            "anyOf": [{"$ref": "#/$defs/SaidText"}, judge],
        },
        "SaidText": {
            "description": "A text that a message contains, or one of the objects.",
            "anyOf": conditions,
        },
    }


def _matcher(key: str, operand: dict[str, Any] | bool, description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": {key: operand},
        "required": [key],
        "additionalProperties": False,
    }


def _policy_values() -> dict[str, Any]:
    pointer = {"type": "string", "pattern": "^(/.*)?$"}
    same = _matcher(SAME, pointer, "The value at this JSON Pointer of the judged call's arguments.")
    answer = {
        "type": "object",
        "properties": {
            "tool": {"type": ["string", "array"], "description": "The tool that was called before."},
            "params": {
                "type": "object",
                "description": "The arguments that it had; may contain $same.",
            },
            "at": {**pointer, "description": "A JSON Pointer into its answer."},
            "any": {"type": "boolean", "description": "Whether any earlier answer counts."},
            "status": {"enum": [*get_args(CallStatus)], "description": "How it ended; default: ok."},
            "result": {**VALUE, "description": "What its tool answered."},
        },
        "required": ["tool", "at"],
        "additionalProperties": False,
    }
    earlier = _matcher(FROM, answer, "A value from the newest earlier answer of a tool.")
    # Either may also stand inside a matcher, which this schema does not check.
    return {"PolicyValue": {"anyOf": [same, earlier, VALUE, {"type": "object"}]}}


def _matchers() -> dict[str, Any]:
    matchers = [
        {
            "title": one.title,
            "x-tier": one.tier,
            **_matcher(one.key, one.operand, f'{{"{one.key}": {one.example}}}: {one.says}.'),
        }
        for one in by_tier()
    ]
    plain = {
        "type": "object",
        "propertyNames": {"pattern": r"^(?!\$)"},
        "additionalProperties": VALUE,
    }
    scalar = {"type": ["string", "number", "boolean", "null"]}
    sequence = _matcher(
        SEQUENCE, {"type": "array", "minItems": 1}, "The answers of the calls, in order."
    )
    exact = _matcher(EXACT, True, "The answer, even if it looks like one of these forms.")
    named = {
        "type": "object",
        "not": {"minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": r"^\$"}},
    }
    anything_else = {"type": ["string", "number", "boolean", "null", "array"]}
    when = {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "params": {**_VALUES, "description": "The params of the call; absent: any call."},
                "answer": {
                    "description": "The tool's answer: any JSON value, or a $sequence of them.",
                    "anyOf": [sequence, exact, named, anything_else],
                },
            },
            "required": ["answer"],
            "additionalProperties": False,
        },
    }
    special = [
        sequence,
        _matcher(WHEN, when, "The answer of the first entry whose params match."),
        exact,
    ]
    return {
        "ExpectedValue": {
            "description": "A plain value, or a matcher: an object with one $ key.",
            "anyOf": [scalar, {"type": "array", "items": VALUE}, plain, {"$ref": "#/$defs/Matcher"}],
        },
        "Matcher": {
            "description": "An object in place of an expected value that says what matches.",
            "oneOf": matchers,
        },
        "MockResponse": {
            "description": "The answer to every call, any JSON value; or one of the special forms.",
            "anyOf": [*special, named, anything_else],
        },
    }
