"""The Python test that `tooleval new test_weather.py` writes."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase
from pathlib import Path

import click

from ..errors import os_reason
from ..project.root import Project
from ..text import printable
from ..writing import write_whole
from .suite_files import say_uncollected

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


def write_first_test(file: Path) -> None:
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
