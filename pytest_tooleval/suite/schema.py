"""The published JSON Schema of the suite format, for editors and other tools.

It is made from the models and says what one file, seen by itself, must look like. Checks that
compare values with each other (names of tools, duplicate ids) are left to `suite.load`.
"""

from __future__ import annotations

import json
from typing import Any

from ..record.metrics import BUDGETS
from . import matchers
from .checks import MAX_ID_LENGTH
from .mocks import SEQUENCE
from .mocks import WHEN
from .model import Suite
from .tool_schemas import TYPES

SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/tooleval.schema.json"
)

# Where the model has no description because the name says it to a reader of the code.
_DESCRIPTIONS = {
    "Suite.name": "The name of the suite, shown in reports.",
    "Suite.description": "What the suite is about.",
    "Suite.tools": "The tools offered to the model, in OpenAI's function calling format.",
    "Suite.test_cases": "The test cases.",
    "Suite.tool_choice": "Whether the model must call a tool; default: required, or auto for a case "
    "where nothing should be called.",
    "Suite.temperature": "The sampling temperature of every case; default 0.",
    "Suite.max_tokens": "The most tokens in an answer.",
    "Suite.param_scoring": "How plain expected values compare; default: exact.",
    "Suite.thresholds": "The lowest passing score by metric, and the most that a trial may use "
    "by budget; null removes one. Default: overall, arguments_valid and no_extra_calls at 1.0; with "
    "bfcl overall alone.",
    "Suite.forbidden_calls": "Calls that fail every case, as in a case.",
    "Suite.trials": "How many times the model is asked each case; default 1.",
    "Suite.pass": "How several trials of a case make one verdict; default: mean.",
    "Suite.metadata": "Yours; never sent.",
    "TestCase.temperature": "The sampling temperature of this case.",
    "TestCase.max_tokens": "The most tokens in an answer to this case.",
    "Tool.function": "The function that the model calls.",
    "XFail.reason": "Why the case is expected to fail.",
    "XFail.strict": "Whether an unexpected pass is a failure.",
    "PromptMessage.role": "Who speaks.",
    "PromptMessage.content": "The text, or a list of content parts.",
}
_VALUE = {"$ref": "#/$defs/ExpectedValue"}
_VALUES = {"type": "object", "additionalProperties": _VALUE}


def suite_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a `*.tooleval.json` file."""
    made: dict[str, Any] = Suite.model_json_schema(by_alias=True)
    definitions: dict[str, Any] = made.pop("$defs")
    for kind, definition in [("Suite", made), *definitions.items()]:
        _describe(kind, definition)
    definitions.update(_matchers())
    definitions.update(_expected_texts())
    case = definitions["TestCase"]
    _finish_case(case)
    definitions["ExpectedCall"]["properties"]["params"].update(_nullable(_VALUES))
    for holder in (case, definitions["Turn"]):
        _finish_expectations(holder["properties"])
    _finish_tool(definitions)
    for properties in (made["properties"], case["properties"]):
        properties["thresholds"].update(_thresholds())
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "pytest-tooleval suite",
    }
    return {**head, **made, "$defs": dict(sorted(definitions.items()))}


def _thresholds() -> dict[str, Any]:
    score = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    budgets = {
        budget.name: {"type": ["number", "null"], "minimum": 0, "description": f"Most {budget.text}."}
        for budget in BUDGETS.values()
    }
    example = {"overall": 0.8, "no_extra_calls": None, "max_calls": 3}
    kinds = [{"type": "object", "properties": budgets, "additionalProperties": score}, {"type": "null"}]
    return {"anyOf": kinds, "examples": [example]}


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(suite_schema(), indent=2, ensure_ascii=False) + "\n"


def _describe(kind: str, definition: dict[str, Any]) -> None:
    """Descriptions for all fields, and without pydantic's titles, which repeat the names."""
    definition.pop("title", None)
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        # Beside $ref a description is allowed since draft 2019-09.
        text = _DESCRIPTIONS.get(f"{kind}.{name}")
        if text is not None:
            field["description"] = text


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _finish_case(case: dict[str, Any]) -> None:
    properties = case["properties"]
    properties["expected_params"].update(_nullable(_VALUES))
    properties["mock_responses"]["additionalProperties"] = {"$ref": "#/$defs/MockResponse"}
    properties["id"]["anyOf"][0].update(
        {"minLength": 1, "maxLength": MAX_ID_LENGTH, "not": {"pattern": r"::|[\[\]]|^\s|\s$"}}
    )
    properties["tags"]["uniqueItems"] = True
    properties["tags"]["items"]["pattern"] = r"^[^\s_.+\-][^\s\[\](),:]*$"
    no_calls = {"properties": {"expected_calls": {"type": "null"}}}
    no_prompt = {"prompt": False, "expected_tool": False, "expected_params": {"type": "null"}}
    case["anyOf"] = [
        {"required": ["prompt", "expected_tool"], **no_calls},
        {
            "required": ["turns"],
            "properties": {**no_prompt, "user": {"type": "null"}},
        },
        {
            "required": ["user"],
            "properties": {**no_prompt, "turns": {"type": "null"}},
        },
        {
            "required": ["prompt", "expected_calls"],
            "properties": {
                "expected_calls": {"type": "array"},
                "expected_tool": False,
                "expected_params": {"type": "null"},
            },
        },
    ]


