"""Updates the tools of a suite, and says which of its cases that affects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ..explain import show
from ..text import canonical
from .case import TestCase
from .drafts import DRAFT, draft_case
from .expectations import ANY_TOOL
from .lint import lint_suite
from .load import read_model
from .model import Suite
from .tool_names import definition_of, name_in_suite

_Raw = Mapping[str, Any]

_PARAMS = re.compile(
    r"test_cases\[(\d+)\]\.(?:expected_params|expected_calls\[(\d+)\]\.params)\.?(.*)", re.DOTALL
)


@dataclass(frozen=True)
class Changes:
    """The changes of an update. Names are those in the suite, in the order of its tools.

    `changed` maps a tool to phrases such as `city is now required`, `broken` the id of a case to the
    reasons why it needs attention. `drafted` counts the drafts of new and of changed tools.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drafted: int = 0

    def lines(self) -> list[str]:
        """A line for each change, safe to show."""
        return [
            *(f"added: {show(name)}" for name in self.added),
            *(f"removed: {show(name)}" for name in self.removed),
            *(f"changed: {show(name)}: {'; '.join(what)}" for name, what in self.changed.items()),
            *(f"broken: the case {show(id, 200)}: {'; '.join(why)}" for id, why in self.broken.items()),
        ]


def update_suite(
    existing: Mapping[str, Any], tools: Sequence[_Raw], *, drafts: bool = True
) -> tuple[dict[str, Any], Changes]:
    """The suite with these tools (in OpenAI's format) in place of its tools, and the changes.

    Name, settings and written cases stay. With `drafts`, one is added for each new tool. Drafts that
    nobody has edited are replaced if their tool has changed, and removed if it has gone.
    """
    before = dict(existing)
    commented = _by_name(before.get("tools") or ())
    old = {key: _without_comment(tool) for key, tool in commented.items()}
    new = _by_name(tools)
    changed = {
        key: _differences(old[key], new[key])
        for key in new
        if key in old and canonical(old[key]) != canonical(new[key])
    }
    added = [key for key in new if key not in old]
    kept, written, drafted = _kept_cases(before, old, new, changed)
    after = {**before, "tools": [_with_comment(tool, commented) for tool in tools], "test_cases": kept}
    updated = read_model(after)
    taken = {str(case.id) for case in updated.test_cases}
    for key in added if drafts else ():
        draft = draft_case(new[key])
        id = _free(draft["id"], taken)
        taken.add(id)
        kept.append({**draft, "id": id})
        drafted += 1
    changes = Changes(
        added=tuple(name_in_suite(new[key]) for key in added),
        removed=tuple(name_in_suite(old[key]) for key in old if key not in new),
        changed={name_in_suite(new[key]): what for key, what in changed.items()},
        broken=_broken(updated, written, new, {key: old[key] for key in changed}),
        drafted=drafted,
    )
    if "tools" not in before:  # put them before the cases
        last = {key: after.pop(key) for key in [*before][[*before].index("test_cases") :]}
        after = {**after, "tools": after.pop("tools"), **last}
    return after, changes


def _kept_cases(
    before: dict[str, Any],
    old: Mapping[str, _Raw],
    new: Mapping[str, _Raw],
    changed: Collection[str],
) -> tuple[list[Any], set[str], int]:
    """The cases to keep, with the ids of those that are no drafts, and how many drafts are new."""
    kept: list[Any] = []
    written: set[str] = set()
    drafted = 0
    drafts = {_unnamed(draft_case(tool)): key for key, tool in old.items()}
    for data, case in zip(before["test_cases"], read_model(before).test_cases, strict=True):
        key = drafts.get(_unnamed(data)) if case.skip == DRAFT else None
        if key is None:
            kept.append(data)
            written.add(str(case.id))
            continue
        if key in changed:
            kept.append({**draft_case(new[key]), "id": case.id})
            drafted += 1
        elif key in new:
            kept.append(data)
    return kept, written, drafted


def _unnamed(case: Mapping[str, Any]) -> str:
    """The case as text, without its id: drafts that nobody has edited are equal."""
    return canonical({**case, "id": ""})


