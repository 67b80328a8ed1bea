"""Runs every command that reads a suite: `each_command.py SUITE...`, each suite in a fork of 30 seconds.

Prints a line of JSON for each suite: the exit status of each command, the signal that ended the fork,
and the most memory that was resident, in MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import jsonschema  # noqa: F401
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from pytest_tooleval.cli import main, mutate, suites, tools  # noqa: F401
from pytest_tooleval.engine.tools.tokens import counter
from pytest_tooleval.plugin import case_session  # noqa: F401
from pytest_tooleval.scoring.evidence import rehearsal  # noqa: F401
from pytest_tooleval.web.app import create_app
from pytest_tooleval.web.security import Access

_SECONDS = 30
_TOKEN = "a-token-for-tests"
_HOST = "127.0.0.1:8501"


def tooleval(*words: str) -> int:
    done = CliRunner().invoke(main, words)
    print(done.output)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code


def collects(suite: str, option: str) -> int:
    given = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--tooleval-history=off",
        "--tooleval-model=builtin/lexical",
    ]
    return int(pytest.main([*given, option, suite]))


def opens(suite: str) -> int:
    """What the page asks for to show a suite; 0 if it is answered."""
    app = create_app(Path.cwd(), Access(8501, _TOKEN))
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    with contextlib.closing(app.state.runs):
        client = TestClient(app, base_url=f"http://{_HOST}", headers=headers)
        shown = client.get("/api/suite", params={"file": suite})
    print(shown.text)
    return 0 if shown.status_code == 200 else 1


_COMMANDS: dict[str, Callable[[str], int]] = {
    "validate": lambda suite: tooleval("validate", "--strict", "--metric=grounded", suite),
    "mutate": lambda suite: tooleval("mutate", "--metric=grounded", suite),
    "tools": lambda suite: tooleval("tools", suite),
    "estimate": lambda suite: collects(suite, "--tooleval-estimate"),
    "collect": lambda suite: collects(suite, "--collect-only"),
    "page": opens,
}


def in_a_fork(suite: Path) -> dict[str, int]:
    done, told = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(_SECONDS)
        os.dup2(2, 1)
        os.chdir(suite.parent)
        try:
            for name, command in _COMMANDS.items():
                print(f"=== {suite}: {name}", flush=True)
                os.write(told, f"{name} {command(suite.name)}\n".encode())
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(told)
    with open(done) as lines:
        found = {name: int(status) for name, status in map(str.split, lines)}
    _, status, usage = os.wait4(pid, 0)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {**found, "ended": os.waitstatus_to_exitcode(status), "megabytes": usage.ru_maxrss // unit}


if __name__ == "__main__":
    counter()  # reads the vocabulary, which takes longer than most commands
    for each in sys.argv[1:]:
        print(json.dumps(in_a_fork(Path(each).resolve())), flush=True)