def _finish_expectations(properties: dict[str, Any]) -> None:
    properties["prompt"]["anyOf"] = [
        option for option in properties["prompt"]["anyOf"] if option["type"] != "null"
    ]
    properties["prompt"].pop("default", None)
    for option in properties["prompt"]["anyOf"]:
        if option["type"] == "string":
            option["pattern"] = r"\S"
        else:
            user = {"properties": {"role": {"const": "user"}}, "required": ["role"]}
            option["contains"] = user
    properties["expected_state"].update(_nullable(_VALUES))
    texts = {"type": "array", "items": {"$ref": "#/$defs/ExpectedText"}}
    properties["expected_text"].update(_nullable(texts))


def _finish_tool(definitions: dict[str, Any]) -> None:
    parameters = definitions["Function"]["properties"]["parameters"]
    parameters.update(_nullable({"type": "object", "properties": {"type": {"const": "object"}}}))


_TOLERANCE = {
    "type": "object",
    "properties": {
        "value": {"type": "number", "description": "The number to be near to."},
        "abs": {"type": "number", "minimum": 0, "description": "The largest distance."},
        "rel": {
            "type": "number",
            "minimum": 0,
            "description": "The largest distance, as a share of the value.",
        },
    },
    "required": ["value"],
    "anyOf": [{"required": ["abs"]}, {"required": ["rel"]}],
    "additionalProperties": False,
}
_TYPE = {"enum": list(TYPES)}
_LIST = {"type": "array", "items": _VALUE}
_OPERANDS: dict[str, dict[str, Any] | bool] = {
    matchers.ANY_OF: _LIST,
    matchers.ALL_OF: {**_LIST, "minItems": 1},
    matchers.UNORDERED: {**_LIST, "maxItems": matchers.MAX_UNORDERED},
    matchers.EXACT: True,
    matchers.REGEX: {"type": "string", "minLength": 1},
    **{key: {"type": "number"} for key in matchers.BOUNDS},
    matchers.APPROX: _TOLERANCE,
    matchers.DATE: {"type": "string"},
    matchers.LEN: {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/Matcher"}]},
    matchers.TYPE: {
        "anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1, "uniqueItems": True}]
    },
    matchers.SCHEMA: {"type": ["object", "boolean"]},
}


def _expected_texts() -> dict[str, Any]:
    text = {"type": "string", "pattern": r"\S"}
    said = [
        text,
        _matcher("$regex", {"type": "string", "minLength": 1}, "A pattern that is found."),
        _matcher("$number", {"type": "number"}, "A number that is said."),
        _matcher("$not", {"$ref": "#/$defs/SaidText"}, "What is not said."),
    ]
    judge = _matcher("$judge", text, "A rubric by which a model judges what is said.")
    return {
        "ExpectedText": {
            "description": "What is said, or how it is judged.",
            "anyOf": [{"$ref": "#/$defs/SaidText"}, judge],
        },
        "SaidText": {
            "description": "A text that a message contains, or one of the objects.",
            "anyOf": said,
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


def _matchers() -> dict[str, Any]:
    known = [
        {
            "title": one.title,
            **_matcher(key, _OPERANDS.get(key, _VALUE), f'{{"{key}": {one.example}}}: {one.meaning}.'),
        }
        for key, one in matchers.MATCHERS.items()
    ]
    plain = {
        "type": "object",
        "propertyNames": {"pattern": r"^(?!\$)"},
        "additionalProperties": _VALUE,
    }
    scalar = {"type": ["string", "number", "boolean", "null"]}
    when = {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "params": {
                    **_VALUES,
                    "description": "The params that a call must have; absent: any call.",
                },
                "answer": {"description": "What the tool answers, any JSON value."},
            },
            "required": ["answer"],
            "additionalProperties": False,
        },
    }
    special = [
        _matcher(SEQUENCE, {"type": "array", "minItems": 1}, "The answers of the calls, in order."),
        _matcher(WHEN, when, "The answer of the first entry whose params match."),
        _matcher(matchers.EXACT, True, "The answer itself, even if it looks like one of these."),
    ]
    named = {
        "type": "object",
        "not": {"minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": r"^\$"}},
    }
    anything_else = {"type": ["string", "number", "boolean", "null", "array"]}
    return {
        "ExpectedValue": {
            "description": "A plain value, or a matcher: an object with one $ key.",
            "anyOf": [scalar, {"type": "array", "items": _VALUE}, plain, {"$ref": "#/$defs/Matcher"}],
        },
        "Matcher": {
            "description": "Takes the place of an expected value, and says what matches.",
            "oneOf": known,
        },
        "MockResponse": {
            "description": "The answer to every call, any JSON value; or one of the special forms.",
            "anyOf": [*special, named, anything_else],
        },
    }
