"""A project folder for one test: suites, and an agent that answers as the test says."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from builders import tool

_UNITS = {"type": "string", "enum": ["celsius", "fahrenheit"]}
WEATHER_TOOL = tool(
    "get_weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "units": _UNITS},
        "required": ["city"],
    },
    description="Get current weather for a city",
)
TIME_TOOL = tool("get_time")

# Looks up the last message in script.json: what to wait for, raise, return or call; of a list, the next
# one each time. It waits for a while, a file (`until`), the answer to another case (`after`), or so many
# calls in flight at one time (`together`). Every call is logged as one line, so that a test can count
# calls made in any process.
_AGENT = """
import asyncio
import json
import os
import time
from pathlib import Path

HERE = Path(__file__).parent
in_flight = most = 0
asked = {}


def log(file, line):
    with open(HERE / file, "a", encoding="utf-8") as handle:
        handle.write(json.dumps(line) + "\\n")


def answered():
    path = HERE / "answered.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


async def answer(messages, tools):
    global in_flight, most
    prompt = messages[-1]["content"]
    log("calls.log", prompt)
    scripts = json.loads((HERE / "script.json").read_text(encoding="utf-8"))
    script = scripts[prompt]
    if isinstance(script, list):
        script = script[asked.setdefault(prompt, 0)]
        asked[prompt] += 1
    in_flight += 1
    most = max(most, in_flight)
    log("flight.log", in_flight)
    try:
        await asyncio.sleep(script.get("delay", 0))
        while "until" in script and not (HERE / script["until"]).exists():
            await asyncio.sleep(0.02)
        while "after" in script and f"({script['after']})" not in answered():
            await asyncio.sleep(0.02)
        while most < script.get("together", 0):
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        log("cancelled.log", prompt)
        raise
    finally:
        in_flight -= 1
    if "exit" in script:
        os._exit(script["exit"])
    if "error" in script:
        raise ValueError(script["error"])
    if "unreachable" in script:
        raise ConnectionError(script["unreachable"])
    if "returns" in script:
        return script["returns"]
    log("answered.log", prompt)
    calls = [
        {"id": f"call_{i}", "type": "function", "function": call}
        for i, call in enumerate(script.get("calls", []))
    ]
    return {"role": "assistant", "content": script.get("text"), "tool_calls": calls}
"""


def call(name: str = "get_weather", **arguments: Any) -> dict[str, Any]:
    """A call in the chat API's shape, with its arguments as text."""
    return {"name": name, "arguments": json.dumps(arguments)}


def case(
    id: str | None, script: Mapping[str, Any] | Sequence[Mapping[str, Any]], **fields: Any
) -> dict[str, Any]:
    """A case that expects the weather of Paris; `script` is what the agent does when asked it."""
    given = {} if id is None else {"id": id}
    return {
        **given,
        "prompt": f"What is the weather in Paris? ({id})",
        "expected_tool": "get_weather",
        "expected_params": {"city": "Paris"},
        **fields,
        "_script": script,
    }


def right(id: str | None, delay: float = 0, together: int = 0, **fields: Any) -> dict[str, Any]:
    """A case that the agent gets right."""
    script = {"calls": [call(city="Paris")], "delay": delay, "together": together}
    return case(id, script, **fields)


def wrong(id: str | None, delay: float = 0, together: int = 0, **fields: Any) -> dict[str, Any]:
    """A case that the agent gets wrong: overall 0.6, as only the tool is right."""
    script = {"calls": [call(city="London")], "delay": delay, "together": together}
    return case(id, script, **fields)


def raising(id: str | None, message: str = "the agent is broken", **fields: Any) -> dict[str, Any]:
    """A case on which the agent raises."""
    return case(id, {"error": message}, **fields)


def unreachable(id: str | None) -> dict[str, Any]:
    """A case on which the agent cannot reach its model."""
    return case(id, {"unreachable": "no model there"})


def failed(reason: str, case: str = "*") -> str:
    """A pattern for the line of the short summary, which gives our reasons only since pytest 9."""
    return f"FAILED *::{case}*{reason}*" if pytest.version_tuple >= (9,) else f"FAILED *::{case}*"


