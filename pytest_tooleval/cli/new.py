"""`tooleval new`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from typing import NoReturn

import click

from ..suite.discovery import SUITE_ENDING
from ..text import printable
from .imports import SuitePath

TYPES = ("string", "integer", "number", "boolean", "array", "object")


@dataclass(frozen=True)
class First:
    """A first suite's one tool and one case. `params` maps names to JSON Schema types."""

    name: str
    tool: str
    description: str
    params: Mapping[str, str]
    prompt: str
    expected: Mapping[str, Any]


STARTER = First(
    name="weather",
    tool="get_weather",
    description="Get the current weather of a city.",
    params={"city": "string"},
    prompt="What is the weather in Paris right now?",
    expected={"city": "Paris"},
)


@click.command()
@click.argument("file", required=False, type=SuitePath())
@click.option("--name", help="The suite's name; default: that of the file.")
@click.option("--tool", help="The name of a tool.")
@click.option("--description", help="What the tool does, for the model.")
@click.option("--param", "params", multiple=True, help="A parameter, NAME or NAME:TYPE. Repeatable.")
@click.option("--prompt", help="What a user says so that the model calls the tool.")
@click.option("--expect", "expects", multiple=True, help="An expected NAME=VALUE. Repeatable.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
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
    """Write a first suite, of one tool and one case, which runs at once.

    FILE ends in .tooleval.json; default: one named for the suite. What no option says is asked for;
    with --yes, or without a terminal, an example is written.
    """
    asks = can_ask() and not yes
    default_name = file.name.removesuffix(SUITE_ENDING) if file else STARTER.name
    if name is None:
        name = click.prompt("Name of the suite", default=default_name) if asks else default_name
    name = name.removesuffix(SUITE_ENDING) or default_name
    path = file or Path(f"{file_stem(name)}{SUITE_ENDING}")
    if os.path.lexists(path):
        raise click.UsageError(f"{printable(str(path))} is there already; name another file")
    if asks:
        first = _asked(name, tool, description, params, prompt, expects)
    else:
        first = _given(name, tool, description, params, prompt, expects)
    from ..imports.tool_names import provider_name
    from ..imports.write import write_suite

    accepted = provider_name(first.tool)
    if accepted != first.tool:
        raise click.UsageError(f"providers refuse the name {printable(first.tool)}: write {accepted}")
    write_suite(path, first_suite(first))
    shown = printable(shlex.quote(str(path)))
    click.echo(f"wrote {printable(str(path))}: 1 tool, 1 case")
    click.echo(f"run it, without network or key: pytest {shown} --tooleval-model=baseline/lexical")
    click.echo(f"after a change: tooleval validate {shown}")


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def file_stem(name: str) -> str:
    """The name as part of a file's name, on any system."""
    stem = "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip("-.")
    return stem[:100] or "suite"


def first_suite(first: First) -> dict[str, Any]:
    """The suite as the JSON of its file."""
    from ..suite.schema import SCHEMA_ID

    schema = {
        "type": "object",
        "properties": {
            name: _schema(kind, first.expected.get(name)) for name, kind in first.params.items()
        },
        "required": list(first.params),
    }
    function = {"name": first.tool, "description": first.description, "parameters": schema}
    case: dict[str, Any] = {"prompt": first.prompt, "expected_tool": first.tool}
    if first.expected:
        case["expected_params"] = dict(first.expected)
    return {
        "$schema": SCHEMA_ID,
        "name": first.name,
        "tools": [{"type": "function", "function": function}],
        "test_cases": [case],
    }


def _given(
    name: str,
    tool: str | None,
    description: str | None,
    params: Sequence[str],
    prompt: str | None,
    expects: Sequence[str],
) -> First:
    """What the options say; the example stands for the rest, as far as it fits."""
    is_example = tool in (None, STARTER.tool) and not params
    if prompt is None and not is_example:
        raise click.UsageError(
            "--prompt is missing: what a user says so that the model calls "
            f"{printable(tool or STARTER.tool)}"
        )
    types = STARTER.params if is_example else parse_params(params)
    fits = prompt is None and not expects
    expected = STARTER.expected if fits else parse_expects(expects, types)
    if description is None:
        description = STARTER.description if is_example else ""
    return First(name, tool or STARTER.tool, description, types, prompt or STARTER.prompt, expected)


def _asked(
    name: str,
    tool: str | None,
    description: str | None,
    params: Sequence[str],
    prompt: str | None,
    expects: Sequence[str],
) -> First:
    """What the options say, and the answers to questions for the rest."""
    tool = tool or click.prompt("Name of a tool", default=STARTER.tool)
    example = STARTER if tool == STARTER.tool else _EMPTY
    if description is None:
        description = _ask("What it does", example.description)
    if params:
        types = parse_params(params)
    else:
        listed = " ".join(f"{key}:{kind}" for key, kind in example.params.items())
        types = _ask("Its parameters, such as city:string days:integer", listed, _params_of)
    if prompt is None:
        prompt = click.prompt("A prompt that needs the tool", default=example.prompt or None)
    expected = parse_expects(expects, types)
    values = STARTER.expected if prompt == STARTER.prompt else {}
    for key, kind in types.items():
        if key not in expected:
            question = f"Expected {printable(key)} ({kind}; empty: any)"
            value = _ask(question, values.get(key, ""), partial(_value_of, kind))
            if value is not None:
                expected[key] = value
    return First(name, tool, description, types, prompt, expected)


_EMPTY = First("", "", "", {}, "", {})


def _ask(question: str, default: str, parse: Callable[[str], Any] = str) -> Any:
    """The answer, parsed; what cannot be parsed is asked for again."""
    return click.prompt(question, default=default, show_default=bool(default), value_proc=parse)


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
        if not name or kind not in TYPES:
            expected = f"NAME:TYPE, the type one of {', '.join(TYPES)}"
            raise click.UsageError(f"the parameter {printable(repr(given))}: expected {expected}")
        if name in types:
            raise click.UsageError(f"the parameter {printable(repr(name))} stands twice")
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


def _schema(kind: str, expected: Any) -> dict[str, Any]:
    """The schema of a parameter; of a list, which must say what it holds, by the value expected."""
    if kind != "array":
        return {"type": kind}
    member = expected[0] if expected else ""
    held = next((other for other in TYPES[1:] if _is_of(member, other)), "string")
    return {"type": kind, "items": _schema(held, member)}


def parse_value(text: str, kind: str) -> Any:
    """A value of a JSON Schema type; other types than string are written as JSON."""
    if kind == "string":
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not _is_of(value, kind):
        raise click.UsageError(
            f"{printable(repr(text[:80]))} is not of the type {kind}, written as JSON"
        )
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _is_of(value: Any, kind: str) -> bool:
    types: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list,),
        "object": (dict,),
    }
    return isinstance(value, types[kind]) and (kind == "boolean" or not isinstance(value, bool))
