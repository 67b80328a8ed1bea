"""Configs of promptfoo, whose assertions name tools.

An assertion in JavaScript is read only if it compares a call's name or one of its arguments. A test with
another one, or with an assertion on numbers of calls, is left out, as its case would be weaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...secrets import redacted
from ..conversation import Expected, Item
from ..format import Format, each_record
from ..records import Record, UnusableError, read_yaml
from ..tool_dialects import tool_values

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PICKED = re.compile(r"output\[0\]\.(?:function\.)?name")
_NAME = re.compile(rf"{_PICKED.pattern}\s*===?\s*['\"]([\w.-]+)['\"];?")
_ARGUMENT = re.compile(
    r"JSON\.parse\(output\[0\]\.(?:function\.)?arguments\)\.(\w+)\s*===?\s*['\"]([^'\"]*)['\"];?"
)
_NEGATED = re.compile(r"not-(trajectory:|tool-|is-valid-|javascript|python|equals)")
# Without a type it is a reference to another one.
_OTHERS = ("", "assert-set", "javascript", "python", "equals", "trajectory:step-count")
_FILE = "file://"


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    return isinstance(found.get("tests"), list) and ("prompts" in found or "providers" in found)


def _read(record: Record) -> Iterator[Item]:
    if not _holds(record.value):
        raise UnusableError("expected a config with prompts, providers and tests")
    config = record.value
    prompts = [each for each in as_list(config.get("prompts")) if isinstance(each, str)]
    if len(prompts) != 1 or prompts[0].startswith(_FILE):
        raise UnusableError("expected one prompt, written in the config")
    tools = _tools(record.path, config)
    default = as_mapping(config.get("defaultTest"))
    for number, test in enumerate(as_list(config["tests"])):
        place = record.inside(test, f"tests[{number}]")
        about = as_mapping(test)
        given = {**as_mapping(default.get("vars")), **as_mapping(about.get("vars"))}
        asserts = [*objects_in(default.get("assert")), *objects_in(about.get("assert"))]
        try:
            messages = [{"role": "user", "content": _filled(prompts[0], given)}]
            calls, is_ordered = _calls(asserts, as_mapping(about.get("options")))
        except UnusableError as error:
            yield place.problem(str(error))
            continue
        yield Expected(place.problem(), messages, calls, tools, is_ordered)


def _tools(path: Path, config: Mapping[str, Any]) -> list[Any] | None:
    """The tools of the first provider that has some, also from a file beside the config."""
    for provider in objects_in(config.get("providers")):
        given = as_mapping(provider.get("config")).get("tools")
        if isinstance(given, str) and given.startswith(_FILE):
            given = redacted(read_yaml(path.parent / given.removeprefix(_FILE)))
        if given:
            return [_definition(tool) for tool in tool_values(given)]
    return None


def _definition(tool: Any) -> Any:
    """The tool, without what Adaline Gateway wraps around it."""
    return as_mapping(as_mapping(as_mapping(tool).get("definition")).get("schema")) or tool


def _filled(prompt: str, given: Mapping[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        if not isinstance(given.get(found[1]), (str, int, float)):
            raise UnusableError(f"the variable {found[1]} of the prompt has no text")
        return str(given[found[1]])

    return _VARIABLE.sub(value, prompt)


def _calls(
    asserts: list[dict[str, Any]], options: Mapping[str, Any]
) -> tuple[list[tuple[str, dict[str, Any] | None]], bool]:
    found: dict[str, dict[str, Any] | None] = {}
    arguments: dict[str, Any] = {}
    is_ordered = False
    for each in asserts:
        kind, value = as_text(each.get("type")), each.get("value")
        inner = as_mapping(value)
        picked = as_text(each.get("transform") or options.get("transform"))
        if kind in ("tool-call-f1", "trajectory:tool-used", "trajectory:tool-sequence"):
            names = inner.get("sequence") or inner.get("steps") or inner.get("name") or value
            names = names if isinstance(names, list) else [names]
            if not all(isinstance(name, str) for name in names):
                raise UnusableError(f"{kind}: expected names of tools")
            if inner.get("max") is not None or inner.get("min") not in (None, 1):
                raise UnusableError(f"{kind}: a number of calls, which a case cannot express")
            found |= {name: found.get(name) for name in names}
            is_ordered = is_ordered or kind.endswith("sequence")
        elif kind == "trajectory:tool-args-match":
            # It compares the given ones, so that without any all will do.
            found[as_text(inner.get("name"))] = dict(as_mapping(inner.get("args"))) or None
        elif kind == "equals" and _PICKED.fullmatch(picked):
            found.setdefault(as_text(value), None)
        elif kind == "javascript" and (match := _NAME.fullmatch(as_text(value).strip())):
            found.setdefault(match[1], None)
        elif kind == "javascript" and (match := _ARGUMENT.fullmatch(as_text(value).strip())):
            arguments[match[1]] = match[2]
        elif kind in _OTHERS or "output[0]" in picked or _NEGATED.match(kind):
            raise UnusableError(f"an assertion of the type {kind} that a case cannot express")
    if arguments and len(found) == 1:
        found = {name: {**(given or {}), **arguments} for name, given in found.items()}
    if not found or "" in found:
        raise UnusableError("no assertion names a tool")
    return [*found.items()], is_ordered


FORMAT = Format(
    title="configs of promptfoo",
    recognised="`prompts`, `providers` and `tests`, in YAML or JSON",
    tools="of the provider, also from a file",
    expectations="tools, and arguments if given",
    example="promptfooconfig.yaml",
    holds=_holds,
    read=each_record(_read),
)
