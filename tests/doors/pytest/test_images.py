"""Images in tools' answers: shown to models that see, described to others, and said in the run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import PNG, calling, picture, tool
from mock_server import MockServer

from .project import Project

ANSWER = [{"type": "text", "text": "The light is:"}, picture()]
LOOK = {
    "id": "look",
    "prompt": "Which colour is the light?",
    "multi_turn": True,
    "valid_prerequisites": ["look"],
    "expected_tool": "say",
    "expected_params": {"colour": "red"},
    "mock_responses": {"look": ANSWER},
}
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
TAPE = ("--tooleval-cassette=tapes", "--tooleval-report=out.json")


def write(project: Project, server: MockServer, **fields: Any) -> None:
    suite = {"name": "S", "tools": [tool("look"), tool("say", COLOUR)]}
    cases = [{**LOOK, **fields}]
    project.write("s.tooleval.json", json.dumps({**suite, "test_cases": cases}))
    project.write("tooleval.toml", f'[models.m]\nmodel = "openai/m"\napi_base = "{server.base_url}"')


def says(request: dict[str, Any]) -> dict[str, Any]:
    """A model that guesses unless it sees."""
    if request["messages"][-1]["role"] == "user" and len(request["messages"]) == 1:
        return calling("look")
    return calling("say", "c2", colour="red" if PNG in json.dumps(request) else "blue")


# As Ollama, DeepSeek, Groq, vLLM, llama.cpp and Mistral's templates say it.
REFUSALS = [
    (400, "this model does not support image input"),
    (422, "messages[3]: unknown variant `image_url`, expected `text`"),
    (400, "'messages.3' : for 'role:user' 'messages.3.content' must be a string"),
    (400, "qwen is not a multimodal model None"),
    (500, "image input is not supported - hint: you may need to provide the mmproj"),
    (400, "Unexpected role 'user' after role 'tool'"),
]


def test_a_model_sees_the_picture_of_a_mock(project: Project) -> None:
    with MockServer(script=says) as server:
        write(project, server)
        project.run(*TAPE, model="m").assert_outcomes(passed=1)
        *_, called, answer, shown = server.bodies[-1]["messages"]
        assert answer["content"] == "The light is:\n[image: image/png, 1 kB]"
        assert (called["role"], answer["role"], shown["role"]) == ("assistant", "tool", "user")
        assert shown["content"][1:] == [picture()]
        project.run(*TAPE, "--tooleval-record=none", model="m").assert_outcomes(passed=1)
        assert server.requests == 2
        (tape,) = (project.path / "tapes").glob("*.jsonl")
        assert PNG not in tape.read_text()  # the suite has it
        write(project, server, mock_responses={"look": [picture(f"{PNG[:-4]}AAAA")]})
        result = project.run(*TAPE, model="m")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*tool       [[]image: image/png, 1 kB]"])
        assert server.requests == 3  # another picture is another question
    (row,) = project.rows().values()
    assert (
        row["trials"][0]["transcript"]["replies"][0]["tool_answers"][0]["content"][0]["type"]
        == "image_url"
    )


@pytest.mark.parametrize(("status", "refusal"), REFUSALS)
def test_a_model_that_refuses_pictures_gets_words_and_the_run_says_so(
    project: Project, status: int, refusal: str
) -> None:
    def blind(path: str, request: dict[str, Any]) -> tuple[int, object] | None:
        error = {"message": refusal, "type": "invalid_request_error"}
        return (status, {"error": error}) if PNG in json.dumps(request) else None

    with MockServer(script=says, respond=blind) as server:
        write(project, server)
        result = project.run(*TAPE, model="m")
        result.assert_outcomes(failed=1)
        assert server.bodies[-1]["messages"][-1]["content"].endswith("[image: image/png, 1 kB]")
        result.stdout.fnmatch_lines(["*images sent as texts such as * (1 case)*"])
        again = project.run(*TAPE, "--tooleval-record=none", model="m")
        again.assert_outcomes(failed=1)
        again.stdout.fnmatch_lines(["*images sent as texts such as * (1 case)*"])


_AGENT = """
async def agent(messages, tools, call_tool):
    seen = await call_tool("look", {})
    await call_tool("say", {"colour": "red" if seen == SEEN else repr(seen)})
    return ""
"""


def test_an_agent_with_its_own_loop_gets_words(project: Project) -> None:
    seen = "The light is:\n[image: image/png, 1 kB]"
    project.write("my_agent.py", f"SEEN = {seen!r}\n{_AGENT}")
    with MockServer() as server:
        write(project, server)
    project.write("tooleval.toml", '[models.m]\ncallable = "my_agent:agent"')
    project.run(model="m").assert_outcomes(passed=1)
