"""Lists of tools in every dialect, as a list of values that `openai_tools` reads, and their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..explain import describe
from ..jsonschemas.subschemas import change_all, ref_target
from ..record.untrusted import as_list, as_mapping, as_text
from .records import UnusableError, decode_text

# Where a tool has the schema of its arguments, besides `parameters`, and whose field that is.
SCHEMAS = {
    "input_schema": "Anthropic's",
    "inputSchema": "MCP's",
    "parametersJsonSchema": "Gemini's",
    "parameters_json_schema": "Gemini's",
    "args_schema": "LangChain's",
}
_WRAPPERS = ("tools", "functions", "toolConfig")
# An object with one of these beside its tools is not a list of tools.
_CONVERSES = frozenset(
    "messages message choices request response input inputs output outputs contents conversation "
    "conversations query answer answers values prompt completion question turns generation history "
    "chosen rejected text run_type simulations".split()
)
_MEMBERS = ("functionDeclarations", "function_declarations", "toolSpec")
_TYPES = {
    "dict": "object", "map": "object", "str": "string", "text": "string", "int": "integer",
    "float": "number", "double": "number", "bool": "boolean", "list": "array", "tuple": "array",
    "set": "array", "none": "null",
}  # fmt: skip
_ANY = ("any", "type_unspecified")
_JSON_TYPES = frozenset("object array string number integer boolean null".split())
_METHODS = ("get", "put", "post", "delete", "patch")
_GENERIC = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)


def holds_tools(value: Any) -> bool:
    """Whether it is no tool, but has a list of tools and nothing else of a conversation."""
    if not isinstance(value, Mapping) or _CONVERSES & {*value}:
        return False
    value = as_mapping(value["result"]) if "jsonrpc" in value and "result" in value else value
    return any(key in value for key in (*_MEMBERS, *_WRAPPERS)) or _is_openapi(value) or _by_name(value)


def tool_values(tools: Any) -> list[Any]:
    """The tools in a list, or in what has a list of them. UnusableError if there is none."""
    tools = decode_text(tools)
    if isinstance(tools, list):
        return [tool for value in tools for tool in _unwrapped(decode_text(value))]
    if not isinstance(tools, Mapping):
        raise UnusableError(f'"tools": expected a list of tools, got {describe(tools)}')
    if "jsonrpc" in tools:
        return tool_values(tools.get("result"))
    if _is_openapi(tools):
        return list(_operations(tools))
    for key in _WRAPPERS:
        if isinstance(decode_text(tools.get(key)), (list, dict)):
            return tool_values(tools[key])
    if any(key in tools for key in _MEMBERS):
        return list(_unwrapped(tools))
    if _by_name(tools):
        return [{**value, "name": name} for name, value in tools.items()]
    raise UnusableError(f'"tools": expected a list of tools, got {describe(tools)}')


def _is_openapi(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("paths"), Mapping) and ("openapi" in value or "swagger" in value)


def _by_name(value: Mapping[str, Any]) -> bool:
    """Whether it is an object of tools by name."""
    return bool(value) and all(map(_is_nameless, value.values()))


def _is_nameless(value: Any) -> bool:
    schema = ("parameters", *SCHEMAS)
    return isinstance(value, Mapping) and "name" not in value and any(key in value for key in schema)


def _unwrapped(value: Any) -> Iterator[Any]:
    for key in _MEMBERS:
        inner = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(inner, list):
            yield from inner
            return
        if isinstance(inner, Mapping):
            yield inner
            return
    yield value


def schema_in(tool: Mapping[str, Any]) -> Any:
    """The schema of a tool's arguments, as JSON Schema; None if it has none."""
    schema = next((tool[key] for key in ("parameters", *SCHEMAS) if tool.get(key) is not None), None)
    if isinstance(schema, Mapping) and schema.keys() == {"json"}:  # Bedrock's
        schema = schema["json"]
    return as_json_schema(decode_text(schema), tool.get("required"))


def as_json_schema(schema: Any, required: Any = None) -> Any:
    """A schema with other names for types, or with properties that say that they are required.

    `required` are the names that the tool itself lists, for parameters without an object around them.
    """
    if isinstance(schema, dict) and schema and all(map(_is_flat, schema.values())):
        needed = required if isinstance(required, list) else _required(schema)
        schema = {"type": "object", "properties": schema, **({"required": needed} if needed else {})}
    return change_all(schema, _plain)


