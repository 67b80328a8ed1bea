from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import Problem, SuiteError
from pytest_tooleval.findings import Finding
from pytest_tooleval.suite.source import decode_bytes, line_and_column, read_source, scan_container


def refused(text: str) -> Problem:
    with pytest.raises(SuiteError) as caught:
        read_source(text, "a.json")
    (problem,) = caught.value.problems
    assert problem.path == "a.json"
    return problem


# Text, the column on line 1, and what the message must say.
SYNTAX = [
    ("", 1, "the file is empty; a suite is an object"),
    (" \n ", 1, "the file is empty"),
    ("{", 2, "the file ends before the suite is complete; it looks cut off"),
    ('{"name": "a"', 13, "it looks cut off"),
    ('{"name": "a', 10, 'a string begins here and has no closing "'),
    ('{"test_cases": [{"prompt": "a"}', 32, "it looks cut off"),
    ('{"name": "a",}', 13, "a trailing comma before }; remove the comma"),
    ('{"name": ["a", ]}', 14, "a trailing comma before ]"),
    ('{"test_cases": [{"a": 1}, ]}', 25, "a trailing comma before ]"),
    ('{"name": "a", // remark\n}', 15, "JSON has no comments"),
    ('{"name": /* remark */ "a"}', 10, "JSON has no comments"),
    ('# remark\n{"name": "a"}', 1, "JSON has no comments"),
    ('{"name": "a"} // remark', 15, "JSON has no comments"),
    ("{'name': 1}", 2, "JSON puts keys and strings in double quotes"),
    ('{"name": “a”}', 10, "double quotes"),
    ("{name: 1}", 2, 'keys need double quotes: "name"'),
    ('{"name": weather}', 10, 'strings need double quotes: "weather"'),
    ('{"name": True}', 10, "True is not JSON; write true"),
    ('{"name": None}', 10, "None is not JSON; write null"),
    ('{"name" "a"}', 9, "expected a colon (:) after the key"),
    ('{"name": "a" "tools": []}', 14, "a comma is missing before this"),
    ('{"name": ,}', 10, 'a value is missing before ","'),
    ('{"name": }', 10, 'a value is missing before "}"'),
    ('{"name": .5}', 10, "write 0.5 for .5"),
    ('{"name": 01}', 11, "without leading zeros"),
    ('{"name": {"a": 1]}', 17, "the bracket that closes this object or list"),
    ('{"name": "a\nb"}', 12, "a line break inside a string; write it as \\n"),
    ('{"name": "a\tb"}', 12, "a tab inside a string; write it as \\t"),
    ('{"name": "a\x01b"}', 12, "the control character U+0001 inside a string"),
    ('{"name": "C:\\data"}', 13, "write a backslash as \\\\"),
    ('{"name": "\\u12"}', 12, "four hexadecimal digits"),
    ('{"name": "a"}}', 14, 'unexpected "}" after the end of the suite'),
    ('{"name": "a"} {"name": "b"}', 15, "a file holds one suite"),
    ('{"name": NaN}', 10, "NaN is not a finite number"),
    ('{"name": ["NaN \\" 1e999", -Infinity]}', 27, "-Infinity is not a finite number"),
    ('{"name": 1e999}', 10, "1e999 is not a finite number"),
    ('{"test_cases": [{"expected_params": {"a": 1e400}}]}', 43, "1e400 is not a finite number"),
    ('{"name": "\\ud800"}', 11, r"\ud800 is half of a character"),
    ('{"name": "\\ude00\\ud83d"}', 11, r"\ude00 is half of a character"),
    ('{"name": "\\ud83d \\ude00"}', 11, r"\ud83d is half of a character"),
    ('{"name": "\ud800"}', 1, r"\ud800 is half of a character"),
    ("\ufeff{}", 1, "save it as UTF-8 without BOM"),
]


@pytest.mark.parametrize(("text", "column", "message"), SYNTAX)
def test_text_that_is_not_json(text: str, column: int, message: str) -> None:
    problem = refused(text)
    assert message in problem.message
    assert (problem.line, problem.column) == (1, column)


def test_a_syntax_error_names_its_line() -> None:
    problem = refused('{"test_cases": [\n {"a": 1},\n {"b": tru}]}')
    assert (problem.line, problem.column) == (3, 8)


