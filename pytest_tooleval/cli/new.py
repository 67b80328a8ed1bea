"""`tooleval new`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from ..errors import os_reason
from ..project.root import Project
from ..suite.discovery import SUITE_ENDING
from ..suite.slugs import slug
from ..suite.tool_names import provider_name
from ..text import printable
from ..writing import write_whole
from .suite_files import SuitePath, say_uncollected

_NAME, _TOOL, _DESCRIPTION = "weather", "get_weather", "Get current weather for a city"
_PROMPT = "What's the weather in Paris?"
_PARAMS, _EXPECTED = ("city",), {"city": "Paris"}
_TEST = '''\
import json

from pytest_tooleval import call


def agent(messages, tools, call_tool):  # replace it by yours: a function, or an object of a library
    if "Paris" not in messages[-1]["content"]:
        return "Which city?"
    weather = json.loads(call_tool("get_weather", {"city": "Paris"}))
    return f"It is {weather['celsius']} degrees in Paris."


class Weather:  # answers the agent's tools; a new one for each trial
    def get_weather(self, city: str) -> dict:
        """Get the current weather for a city."""
        return {"city": city, "celsius": 21}


def test_weather(tooleval):
    run = tooleval("What's the weather in Paris?", agent=agent, world=Weather)
    assert run.calls == [call("get_weather", city="Paris")]
    assert "21" in run.text


def test_asks_for_the_city(tooleval):
    run = tooleval("What's the weather?", agent=agent, world=Weather)
    assert not run.calls
    run.reply("In Paris")
    assert run.calls == [call("get_weather", city="Paris")]
    assert "21" in run.text
'''


class _NewPath(SuitePath):
    """The path of a suite or of a Python test."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(value))
        return path if path.suffix == ".py" else super().convert(value, param, ctx)


@click.command()
@click.argument("file", required=False, type=_NewPath())
@click.option("--name", help="The suite's name; default: the file's name.")
@click.option("--tool", help="The name of a tool.")
@click.option("--description", help="What the tool does, for the model.")
@click.option("--param", "params", multiple=True, help="The name of a parameter, a text. Repeatable.")
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

    FILE ends in .tooleval.json; the default is the suite's name, in the first of pytest's testpaths
    if that is inside the current folder.
    If it ends in .py, such as test_weather.py, an example of a test in Python is written.
    """
    if file is not None and file.suffix == ".py":
        _require_new(file)
        if any((name, tool, description, params, prompt, expects)):
            raise click.UsageError(f"the options describe a suite: write {file.stem}{SUITE_ENDING}")
        _write_test(file)
        return
    name = (name or (file.name if file else _NAME)).removesuffix(SUITE_ENDING)
    path = file or Project.around().suite_folder() / f"{slug(name) or 'suite'}{SUITE_ENDING}"
    _require_new(path)
    is_example = tool in (None, _TOOL) and not params
    tool = tool or _TOOL
    params = _PARAMS if is_example else tuple(dict.fromkeys(params))
    expected = _expected(expects, params)
    if is_example:
        description = _DESCRIPTION if description is None else description
        expected = {**(_EXPECTED if prompt is None else {}), **expected}
        prompt = _PROMPT if prompt is None else prompt
    if prompt is None:
        raise click.UsageError(
            f"--prompt is missing: what a user says so that the model calls {printable(tool)}"
        )
    _write(path, name, tool, description or "", params, prompt, expected)
    shown = printable(shlex.quote(path.as_posix()))
    click.echo(f"wrote {printable(str(path))}: 1 tool, 1 case")
    say_uncollected(path)
    click.echo(f"run it, offline: pytest {shown} --tooleval-model=builtin/lexical")
    click.echo(f"after a change: tooleval validate {shown}")


def _require_new(path: Path) -> None:
    if os.path.lexists(path):
        raise click.UsageError(f"{printable(str(path))} already exists; choose another file")


def _write(
    path: Path,
    name: str,
    tool: str,
    description: str,
    params: Sequence[str],
    prompt: str,
    expected: Mapping[str, str],
) -> None:
    from ..suite.types import SCHEMA_ID
    from ..suite.write import write_suite

    for given in (tool, *params):
        accepted = provider_name(given)
        if accepted != given:
            raise click.UsageError(f"providers refuse the name {printable(given)}: write {accepted}")
    properties = {key: {"type": "string"} for key in params}
    schema = {"type": "object", "properties": properties, "required": [*params]}
    function = {"name": tool, "description": description, "parameters": schema}
    id = slug(prompt) or slug(tool)
    case: dict[str, Any] = {"id": id, "prompt": prompt, "expected_tool": tool}
    if expected:
        case["expected_params"] = expected
    suite = {
        "$schema": SCHEMA_ID,
        "name": name,
        "tools": [{"type": "function", "function": function}],
        "test_cases": [case],
    }
    write_suite(path, suite)


def _expected(expects: Sequence[str], params: Sequence[str]) -> dict[str, str]:
    """`city=Paris` as names and values; UsageError for anything else."""
    expected = {}
    for given in expects:
        name, equals, text = given.partition("=")
        if not equals or name not in params:
            known = f"NAME one of {', '.join(params)}" if params else "but the tool has no parameters"
            shown = printable(repr(given))
            raise click.UsageError(f"--expect {shown}: expected NAME=VALUE, {printable(known)}")
        expected[name] = text
    return expected


def _write_test(file: Path) -> None:
    """Write the test to a new file, and say how to run it."""
    shown = printable(str(file))
    patterns = Project.around(file.parent).python_files()
    if not any(fnmatchcase(file.name, pattern) for pattern in patterns):
        better = file.with_name(f"test_{file.name}")
        raise click.UsageError(
            f"pytest collects Python files named {' or '.join(map(printable, patterns))}: "
            f"write {printable(str(better))}"
        )
    try:
        write_whole(file, [_TEST.encode()])
    except OSError as error:
        raise click.ClickException(f"cannot write {shown}: {os_reason(error)}") from None
    command = printable(shlex.quote(file.as_posix()))
    click.echo(f"wrote {shown}: an agent, its world, 2 tests")
    say_uncollected(file)
    click.echo(f"run it, offline: pytest {command}")
    click.echo(f"see what it would not notice: tooleval mutate {command}")
