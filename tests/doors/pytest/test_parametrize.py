"""Cases made by rows, as pytest's users select, rerun, distribute and compare them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .project import WEATHER_TOOL, Project

CASE = {
    "id": "forecast",
    "prompt": "Weather in {{city}}?",
    "expected_tool": "get_weather",
    "expected_params": {"city": "{{city}}"},
    "parametrize": "cities.csv",
}


@pytest.fixture
def cities(project: Project) -> Project:
    data = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": [CASE]}
    project.write("weather.tooleval.json", json.dumps(data))
    rows(project, "Paris", "Rome", "Oslo")
    return project


def rows(project: Project, *names: str) -> None:
    project.write("cities.csv", "".join(f"{name}\n" for name in ("city", *names)))
    for name in names:
        calls: list[dict[str, Any]] = [{"name": "get_weather", "arguments": {"city": name}}]
        # Oslo gets the wrong city.
        if name == "Oslo":
            calls[0]["arguments"]["city"] = "Bergen"
        project.script(f"Weather in {name}?", calls=calls)


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_each_row_is_an_item(cities: Project, workers: tuple[str, ...]) -> None:
    result = cities.run("--tooleval-report=out.json", *workers)
    result.assert_outcomes(passed=2, failed=1)
    found = cities.rows()
    assert list(found) == [f"forecast[{name}][agent]" for name in ("Paris", "Rome", "Oslo")]
    assert {row["cluster"] for row in found.values()} == {"forecast"}
    result.stdout.fnmatch_lines(["FAILED weather.tooleval.json::forecast[[]Oslo][[]agent] - *"])


def test_a_baseline_tells_the_changed_row(cities: Project) -> None:
    cities.run("--tooleval-report=before.json")
    rows(cities, "Paris", "Rome", "Bonn")
    result = cities.run("--tooleval-baseline=before.json", "--tooleval-report=out.json")
    compared = json.loads((cities.path / "out.json").read_text())["baseline"]["cases"]
    assert [case["case"] for case in compared["added"]] == ["forecast[Bonn]"]
    assert [case["case"] for case in compared["removed"]] == ["forecast[Oslo]"]
    assert compared["changed"] == []
    result.assert_outcomes(passed=3)


def test_an_unused_column_is_told_with_its_place(cities: Project) -> None:
    cities.write("cities.csv", "city,country\nParis,France\n")
    result = cities.run()
    result.stdout.fnmatch_lines(['*cities.csv:1:6: "country": no placeholder uses this column*'])
    assert result.ret == pytest.ExitCode.INTERRUPTED
