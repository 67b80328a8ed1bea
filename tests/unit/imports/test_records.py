from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.records import read_records


def write(tmp_path: Path, content: str | bytes) -> Path:
    file = tmp_path / "file.jsonl"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def refusal(path: Path) -> str:
    with pytest.raises(SuiteError) as caught:
        read_records(path)
    (problem,) = caught.value.problems
    return str(problem).removeprefix(f"{path}:")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', [(1, {"a": 1})]),
        ('\n{"a":\n 1}\n', [(2, {"a": 1})]),
        ('{"a": 1}\n\n  {"a": 2}\r\n', [(1, {"a": 1}), (3, {"a": 2})]),
        ('[{"a": 1},\n {"a": 2}]', [(1, {"a": 1}), (2, {"a": 2})]),
        ("[1]\n[2]\n", [(1, [1]), (2, [2])]),
        ("[]", []),
        ('{"a": "\u2028"}\n{"a": 2}', [(1, {"a": "\u2028"}), (2, {"a": 2})]),
        ('{"a": "\\ud83d\\ude00"}', [(1, {"a": "😀"})]),
    ],
)
def test_records_have_their_lines(tmp_path: Path, text: str, expected: list[tuple[int, object]]) -> None:
    records, problems = read_records(write(tmp_path, text))
    assert [(record.line, record.value) for record in records] == expected
    assert problems == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": 1', "2:1: invalid JSON: Input data was truncated"),
        ('{"a": 1} x', "2:11: invalid JSON: trailing characters"),
        ("{'a': 1}", "2:2: invalid JSON: object keys must be strings"),
        ('{"a": NaN}', "2:7: invalid JSON: invalid character"),
        ('{"a": 1e999}', "2:1: invalid JSON: Number out of range"),
        ("[" * 200 + "]" * 200, "2:1: nested deeper than 90 levels"),
        ("[" * 200_000, "2:1: nested deeper than 90 levels"),
    ],
)
def test_a_broken_line_costs_that_line(tmp_path: Path, line: str, problem: str) -> None:
    file = write(tmp_path, f'{{"a": 1}}\n{line}\n{{"a": 3}}\n')
    records, problems = read_records(file)
    assert [record.line for record in records] == [1, 3]
    assert [str(found).removeprefix(f"{file}:") for found in problems] == [problem]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1:1: the file is empty"),
        (b" \n\n", "1:1: the file is empty"),
        ('{"a": 1}'.encode("utf-16"), "1:1: the file is not UTF-8 text"),
        (b'{"a":\n "caf\xe9"}', "2:6: the byte 0xe9 is not valid UTF-8"),
        (b'[\n {"a": 1},\n]', "3:1: invalid JSON: "),
        (b'[{"a": 1},\n2]\n]', "3:2: invalid JSON: trailing characters"),
        (b"[" * 100_000, "1:1: nested deeper than 90 levels"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    assert refusal(write(tmp_path, content)).startswith(message)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none")
    assert "directory" in refusal(tmp_path)


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text() | st.none()), min_size=2))
def test_lines_and_lists_hold_the_same(
    tmp_path_factory: pytest.TempPathFactory, values: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("records")
    lines = read_records(write(folder, "\n".join(json.dumps(value) for value in values)))[0]
    members = read_records(write(folder, json.dumps(values, indent=1)))[0]
    assert [record.value for record in lines] == [record.value for record in members] == values


def test_prose_is_not_called_broken_json(tmp_path: Path) -> None:
    file = tmp_path / "readme.md"
    file.write_text("# A title\n\nSome words.\n")
    with pytest.raises(
        SuiteError, match=r"readme.md: cannot be read; expected JSON, JSON Lines or YAML"
    ):
        read_records(file)
