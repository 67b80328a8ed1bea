"""Writes suite files atomically, and only over other suites."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem, SuiteError, os_reason
from ..text import printable
from ..writing import write_whole
from .load import load_document, parse_suite, read_model
from .source import SuiteSource, decode_bytes, read_source, scan_container

_INDENT = re.compile(r'\s*\{[ \t]*\r?\n([ \t]+)"')
_DECODE = json.JSONDecoder().raw_decode


def read_existing(path: Path) -> SuiteSource | None:
    """The suite in a file that is to be written, or None if there is no such file.

    The cases of the suite may have problems, which an earlier import may have left. SuiteError if the
    file contains anything else, which must not be overwritten.
    """
    if not os.path.lexists(path):
        return None
    try:
        return load_document(path)[1]
    except SuiteError as error:
        if not path.is_file():
            raise
        document = read_source(decode_bytes(path.read_bytes(), str(path)), str(path))
        if not _is_like_a_suite(document.data):
            message = "not a suite, so it is not overwritten; choose another file with --out"
            raise SuiteError([*error.problems, Problem(str(path), 1, 1, "", message)]) from None
        return document


def write_suite(
    path: Path, suite: Mapping[str, Any], previous: SuiteSource | None = None
) -> list[Problem]:
    """Write a suite to a new file, or over the `previous` one from `read_existing`.

    Unchanged parts keep their formatting, byte for byte. SuiteError if the suite would not load,
    ConfigError if it cannot be written; the file is then unchanged. Problems with the settings and cases
    of a previous suite are not errors, but returned.
    """
    text = suite_text(suite, previous)
    problems = text_problems(text, path)
    if problems and previous is None:
        raise SuiteError(problems)
    if previous is not None:
        _check_tools(suite, path)
    try:
        _replace(path, text, previous)
    except OSError as error:
        raise ConfigError(f"cannot write {printable(str(path))}: {os_reason(error)}") from None
    return problems


def suite_text(suite: Mapping[str, Any], previous: SuiteSource | None = None) -> str:
    """A suite as JSON; parts that are unchanged from the previous one keep their formatting."""
    before = "" if previous is None else previous.text
    match = _INDENT.match(before)
    indent = match[1] if match else "  "
    spelled = _spelled(before, previous.data) if previous is not None else {}
    members = []
    for key, value in suite.items():
        texts = spelled.get(key, {})
        text = texts.get(_dumped(value))
        if text is None and isinstance(value, list) and value:
            items = [texts.get(_dumped(item)) or _dumped(item, indent, 2) for item in value]
            text = "[" + ",".join(f"\n{indent * 2}{item}" for item in items) + f"\n{indent}]"
        members.append(f"\n{indent}{_dumped(key)}: {text or _dumped(value, indent, 1)}")
    text = _without_lone_surrogates("{" + ",".join(members) + "\n}\n")
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in before else text


def _spelled(text: str, data: Any) -> dict[str | int, dict[str, str]]:
    """For each key of a suite, the text of its value and of that value's items, by their normal form."""
    spelled: dict[str | int, dict[str, str]] = {}
    for key, (start, end) in _members(text, len(text) - len(text.lstrip())).items():
        value = data[key]
        spelled[key] = {_dumped(value): text[start:end]}
        if isinstance(value, list):
            for index, (item_start, item_end) in _members(text, start).items():
                spelled[key].setdefault(_dumped(value[index]), text[item_start:item_end])
    return spelled


def _members(text: str, offset: int) -> dict[Any, tuple[int, int]]:
    members: dict[Any, tuple[int, int]] = {}

    def visit(key: str | int, _: int, value_at: int) -> int:
        end = _DECODE(text, value_at)[1]
        members[key] = (value_at, end)
        return end

    scan_container(text, offset, visit)
    return members


def _dumped(value: Any, indent: str | None = None, level: int = 0) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"the suite cannot be written as JSON: {error}") from None
    return text.replace("\n", "\n" + (indent or "") * level)


def _without_lone_surrogates(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot encode, become U+FFFD; pairs become characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_problems(text: str, path: Path) -> list[Problem]:
    """Why the text of a suite does not load; empty if it does."""
    try:
        parse_suite(text, str(path))
    except SuiteError as error:
        return list(error.problems)
    return []


def _replace(path: Path, text: str, previous: SuiteSource | None) -> None:
    _check_unchanged(path, previous)
    write_whole(path, [text.encode()], lambda: _check_unchanged(path, previous))


def _check_unchanged(path: Path, previous: SuiteSource | None) -> None:
    """ConfigError if the file was changed since it was read, or is read-only."""
    if not path.exists():
        return
    if previous is None or path.read_bytes() != previous.text.encode():
        raise ConfigError(f"{printable(str(path))} has changed in the meantime; import again")
    if not os.access(path, os.W_OK):
        raise ConfigError(f"cannot write {printable(str(path))}: the file is read-only")


def _check_tools(suite: Mapping[str, Any], path: Path) -> None:
    only_tools = {"name": "suite", "tools": suite.get("tools", []), "test_cases": []}
    only_tools["namespaces"] = suite.get("namespaces", {})
    parse_suite(suite_text(only_tools), str(path))


def _is_like_a_suite(data: Any) -> bool:
    """Whether it is a suite, except that its cases may not fit its tools."""
    from pydantic import ValidationError

    if not isinstance(data, dict):
        return False
    try:
        read_model(data)
        _check_tools(data, Path("-"))
    except (ValidationError, SuiteError):
        return False
    return True