def _broken(
    suite: Suite, written: Set[str], tools: Mapping[str, _Raw], before: Mapping[str, _Raw]
) -> dict[str, list[str]]:
    """The written cases that do not fit the suite's tools; `before` are the changed tools as they were.

    Old problems are reported again, so that an import fails until they are fixed.
    """
    params: dict[int, list[str]] = {}
    for problem in lint_suite(suite):
        match = _PARAMS.match(problem.field)
        if match:
            prefix = f"call {int(match[2]) + 1}: " if match[2] else ""
            params.setdefault(int(match[1]), []).append(f"{prefix}{match[3]}: {problem.message}")
    broken: dict[str, list[str]] = {}
    for index, case in enumerate(suite.test_cases):
        id = str(case.id)
        if id in written and case.tools is None:
            why = [*_gone(case, tools), *params.get(index, ()), *_missing(case, tools, before)]
            if why:
                broken[id] = why
    return broken


def _gone(case: TestCase, tools: Mapping[str, _Raw]) -> Iterator[str]:
    calls = (name for call in case.calls or () for name in call.tools)
    named = [*calls, *case.valid_prerequisites, *case.mock_responses]
    for name in dict.fromkeys(named):
        if name != ANY_TOOL and name.casefold() not in tools:
            yield f"the tool {show(name)} no longer exists"


def _missing(case: TestCase, tools: Mapping[str, _Raw], before: Mapping[str, _Raw]) -> Iterator[str]:
    """The parameters of changed tools that a case should expect now."""
    expected = [("", case.expected_tools, case.expected_params)]
    for number, (_, call) in enumerate(case.placed_calls, 1):
        expected.append((f"call {number}: ", call.tools, call.params))
    for prefix, names, params in expected:
        key = names[0].casefold() if len(names) == 1 else ""
        if params is not None and key in before:
            required = _required(tools[key]) - _required(before[key]) - params.keys()
            for name in sorted(required):
                yield f"{prefix}{show(name)} is now required, but not expected"


def _by_name(tools: Iterable[_Raw]) -> dict[str, _Raw]:
    """Tools by their case-folded names, as scoring ignores case."""
    return {name_in_suite(tool).casefold(): tool for tool in tools}


def _without_comment(tool: _Raw) -> _Raw:
    return {key: value for key, value in tool.items() if key != "$comment"}


def _with_comment(tool: _Raw, commented: Mapping[str, _Raw]) -> dict[str, Any]:
    """The tool with the comment of the one that it replaces."""
    comment = commented.get(name_in_suite(tool).casefold(), {}).get("$comment")
    return dict(tool) if comment is None else {"$comment": comment, **tool}


def _schema(tool: _Raw) -> Mapping[str, Any]:
    return definition_of(tool).get("parameters") or {}


def _required(tool: _Raw) -> set[str]:
    return set(_schema(tool).get("required", ()))


def _free(id: str, taken: set[str]) -> str:
    name, count = id, 1
    while name in taken:
        count += 1
        name = f"{id}-{count}"
    return name


def _differences(old: _Raw, new: _Raw) -> list[str]:
    one, two = _schema(old), _schema(new)
    had, has = one.get("properties", {}), two.get("properties", {})
    needed, needs = _required(old), _required(new)
    what = [
        key for key in _keys_that_differ(definition_of(old), definition_of(new)) if key != "parameters"
    ]
    for name in {**had, **has}:
        shown = show(name)
        if name not in had:
            what.append(f"the {'required ' if name in needs else ''}parameter {shown} added")
        elif name not in has:
            what.append(f"the parameter {shown} removed")
        else:
            if canonical(had[name]) != canonical(has[name]):
                fields = ", ".join(_keys_that_differ(had[name], has[name]))
                what.append(f"the parameter {shown} changed" + (f" ({fields})" if fields else ""))
            if (name in needed) != (name in needs):
                what.append(f"{shown} is {'now' if name in needs else 'no longer'} required")
    others = [key for key in _keys_that_differ(one, two) if key not in ("properties", "required")]
    return [*what, *(f"parameters.{key}" for key in others)] or ["its wording"]


def _keys_that_differ(old: Any, new: Any) -> list[str]:
    """The keys that differ between two objects; a schema may also be true or false."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return []
    both = {**old, **new}
    return [k for k in both if k not in old or k not in new or canonical(old[k]) != canonical(new[k])]
