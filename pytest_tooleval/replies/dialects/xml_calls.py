"""Calls as XML, whose values are text: the tool's schema gives them their types.

Below the reader are the dialects: Qwen3-Coder's, MiniMax M2's and Claude's `<invoke>`, DeepSeek's DSML,
GLM's pairs of tags, and Cline's, whose tags are the names of tools and parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...record.untrusted import as_list, as_mapping
from .dialect import ARGUMENTS_NEXT, DECODER, NAME, BadCall, Cursor, Dialect, NotACall, RawCall, SchemaOf

_MOST_LEVELS = 20
_LINE_ENDS = re.compile(r"\A\r?\n|\r?\n\Z")


@dataclass(frozen=True)
class Tags:
    """The tags of a family: `call` has the group `name`, `parameter` the group `key`.

    `end` may follow the calls. A group `string` of `parameter` that is `true` or `false` says if the
    value is text or JSON.
    """

    call: re.Pattern[str]
    parameter: re.Pattern[str]
    parameter_end: re.Pattern[str]
    call_end: re.Pattern[str]
    end: re.Pattern[str]

    def read(self, cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
        """Read calls as long as they follow each other. Raises BadCall."""
        while opened := cursor.match(self.call):
            name = opened["name"].strip()
            schema = cursor.schema_of(name) or {}
            if cursor.rest.startswith("{"):
                arguments: object = cursor.json()
            else:
                arguments = _parameters(cursor, self, name, schema)
            if not cursor.match(self.call_end) and cursor.rest:
                raise BadCall("its closing tag is missing", name)
            yield RawCall(name, arguments)
        cursor.match(self.end)


def _parameters(cursor: Cursor, tags: Tags, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    while opened := cursor.match(tags.parameter):
        closed = tags.parameter_end.search(cursor.text, cursor.at)
        if closed is None:
            raise BadCall(f"the end of its parameter {opened['key']} is missing", name)
        text, cursor.at = cursor.text[cursor.at : closed.start()], closed.end()
        key, string = opened["key"].strip(), opened.groupdict().get("string")
        if key in arguments:
            raise BadCall(f"its parameter {key} appears twice", name)
        arguments[key] = as_json(text) if string == "false" else retype(text, schema, key, string)
    return arguments


def retype(text: str, schema: Mapping[str, Any], key: str, string: str | None = None) -> Any:
    """Return a value as the schema of its parameter has it; what does not convert stays text."""
    # The line breaks around a value belong to the tags.
    text = _LINE_ENDS.sub("", text)
    if string == "true":
        return text
    types = _types(as_mapping(as_mapping(schema.get("properties")).get(key)), schema)
    stripped = text.strip()
    if "null" in types and stripped == "null":
        return None
    if "string" in types or not types:
        return text
    if "boolean" in types and stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    value = as_json(stripped)
    kinds = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    kind = kinds.get(type(value), "")
    whole = kind == "integer" or (isinstance(value, float) and value.is_integer())
    return value if kind in types or (whole and types & {"integer", "number"}) else text


def as_json(text: str) -> Any:
    """Return the value of a JSON text, or else the text."""
    try:
        value, end = DECODER.raw_decode(text.strip())
    except (ValueError, RecursionError):
        return text
    return value if end == len(text.strip()) else text


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], level: int = 0) -> set[str]:
    """Return the JSON types that a schema names, itself or in its alternatives; empty: any."""
    if level > _MOST_LEVELS:
        return set()
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for part in reference[2:].split("/"):
            target = as_mapping(target).get(part)
        return _types(as_mapping(target), root, level + 1)
    kind = schema.get("type")
    types = (
        {kind} if isinstance(kind, str) else {each for each in as_list(kind) if isinstance(each, str)}
    )
    for field in ("anyOf", "oneOf", "allOf"):
        for inner in as_list(schema.get(field)):
            types |= _types(as_mapping(inner), root, level + 1)
    if not types:
        values = [*as_list(schema.get("enum")), *([schema["const"]] if "const" in schema else ())]
        types = {_JSON_TYPES[type(value)] for value in values if type(value) in _JSON_TYPES}
    return types | ({"null"} if schema.get("nullable") is True else set())


_JSON_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip


_QWEN = Tags(
    call=re.compile(rf"<function=\s*(?P<name>{NAME})\s*>"),
    parameter=re.compile(r"<parameter=\s*(?P<key>[^>\n]{1,200}?)\s*>"),
    parameter_end=re.compile(r"</parameter>"),
    call_end=re.compile(r"</function>"),
    end=re.compile(r"</(?:tool_call|seed:tool_call)>"),
)

QWEN3_CODER = Dialect(
    name="Qwen3-Coder",
    models="Qwen3-Coder, Qwen 3.5, Nemotron 3, Seed-OSS",
    opener=(
        rf"<(?:seed:)?tool_call>\s*(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</|\Z))"
        rf"|(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</function>))"
    ),
    read=_QWEN.read,
    vllm="qwen3_coder",
    sglang="qwen3_coder",
    ollama="qwen3-coder",
)


# Claude's own tags have a namespace.
_NAMESPACE = "(?:antml:)?"
_NAMED = r"\s+name=[\"']?(?P<{}>[^\"'>\n]{{1,200}})[\"']?\s*>"
_INVOKE = Tags(
    call=re.compile("<" + _NAMESPACE + "invoke" + _NAMED.format("name")),
    parameter=re.compile("<" + _NAMESPACE + "parameter" + _NAMED.format("key")),
    parameter_end=re.compile(f"</{_NAMESPACE}parameter>"),
    call_end=re.compile(f"</{_NAMESPACE}invoke>"),
    end=re.compile(rf"</(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>"),
)

MINIMAX_M2 = Dialect(
    name="MiniMax M2",
    models="MiniMax M2",
    opener=(
        rf"(?:<(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>\s*)?"
        rf"(?=<{_NAMESPACE}invoke\s+name=[\"']?[^\"'>\n]{{1,200}}[\"']?\s*>"
        rf"\s*(?:<{_NAMESPACE}parameter\s|</{_NAMESPACE}invoke>|{ARGUMENTS_NEXT}))"
    ),
    read=_INVOKE.read,
    vllm="minimax_m2",
    sglang="minimax-m2",
)


_DSML = r"[｜|]{1,2}\s*DSML\s*[｜|]{1,2}\s*"
_DSML_TAGS = Tags(
    call=re.compile(rf"<{_DSML}invoke\s+name=\"(?P<name>[^\"\n]{{1,200}})\"\s*>"),
    parameter=re.compile(
        rf"<{_DSML}parameter\s+name=\"(?P<key>[^\"\n]{{1,200}})\"(?:\s+string=\"(?P<string>true|false)\")?\s*>"
    ),
    parameter_end=re.compile(rf"</{_DSML}parameter>"),
    call_end=re.compile(rf"</{_DSML}invoke>"),
    end=re.compile(rf"</{_DSML}(?:function_calls|tool_calls)>"),
)
DSML = Dialect(
    name="DSML",
    models="DeepSeek V3.2 and V4",
    opener=rf"(?:<{_DSML}(?:function_calls|tool_calls)>\s*)?(?=<{_DSML}invoke\s+name=\")",
    read=_DSML_TAGS.read,
    vllm="deepseek_v32",
    sglang="deepseekv32",
)


_GLM_END = "</tool_call>"


def _read_glm(cursor: Cursor, opened: re.Match[str]) -> Iterator[RawCall]:
    name = opened["glm"]
    schema = cursor.schema_of(name)
    arguments: dict[str, Any] = {}
    while cursor.skip("<arg_key>"):
        key = cursor.until("</arg_key>").strip()
        if not cursor.skip("<arg_value>"):
            raise BadCall(f"the value of {key} is missing", name)
        if key in arguments:
            raise BadCall(f"its argument {key} appears twice", name)
        arguments[key] = retype(cursor.until("</arg_value>"), schema or {}, key)
    if schema is None and not arguments:
        raise NotACall  # `<tool_call>name</tool_call>`, as an explanation has it
    if cursor.rest[:1] in ("(", "{", "["):
        raise BadCall("its arguments are not between <arg_key> tags", name)
    cursor.close(_GLM_END)
    yield RawCall(name, arguments)


GLM = Dialect(
    name="GLM",
    models="GLM 4.5 to 5",
    opener=rf"<tool_call>\s*(?P<glm>{NAME})\s*(?=<arg_key>|{_GLM_END}|[({{\[]|\Z)",
    read=_read_glm,
    vllm="glm47",
    sglang="glm47",
    ollama="glm-4.7",
)


_TAG_NAME = r"[A-Za-z_][\w.:-]{0,199}"
_TAG = re.compile(rf"<(?P<name>{_TAG_NAME})>")
_ELEMENT = re.compile(rf"<(?P<name>{_TAG_NAME})>\s*(?:<(?P<key>{_TAG_NAME})>|</(?P=name)>)")
_OF_MCP, _MOST_OF_MCP = "use_mcp_tool", 1000  # characters up to the name of the tool
_MCP_TOOL = re.compile(rf"<tool_name>\s*({_TAG_NAME})\s*</tool_name>")


def _names_a_tool(opened: re.Match[str], schema_of: SchemaOf) -> bool:
    """True if a tag is the name of a tool, and the first one in it that of a parameter."""
    text, start = opened.string, opened.start()
    element = _ELEMENT.match(text, start)
    schema = schema_of(element["name"]) if element else None
    if element is None or schema is None:
        is_of_mcp = element is not None and element["name"] == _OF_MCP
        named = _MCP_TOOL.search(text, start, start + _MOST_OF_MCP) if is_of_mcp else None
        return named is not None and schema_of(named[1]) is not None
    key = element["key"]
    return key in as_mapping(schema.get("properties")) if key else not schema.get("required")


def _read_element(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
    opened = cursor.match(_TAG)
    name = opened["name"] if opened else ""
    schema = cursor.schema_of(name)
    arguments: dict[str, Any] = {}
    while tag := cursor.match(_TAG):
        key = tag["name"]
        closed = re.compile(rf"</{re.escape(key)}>(?=\s*(?:<|\Z))").search(cursor.text, cursor.at)
        if closed is None:
            raise BadCall(f"the end of its parameter {key} is missing", name)
        if key in arguments:
            raise BadCall(f"its parameter {key} appears twice", name)
        arguments[key] = retype(cursor.text[cursor.at : closed.start()], schema or {}, key)
        cursor.at = closed.end()
    if not cursor.skip(f"</{name}>") and cursor.rest:
        raise BadCall("its closing tag is missing", name)
    if schema is None:  # of MCP
        name, inner = arguments.get("tool_name", "").strip(), as_json(arguments.get("arguments", "{}"))
        if not isinstance(inner, dict):
            raise BadCall("its arguments are no object", name)
        yield RawCall(name, inner)
    else:
        yield RawCall(name, arguments)


CLINE = Dialect(
    name="Cline",
    models="any, as Cline and Roo Code ask for it: names of tools and their parameters as tags",
    opener=rf"(?=<{_TAG_NAME}>\s*</?{_TAG_NAME}>)",
    read=_read_element,
    counts=_names_a_tool,
)
