from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import ConfigError, SuiteError
from pytest_tooleval.suite.load import load_suite, parse_document
from pytest_tooleval.suite.write import read_existing, suite_text, write_suite

CASE: dict[str, Any] = {"prompt": "Hello", "expected_tool": None}
SUITE: dict[str, Any] = {"name": "s", "tools": [], "test_cases": [CASE]}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f"}}

HAND_WRITTEN = """\
{
    "name": "mine",   "trials": 2,

    "tools": [ {"type": "function", "function": {"name": "f"}} ],
    "test_cases": [
        { "prompt": "caf\\u00e9", "expected_tool": "f", "expected_params": { "a": 1.50, "b": 1e2 } },

        {
          "prompt": "second",
            "expected_tool": "f"
        }
    ]
}"""


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_a_new_file(tmp_path: Path) -> None:
    file = tmp_path / "a.tooleval.json"
    assert read_existing(file) is None
    assert write_suite(file, {**SUITE, "name": "Wetter für München 🌦"}) == []
    text = file.read_text(encoding="utf-8")
    assert text == (
        '{\n  "name": "Wetter für München 🌦",\n  "tools": [],\n  "test_cases": [\n    {\n'
        '      "prompt": "Hello",\n      "expected_tool": null\n    }\n  ]\n}\n'
    )
    assert load_suite(file).test_cases[0].prompt == "Hello"
    assert [path.name for path in tmp_path.iterdir()] == ["a.tooleval.json"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_the_file_or_of_the_user(tmp_path: Path) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    write_suite(new, SUITE)
    (tmp_path / "plain").touch()
    assert new.stat().st_mode == (tmp_path / "plain").stat().st_mode
    write_suite(old, SUITE)
    old.chmod(0o640)
    write_suite(old, {**SUITE, "trials": 2}, read_existing(old))
    assert old.stat().st_mode & 0o777 == 0o640


def test_what_did_not_change_keeps_its_spelling(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", HAND_WRITTEN)
    previous = read_existing(file)
    assert previous is not None
    data = previous.data
    new = {**TOOL, "function": {"name": "g"}}
    write_suite(file, {**data, "tools": [*data["tools"], new]}, previous)
    lines = file.read_text(encoding="utf-8")
    assert '\n    "trials": 2,' in lines
    assert HAND_WRITTEN[HAND_WRITTEN.index("[\n        { ") : -2] in lines  # all cases, with their gap
    assert (
        '\n        {"type": "function", "function": {"name": "f"}},\n        {\n            "type"'
        in lines
    )
    assert lines.endswith("]\n}\n")
    assert json.loads(lines)["tools"] == [TOOL, new]


def test_a_case_that_is_added_moves_no_other(tmp_path: Path) -> None:
    previous = parse_document(HAND_WRITTEN)[1]
    data = previous.data
    text = suite_text({**data, "test_cases": [*data["test_cases"], CASE]}, previous)
    assert (
        '{ "prompt": "caf\\u00e9", "expected_tool": "f", "expected_params": { "a": 1.50, "b": 1e2 } },'
        in text
    )
    assert '{\n          "prompt": "second",\n            "expected_tool": "f"\n        },' in text


def test_an_unchanged_suite_is_the_same_but_for_its_outermost_layout() -> None:
    previous = parse_document(HAND_WRITTEN)[1]
    once = suite_text(previous.data, previous)
    again = parse_document(once)[1]
    assert suite_text(again.data, again) == once


def test_line_ends_are_those_of_the_file() -> None:
    text = HAND_WRITTEN.replace("\n", "\r\n")
    previous = parse_document(text)[1]
    made = suite_text({**previous.data, "description": "d"}, previous)
    assert "\r\n" in made
    assert "\n" not in made.replace("\r\n", "")
    assert json.loads(made)["description"] == "d"


def test_equal_numbers_of_another_type_are_not_the_same_value() -> None:
    previous = parse_document('{"name": "s", "metadata": {"a": 1.0}, "test_cases": []}')[1]
    for value in (1, True):
        made = suite_text({**previous.data, "metadata": {"a": value}}, previous)
        assert json.loads(made)["metadata"]["a"] is value


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON, st.sampled_from([None, 0, 1, 4, "\t"]), st.booleans())
def test_any_suite_comes_back_as_it_was_written(
    old: Any, new: Any, indent: Any, ascii_only: bool
) -> None:
    before: dict[str, Any] = {
        "name": "s",
        "metadata": {"x": old},
        "test_cases": [CASE, {**CASE, "metadata": {"y": [old]}}],
    }
    previous = parse_document(json.dumps(before, indent=indent, ensure_ascii=ascii_only))[1]
    after = {
        **before,
        "metadata": {"x": new},
        "test_cases": [before["test_cases"][1], {**CASE, "metadata": {"z": new}}],
    }
    made = parse_document(suite_text(after, previous))[1]
    assert json.dumps(made.data, sort_keys=True) == json.dumps(after, sort_keys=True)


def test_halves_of_surrogate_pairs_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    write_suite(file, {**SUITE, "description": "a\ud800b \ud83c\udf26 \udfff"})
    assert load_suite(file).description == "a\ufffdb 🌦 \ufffd"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**5000], ids=["nan", "inf", "long"])
