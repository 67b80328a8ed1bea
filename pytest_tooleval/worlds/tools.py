"""Make a world's tools from the signatures and docstrings of its methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, cast

from ..errors import WorldError
from ..jsonschemas.subschemas import change_all
from .parameters import qualified_name, signature_of
from .play import look
from .world import WorldSpec, error_line

_SECTION = re.compile(r"\s*(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*")
_PARAMETER = re.compile(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.+)")


def tools_of(spec: WorldSpec) -> list[dict[str, Any]]:
    """Return a world's tools as OpenAI functions. Raises WorldError if it cannot be made."""
    methods = look(spec, lambda world: world.methods)
    return [tool_of(name, method) for name, method in methods.items()]


def tool_of(name: str, method: Callable[..., Any]) -> dict[str, Any]:
    """Return a method as an OpenAI function. Raises WorldError if its signature has no schema."""
    from pydantic import TypeAdapter

    try:
        schema = TypeAdapter(cast("Any", _stand_in(method))).json_schema()
    except Exception as error:
        raise WorldError(
            f"{qualified_name(method)}: its signature cannot become a JSON Schema: {error_line(error)}; "
            "define its tool under tools"
        ) from None
    # pydantic's title only repeats the name.
    schema = change_all(schema, lambda part: {key: part[key] for key in part if key != "title"})
    about, parameters = _documentation(method)
    for parameter, text in parameters.items():
        if parameter in schema.get("properties", {}):
            schema["properties"][parameter].setdefault("description", text)
    parts = {"name": name, "description": about, "parameters": schema}
    return {"type": "function", "function": {k: v for k, v in parts.items() if v}}


def _stand_in(method: Callable[..., Any]) -> Callable[..., Any]:
    """Copy the method's resolved signature, as pydantic looks up names in the wrong module."""
    signature = signature_of(method)

    def stand_in() -> None: ...

    kinds = {each.name: each.annotation for each in signature.parameters.values()}
    stand_in.__annotations__ = {k: v for k, v in kinds.items() if v is not inspect.Parameter.empty}
    stand_in.__signature__ = signature  # type: ignore[attr-defined]
    return stand_in


def _documentation(method: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return a docstring's text about the method, and about its parameters from `Args:`."""
    about: list[str] = []
    parameters: dict[str, str] = {}
    section = ""
    for line in (inspect.getdoc(method) or "").splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            section = match[1]
        elif not section:
            about.append(line)
        elif section in ("Args", "Arguments", "Parameters") and (match := _PARAMETER.fullmatch(line)):
            parameters[match[1]] = match[2].strip()
    return "\n".join(about).strip(), parameters
