"""Servers that others wrote, over each transport that they speak: `tox -e servers` installs them."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_tooleval import score_calls
from pytest_tooleval.cli import main
from pytest_tooleval.engine.clients.lexical import lexical_message
from pytest_tooleval.jsonschemas.validation import errors
from pytest_tooleval.mcp.discover import discover_tools
from pytest_tooleval.mcp.server import McpServer
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

# Some of the tools that each has had for long.
TOOLS = {
    "mcp-server-time": {"get_current_time", "convert_time"},
    "mcp-server-git": {"git_status", "git_log", "git_commit"},
    "mcp-server-fetch": {"fetch"},
    "mcp-server-everything": {"echo", "get-sum"},
    "mcp-server-filesystem": {"read_text_file", "list_directory"},
    "mcp-server-memory": {"create_entities", "search_nodes"},
}


def command(name: str) -> str:
    """Its program, from PyPI beside Python, or from npm."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed; tox -e servers installs it")
    return found


def imported(tmp_path: Path, *where: str) -> Suite:
    """The suite that the command makes, checked; nothing changes when it is made again."""
    file = tmp_path / "a.tooleval.json"
    arguments = ["import", "mcp", *where, "--timeout=120", "--out", str(file)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, arguments).stdout.startswith(f"{file} is up to date: ")
    suite = load_suite(file)
    assert lint_suite(suite) == []
    for case in suite.test_cases:
        assert case.skip == "draft"
        tool = next(tool for tool in suite.tools if tool.name == case.expected_tool)
        assert errors(tool.parameters, case.expected_params) == []
    return suite


def lexical_tool_selection(suite: Suite) -> float:
    """How often the baseline finds the tool of a draft by its prompt."""
    values = []
    for case in suite.test_cases:
        asked = resolve(suite, case)
        message = lexical_message(asked.messages, [tool.wire for tool in asked.tools], "required")
        calls: list[Any] = [call["function"] for call in message["tool_calls"]]
        values.append(score_calls(suite, case, calls).scores["tool_selection"].value or 0.0)
    return sum(values) / len(values)


@pytest.mark.parametrize("name", TOOLS)
def test_over_stdio(tmp_path: Path, name: str) -> None:
    line = shlex.join([command(name), *([str(tmp_path)] if name.endswith("filesystem") else [])])
    suite = imported(tmp_path, "--stdio", line)
    assert {tool.name for tool in suite.tools} >= TOOLS[name]
    assert lexical_tool_selection(suite) > 0.8


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module", params=["http", "sse"])
def everything(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The option and the address of the one server that also speaks HTTP."""
    program = command("mcp-server-everything")
    kind, path = {"http": ("streamableHttp", "mcp"), "sse": ("sse", "sse")}[request.param]
    for _ in range(5):  # it ends if somebody else has taken the port meanwhile
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        process = subprocess.Popen(
            [program, kind],
            env={**os.environ, "PORT": str(port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and not listens(port):
            time.sleep(0.1)
        if process.poll() is None:
            break
    yield f"--{request.param}", f"http://127.0.0.1:{port}/{path}"
    process.terminate()
    process.wait(60)


def test_over_http(tmp_path: Path, everything: tuple[str, str]) -> None:
    suite = imported(tmp_path, *everything)
    assert {tool.name for tool in suite.tools} >= TOOLS["mcp-server-everything"]
    (tmp_path / "a.tooleval.json").unlink()
    over_stdio = imported(tmp_path, "--stdio", shlex.quote(command("mcp-server-everything")))
    assert over_stdio.tools == suite.tools


def test_annotations_are_found() -> None:
    found = discover_tools(McpServer("stdio", (command("mcp-server-git"),), timeout_s=120.0))
    hints = {tool["name"]: tool["annotations"] for tool in found.tools}
    assert hints["git_status"]["readOnlyHint"] is True
    assert hints["git_commit"]["readOnlyHint"] is False
