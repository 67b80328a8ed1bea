"""`tooleval new`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ..project.root import Project
from ..suite.discovery import SUITE_ENDING
from ..suite.slugs import slug
from ..suite.tool_names import provider_name
from ..text import printable
from .suite_files import SuitePath, say_uncollected

_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}
_KINDS = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_NAME, _TOOL, _DESCRIPTION = "weather", "get_weather", "Get current weather for a city"
_PROMPT = "What's the weather in Paris?"
_PARAMS, _EXPECTED = {"city": "string"}, {"city": "Paris"}


@click.command()
@click.argument("file", required=False, type=SuitePath())
@click.option("--name", help="The suite's name; default: the file's name.")
@click.option("--tool", help="The name of a tool.")
@click.option("--description", help="What the tool does, for the model.")
@click.option("--param", "params", multiple=True, help="A parameter, NAME or NAME:TYPE. Repeatable.")
@click.option("--prompt", help="What a user says so that the model calls the tool.")
@click.option("--expect", "expects", multiple=True, help="An expected NAME=VALUE. Repeatable.")
def new(
    file: Path | None,
    name: str | None,
    tool: str | None,
    description: str | None,
    params: tuple[str, ...],
    prompt: str | None,
    expects: tuple[str, ...],
) -> None:
    """Write a first suite that you can run: an example, or one made of the options.

    FILE ends in .tooleval.json; the default is the suite's name, in the first of pytest's testpaths.
    """
    name = (name or (file.name if file else _NAME)).removesuffix(SUITE_ENDING)
    path = file or Project.around().suite_folder() / f"{slug(name) or 'suite'}{SUITE_ENDING}"
    if os.path.lexists(path):
        raise click.UsageError(f"{printable(str(path))} already exists; choose another file")
    is_example = tool in (None, _TOOL) and not params
    tool = tool or _TOOL
    types = dict(_PARAMS) if is_example else parse_params(params)
    expected = parse_expects(expects, types)
    if is_example:
        description = _DESCRIPTION if description is None else description
        expected = {**(_EXPECTED if prompt is None else {}), **expected}
        prompt = _PROMPT if prompt is None else prompt
    if prompt is None:
        raise click.UsageError(
            f"--prompt is missing: what a user says so that the model calls {printable(tool)}"
        )
    _write(path, name, tool, description or "", types, prompt, expected)
    shown = printable(shlex.quote(path.as_posix()))
    click.echo(f"wrote {printable(str(path))}: 1 tool, 1 case")
    say_uncollected(path)
    click.echo(f"run it, offline: pytest {shown} --tooleval-model=builtin/lexical")
    click.echo(f"after a change: tooleval validate {shown}")


def _write(
    path: Path,
    name: str,
    tool: str,
    description: str,
    types: Mapping[str, str],
    prompt: str,
    expected: Mapping[str, Any],
) -> None:
    from ..suite.types import SCHEMA_ID
    from ..suite.write import write_suite

    accepted = provider_name(tool)
    if accepted != tool:
        raise click.UsageError(f"providers refuse the name {printable(tool)}: write {accepted}")
    properties = {key: _schema(kind, expected.get(key)) for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(types)}
    function = {"name": tool, "description": description, "parameters": schema}
    case: dict[str, Any] = {"prompt": prompt, "expected_tool": tool}
    if expected:
        case["expected_params"] = expected
    suite = {
        "$schema": SCHEMA_ID,
        "name": name,
        "tools": [{"type": "function", "function": function}],
        "test_cases": [case],
    }
    write_suite(path, suite)


def _schema(kind: str, expected: Any) -> dict[str, Any]:
    """The schema of a parameter. The items of an array are inferred from the expected value."""
    if kind != "array":
        return {"type": kind}
    member = expected[0] if expected else ""
    return {"type": kind, "items": _schema(_KINDS.get(type(member), "string"), member)}


def parse_params(params: Sequence[str]) -> dict[str, str]:
    """`city` and `days:integer` as names and types; UsageError for anything else."""
    types: dict[str, str] = {}
    for given in params:
        name, colon, kind = given.partition(":")
        kind = kind if colon else "string"
        if not name or kind not in _TYPES:
            expected = f"NAME:TYPE, the type one of {', '.join(_TYPES)}"
            raise click.UsageError(f"the parameter {printable(repr(given))}: expected {expected}")
        if name in types:
            raise click.UsageError(f"the parameter {printable(repr(name))} is given twice")
        types[name] = kind
    return types


def parse_expects(expects: Sequence[str], types: Mapping[str, str]) -> dict[str, Any]:
    """`days=3` as names and values of the parameters' types; UsageError for anything else."""
    expected = {}
    for given in expects:
        name, equals, text = given.partition("=")
        if not equals or name not in types:
            known = f"NAME one of {', '.join(types)}" if types else "but the tool has no parameters"
            shown = printable(repr(given))
            raise click.UsageError(f"--expect {shown}: expected NAME=VALUE, {printable(known)}")
        expected[name] = parse_value(text, types[name])
    return expected


def parse_value(text: str, kind: str) -> Any:
    """A value of a JSON Schema type; other types than string are written as JSON."""
    if kind == "string":
        return text
    try:
        return msgspec.json.decode(text, type=_TYPES[kind])
    except (msgspec.DecodeError, RecursionError):
        shown = printable(repr(text[:80]))
        raise click.UsageError(f"{shown} is not of the type {kind}, written as JSON") from None