def comparable(value: Any) -> Any:
    """The value without what differs from run to run.

    `cached` is among that: a case that another worker had asked ahead has its answer from there.
    """
    if isinstance(value, dict):
        varying = ("latency_s", "cached", "answered_at")
        return {name: comparable(each) for name, each in value.items() if name not in varying}
    return [comparable(each) for each in value] if isinstance(value, list) else value


class Project:
    """The folder of a `pytester`, with the models `agent` and `other`, both the scripted agent."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self._scripts: dict[str, Any] = {}
        self.write("my_agent.py", _AGENT)
        self.write(
            "tooleval.toml",
            """
            [models.agent]
            callable = "my_agent:answer"

            [models.other]
            callable = "my_agent:answer"
            """,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def suite(
        self, *cases: Mapping[str, Any], file: str = "weather.tooleval.json", **fields: Any
    ) -> Path:
        """Write a suite; every case's script goes to the agent."""
        suite = {
            "name": "Weather",
            "tools": [WEATHER_TOOL, TIME_TOOL],
            "test_cases": [{k: v for k, v in one.items() if k != "_script"} for one in cases],
            **fields,
        }
        for one in cases:
            prompt = one["prompt"]
            key = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            self._scripts[key] = one.get("_script", {"calls": [call(city="Paris")]})
        self.write("script.json", json.dumps(self._scripts))
        return self.write(file, json.dumps(suite, indent=1, ensure_ascii=False))

    def script(self, prompt: str, **script: Any) -> None:
        """Let the agent do something else from now on when asked this."""
        self._scripts[prompt] = script
        self.write("script.json", json.dumps(self._scripts))

    def run(self, *args: str, model: str | None = "agent") -> pytest.RunResult:
        """pytest inside this process."""
        return self.pytester.runpytest_inprocess(*_command(args, model))

    def run_subprocess(
        self, *args: str, model: str | None = "agent", timeout: float = 600
    ) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess(*_command(args, model), timeout=timeout)

    @contextmanager
    def started(
        self, *args: str, model: str | None = "agent", **options: Any
    ) -> Iterator[subprocess.Popen[str]]:
        """pytest in a process, which ends with the block; `options` are those of Popen."""
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        command = [sys.executable, "-m", "pytest", *_command(args, model)]
        process = subprocess.Popen(command, cwd=self.path, text=True, **given)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def wait_for(self, file: str, text: str, process: subprocess.Popen[str], times: int = 1) -> None:
        """Until the running process has written this text so often."""
        deadline, path = time.monotonic() + 120, self.path / file
        while not path.exists() or path.read_text(encoding="utf-8").count(text) < times:
            assert time.monotonic() < deadline, f"no {times} times {text!r} in {file}"
            assert process.poll() is None
            time.sleep(0.02)

    def log(self, name: str) -> list[Any]:
        path = self.path / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def calls(self) -> list[str]:
        """The ids of the cases that were asked, in the order of the calls."""
        return [prompt.rpartition("(")[2].rstrip(")") for prompt in self.log("calls")]

    def forget_calls(self) -> None:
        for path in self.path.glob("*.log"):
            path.unlink()

    def document(self, name: str = "out.json") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / name).read_bytes())
        return found

    def rows(self, name: str = "out.json") -> dict[str, dict[str, Any]]:
        """The case rows of a result document by case and model."""
        return {f"{row['case']}[{row['model']}]": row for row in self.document(name)["cases"]}


# The plugins that these options are of.
_PLUGINS = {
    "-n": "xdist",
    "-d": "xdist",
    "--reruns": "rerunfailures",
    "--asyncio-mode": "asyncio",
    "--timeout": "timeout",
}


def _command(args: tuple[str, ...], model: str | None) -> list[str]:
    plugins = [
        f"-p{plugin}"
        for option, plugin in _PLUGINS.items()
        if any(arg.startswith(option) for arg in args)
    ]
    # Without its scope, pytest-asyncio warns.
    scope = ["-oasyncio_default_fixture_loop_scope=function"] if "-pasyncio" in plugins else []
    models = [] if model is None else [f"--tooleval-model={model}"]
    return [*plugins, *scope, *models, *args]
