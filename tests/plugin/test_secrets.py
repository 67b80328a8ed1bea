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
    result = project.run_subprocess(*options)
    assert "sent {'api-key': '[secret]'}" in result.stdout.str()
    assert "sent {'api-key': '[secret]'}" in (project.path / "run.log").read_text()
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []


def echo(request: dict[str, Any]) -> dict[str, Any]:
    """An answer that repeats the key in text and arguments."""
    return {**call_message("get_weather", {"city": KEY}), "content": f"Your key is {KEY}"}


def leaks(project: Project, *texts: str) -> list[str]:
    """Where the key stands: files of the project, or the given texts."""
    files = [p for p in project.path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    return [str(file) for file in files] + [text for text in texts if KEY in text]


@pytest.mark.parametrize("api", ["openai", "litellm"])
@pytest.mark.parametrize("faults", [{}, {"echo-key": 1}, {"500": 2}])
def test_no_key_is_left_anywhere(
    project: Project, monkeypatch: pytest.MonkeyPatch, api: str, faults: dict[str, int]
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    with MockServer(faults=faults, script=echo) as server:
        with_server(project, server, api=f'"{api}"', api_key_env='"PLANTED_KEY"')
        served_cases(project, 4)
        result = project.run_subprocess(
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
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []
    if faults != {"echo-key": 1}:
        assert "[secret]" in Path(project.path, "tapes/weather.jsonl").read_text()


def test_a_key_in_a_config_table_is_refused(project: Project) -> None:
    project.write("tooleval.toml", f'[models.served]\nmodel = "openai/m"\napi_key = "{KEY}"\n')
    result = project.run(model="served")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tooleval.toml:3:1:*environment variable*api_key_env*"])
    assert KEY not in result.stderr.str()
