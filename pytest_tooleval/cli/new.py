"""`tooleval new`."""

from __future__ import annotations

import os
import shlex
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from ..errors import os_reason
from ..project.root import Project
from ..suite.discovery import SUITE_ENDING
from ..text import printable
from ..writing import write_whole
from .suite_files import SuitePath, say_uncollected

_FUNCTION = {
    "name": "get_weather",
    "description": "Get current weather for a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
_CASE = {
    "id": "what-s-the-weather-in-paris",
    "prompt": "What's the weather in Paris?",
    "expected_tool": "get_weather",
    "expected_params": {"city": "Paris"},
}
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
def new(file: Path | None) -> None:
    """Write an example that you can run: a suite, or a test in Python.

    FILE ends in .tooleval.json, or in .py, such as test_weather.py. Without it, the suite is
    weather.tooleval.json, in the first of pytest's testpaths if that is inside the current folder.
    """
    path = file or Project.around().suite_folder() / f"weather{SUITE_ENDING}"
    if os.path.lexists(path):
        raise click.UsageError(f"{printable(str(path))} already exists; choose another file")
    if path.suffix == ".py":
        _write_test(path)
        return
    from ..suite.types import SCHEMA_ID
    from ..suite.write import write_suite

    tools = [{"type": "function", "function": _FUNCTION}]
    name = path.name.removesuffix(SUITE_ENDING)
    write_suite(path, {"$schema": SCHEMA_ID, "name": name, "tools": tools, "test_cases": [_CASE]})
    shown = printable(shlex.quote(path.as_posix()))
    click.echo(f"wrote {printable(str(path))}: 1 tool, 1 case")
    say_uncollected(path)
    click.echo(f"run it, offline: pytest {shown} --tooleval-model=builtin/lexical")
    click.echo(f"after a change: tooleval validate {shown}")


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
