"""Tools brought up to date in a suite that people have written cases into."""

from __future__ import annotations

import json
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..record.transcript import text_of
from ..suite.explain import show
from ..suite.model import ANY_TOOL
from ..suite.slugs import assign_ids
from .drafts import DRAFT
from .drafts import draft_case

Tool = Mapping[str, Any]


@dataclass(frozen=True)
class ChangedTool:
    """A tool that is not what it was; each of `what` is a phrase such as `city is now required`."""

    name: str
    what: tuple[str, ...]


@dataclass(frozen=True)
class BrokenCase:
    """A case that somebody has to look at; `index` is its place in the new `test_cases`, from 0."""

    id: str
    index: int
    why: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """What an update did. Names are those in the suite, each group in the order of its tools."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[ChangedTool, ...] = ()
    broken: tuple[BrokenCase, ...] = ()
    unchanged: int = 0
    drafted: int = 0  # drafts written, new ones and those of changed tools
    dropped: int = 0  # drafts of removed tools that nobody had edited

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.drafted or self.dropped)

    def lines(self) -> list[str]:
        """The changes in words, a line for each. Names and values in them are safe to show."""
        lines = [f"added: {show(name)}" for name in self.added]
        lines += [f"removed: {show(name)}" for name in self.removed]
        lines += [f"changed: {show(tool.name)}: {'; '.join(tool.what)}" for tool in self.changed]
        lines += [
            f"broken: the case {show(case.id, 200)}: {'; '.join(case.why)}" for case in self.broken
        ]
        return lines


def update_suite(
    existing: Mapping[str, Any] | None, name: str, tools: Sequence[Tool], drafts: bool
) -> tuple[dict[str, Any], Changes]:
    """The suite with these tools in OpenAI's format in place of its own, and what that changed.

    Without an existing suite a new one with this name is made. Otherwise name, settings and written
    cases stay as they are. With `drafts` each new tool gets a draft. A draft that nobody edited
    follows its tool: it is made again when the tool changed, and goes when the tool went.
    """
    before = {"name": name, "tools": [], "test_cases": []} if existing is None else dict(existing)
    before.setdefault("test_cases", [])
    old = _by_name(before.get("tools"))
    new = _by_name(tools)
    update = _Update(old, new, before.get("param_scoring"))
    cases = update.cases(before.get("test_cases"))
    added = [key for key in new if key not in old]
    if drafts:
        update.append_drafts(cases, added)
    changes = Changes(
        added=tuple(_name(new[key]) for key in added),
        removed=tuple(_name(old[key]) for key in old if key not in new),
        changed=tuple(ChangedTool(_name(new[key]), what) for key, what in update.changed.items()),
        broken=tuple(update.broken),
        unchanged=len(new) - len(added) - len(update.changed),
        drafted=update.drafted,
        dropped=update.dropped,
    )
    after = {**before, "tools": [dict(tool) for tool in tools], "test_cases": cases}
    return _in_order(after, before), changes


class _Update:
    def __init__(self, old: dict[str, Tool], new: dict[str, Tool], scoring: object) -> None:
        self.old = old
        self.new = new
        self.scoring = scoring
        both = (key for key in new if key in old)
        self.changed = {
            key: _differences(old[key], new[key]) for key in both if not _same(old[key], new[key])
        }
        self.broken: list[BrokenCase] = []
        self.drafted = self.dropped = 0

    def cases(self, cases: object) -> list[Any]:
        """The cases that stay, each as it was but for drafts that nobody edited."""
        kept: list[Any] = []
        given = cases if isinstance(cases, list) else []
        for case, id in zip(given, _ids(given), strict=True):
            key = self._drafted_tool(case)
            if key is not None and key not in self.new:
                self.dropped += 1
            elif key in self.changed:
                self.drafted += 1
                kept.append({**self._draft(self.new[key]), "id": id})
            else:
                is_written = isinstance(case, dict) and key is None
                why = tuple(self._why_broken(case)) if is_written else ()
                if why:
                    self.broken.append(BrokenCase(id, len(kept), why))
                kept.append(case)
        return kept

    def append_drafts(self, cases: list[Any], added: Sequence[str]) -> None:
        taken = set(_ids(cases))
        for key in added:
            draft = self._draft(self.new[key])
            draft["id"] = _free(draft["id"], taken)
            taken.add(draft["id"])
            cases.append(draft)
            self.drafted += 1

    def _draft(self, tool: Tool) -> dict[str, Any]:
        draft = draft_case(tool)
        # Where the suite reads texts as patterns, those of a draft would be such by accident.
        return {**draft, "param_scoring": "exact"} if self.scoring == "regex" else draft

    def _drafted_tool(self, case: object) -> str | None:
        """The tool of which a case is the draft that nobody edited."""
        if not isinstance(case, dict) or case.get("skip") != DRAFT:
            return None
        name = case.get("expected_tool")
        key = name.casefold() if isinstance(name, str) else ""
        if key not in self.old:
            return None
        draft = {**self._draft(self.old[key]), "id": case.get("id")}
        return key if _same(draft, case) else None

    def _why_broken(self, case: Mapping[str, Any]) -> Iterator[str]:
        if case.get("tools") is not None:
            return  # such a case brings its own tools
        for name in dict.fromkeys(_named(case)):
            if name != ANY_TOOL and name.casefold() not in self.new:
                yield f"the tool {show(name)}, which it names, is gone"
        # What was wrong before is told again, for an import to fail until it is mended.
        for names, params, place in _expectations(case):
            keys = [name.casefold() for name in names]
            if any(key not in self.new for key in keys):
                continue
            for problem in _param_problems([self.new[key] for key in keys], params):
                yield f"{place}{problem}"
            if len(keys) == 1 and keys[0] in self.changed:
                required = _required(self.new[keys[0]]) - _required(self.old[keys[0]]) - params.keys()
                for name in sorted(required):
                    yield f"{place}{show(name)} is required now, and not expected"


def _in_order(suite: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The keys in their old order; tools that are new stand before the cases."""
    keys = [key for key in before if key in suite]
    if "tools" not in before:
        keys.insert(keys.index("test_cases"), "tools")
    return {key: suite[key] for key in keys}


