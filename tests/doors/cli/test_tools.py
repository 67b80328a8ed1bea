"""`tooleval tools`: what a list of tools costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import CITY, tool
from click.testing import CliRunner, Result

from pytest_tooleval.cli import main
from pytest_tooleval.engine.models.known import has_litellm

WEATHER = tool("weather", description="The weather in a city, now.")
SEARCH = tool(
    "search",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "word " * 40},
            "filter": {
                "anyOf": [{"type": "null"}, {"type": "string", "description": "of <|endoftext|>"}]
            },
        },
    },
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tools(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["tools", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def suite(tools: list[dict[str, Any]], *cases: dict[str, Any]) -> str:
    file = Path("s.tooleval.json")
    file.write_text(json.dumps({"name": "s", "tools": tools, "test_cases": cases}))
    return str(file)


def test_tools_and_descriptions_are_listed_the_largest_first() -> None:
    lines = tools(suite([WEATHER, SEARCH])).stdout.splitlines()
    assert lines[0].startswith("s.tooleval.json: 2 tools, ")
    with_litellm, without = "counted with o200k_base", "a token for 4 characters; to count: "
    assert f" tokens (estimate, {with_litellm if has_litellm() else without}" in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["tool", "search", "weather"]
    largest, *others = [line.split()[-1] for line in lines[5:]]
    assert largest == "search.parameters.properties.query"
    # An estimate may have them in the other order.
    assert sorted(others) == ["search.parameters.properties.filter.anyOf[1]", "weather"]


def test_of_several_lists_the_largest_is_judged() -> None:
    own = {"id": "own", "prompt": "Hi", "expected_tool": None, "tools": [WEATHER, SEARCH]}
    found = tools(suite([WEATHER], own), "--fail-over=50")
    assert "2 tools" in found.stdout
    assert "the largest list, of the case own" in found.stdout
    assert "tokens, over the limit of 50" in found.stdout
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give suites, or one of --stdio, --http and --sse"),
        (["s.tooleval.json", "--stdio=x"], "give suites, or one of --stdio, --http and --sse"),
        (["--stdio=x", "--http=http://x"], "give one of --stdio, --http and --sse"),
        (["none.tooleval.json"], "none.tooleval.json: there is no such file"),
    ],
)
def test_a_mistake_is_named(arguments: list[str], message: str) -> None:
    suite([tool("a", CITY)])
    found = tools(*arguments)
    assert found.exit_code in (1, 2)
    assert message in found.output


def test_tools_in_files_of_other_programs(tmp_path: Path) -> None:
    """The largest list of a log counts."""
    weather, news = ({"name": name, "input_schema": {"type": "object"}} for name in ("weather", "news"))
    asked = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}
    log = tmp_path / "log.jsonl"
    records = [{**asked, "tools": [weather]}, {**asked, "tools": [weather, news]}]
    log.write_text("\n".join(map(json.dumps, records)))
    done = CliRunner().invoke(main, ["tools", str(log)])
    assert done.exit_code == 0
    assert ": 2 tools, " in done.output
    assert "the largest of 2 lists" in done.output
