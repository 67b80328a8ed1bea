"""Suite files written whole or not at all, and only where a suite or nothing was before."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..errors import Problem
from ..errors import SuiteError
from ..suite.load import load_document
from ..suite.load import parse_suite
from ..suite.load import read_model
from ..suite.source import Document
from ..suite.source import decode_bytes
from ..suite.source import read_document
from ..suite.source import scan_container
from ..text import printable
from ..writing import write_whole

_INDENT = re.compile(r'\s*\{[ \t]*\r?\n([ \t]+)"')
_DECODE = json.JSONDecoder().raw_decode


def read_existing(path: Path) -> Document | None:
    """The suite in a file that is to be written, or None when there is no such file.

    A suite whose cases have problems is one too: an earlier import may have left some to mend.
    SuiteError when the file holds anything else, which must not be overwritten.
    """
    if not os.path.lexists(path):
        return None
    try:
        return load_document(path)[1]
    except SuiteError as error:
        if not path.is_file():
            raise
        document = read_document(decode_bytes(path.read_bytes(), str(path)), str(path))
        if not _is_like_a_suite(document.data):
            message = "not a suite, so it is not overwritten; choose another file with --out"
            raise SuiteError([*error.problems, Problem(str(path), 1, 1, "", message)]) from None
        return document


def write_suite(path: Path, suite: Mapping[str, Any], previous: Document | None = None) -> list[Problem]:
    """Put a suite in place of the `previous` one, which `read_existing` gave, or of nothing.

    What is as it was keeps its spelling, byte for byte. SuiteError when the suite would not load,
    ConfigError when it cannot be written; the file is then what it was. Problems of settings and
    cases of a previous suite are no reason to refuse, and given back.
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
        raise ConfigError(f"cannot write {printable(str(path))}: {error.strerror or error}") from None
    return problems


def suite_text(suite: Mapping[str, Any], previous: Document | None = None) -> str:
    """A suite as JSON, in which the parts that are as in the previous one keep their spelling."""
    before = "" if previous is None else previous.text
    match = _INDENT.match(before)
    indent = match[1] if match else "  "
    spelled = _spelled(before, previous.data) if previous is not None else {}
    members = []
    for key, value in suite.items():
        known = spelled.get(key, {})
        text = known.get(_dumped(value))
        if text is None and isinstance(value, list) and value:
            items = [known.get(_dumped(item)) or _dumped(item, indent, 2) for item in value]
            text = "[" + ",".join(f"\n{indent * 2}{item}" for item in items) + f"\n{indent}]"
        members.append(f"\n{indent}{_dumped(key)}: {text or _dumped(value, indent, 1)}")
    text = _without_lone_surrogates("{" + ",".join(members) + "\n}\n")
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in before else text


def _spelled(text: str, data: Any) -> dict[str | int, dict[str, str]]:
    """For each key of a suite, the spelling of its value and of that value's items."""
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
    """Halves of surrogate pairs, which UTF-8 cannot hold, become U+FFFD; pairs become characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_problems(text: str, path: Path) -> list[Problem]:
    """Why the text of a suite does not load; empty when it does."""
    try:
        parse_suite(text, str(path))
    except SuiteError as error:
        return list(error.problems)
    return []


def _replace(path: Path, text: str, previous: Document | None) -> None:
    _check_unchanged(path, previous)
    write_whole(path, [text.encode()], lambda: _check_unchanged(path, previous))


def _check_unchanged(path: Path, previous: Document | None) -> None:
    """ConfigError when somebody else wrote the file since it was read, or protected it."""
    if not path.exists():
        return
    if previous is None or path.read_bytes() != previous.text.encode():
        raise ConfigError(f"{printable(str(path))} has changed in the meantime; import again")
    if not os.access(path, os.W_OK):
        raise ConfigError(f"cannot write {printable(str(path))}: the file is read-only")


def _check_tools(suite: Mapping[str, Any], path: Path) -> None:
    only_tools = {"name": "suite", "tools": suite.get("tools", []), "test_cases": []}
    parse_suite(suite_text(only_tools), str(path))


def _is_like_a_suite(data: Any) -> bool:
    """Whether nothing is wrong with it but that its cases do not fit its tools."""
    from pydantic import ValidationError

    if not isinstance(data, dict):
        return False
    try:
        read_model(data)
        _check_tools(data, Path("-"))
    except (ValidationError, SuiteError):
        return False
    return True