def _by_name(tools: object) -> dict[str, Tool]:
    """Tools by their names without case, which scoring ignores; what is no tool is left out."""
    named = {}
    for tool in tools if isinstance(tools, (list, tuple)) else ():
        function = tool.get("function") if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str):
            named[name.casefold()] = tool
    return named


def _name(tool: Tool) -> str:
    return str(tool["function"]["name"])


def _ids(cases: Sequence[Any]) -> list[str]:
    """The id of every case, with the one that loading makes from the prompt where there is none."""
    given = [case.get("id") if isinstance(case, dict) else None for case in cases]
    taken = {id for id in given if isinstance(id, str)}
    nameless = [index for index, id in enumerate(given) if not isinstance(id, str)]
    made = iter(assign_ids([(index + 1, _prompt_text(cases[index])) for index in nameless], taken))
    return [id if isinstance(id, str) else next(made) for id in given]


def _prompt_text(case: Any) -> str:
    prompt = case.get("prompt") if isinstance(case, dict) else None
    if isinstance(prompt, str):
        return prompt
    messages = (
        [message for message in prompt or () if isinstance(message, dict)]
        if isinstance(prompt, list)
        else []
    )
    asked = [message for message in messages if message.get("role") == "user"]
    return text_of(asked[-1]) if asked else ""


def _free(id: str, taken: Collection[str]) -> str:
    name, count = id, 1
    while name in taken:
        count += 1
        name = f"{id}-{count}"
    return name


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are alike in types too, and in the order of lists but not of keys."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _differences(old: Tool, new: Tool) -> tuple[str, ...]:
    one, two = _mapping(old.get("function")), _mapping(new.get("function"))
    what = [
        key for key in {**one, **two} if key != "parameters" and not _same(one.get(key), two.get(key))
    ]
    what += _schema_differences(_mapping(one.get("parameters")), _mapping(two.get("parameters")))
    return tuple(what) or ("its wording",)


def _schema_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    one, two = _mapping(old.get("properties")), _mapping(new.get("properties"))
    needed, needs = _names(old.get("required")), _names(new.get("required"))
    what = []
    for name in {**one, **two}:
        shown = show(name)
        if name not in one:
            what.append(f"the {'required ' if name in needs else ''}parameter {shown} added")
            continue
        if name not in two:
            what.append(f"the parameter {shown} removed")
            continue
        if not _same(one[name], two[name]):
            fields = _keys_that_differ(one[name], two[name])
            what.append(f"the parameter {shown} changed" + (f" ({', '.join(fields)})" if fields else ""))
        if (name in needed) != (name in needs):
            what.append(f"{shown} is {'now' if name in needs else 'no longer'} required")
    others = [key for key in _keys_that_differ(old, new) if key not in ("properties", "required")]
    return what + [f"parameters.{key}" for key in others]


def _keys_that_differ(old: Any, new: Any) -> list[str]:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return []
    absent = object()
    return [
        key
        for key in {**old, **new}
        if (key in old) != (key in new) or not _same(old.get(key, absent), new.get(key, absent))
    ]


def _named(case: Mapping[str, Any]) -> Iterator[str]:
    """Every tool that a case speaks of."""
    yield from _texts(case.get("expected_tool"))
    for call in _list(case.get("expected_calls")):
        yield from _texts(_mapping(call).get("tool"))
    yield from _texts(case.get("valid_prerequisites"))
    yield from _mapping(case.get("mock_responses"))


def _expectations(case: Mapping[str, Any]) -> Iterator[tuple[list[str], Mapping[str, Any], str]]:
    """Acceptable tools, the params expected of them, and words for where those stand."""
    params = case.get("expected_params")
    if isinstance(params, Mapping):
        yield _texts(case.get("expected_tool")), params, ""
    for index, call in enumerate(_list(case.get("expected_calls"))):
        params = _mapping(call).get("params")
        if isinstance(params, Mapping):
            yield _texts(call.get("tool")), params, f"call {index + 1}: "


def _param_problems(tools: Sequence[Tool], params: Mapping[str, Any]) -> list[str]:
    """What `tooleval validate` says of params expected of any of these tools."""
    from pydantic import ValidationError

    from ..suite.lint import lint_suite
    from ..suite.model import Suite

    case = {
        "id": "",
        "prompt": "-",
        "expected_tool": [_name(t) for t in tools],
        "expected_params": params,
    }
    try:
        suite = Suite.model_validate({"name": "-", "tools": tools, "test_cases": [case]})
    except ValidationError:
        return []  # what cannot be read is complained about when the suite is loaded
    place = "test_cases[0].expected_params"
    found = (problem for problem in lint_suite(suite) if problem.field.startswith(place))
    return [f"{problem.field[len(place) :].lstrip('.')}: {problem.message}" for problem in found]


def _required(tool: Tool) -> set[str]:
    return set(_names(_mapping(_mapping(tool.get("function")).get("parameters")).get("required")))


def _names(value: Any) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else _names(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