def _is_flat(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and "description" in value


def _required(parameters: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The parameters marked as required; if there are none, all that are not marked as optional."""
    said = [name for name, each in parameters.items() if each.get("required") is True]
    return said or [name for name, each in parameters.items() if not _is_optional(each)]


def _is_optional(value: Mapping[str, Any]) -> bool:
    return "default" in value or "optional" in value["type"].lower() or value.get("required") is False


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in schema.items() if not _is_flag(key, value)}
    kind = plain.get("type")
    if isinstance(kind, str) and kind not in _JSON_TYPES:
        del plain["type"]
        plain = {**_typed(kind), **plain}
    properties = as_mapping(plain.get("properties"))
    flagged = [name for name, each in properties.items() if as_mapping(each).get("required") is True]
    if flagged:
        plain["required"] = list(dict.fromkeys([*as_list(plain.get("required")), *flagged]))
    return plain


def _is_flag(key: str, value: Any) -> bool:
    """Whether a property says of itself whether it is required."""
    return key == "optional" or (key == "required" and isinstance(value, bool))


def _typed(kind: str) -> dict[str, Any]:
    """A type of Gemini's or Python's: `STRING`, `dict`, `str, optional`, `List[int]`."""
    name = re.sub(r",?\s*\boptional\b(?!\[)", "", kind.strip(), flags=re.IGNORECASE).strip()
    generic = _GENERIC.fullmatch(name)
    outer, inner = (generic[1].lower(), generic[2]) if generic else (name.lower(), "")
    if outer == "optional":
        return _typed(inner)
    if outer in _ANY:
        return {}
    json_type = _TYPES.get(outer, outer)
    if json_type not in _JSON_TYPES:
        return {"type": kind}  # a mistake, which is reported
    items = _typed(inner) if json_type == "array" and inner and "," not in inner else {}
    return {"type": json_type, **({"items": items} if items else {})}


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The operations of an OpenAPI document, each as a function."""
    for path, methods in document["paths"].items():
        shared = as_list(as_mapping(methods).get("parameters"))
        for method in _METHODS:
            operation = as_mapping(as_mapping(methods).get(method))
            if not operation:
                continue
            words = re.findall(r"\w+", f"{method} {path}")
            name = as_text(operation.get("operationId")) or "_".join(words)
            about = as_text(operation.get("description")) or as_text(operation.get("summary"))
            parameters = [*shared, *as_list(operation.get("parameters"))]
            tool = {"name": name, "parameters": _parameters(document, operation, parameters)}
            yield {**tool, "description": about} if about else tool


def _parameters(
    document: Mapping[str, Any], operation: Mapping[str, Any], parameters: list[Any]
) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for entry in parameters:
        parameter = _resolved(document, entry)
        name, about = as_text(parameter.get("name")), as_text(parameter.get("description"))
        schema = parameter.get("schema") or {"type": parameter.get("type", "string")}
        properties[name] = {**({"description": about} if about else {}), **as_mapping(schema)}
        required += [name] if parameter.get("required") is True else []
    body = _resolved(document, operation.get("requestBody"))
    content = as_mapping(body.get("content"))
    media = as_mapping(content.get("application/json") or next(iter(content.values()), None))
    schema = _resolved(document, media.get("schema"))
    if "properties" in schema:
        properties |= schema["properties"]
        required += as_list(schema.get("required"))
    elif schema:
        properties["body"] = media["schema"]
        required += ["body"] if body.get("required") is True else []
    whole = {"type": "object", "properties": properties}
    if required:
        whole["required"] = list(dict.fromkeys(required))
    return _with_definitions(document, whole)


def _resolved(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """A part of the document, which may be a reference to another one."""
    for _ in range(5):
        target = as_text(as_mapping(value).get("$ref"))
        if not target.startswith("#/"):
            break
        value = ref_target(document, target)
    return as_mapping(value)


_SCHEMA = re.compile(r"#/(?:components/schemas|definitions)/(.+)")


def _with_definitions(document: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the definitions in the document that it refers to."""
    definitions: dict[str, Any] = {}

    def local(part: dict[str, Any]) -> dict[str, Any]:
        match = _SCHEMA.fullmatch(as_text(part.get("$ref")))
        if match is None:
            return part
        if match[1] not in definitions:
            definitions[match[1]] = None  # it may refer to itself
            definitions[match[1]] = change_all(dict(_resolved(document, part)), local)
        return {**part, "$ref": f"#/$defs/{match[1]}"}

    local_schema: dict[str, Any] = change_all(schema, local)
    return {**local_schema, "$defs": definitions} if definitions else local_schema
