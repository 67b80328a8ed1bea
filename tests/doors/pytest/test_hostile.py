"""Hostile text, by what it comes from and where it goes: nothing harms a terminal, a file or the run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main

from .project import WEATHER_TOOL, Project, call, case, right, wrong

HOSTILE = (
    "\x1b[31mred\x1b[0m \x00\x07\x08 \u202egnp.exe \u2028 ]]> </failure> \ud83d \ufffe \x9b2J \r end\n"
    "::error::owned <script>alert(1)</script>"
)
HARMFUL = ("\x1b", "\x00", "\x07", "\x08", "\u202e", "\u2028", "\x9b", "\r", "\n::error::")


def nested(levels: int) -> str:
    return '{"city":' * levels + "1" + "}" * levels


# What a model or an agent may say.
SCRIPTS: dict[str, dict[str, Any]] = {
    "text": {"text": HOSTILE},
    "value": {"calls": [call(city=HOSTILE)]},
    "tool": {"calls": [{"name": HOSTILE, "arguments": "{}"}]},
    "arguments": {"calls": [{"name": "get_weather", "arguments": HOSTILE}]},
    "argument": {"calls": [{"name": "get_weather", "arguments": json.dumps({HOSTILE: 1})}]},
    "object": {"calls": [{"name": "get_weather", "arguments": {"city": [[HOSTILE]]}}]},
    "error": {"error": HOSTILE},
    "no message": {"returns": [HOSTILE]},
    "no calls": {"returns": {"content": HOSTILE, "tool_calls": HOSTILE}},
    "too deep": {"calls": [{"name": "get_weather", "arguments": nested(3000)}]},
    "deep": {"calls": [{"name": "get_weather", "arguments": nested(900)}]},
    "no number": {"calls": [{"name": "get_weather", "arguments": '{"city": NaN}'}]},
    "long number": {"calls": [{"name": "get_weather", "arguments": '{"city": ' + "9" * 6000 + "}"}]},
    "endless": {"calls": [{"name": "x" * 100_000, "arguments": "y" * 100_000}]},
}
# What a suite may say. It is as trusted as code, and may come from a pull request.
CASES = [
    {**wrong("prompt"), "prompt": f"Weather? {HOSTILE}".replace("\ud83d", "")},
    right("skip", skip="\x1b[31mred"),
    wrong("xfail", xfail="\x1b[31mred"),
]
REPORTS = ("json", "html", "md", "csv")


def test_whatever_is_said_stays_text_in_every_output(project: Project) -> None:
    nothing = {"expected_tool": None, "expected_params": None}
    cases = [case(name, script) for name, script in SCRIPTS.items()]
    cases += [case(f"{name} unasked for", script, **nothing) for name, script in SCRIPTS.items()]
    project.suite(*cases, *CASES, name="Suite \x1b[31m\u202e")
    files = [f"--tooleval-report=out.{ending}" for ending in REPORTS]
    options = ("--junitxml=out.xml", "--tooleval-events=out.events", "--tooleval-github=always")
    result = project.run(*files, *options, "--tooleval-cassette=tapes", "-vv", "-rA", "--color=no")
    outcomes = result.parseoutcomes()
    assert sum(outcomes.get(word, 0) for word in ("failed", "errors", "passed")) == 2 * len(SCRIPTS) + 1
    assert (outcomes["skipped"], outcomes["xfailed"]) == (1, 1)
    shown = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in shown
    assert "Traceback" not in shown
    result.stdout.fnmatch_lines(["agent: * errors**red*"])
    own = [line for line in result.outlines if not line.startswith("::")]
    assert max(map(len, own)) < 2000
    ET.parse(project.path / "out.xml")
    document = (project.path / "out.json").read_bytes()
    assert document.isascii()
    assert len(project.rows()) == 2 * len(SCRIPTS) + len(CASES)
    # For programs, to which only the ends of lines mean something.
    events = (project.path / "out.events").read_bytes().splitlines()
    assert {"run_started", "run_ended"} <= {json.loads(line)["event"] for line in events}
    outputs = {"terminal": shown}
    for name in ("out.xml", "out.md", "out.html", "out.csv"):
        outputs[name] = (project.path / name).read_bytes().decode(errors="strict")
    for name, text in outputs.items():
        harmful = [each for each in HARMFUL if each in text.replace("\r\n", "\n")]
        assert harmful == [], name
    assert "<script>alert" not in outputs["out.html"]
    history = CliRunner().invoke(main, ["show", "latest", f"-C{project.path}"])
    assert history.exit_code == 0
    assert not any(each in history.output for each in HARMFUL)
    replayed = project.run("--tooleval-cassette=tapes", "--tooleval-record=none", "--color=no")
    assert not any(each in replayed.stdout.str() for each in HARMFUL)


def test_names_and_texts_of_a_recorded_run_stay_text(project: Project) -> None:
    project.suite({"id": "w", "prompt": "Weather in Paris?", "expected_tool": "get_weather"})
    evil = "gpt\x1b[2J\n::error::" + "x" * 5000
    content = [{"type": "text", "text": evil}, {"type": "file", "file": {}}]
    messages = [{"role": "user", "content": evil}, {"role": "assistant", "content": content}]
    project.write("runs.jsonl", json.dumps({"id": "w", "model": evil, "messages": messages}))
    options = ("--tooleval-transcripts=runs.jsonl", "--tooleval-report=out.json")
    result = project.run(*options, "-rA", model=None)
    result.assert_outcomes(failed=1)
    assert "\x1b[2J" not in result.stdout.str()
    assert not any(line.startswith("::error::") for line in result.outlines)
    (row,) = project.rows().values()
    assert len(row["model"]) <= 100
    assert "[file]" in row["trials"][0]["transcript"]["replies"][0]["message"]["content"]


@pytest.mark.parametrize("cassette", [(), ("--tooleval-cassette=tapes",)])
def test_objects_nested_deeply_lose_no_results(project: Project, cassette: tuple[str, ...]) -> None:
    project.write(
        "deep.py",
        """
        def answer(messages, tools):
            place, levels = messages[-1]["content"].split()
            deep = []
            for _ in range(int(levels)):
                deep = [deep]
            if place == "content":
                return {"content": deep}
            call = {"name": "get_weather", "arguments": {"city": deep}}
            return {"tool_calls": [{"id": "c", "type": "function", "function": call}]}
        """,
    )
    project.write("tooleval.toml", '[models.deep]\ncallable = "deep:answer"\n')
    prompts = [
        f"{place} {levels}" for place in ("content", "arguments") for levels in (150, 700, 950, 3000)
    ]
    cases = [{"prompt": prompt, "expected_tool": "get_weather"} for prompt in prompts]
    suite = {"name": "Deep", "tools": [WEATHER_TOOL], "test_cases": cases}
    project.write("deep.tooleval.json", json.dumps(suite))
    result = project.run("--tooleval-report=out.json", *cassette, model="deep")
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == len(prompts)
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "encoder.py" not in result.stdout.str()
    assert {row["outcome"] for row in project.rows().values()} == {"failed", "error"}
