"""Answers with a form: expected by `$json`, and asked for by `response_format`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mock_server import MockServer, http

from .project import WEATHER_TOOL, Project

SCHEMA = {
    "type": "object",
    "properties": {"sky": {"enum": ["clear", "rain"]}},
    "required": ["sky"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "forecast", "schema": SCHEMA}}
EXPECTED = [{"$json": {"$schema": SCHEMA}}]
SAYS = {"formed": '{"sky": "clear"}', "fenced": '```json\n{"sky": "rain"}\n```', "prose": "It is clear."}

_AGENTS = """
async def _answer(text, call_tool):
    await call_tool("get_weather", {"city": "Paris"})
    return text
""" + "".join(
    f"""
async def {name}(messages, tools, call_tool):
    return await _answer({text!r}, call_tool)
"""
    for name, text in SAYS.items()
)


def test_the_answer_is_json_on_mocks_on_a_world_and_in_a_recording(project: Project) -> None:
    project.write("my_agent.py", _AGENTS)
    project.write("sky.py", "class Sky:\n    def get_weather(self, city: str): return 'clear'\n")
    table = "".join(f'[models.{name}]\ncallable = "my_agent:{name}"\n' for name in SAYS)
    project.write("tooleval.toml", table)
    turn = {"prompt": "Weather?", "expected_text": EXPECTED}
    cases = [
        {"id": "mocks", "turns": [turn], "mock_responses": {"get_weather": "clear"}},
        {"id": "world", "world": "sky:Sky", **turn},
    ]
    suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": cases}
    project.write("s.tooleval.json", json.dumps(suite))
    outcomes = {"formed": "passed", "fenced": "passed", "prose": "failed"}
    models = [f"--tooleval-model={name}" for name in SAYS]
    project.run(*models, "--tooleval-report=out.json", model=None)
    for id in ("mocks", "world"):
        rows = {name: project.rows()[f"{id}[{name}]"] for name in SAYS}
        assert {name: row["outcome"] for name, row in rows.items()} == outcomes
        assert rows["prose"]["trials"][0]["failure"] == "wrong_text"
        assert rows["prose"]["reason"].startswith("text: its whole text is not JSON")
    asked = {"role": "user", "content": "Weather?"}
    runs = [
        {"case": "S::mocks", "model": name, "messages": [asked, {"role": "assistant", "content": text}]}
        for name, text in SAYS.items()
    ]
    project.write("runs.jsonl", "".join(json.dumps(run) + "\n" for run in runs))
    recorded = "--tooleval-transcripts=runs.jsonl"
    project.run(recorded, "-k", "mocks", "--tooleval-report=out.json", model=None)
    found = {name: row["outcome"] for name, row in project.rows().items()}
    assert found == {f"mocks[{name}]": outcome for name, outcome in outcomes.items()}


def formed(**fields: Any) -> dict[str, Any]:
    case = {"id": "one", "prompt": "Weather?", "expected_tool": None, "expected_text": EXPECTED}
    return {"name": "S", "tools": [], "test_cases": [{**case, **fields}]}


def write(project: Project, suite: dict[str, Any], table: str) -> None:
    project.write("s.tooleval.json", json.dumps(suite))
    project.write("tooleval.toml", f"[models.m]\n{table}\n")


@pytest.fixture
def server() -> Iterator[MockServer]:
    def script(request: dict[str, Any]) -> dict[str, Any]:
        right = "response_format" in request
        return {"role": "assistant", "content": SAYS["formed" if right else "prose"]}

    with MockServer(script=script) as found:
        yield found


@pytest.mark.parametrize("of_suite", [True, False])
def test_the_form_is_sent_and_part_of_the_recording(
    project: Project, server: MockServer, of_suite: bool
) -> None:
    table = f'model = "openai/m"\napi_base = "{server.base_url}"'
    tape = ("--tooleval-cassette=tapes", "--tooleval-report=out.json")
    write(project, formed(), table)
    project.run(*tape, model="m").assert_outcomes(failed=1)
    assert "response_format" not in server.bodies[-1]
    asks = {**formed(), "response_format": FORM} if of_suite else formed(response_format=FORM)
    write(project, asks, table)
    project.run(*tape, model="m").assert_outcomes(passed=1)
    assert server.bodies[-1]["response_format"] == FORM
    assert len(server.bodies) == 2
    for suite, outcome in ((asks, "passed"), (formed(), "failed")):  # both are recorded
        write(project, suite, table)
        project.run(*tape, "--tooleval-record=none", model="m").assert_outcomes(**{outcome: 1})


def test_a_refused_form_is_an_error_and_not_left_out(project: Project) -> None:
    error = {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"}
    refusal = http(json.dumps({"error": error}).encode(), 400, "Content-Type: application/json")
    with MockServer(raw=refusal) as server:
        table = f'model = "openai/m"\napi_base = "{server.base_url}"'
        write(project, formed(response_format=FORM), table)
        result = project.run(model="m")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*response_format is set by the case: remove it there*"])
        assert server.requests == 1


_TAKES = """
def takes(messages, tools, response_format=None):
    return '{"sky": "clear"}' if response_format["json_schema"]["schema"] else "?"

def lacks(messages, tools):
    raise SystemError("asked")
"""


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('callable = "my_agent:takes"', ""),
        ('callable = "my_agent:lacks"', "my_agent:lacks has no parameter response_format"),
        ('model = "builtin/lexical"', "builtin/lexical writes none"),
        (
            'url = "http://127.0.0.1:9/chat"\nrequest = { message = "$prompt" }\nanswer = "chat"',
            "an agent with a url gets only what its request in",
        ),
        ('model = "openai/m"\nomit = ["response_format"]', "it is under omit in"),
    ],
)
def test_a_model_that_would_not_get_the_form_is_not_asked(
    project: Project, monkeypatch: pytest.MonkeyPatch, table: str, message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000000000000")
    project.write("my_agent.py", _TAKES)
    write(project, formed(response_format=FORM), table)
    result = project.run("--tooleval-report=out.json", model="m")
    if not message:
        result.assert_outcomes(passed=1)
        return
    result.assert_outcomes(errors=1)
    (row,) = project.rows().values()
    assert message in row["reason"]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"type": "json_schema"}, 'response_format.type: json_schema needs a schema; write {"type": '),
        (
            {"type": "json_object", "json_schema": {"schema": SCHEMA}},
            'json_schema: the type json_object has no schema; write "type": "json_schema", or remove',
        ),
        ({"type": "json"}, 'response_format.type: expected "json_schema" or "json_object"'),
        (SCHEMA, 'response_format.type: expected "json_schema" or "json_object", got'),
        (
            {"type": "json_schema", "json_schema": {"schema": {"type": "objekt"}}},
            "response_format.json_schema.schema.type: ",
        ),
        (
            {"type": "json_schema", "json_schema": {"schema": SCHEMA, "name": "a b"}},
            "response_format.json_schema.name: expected a name of letters, digits, _ and -",
        ),
    ],
)
def test_validate_refuses_what_is_no_form(project: Project, form: Any, problem: str) -> None:
    write(project, formed(response_format=form), 'callable = "my_agent:takes"')
    result = project.run(model="m")
    assert problem in result.stdout.str() + result.stderr.str()
