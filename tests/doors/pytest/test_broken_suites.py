"""Suites that cannot be used: a collection error with its place, never a traceback."""

from __future__ import annotations

import json
import re

import pytest

from .project import WEATHER_TOOL
from .project import Project
from .project import right

VALID = {
    "name": "Weather",
    "tools": [WEATHER_TOOL],
    "test_cases": [{"id": "a", "prompt": "Weather in Paris?", "expected_tool": "get_weather"}],
}


def broken(**changes: object) -> bytes:
    return json.dumps({**VALID, **changes}, indent=1).encode()


def one_case(**changes: object) -> bytes:
    [case] = VALID["test_cases"]
    assert isinstance(case, dict)
    return broken(test_cases=[{**case, **changes}])


SAMPLE = {
    "empty": b"",
    "not json": b"{'name': 1}",
    "cut off": broken()[:200],
    "a list": b"[]",
    "a number": b"1",
    "utf-16": broken().decode().encode("utf-16"),
    "latin-1": one_case(prompt="Größe").replace(b"\\u00f6", b"\xf6"),
    "nul": b"\x00" * 10,
    "deep": b"[" * 100_000,
    "deep inside": broken().replace(b'"Weather"', b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 1),
    "nan": one_case(expected_params={"city": float("nan")}),
    "repeated key": broken().replace(b'"name": "Weather"', b'"name": "a", "name": "b"', 1),
    "no name": json.dumps({"tools": [], "test_cases": []}).encode(),
    "unknown field": one_case(expected_parms={"city": "Paris"}),
    "no prompt": broken(test_cases=[{"expected_tool": None}]),
    "wrong type": one_case(prompt=5),
    "unknown tool": one_case(expected_tool="get_wether"),
    "both expectations": one_case(expected_calls=[]),
    "id with brackets": one_case(id="a[b]"),
    "id with an escape": one_case(id="\x1b[31m"),
    "bad threshold": one_case(thresholds={"overall": 2}),
    "unknown metric": one_case(thresholds={"overal": 1}),
    "bad tag": one_case(tags=["a b"]),
    "bad matcher": one_case(expected_params={"city": {"$anyof": []}}),
    "bad schema": broken(
        tools=[{"type": "function", "function": {"name": "x", "parameters": {"type": "objekt"}}}]
    ),
    "lone surrogate in a name": broken(name="\ud83d"),
}


def test_every_problem_of_a_file_is_listed(project: Project) -> None:
    (project.path / "bad.tooleval.json").write_bytes(
        one_case(expected_parms={}, prompt=5, thresholds={"overal": 1})
    )
    result = project.run()
    lines = [line for line in result.outlines if line.startswith("bad.tooleval.json:")]
    assert len(lines) == 3
    result.stdout.fnmatch_lines_random(["*expected_parms*did you mean expected_params*"])


def test_broken_suites_are_collection_errors_with_their_places(project: Project) -> None:
    for number, content in enumerate(SAMPLE.values()):
        (project.path / f"bad{number}.tooleval.json").write_bytes(content)
    project.suite(right("fine"))
    result = project.run("--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=len(SAMPLE))
    text = result.stdout.str() + result.stderr.str()
    for number, name in enumerate(SAMPLE):
        assert re.search(rf"^bad{number}\.tooleval\.json:\d+:\d+: .+", text, re.MULTILINE), name
    assert not any(word in text for word in ("INTERNALERROR", "Traceback", "\x1b"))
    assert project.calls == []


def test_good_suites_run_beside_broken_ones_if_asked_to(project: Project) -> None:
    (project.path / "bad.tooleval.json").write_bytes(b"{")
    project.suite(right("fine"))
    result = project.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_bom_is_accepted_or_named(project: Project) -> None:
    (project.path / "bom.tooleval.json").write_bytes(b"\xef\xbb\xbf" + broken())
    result = project.run("--co", "-q")
    assert "INTERNALERROR" not in result.stdout.str()
    if result.ret:
        result.stdout.fnmatch_lines(["bom.tooleval.json:1:1: *BOM*"])


def test_a_folder_named_like_a_suite_is_entered(project: Project) -> None:
    project.suite(right("a"), file="odd.tooleval.json/in.tooleval.json")
    project.run().assert_outcomes(passed=1)


def test_a_suite_that_cannot_be_read(project: Project) -> None:
    (project.path / "gone.tooleval.json").symlink_to(project.path / "nowhere.json")
    project.suite(right("a"))
    result = project.run("gone.tooleval.json")
    assert result.ret != pytest.ExitCode.OK
    assert "INTERNALERROR" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
