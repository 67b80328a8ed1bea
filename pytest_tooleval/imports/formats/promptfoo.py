"""Configs of promptfoo, whose assertions name tools.

An assertion in JavaScript is read only if it compares a call's name or one of its arguments. The
`$comment` of a case has the assertions of its test that it cannot express.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...explain import show
from ...record.calls import is_number
from ...record.untrusted import as_mapping, as_text, objects_in
from ...secrets import redact
from ...text import json_text
from ..format import EachRecord, Format
from ..items import Exercise, Item, ToolUse
from ..records import Record, UnusableError, decode_text, read_yaml
from ..tool_dialects import tool_values

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%")
_PICKED = re.compile(r"output\[0\]\.(?:function\.)?name")
_NAME = re.compile(rf"{_PICKED.pattern}\s*===?\s*['\"]([\w.-]+)['\"];?")
_ARGUMENT = re.compile(
    r"JSON\.parse\(output\[0\]\.(?:function\.)?arguments\)\.(\w+)\s*===?\s*['\"]([^'\"]*)['\"];?"
)
_VALID = ("is-valid-openai-tools-call", "is-valid-openai-function-call")  # as `arguments_valid`
_LIMITS = {"latency": ("max_latency_s", 1000), "cost": ("max_cost_usd", 1)}
_OF_TESTS = ("threshold", "assertScoringFunction", "providers")  # what a case has no field for
_FILE = "file://"
_DATA = (".yaml", ".yml", ".json")
_TEXTS = (".txt", ".md", ".j2")
_PATH = re.compile(r"\S+\.(?:txt|md|j2|jsonl?|ya?ml|csv|py|[cm]?[jt]s)")
_NEXT_PROMPT = re.compile(r"^---\s*$", re.MULTILINE)
_MOST_NOTE = 200

Template = str | list[Any]


def _holds(value: Any) -> bool:
    data = as_mapping(value)
    return isinstance(data.get("tests"), (list, str)) and ("prompts" in data or "providers" in data)


def _tests(record: Record) -> Iterator[Record]:
    config, folder = record.value, record.path.parent
    entries = _listed(config.get("prompts"))
    prompts = [(_label(value), each) for value in entries for each in _prompts(folder, value)]
    if not prompts:
        raise UnusableError("expected prompts")
    tools = tools_of(folder, config)
    default = as_mapping(_loaded(folder, config.get("defaultTest")))
    tests = [test for each in _listed(config["tests"]) for test in _listed(_loaded(folder, each))]
    for number, test in enumerate(tests):
        yield record.inside((test, default, prompts, tools), f"tests[{number}]")


def _read(record: Record) -> Iterator[Item]:
    test, default, prompts, tools = record.value
    if not isinstance(test, dict):
        raise UnusableError(f"expected a test or {_FILE}..., got {show(test)}")
    about = {**default, **test}
    variables = {**as_mapping(default.get("vars")), **as_mapping(about.get("vars"))}
    asserts = [*objects_in(default.get("assert")), *objects_in(test.get("assert"))]
    calls, is_ordered, more = _expectation(asserts, about, variables)
    for prompt in _chosen(prompts, test.get("prompts")):
        yield Exercise(record.location, _messages(prompt, variables), calls, tools, is_ordered, more)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _loaded(folder: Path, value: Any) -> Any:
    """The value, or that of the file that it names."""
    if not isinstance(value, str) or not value.startswith(_FILE):
        return value
    path = folder / value.removeprefix(_FILE)
    if path.suffix not in _DATA:
        raise UnusableError(f"{value}: only files of YAML and JSON are read")
    return redact(read_yaml(path))


def _prompts(folder: Path, value: Any) -> Iterator[Template]:
    """The prompts that an entry is or names: texts, or chat messages."""
    text = value.get("raw") or value.get("id") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise UnusableError("a prompt that is neither a text nor a file")
    name = text.removeprefix(_FILE)
    if name == text and not _PATH.fullmatch(text):
        messages = decode_text(text)
        yield messages if isinstance(messages, list) else text
    elif Path(name).suffix in _TEXTS and "*" not in name:
        try:
            parts = _NEXT_PROMPT.split(redact((folder / name).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            raise UnusableError(f"the prompt {name} cannot be read") from None
        yield from filter(None, map(str.strip, parts))
    else:
        messages = _loaded(folder, f"{_FILE}{name}")
        if not isinstance(messages, list):
            raise UnusableError(f"the prompt {name}: expected a list of messages")
        yield messages


def _label(value: Any) -> str:
    fields = as_mapping(value)
    return as_text(fields.get("label") or fields.get("id") or fields.get("raw") or value)


def _chosen(prompts: Sequence[tuple[str, Template]], wanted: Any) -> list[Template]:
    """The prompts of a test, which may name some: whole labels, or the groups before a colon."""
    names = tuple(as_text(each).removesuffix(":*") for each in _listed(wanted))
    chosen = [each for label, each in prompts if not names or label in names]
    chosen = chosen or [each for label, each in prompts if label.split(":")[0] in names]
    if not chosen:
        raise UnusableError(f"prompts: no prompt has the label {' or '.join(map(show, names))}")
    return chosen


def _messages(prompt: Template, variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": _filled(prompt, variables)}]
    messages = objects_in(prompt)
    if len(messages) != len(prompt) or not all(
        isinstance(each.get("content"), str) for each in messages
    ):
        raise UnusableError("a prompt whose messages are no texts")
    return [{**each, "content": _filled(each["content"], variables)} for each in messages]


def tools_of(folder: Path, config: Mapping[str, Any]) -> list[Any] | None:
    """The tools of the first provider that has some, even from a file beside the config."""
    for provider in objects_in(config.get("providers")):
        listed = _loaded(folder, as_mapping(provider.get("config")).get("tools"))
        if listed:
            return [_definition(tool) for tool in tool_values(listed)]
    return None


def _definition(tool: Any) -> Any:
    """The tool, without what Adaline Gateway wraps around it."""
    return as_mapping(as_mapping(as_mapping(tool).get("definition")).get("schema")) or tool


def _filled(text: str, variables: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        held = variables.get(match[1])
        if not isinstance(held, (str, int, float)) or as_text(held).startswith(_FILE):
            raise UnusableError(f"the variable {match[1]} of the prompt has no text")
        return str(held)

    if _TEMPLATE.search(_VARIABLE.sub("", text)):
        raise UnusableError("a prompt with a template of which more than {{name}} would have to be read")
    return _VARIABLE.sub(value, text)


def _names(kind: str, value: Any) -> list[str]:
    """The tools that an assertion names."""
    inner = as_mapping(value)
    names = inner.get("sequence") or inner.get("steps") or inner.get("name") or value
    names = names if isinstance(names, list) else [names]
    if not all(isinstance(name, str) for name in names):
        raise UnusableError(f"{kind}: expected names of tools")
    if inner.get("max") is not None or inner.get("min") not in (None, 1):
        raise UnusableError(f"{kind}: a number of calls, which a case cannot express")
    return names


def _expectation(
    asserts: list[dict[str, Any]], test: Mapping[str, Any], variables: Mapping[str, Any]
) -> tuple[Sequence[ToolUse], bool, dict[str, Any]]:
    """The calls that a test expects, whether in order, and the other fields of its case."""
    calls: dict[str, dict[str, Any] | None] = {}
    arguments: dict[str, Any] = {}
    forbidden: list[str] = []
    limits: dict[str, float] = {}
    notes = [f"{key}: {json_text(test[key], _MOST_NOTE)}" for key in _OF_TESTS if key in test]
    is_ordered = False
    for rule in asserts:
        kind, value, threshold = as_text(rule.get("type")), rule.get("value"), rule.get("threshold")
        inner = as_mapping(value)
        picked = as_text(rule.get("transform") or as_mapping(test.get("options")).get("transform"))
        if kind in ("tool-call-f1", "trajectory:tool-used", "trajectory:tool-sequence"):
            calls |= {name: calls.get(name) for name in _names(kind, value)}
            is_ordered = is_ordered or kind.endswith("sequence")
            notes += [f"{kind}: threshold {json_text(threshold)}"] if threshold not in (None, 1) else []
        elif kind == "not-trajectory:tool-used":
            forbidden += _names(kind, value)
        elif kind == "trajectory:tool-args-match":
            # It compares the given ones, so that without any all will do.
            calls[as_text(inner.get("name"))] = dict(as_mapping(inner.get("args"))) or None
        elif kind == "equals" and _PICKED.fullmatch(picked):
            calls.setdefault(as_text(value), None)
        elif kind == "javascript" and (match := _NAME.fullmatch(as_text(value).strip())):
            calls.setdefault(match[1], None)
        elif kind == "javascript" and (match := _ARGUMENT.fullmatch(as_text(value).strip())):
            arguments[match[1]] = match[2]
        elif kind == "llm-rubric" and isinstance(value, str):
            # A model that calls has no text yet that could be judged.
            notes.append(f"{kind}: {_filled(value, variables)}")
        elif kind in _LIMITS and is_number(threshold):
            name, divisor = _LIMITS[kind]
            limits[name] = threshold / divisor
        elif kind not in _VALID:
            notes.append(json_text(rule, _MOST_NOTE))
    if arguments and len(calls) == 1:
        calls = {name: {**(args or {}), **arguments} for name, args in calls.items()}
    elif arguments:
        notes.append(f"arguments of one of the calls: {json_text(arguments, _MOST_NOTE)}")
    if not calls or "" in calls:
        raise UnusableError("no assertion names a tool that should be called")
    note = f"assertions without a counterpart: {'; '.join(notes)}" if notes else ""
    more = {"forbidden_calls": forbidden, "thresholds": limits, "$comment": note}
    return [*calls.items()], is_ordered, {key: each for key, each in more.items() if each}


FORMAT = Format(
    title="configs of promptfoo",
    recognised="`prompts`, `providers` and `tests`, in YAML or JSON",
    tools="of the provider, or from a file",
    expectations="tools, arguments, forbidden tools, limits; the rest in `$comment`",
    example="promptfooconfig.yaml",
    holds=_holds,
    read=EachRecord(_read, _tests),
    is_strict=True,
)