@pytest.mark.parametrize(
    "text",
    [
        r'{"a": "\ud83d\ude00"}',
        r'{"a": "\\ud800"}',
        r'{"a": "\\\ud83d\ude00 \\ude00"}',
        '{"a": "NaN 1e999"}',
        '{"a": "🌧"}',
        r'{"a": "\u0000"}',
        '{"a": 1e308, "b": -0.0, "c": 1E+2}',
    ],
)
def test_text_that_looks_wrong_and_is_right(text: str) -> None:
    assert read_source(text, "a.json").data == json.loads(text)


def test_an_integer_of_thousands_of_digits() -> None:
    problem = refused('{"a": "' + "9" * 5000 + '", "b": [0, ' + "9" * 5000 + "]}")
    assert problem.message.startswith("999999999999… (5000 characters) is not a finite number")
    assert problem.column == 5020


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 200_000, "[" * 102 + "]" * 102, '{"a": ' * 102 + "1" + "}" * 102]
)
def test_deep_nesting_never_ends_in_a_recursion_error(text: str) -> None:
    assert "nested deeper than 100 levels" in refused(text).message


def test_brackets_in_strings_are_not_nesting() -> None:
    read_source(json.dumps({"a": "[" * 500 + '\\"' + "{" * 500}), "a.json")


# Bytes


@pytest.mark.parametrize(
    ("raw", "line", "column", "message"),
    [
        (b"\xef\xbb\xbf{}", 1, 1, "save it as UTF-8 without BOM"),
        ("{}".encode("utf-16"), 1, 1, "save it as UTF-8"),
        ("{}".encode("utf-16-le"), 1, 1, "save it as UTF-8"),
        (b'{"name":\n "\xc3\xa9\xe9"}', 2, 4, "the byte 0xe9 is not valid UTF-8"),
        (b'{"name": "\xed\xa0\x80"}', 1, 11, "the byte 0xed is not valid UTF-8"),
        ('{"name": "\xe9"}'.encode("latin-1"), 1, 11, "save the file as UTF-8"),
    ],
)
def test_bytes_that_are_not_utf8(raw: bytes, line: int, column: int, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        decode_bytes(raw, "a.json")
    (problem,) = caught.value.problems
    assert message in problem.message
    assert (problem.line, problem.column) == (line, column)


# Positions

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('ab\n"\\é', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    found = [(at, value)]
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        found += paths(member, (*at, key))
    return found


@given(
    st.fixed_dictionaries({"a": JSON, "test_cases": st.lists(JSON, max_size=4)}),
    st.sampled_from([None, 0, 2]),
)
def test_every_value_is_found_again(data: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    document = read_source(text, "a.json")
    assert document.data == data
    lines = text.split("\n")
    for loc, value in paths(data):
        line = document.line(loc)
        (problem,) = document.problems([Finding(loc, "x")])
        assert problem.line == line
        rest = "\n".join(lines[line - 1 :])[problem.column - 1 :]
        assert json.JSONDecoder().raw_decode(rest)[0] == value


def test_a_value_that_is_not_there_is_looked_for_around() -> None:
    document = read_source('{"a": {\n "b": [1, {}]}}', "a.json")
    findings = [
        Finding(("a", "b", 1, "c"), "x"),
        Finding(("a", "z", 3), "y"),
        Finding(("a", "b"), "k", at_key=True),
    ]
    places = [(p.line, p.column, p.message) for p in document.problems(findings)]
    assert places == [(1, 7, "y"), (2, 2, "k"), (2, 11, "x")]


def test_the_limit_of_problems_can_be_lifted() -> None:
    document = read_source("{}", "a.json")
    findings = [Finding(("a",), str(n)) for n in range(60)]
    assert len(document.problems(findings)) == 51
    assert [p.message for p in document.problems(findings, limit=None)] == [str(n) for n in range(60)]


def test_line_and_column_count_from_one() -> None:
    assert [line_and_column("a\nbc", offset) for offset in range(5)] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        (2, 3),
    ]


def test_a_scalar_has_no_members() -> None:
    def visit(key: str | int, key_at: int, value_at: int) -> int:
        raise AssertionError(key)

    assert scan_container("5", 0, visit) == 0
    assert scan_container(" [ ]", 1, visit) == 4