def test_what_json_cannot_hold_is_refused(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "a.json"
    with pytest.raises(ConfigError, match="cannot be written as JSON"):
        write_suite(file, {**SUITE, "metadata": {"a": value}})
    assert list(tmp_path.iterdir()) == []


def test_a_suite_that_would_not_load_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with pytest.raises(SuiteError, match="expected_tool"):
        write_suite(file, {**SUITE, "test_cases": [{**CASE, "expected_tool": "none"}]})
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    with pytest.raises(SuiteError, match="nested deeper"):
        write_suite(file, {**SUITE, "metadata": {"a": deep}})
    assert list(tmp_path.iterdir()) == []


def test_problems_of_the_users_own_cases_are_given_back(tmp_path: Path) -> None:
    text = json.dumps(
        {"name": "s", "tools": [TOOL], "test_cases": [{**CASE, "expected_tool": "f"}]}, indent=2
    )
    file = written(tmp_path / "a.json", text)
    previous = read_existing(file)
    assert previous is not None
    problems = write_suite(file, {**previous.data, "tools": []}, previous)
    assert [(problem.line, problem.field) for problem in problems] == [
        (7, "test_cases[0].expected_tool")
    ]
    # The file can be updated again, though it does not load now.
    previous = read_existing(file)
    assert previous is not None
    assert write_suite(file, {**previous.data, "tools": [TOOL]}, previous) == []


def test_problems_of_our_tools_are_refused_even_so(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", HAND_WRITTEN)
    previous = read_existing(file)
    assert previous is not None
    bad = {"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}
    with pytest.raises(SuiteError, match="the parameters of a tool are an object"):
        write_suite(file, {**previous.data, "tools": [bad]}, previous)
    assert file.read_text(encoding="utf-8") == HAND_WRITTEN


@pytest.mark.parametrize(
    "content",
    ["", "no json", "[]", "{}", '{"name": "package", "version": 1}', '{"test_cases": []}', "\xff"],
)
def test_a_file_that_is_no_suite_is_not_overwritten(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(SuiteError):
        read_existing(file)
    assert file.read_bytes() == content.encode("latin-1")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="Is a directory"):
        read_existing(tmp_path)


def test_a_file_that_was_changed_in_the_meantime_is_left_alone(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", HAND_WRITTEN)
    previous = read_existing(file)
    written(file, HAND_WRITTEN + "\n")
    with pytest.raises(ConfigError, match="has changed in the meantime; import again"):
        write_suite(file, SUITE, previous)
    with pytest.raises(ConfigError, match="has changed in the meantime"):
        write_suite(file, SUITE)  # which was to be a new file
    assert file.read_text(encoding="utf-8") == HAND_WRITTEN + "\n"


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot write .*a\.json: "):
        write_suite(tmp_path / "file" / "a.json", SUITE)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everything")
def test_a_protected_file_is_left_alone(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", HAND_WRITTEN)
    previous = read_existing(file)
    file.chmod(0o444)
    with pytest.raises(ConfigError, match="read-only"):
        write_suite(file, SUITE, previous)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = written(tmp_path / "real.json", HAND_WRITTEN)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_suite(link, SUITE, read_existing(link))
    assert link.is_symlink()
    assert load_suite(real).name == "s"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    file = written(tmp_path / "a.json", HAND_WRITTEN)
    previous = read_existing(file)

    def fail(descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((ConfigError, KeyboardInterrupt)):
        write_suite(file, SUITE, previous)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert file.read_text(encoding="utf-8") == HAND_WRITTEN


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_process_that_is_killed_leaves_no_half_file(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from pytest_tooleval.suite.write import write_suite
os.fsync = lambda descriptor: os.kill(os.getpid(), 9)
write_suite(Path(sys.argv[1]), {"name": "s", "test_cases": []})
"""
    file = tmp_path / "a.json"
    subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert not file.exists()
