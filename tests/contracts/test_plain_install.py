"""The promise of the docs: `--tooleval-model=NAME`, no table, no extra, and it works."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

from .server import StandIns

pytestmark = pytest.mark.slow

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SUITE = re.findall(r"^```json.*?\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
PAGE = (Path(__file__).parents[2] / "docs/get-started/real-model.md").read_text(encoding="utf-8")
[CONFIG] = re.findall(r"^```toml.*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
# Of each provider one that is asked as it stands, and one that reasons or refuses something.
MODELS = """
anthropic/claude-haiku-4-5 anthropic/claude-sonnet-5
openai/gpt-4o openai/gpt-5 openai/gpt-5.6
gemini/gemini-2.5-flash gemini/gemini-3.1-pro-preview
bedrock/anthropic.claude-haiku-4-5-20251001-v1:0 bedrock/us.anthropic.claude-sonnet-5
ollama_chat/llama3.1 ollama_chat/qwen3
openrouter/openai/gpt-4o openrouter/google/gemini-3.1-pro-preview openrouter/deepseek/deepseek-v4
""".split()
if importlib.util.find_spec("litellm") is None:
    MODELS = [name for name in MODELS if not name.startswith("bedrock/")]
WITHOUT_EXTRAS = """
import sys
from importlib.abc import MetaPathFinder

EXTRAS = {"mcp", "starlette", "uvicorn"}


class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotInstalled())
"""


@pytest.mark.nightly
def test_every_provider_without_a_table(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the table that the docs begin with; all in one run, as litellm takes its time to be imported."""
    files = {
        "weather.tooleval.json": SUITE,
        "pyproject.toml": CONFIG,
        "without_extras.py": WITHOUT_EXTRAS,
    }
    for name, text in files.items():
        pytester.path.joinpath(name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p tooleval -p without_extras")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "200")
    with StandIns() as standins:
        for name, value in standins.environment().items():
            monkeypatch.setenv(name, value)
        names = ",".join(["claude", *MODELS])
        result = pytester.runpytest_subprocess(
            f"--tooleval-model={names}", "--tooleval-report=out.json", timeout=900
        )
    result.stderr.no_fnmatch_line("*never retrieved*")
    result.assert_outcomes(passed=3 * (1 + len(MODELS)))
    left_out = "temperature left out, because this model refuses it (3 cases)"
    result.stdout.fnmatch_lines_random([f"claude: {left_out}", f"openai/gpt-5.6: {left_out}"])
    result.stdout.fnmatch_lines(
        ["gemini/gemini-3.1-pro-preview: asked at temperature 0; Google warns *"]
    )
    document = json.loads(pytester.path.joinpath("out.json").read_bytes())
    told = {
        model["model"]: {one["parameter"] for one in model["fallbacks"]} for model in document["models"]
    }
    assert told["openai/gpt-4o"] == told["gemini/gemini-2.5-flash"] == set()
    assert told["ollama_chat/llama3.1"] == {"tool_choice"}
