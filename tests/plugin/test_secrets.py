"""A key is in nothing that a run leaves behind, even when the server repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer
from mock_server import call_message

from .project import Project
from .project import right
from .test_resume import served_cases
from .test_resume import with_server

KEY = "sk-planted-0123456789abcdef"


def test_no_key_is_left_in_logs_of_other_libraries(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", KEY)
    project.write(
        "my_agent.py",
        """
        import logging
        import os

        def answer(messages, tools):
            key = os.environ["PLANTED_API_KEY"]
            logging.getLogger("openai").debug("sent %s", {"api-key": key})
            try:
                raise ValueError(key)
            except ValueError:
                logging.getLogger("httpx").exception("failed")
            return "no"
        """,
    )
    project.suite(right("a"))
    options = ("-rA", "--log-level=DEBUG", "--log-file=run.log", "--log-cli-level=DEBUG")
    result = project.run(*options)
    assert "sent {'api-key': '[secret]'}" in result.stdout.str()
    assert "sent {'api-key': '[secret]'}" in (project.path / "run.log").read_text()
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []


HOSTILE_LOG = """
    import logging
    import os

    def answer(messages, tools):
        text = "sent %s\\x1b[2J\\n::error::owned"
        logging.getLogger("litellm").warning(text, os.environ["PLANTED_LOGIN"])
        return "no"
    """


def test_the_variable_of_any_table_is_kept_out_of_logs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_LOGIN", KEY)
    project.write("my_agent.py", HOSTILE_LOG)
    project.write(
        "tooleval.toml",
        """
        [models.mine]
        callable = "my_agent:answer"
        [models.other]
        model = "openai/m"
        api_base = "http://127.0.0.1:1/v1"
        api_key_env = "PLANTED_LOGIN"
        """,
    )
    project.suite(right("a"))
    result = project.run_subprocess("-rA", "--log-cli-level=DEBUG", "--log-file=run.log", model="mine")
    text = result.stdout.str() + (project.path / "run.log").read_text()
    assert "sent [secret]\\x1b[2J" in text
    assert "\x1b" not in text
    assert "\n::error" not in text
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []


ODD_KEY = "sk-planted/0123456789"


def hostile(path: str, request: dict[str, Any]) -> tuple[int, object]:
    """An answer that repeats the key as a name, escaped in arguments, and as the reason of the end."""
    function = {"name": "get_weather", "arguments": f'{{"{ODD_KEY}": "{ODD_KEY}"}}'.replace("/", "\\/")}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    finish = f"stop {ODD_KEY}\x1b[2J\n::error::owned"
    choice = {"index": 0, "finish_reason": finish, "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return 200, {**document, "choices": [choice]}


def test_no_key_in_another_spelling_is_left_anywhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", ODD_KEY)
    with MockServer(respond=hostile) as server:
        with_server(project, server, api='"openai"', api_key_env='"PLANTED_KEY"')
        served_cases(project, 1)
        options = ("--tooleval-cassette=tapes", "--tooleval-json=out.json", "--junitxml=out.xml", "-rA")
        result = project.run(*options, "-vv", model="served")
        assert any(ODD_KEY in headers.get("authorization", "") for headers in server.headers)
    shown = result.stdout.str() + result.stderr.str()
    assert "\x1b" not in shown
    assert "\n::error" not in shown
    texts = [p.read_text(errors="replace") for p in project.path.rglob("*") if p.is_file()]
    assert "sk-" + "x" * 18 in "".join(texts)
    assert not [text for text in (shown, *texts) if "planted/0123" in text.replace("\\", "")]


def echo(request: dict[str, Any]) -> dict[str, Any]:
    """An answer that repeats the key in text and arguments."""
    return {**call_message("get_weather", {"city": KEY}), "content": f"Your key is {KEY}"}


def leaks(project: Project, *texts: str) -> list[str]:
    """Where the key stands: files of the project, or the given texts."""
    files = [p for p in project.path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    return [str(file) for file in files] + [text for text in texts if KEY in text]


@pytest.mark.parametrize("api", ["openai", "litellm"])
def test_no_key_is_left_anywhere(project: Project, monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    with MockServer(faults={"echo-key": 4, "500": 3}, script=echo) as server:
        with_server(project, server, api=f'"{api}"', api_key_env='"PLANTED_KEY"')
        served_cases(project, 6)
        run = project.run_subprocess if api == "litellm" else project.run
        result = run(
            "--tooleval-cassette=tapes",
            "--tooleval-json=out.json",
            "--junitxml=out.xml",
            "-vv",
            "-rA",
            "--showlocals",
            "--log-level=DEBUG",
            model="served",
        )
        assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    assert "tool calling" in result.stdout.str()
    assert {"passed", "failed"} & set(result.parseoutcomes())
    assert result.parseoutcomes()["errors"] >= 1
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []
    assert "sk-" + "x" * 24 in Path(project.path, "tapes/weather.jsonl").read_text()


def test_a_key_in_a_config_table_is_refused(project: Project) -> None:
    project.write("tooleval.toml", f'[models.served]\nmodel = "openai/m"\napi_key = "{KEY}"\n')
    result = project.run(model="served")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tooleval.toml:3:1:*environment variable*api_key_env*"])
    assert KEY not in result.stderr.str()
