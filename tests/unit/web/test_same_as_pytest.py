"""One engine, one set of scorers: a run of the page and a run of pytest give the same rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from .suites import case
from .suites import weather

AGENT = '''
"""Right about Paris, wrong about Tokyo, silent about Lima, and broken for Oslo."""


def answer(messages, tools, trial=0):
    prompt = messages[-1]["content"]
    if "Oslo" in prompt:
        raise RuntimeError("no such place")
    if "Lima" in prompt:
        return "It rains."
    city = "Paris" if "Paris" in prompt or trial == 1 else "Kyoto"
    function = {"name": "get_weather", "arguments": '{"city": "%s"}' % city}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }


def second(messages, tools, trial=0):
    return answer(messages, tools, trial)
'''
CONFIG = """
[models.agent]
callable = "page_agent:answer"

[models.other]
callable = "page_agent:second"
"""
CASES = (
    case("Paris"),
    case("Paris", id="strict", xfail={"reason": "must fail", "strict": True}),
    case("Paris", id="lenient", xfail="may fail"),
    case("Tokyo", tags=["far"], weight=2.5),
    case("Tokyo", id="expected", xfail="it is \x1b[31mfar"),
    case("Tokyo", id="plain-xfail", xfail=True),
    case("Tokyo", id="low", thresholds={"overall": 0.6}),
    case("Lima"),
    case("Oslo"),
    case("Oslo", id="broken-xfail", xfail="errors stay errors"),
    case("Lima", id="draft", skip="draft"),
    case("Lima", id="skipped", skip=True),
    case("Lima", id="silent", expected_tool=None, expected_params=None),
)
# A scorer of the project's own.
CONFTEST = """
import pytest
from pytest_tooleval import Score


class Terse:
    metrics = ("terse",)

    def score(self, case, transcript):
        return {"terse": Score(1.0 if len(transcript.calls) < 2 else 0.0, "calls")}


def pytest_tooleval_register_scorers(register):
    register(Terse())
"""
TIMES = ("latency_s",)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    return [*map(without_times, value)] if isinstance(value, list) else value


def test_rows_are_those_of_pytest(
    folder: Path, client: TestClient, run: Callable[..., dict[str, Any]]
) -> None:
    (folder / "page_agent.py").write_text(AGENT)
    (folder / "tooleval.toml").write_text(CONFIG)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "weather.tooleval.json").unlink()
    (folder / "inner").mkdir()
    (folder / "inner" / "conftest.py").write_text(CONFTEST)
    # Of two that ask the same at the same time, any may be the one whose answer is kept for both.
    cases = [{**case, "prompt": f"{case['prompt']} ({case['id']})"} for case in CASES]
    suite = weather(*cases, trials=2, thresholds={"overall": 1.0, "terse": 0.5})
    del suite["test_cases"][-1]["expected_params"]
    (folder / "inner" / "many.tooleval.json").write_text(json.dumps(suite, indent=1))

    state = run(file="inner/many.tooleval.json", models=["agent", "other"])
    assert state["status"] == "finished"
    path = f"/api/history/{state['id']}"
    document = client.get(path).json()
    rows = [
        client.get(f"{path}/cases", params={"nodeid": row["nodeid"]}).json() for row in document["cases"]
    ]

    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tooleval-model=agent,other",
            "--tooleval-json=out.json",
        ],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    expected = json.loads((folder / "out.json").read_text())
    assert len(rows) == 2 * len(CASES)
    assert without_times(rows) == without_times(expected["cases"])
    assert without_times(document["models"]) == without_times(expected["models"])
    assert without_times(state["summary"]) == without_times(expected["models"])
    assert document["run"]["exitstatus"] == expected["run"]["exitstatus"] == 1
    outcomes = {row["case"]: row["outcome"] for row in rows}
    assert outcomes["strict"] == "failed"
    assert outcomes["expected"] == "missed"
    assert outcomes["broken-xfail"] == "error"
