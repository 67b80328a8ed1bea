"""A run of the page is a run of pytest, whatever the project tells pytest to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from .suites import case, weather

pytestmark = pytest.mark.slow

AGENT = '''
"""Right about Paris, wrong about Tokyo but once, silent about Lima, and broken for Oslo."""


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
'''
CONFIG = """
[models.agent]
callable = "page_agent:answer"

[models.other]
callable = "page_agent:answer"
"""
INI = """
[pytest]
addopts = --tooleval-pass=1/3 --tooleval-threshold=terse=0.5
tooleval_fail_under =
    0.5
    tag=far:pass_rate=1
tooleval_fail_over = errors=50%
tooleval_cassette = cassettes
"""
CONFTEST = """
import pytest
from pytest_tooleval import Score


class Terse:
    metrics = ("terse",)

    def score(self, case, transcript):
        return {"terse": Score(1.0 if len(transcript.calls) < 2 else 0.0, "calls")}


def pytest_tooleval_register_scorers(register):
    register(Terse())


def pytest_runtest_setup(item):
    if item.name.startswith("rome["):
        pytest.skip("not in Rome")
"""
CASES = (
    case("Paris"),
    case("Paris", id="strict", xfail={"reason": "must fail", "strict": True}),
    case("Tokyo", tags=["far"], weight=2.5),
    case("Tokyo", id="all", **{"pass": "all"}),
    case("Lima", tags=["far"]),
    case("Lima", id="expected", xfail="it is \x1b[31mfar"),
    case("Lima", id="draft", skip="draft"),
    case("Oslo"),
    case("Rome"),
)


def test_the_same_rows_gates_and_sums(
    folder: Path, client: TestClient, run: Callable[..., dict[str, Any]]
) -> None:
    (folder / "weather.tooleval.json").unlink()
    (folder / "inner").mkdir()
    files = {"page_agent.py": AGENT, "tooleval.toml": CONFIG, "pytest.ini": INI}
    for name, text in {**files, "inner/conftest.py": CONFTEST}.items():
        (folder / name).write_text(text)
    # Of two that ask the same, any may be the one whose answer is kept for both.
    cases = [{**case, "prompt": f"{case['prompt']} ({case['id']})"} for case in CASES]
    (folder / "inner" / "many.tooleval.json").write_text(json.dumps(weather(*cases)))

    command = [
        sys.executable,
        "-m",
        "pytest",
        "--tooleval-model=agent,other",
        "--tooleval-report=x.json",
    ]
    for record in ("new", "none"):
        option = f"--tooleval-record={record}"
        subprocess.run([*command, option], cwd=folder, capture_output=True, check=False)
    terminal = client.get("/api/history/latest").json()
    (folder / "pytest.ini").write_text(f"{INI}tooleval_record = none\n")
    page = client.get(
        "/api/history/" + run(files=["inner/many.tooleval.json"], models=["agent", "other"])["id"]
    ).json()

    assert page["run"]["id"] != terminal["run"]["id"]
    for part in ("cases", "models", "suites", "gates"):
        assert page[part] == terminal[part]
    for row in page["cases"]:
        whole, expected = (
            client.get(f"/api/history/{each['run']['id']}/cases", params={"nodeid": row["nodeid"]})
            for each in (page, terminal)
        )
        assert whole.json() == expected.json()
    # It is about something: a gate failed, the conftest skipped, answers were replayed.
    assert {gate["verdict"] for gate in page["gates"]} == {"passed", "failed"}
    outcomes = {row["outcome"] for row in page["cases"]}
    assert outcomes >= {"passed", "failed", "error", "skipped"}
    assert [row["reason"] for row in page["cases"] if row["case"] == "rome"] == ["not in Rome"] * 2
    assert page["run"]["total"]["cached"] > 10
    assert page["run"]["exitstatus"] == terminal["run"]["exitstatus"] == 1
