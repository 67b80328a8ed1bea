"""`tooleval new`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from ..suite.discovery import SUITE_ENDING
from ..suite.slugs import file_stem
from ..text import printable
from .suite_files import SuitePath

_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}
_NAME, _TOOL, _DESCRIPTION = "weather", "get_weather", "Get the current weather of a city."
_PROMPT, _PARAMS, _EXPECTED = "What is the weather in Paris right now?", "city:string", {"city": "Paris"}


@click.command()
@click.argument("file", required=False, type=SuitePath())
@click.option("--name", help="The suite's name; default: the file's name.")
@click.option("--tool", help="The name of a tool.")
@click.option("--description", help="What the tool does, for the model.")
@click.option("--param", "params", multiple=True, help="A parameter, NAME or NAME:TYPE. Repeatable.")
@click.option("--prompt", help="What a user says so that the model calls the tool.")
@click.option("--expect", "expects", multiple=True, help="An expected NAME=VALUE. Repeatable.")
@click.option("--yes", is_flag=True, help="Use the defaults and ask nothing.")
def new(
    file: Path | None,
    name: str | None,
    tool: str | None,
    description: str | None,
    params: tuple[str, ...],
    prompt: str | None,
    expects: tuple[str, ...],
    yes: bool,
) -> None:
    """Write a first suite that you can run.

    FILE ends in .tooleval.json; the default is the suite's name. Asks for what the options leave open.
    With --yes, or without a terminal, it writes an example.
    """
    ask = _ask if can_ask() and not yes else _take_default
    default_name = file.name.removesuffix(SUITE_ENDING) if file else _NAME
    name = (name or ask("Name of the suite", default_name, str)).removesuffix(SUITE_ENDING)
    path = file or Path(f"{file_stem(name, 'suite')}{SUITE_ENDING}")
    if os.path.lexists(path):
        raise click.UsageError(f"{printable(str(path))} already exists; choose another file")
    tool = tool or ask("Name of a tool", _TOOL, str)
    is_example = tool == _TOOL and not params
    if description is None:
        description = ask("What it does", _DESCRIPTION if is_example else "", str)
    if params:
        types = parse_params(params)
    else:
        question = "Its parameters, such as city:string days:integer"
        types = ask(question, _PARAMS if is_example else "", _params_of)
    if prompt is None:
        prompt = ask("A prompt that needs the tool", _PROMPT if is_example else None, str)
    if prompt is None:
        raise click.UsageError(
            f"--prompt is missing: what a user says so that the model calls {printable(tool)}"
        )
    expected = parse_expects(expects, types)
    for key in [key for key in types if key not in expected]:
        default = _EXPECTED.get(key, "") if prompt == _PROMPT else ""
        question = f"Expected {printable(key)} ({types[key]}; empty: any)"
        value = ask(question, default, partial(_value_of, types[key]))
        if value is not None:
            expected[key] = value
    _write(path, name or default_name, tool, description, types, prompt, expected)
    shown = printable(shlex.quote(path.as_posix()))
    click.echo(f"wrote {printable(str(path))}: 1 tool, 1 case")
    click.echo(f"run it, offline: pytest {shown} --tooleval-model=builtin/lexical")
    click.echo(f"after a change: tooleval validate {shown}")


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: str, default: str | None, parse: Callable[[str], Any]) -> Any:
    """The parsed answer; asks again if it cannot be parsed."""
    return click.prompt(question, default=default, show_default=bool(default), value_proc=parse)


def _take_default(question: str, default: str | None, parse: Callable[[str], Any]) -> Any:
    return None if default is None else parse(default)


def _write(
    path: Path,
    name: str,
    tool: str,
    description: str,
    types: Mapping[str, str],
    prompt: str,
    expected: Mapping[str, Any],
) -> None:
    from ..imports.tool_names import provider_name
    from ..imports.write import write_suite
    from ..suite.schema import SCHEMA_ID

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
    held = next(name for name, type in _TYPES.items() if _is_of(member, type))
    return {"type": kind, "items": _schema(held, member)}


def _is_of(value: Any, type: Any) -> bool:
    try:
        msgspec.convert(value, type)
    except msgspec.ValidationError:
        return False
    return True


def _params_of(text: str) -> dict[str, str]:
    return parse_params(text.replace(",", " ").split())


def _value_of(kind: str, text: str) -> Any:
    return parse_value(text, kind) if text else None


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
