"""Suites that cannot be used: a collection error with its place, never a traceback."""

from __future__ import annotations

import re

import pytest

from .project import Project, right

CASE = '{"name": "Weather", "tools": [], "test_cases": [{"prompt": "?", "expected_tool": null, %s}]}'
# Of each kind of mistake one; tests/unit/suite has all.
SAMPLE = {
    "empty": b"",
    "not json": b"{'name': 1}",
    "cut off": CASE[:30].encode(),
    "a list": b"[]",
    "utf-16": CASE.encode("utf-16"),
    "latin-1": (CASE % '"id": "Größe"').encode("latin-1"),
    "nul": b"\x00" * 10,
    "deep": b"[" * 100_000,
    "deep inside": CASE.replace('"Weather"', '{"a":' * 50_000 + "1" + "}" * 50_000).encode(),
    "nan": (CASE % '"expected_params": {"city": NaN}').encode(),
    "repeated key": (CASE % '"id": "a", "id": "b"').encode(),
    "no name": b'{"tools": [], "test_cases": []}',
    "unknown field": (CASE % '"expected_parms": {}').encode(),
    "wrong type": (CASE % '"tags": 5').encode(),
    "unknown tool": (CASE % '"forbidden_calls": ["get_wether"]').encode(),
    "id with an escape": (CASE % '"id": "\\u001b[31m"').encode(),
    "unknown metric": (CASE % '"thresholds": {"overal": 1}').encode(),
    "lone surrogate in a name": CASE.replace("Weather", "\\ud83d").replace("%s", '"id": "a"').encode(),
}


def test_a_suite_under_another_name_is_told_how_it_must_be_called(project: Project) -> None:
    project.write("suite.json", '{"name": "W", "tools": [], "test_cases": []}')
    project.write("other.json", "{}")
    project.write("broken.json", "{")
    result = project.run("suite.json")
    result.stdout.fnmatch_lines(["suite.json: *; rename it to suite.tooleval.json"])
    for name in ("other.json", "broken.json"):
        project.run(name).stderr.fnmatch_lines([f"ERROR: not found: *{name}"])
    assert project.run(".").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("weather.tooleval.JSON", "weather.tooleval.json"),
        ("weather-toolevals.json", "weather.tooleval.json"),
        ("tooleval.json", "suite.tooleval.json"),
    ],
)
def test_a_nearly_named_suite_beside_another_one_is_not_passed_over(
    project: Project, name: str, renamed: str
) -> None:
    project.suite(right("c"))
    project.write("tooleval-results.json", '{"cases": []}')
    assert project.run(".").ret == 0
    project.write(name, '{"name": "W", "tools": [], "test_cases": []}')
    result = project.run(".")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"{name}: *; rename it to {renamed}"])


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


def test_a_bom_is_accepted_or_named(project: Project) -> None:
    (project.path / "bom.tooleval.json").write_bytes(b"\xef\xbb\xbf" + (CASE % '"id": "a"').encode())
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
