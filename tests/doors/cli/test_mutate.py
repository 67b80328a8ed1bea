from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from bfcl_data import bfcl_suite_file
from click.testing import CliRunner, Result
from unit.mcp.servers import stdio_command

from pytest_tooleval.cli import main
from pytest_tooleval.mutation.results import Mutations

ABSENT = {"$absent": True}


def suite(*cases: dict[str, Any]) -> dict[str, Any]:
    properties = {"city": {"type": "string"}, "units": {"enum": ["celsius", "fahrenheit"]}}
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {**schema, "additionalProperties": False}},
    }
    return {"name": "Weather", "tools": [tool], "test_cases": list(cases)}


def case(city: str, **params: Any) -> dict[str, Any]:
    expected = {"city": city, **params}
    return {
        "id": city.lower(),
        "prompt": f"Weather in {city}?",
        "expected_tool": "get_weather",
        "expected_params": expected,
    }


def mutate(folder: Path, *arguments: str, **suites: Any) -> Result:
    for name, content in suites.items():
        (folder / f"{name}.tooleval.json").write_text(json.dumps(content, indent=1))
    os.chdir(folder)
    return CliRunner().invoke(main, ["mutate", *arguments])


@pytest.fixture(autouse=True)
def _back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_survivor_is_shown_with_its_place_and_the_line_to_add(tmp_path: Path) -> None:
    done = mutate(tmp_path, ".", w=suite(case("Paris"), case("Oslo", units=ABSENT)))

    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0].startswith("w.tooleval.json: mutation score 0.9")
    assert "1 of " in lines[0]
    assert lines[1:] == [
        "      1 the case does not name the argument",
        lines[2],
        '    add to expected_params: "units": {"$absent": true}',
        '      invented argument: get_weather(city="Paris", units="celsius")',
    ]
    assert lines[2].startswith("  w.tooleval.json:30: paris: 1 of ")


def test_the_gate(tmp_path: Path) -> None:
    good, bad = suite(case("Oslo", units=ABSENT)), suite(case("Paris"))

    assert mutate(tmp_path, "good.tooleval.json", "--fail-under=1", good=good).exit_code == 0
    failed = mutate(tmp_path, ".", "--fail-under=95%", bad=bad)
    assert failed.exit_code == 1
    assert "bad.tooleval.json: the mutation score 0.9" in failed.output.splitlines()[-1]
    assert mutate(tmp_path, ".", "--fail-under=0.5").exit_code == 0
    assert mutate(tmp_path, ".", "--fail-under=2").exit_code == 2


def test_a_suite_without_a_right_answer_passes_no_gate(tmp_path: Path) -> None:
    done = mutate(tmp_path, ".", "--fail-under=0", w=suite(case("Paris", units={"$any_of": []})))

    assert done.exit_code == 1
    assert "paris: no right answer is known: no value is known that units accepts" in done.output
    assert done.output.endswith("no mutation score: there is no right answer to break\n")


def test_much_is_cut_short_and_all_of_it_can_be_had(tmp_path: Path) -> None:
    many = suite(*(case(f"City{number}") for number in range(30)))
    short = mutate(tmp_path, ".", "--json=all.json", w=many).output
    whole = mutate(tmp_path, ".", "--all").output

    assert "and 20 more cases; --all shows them" in short
    assert "city29" not in short
    assert "city29" in whole
    found = msgspec.json.decode((tmp_path / "all.json").read_bytes(), type=Mutations)
    assert len(found.suites[0].cases) == 30
    assert found.suites[0].survivors == 30


def test_what_a_suite_holds_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    hostile = suite({**case("\x1b[31mParis"), "id": "one"})
    done = mutate(tmp_path, ".", w=hostile)

    assert "\x1b" not in click.unstyle(done.output)
    assert "Paris" in done.output


def test_a_suite_with_problems(tmp_path: Path) -> None:
    done = mutate(tmp_path, ".", w={"name": "s"})

    assert done.exit_code == 1
    assert "w.tooleval.json:1:" in done.output
    assert "test_cases" in done.output


def test_the_tools_of_a_server_are_read(tmp_path: Path) -> None:
    source = {"mcp": {"stdio": stdio_command("good")}}
    tests = [{**case("Paris"), "thresholds": {"no_extra_calls": None}}]
    done = mutate(tmp_path, ".", "--all", w={"name": "s", "tools_from": source, "test_cases": tests})

    assert "no right answer" not in done.output
    assert "destructive call: …, delete_all()" in done.output


def test_what_survives_in_bfcl_is_spelling() -> None:
    files = [str(bfcl_suite_file(name)) for name in ("multiple", "irrelevance")]
    done = CliRunner().invoke(main, ["mutate", "--json=found.json", *files])

    assert done.exit_code == 0
    multiple, irrelevance = msgspec.json.decode(Path("found.json").read_bytes(), type=Mutations).suites
    assert irrelevance.score == 1.0
    assert multiple.unknown == irrelevance.unknown == 0
    assert multiple.score is not None
    assert 0.95 < multiple.score < 1
    kinds = {one.kind for found in multiple.cases for one in found.survivors}
    assert kinds == {"spelling"}


def test_results_never_replace_a_suite(tmp_path: Path) -> None:
    """A shell may expand `--json *.tooleval.json` to the first suite and the others."""
    suites = [tmp_path / f"{name}.tooleval.json" for name in "ab"]
    for path in suites:
        path.write_text("{}", encoding="utf-8")
    done = CliRunner().invoke(main, ["mutate", "--json", *map(str, suites)])

    assert done.exit_code == 2
    assert "would replace a suite" in done.output
    assert suites[0].read_text(encoding="utf-8") == "{}"
