"""Read suite data into its model as far as possible, and report what is wrong with the rest.

pydantic checks each value on its own. Fields that it rejects are left out of the model, so that the
other checks still run and all problems of a file are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from ..findings import Finding, Loc
from ..record.untrusted import as_mapping, as_text
from .case import TestCase, Turn
from .fields import (
    SuiteObject,
    expected_at,
    fields_of,
    kind_at,
    other_name,
    suggestion,
    tier_of,
    wrong_value,
)
from .model import SEARCHED, Suite
from .slugs import with_ids
from .tools import Custom, Function, Tool, named_tool

_PAGE = "https://pytest-tooleval.github.io/pytest-tooleval/latest/reference/suite-format/"

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_P = TypeVar("_P", bound=SuiteObject)

# Lists whose items are read one by one, and placeholders for required fields.
_LISTS: Mapping[str, type[SuiteObject]] = {"test_cases": TestCase, "turns": Turn, "tools": Tool}
_REQUIRED: Mapping[type[SuiteObject], dict[str, Any]] = {
    Suite: {"name": "-", "test_cases": []},
    Turn: {"prompt": "-"},
}


def read_suite(data: dict[str, Any]) -> tuple[Suite, list[Finding]]:
    """Return the suite without the fields that cannot be read, and what is wrong with those."""
    named = with_ids(data)
    try:
        return Suite.model_validate(named, context=SEARCHED), []
    except ValidationError as error:
        errors = error.errors(include_url=False)
        return _readable(Suite, named, [each["loc"] for each in errors]), _findings(Suite, errors, data)


def findings_of(root: type[SuiteObject], error: ValidationError, data: Any) -> list[Finding]:
    """Return the findings for data of type `root`, for files other than suites."""
    return _findings(root, error.errors(include_url=False), data)


def _readable(kind: type[_P], data: dict[str, Any], wrong: Iterable[Loc]) -> _P:
    """Build the object without its invalid fields."""
    inside = _by_key(wrong)
    kept = {name: value for name, value in data.items() if name not in inside}
    for name, locs in inside.items():
        if name in _LISTS and isinstance(data.get(name), list) and all(locs):
            kept[name] = _readable_items(_LISTS[name], data[name], locs)
    unread = (inside.keys() | {suggestion(kind, name, data) for name in inside}) - kept.keys()
    instance = kind.model_validate({**_REQUIRED.get(kind, {}), **kept}, context=SEARCHED)
    for name, field in kind.model_fields.items():
        if (field.alias or name) in unread:
            del instance.__dict__[name]
    return instance


def _readable_items(kind: type[SuiteObject], items: list[Any], wrong: Iterable[Loc]) -> list[Any]:
    kept = list(items)
    for index, locs in _by_key(wrong).items():
        if kind is Tool:
            kept[index] = _named_tool(items[index])
        else:
            whole = not all(locs)  # the item is not an object
            every = [(name,) for name in fields_of(kind)]
            kept[index] = _readable(kind, {} if whole else items[index], every if whole else locs)
    return kept


def _by_key(wrong: Iterable[Loc]) -> dict[Any, list[Loc]]:
    inside: dict[Any, list[Loc]] = {}
    for key, *rest in wrong:
        inside.setdefault(key, []).append(tuple(rest))
    return inside


def _named_tool(data: Any) -> Tool:
    """Stand in for an unreadable tool, perhaps in another format, by its name; "" if it has none."""
    tool = as_mapping(data)
    function = as_mapping(tool.get("function", tool.get("custom", data)))
    return named_tool(as_text(function.get("name")))


def _findings(root: type[SuiteObject], errors: Iterable[ErrorDetails], data: Any) -> list[Finding]:
    placed = [(error, *_path(error, data)) for error in errors]
    # For a union, pydantic reports both the types that do not match and errors inside one that does.
    inner = {loc[:n] for _, loc, _ in placed for n in range(len(loc))}
    findings: dict[Loc, Finding] = {}
    for error, loc, parent in placed:
        if loc not in findings and not (loc in inner and len(loc) < len(error["loc"])):
            finding = _finding(root, error, loc, parent)
            if finding is not None:
                findings[loc] = finding
    return list(findings.values())


def _path(error: ErrorDetails, data: Any) -> tuple[Loc, Any]:
    """Return the path of an error without pydantic's type names, and the object it leads into."""
    *path, last = error["loc"]
    loc: Loc = ()
    for key in path:
        if _holds(data, key):
            loc, data = (*loc, key), data[key]
    if error["type"] == "missing":
        return (*loc, last), data
    # An object may have a key named like a type, such as "str".
    is_inside = _holds(data, last) and data[last] is error["input"]
    return ((*loc, last), data) if is_inside else (loc, data)


def _holds(value: Any, key: str | int) -> bool:
    return isinstance(value, list) if isinstance(key, int) else isinstance(value, dict) and key in value


def _finding(root: type[SuiteObject], error: ErrorDetails, loc: Loc, parent: Any) -> Finding | None:
    if error["type"] in ("tool", "source"):  # raised by the model's validators
        return Finding(loc, error["msg"], at_key=True)
    kind, name = kind_at(root, loc[:-1]), loc[-1]
    if kind is not None and error["type"] == "extra_forbidden":
        return Finding(loc, _unknown_field(kind, str(name), parent), at_key=True)
    if kind is not None and error["type"] == "missing":
        if _misspells(kind, name, parent):
            return None
        return Finding(loc, f"missing; expected {expected_at(root, *loc)}")
    return Finding(loc, wrong_value(expected_at(root, *loc), error["input"]))


def _misspells(kind: type[SuiteObject], name: str | int, data: Mapping[str, Any]) -> bool:
    """True if a missing field is present under another name, which gets its own finding."""
    unknown = data.keys() - fields_of(kind).keys() if kind.model_config["extra"] == "forbid" else ()
    return any(suggestion(kind, other, data) == name for other in unknown)


def _unknown_field(part: type[SuiteObject], name: str, data: Mapping[str, Any]) -> str:
    """The message for an unknown field of an object."""
    if name in part.ELSEWHERE:
        return part.ELSEWHERE[name]
    if other_name(part, name) is None:
        if part is Suite and name in fields_of(TestCase):
            return "a field of a test case, not of the suite; move it into the cases"
        if part is TestCase and name in fields_of(Suite):
            return "a field of the suite, not of a test case; move it to the top of the file"
        if part is Tool and name in (inner := fields_of(Custom if "custom" in data else Function)):
            kind = "custom tool" if inner is fields_of(Custom) else "function"
            return f"a field of the {kind}; move it into {kind.split(maxsplit=1)[0]}"
    meant = suggestion(part, name, data)
    if meant is not None:
        return f"unknown field, did you mean {meant}?"
    fields = fields_of(part)
    everyday = [each for each in fields if tier_of(part, each) == "everyday"]
    if everyday:
        return f"unknown field; everyday ones are {', '.join(everyday)}; all {len(fields)}: {_PAGE}"
    return f"unknown field; expected one of {', '.join(fields)}"
