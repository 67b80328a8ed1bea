"""The parts of the docs that are made from the code: `python tools/generated.py` writes them anew."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from pytest_tooleval.cli import COMMANDS
from pytest_tooleval.cli import main as main_command
from pytest_tooleval.engine.models.providers import PROVIDERS
from pytest_tooleval.engine.models.spec import Builtin, CallableModel, HttpModel, ModelSpec
from pytest_tooleval.engine.tools.features import FEATURES, features_of
from pytest_tooleval.imports.formats import all_formats
from pytest_tooleval.matchers.matcher import by_tier
from pytest_tooleval.matchers.modes import DEFAULT_MODE, MODES
from pytest_tooleval.mutation.mutants import DESTRUCTIVE
from pytest_tooleval.mutation.results import GAPS
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.events import Event
from pytest_tooleval.record.metrics import LIMITS
from pytest_tooleval.record.results import NOT_SAID
from pytest_tooleval.record.transcript import Measures
from pytest_tooleval.replies.dialects import DIALECTS
from pytest_tooleval.reports.text import NO_TEXTS, WHOLE
from pytest_tooleval.settings.options import OPTION_GROUPS, PRESETS, options_text
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import merged_thresholds
from pytest_tooleval.suite.schema import schema_text as suite_schema_text
from pytest_tooleval.suite.schema import suite_schema
from pytest_tooleval.tiers import TIERS, Tier

ROOT = Path(__file__).parents[1]
_RESULTS = "results.schema.json"
_PUBLISHED = "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/"


def results_schema() -> dict[str, Any]:
    """The schema of a JSON report."""
    return _schema(Document, _RESULTS, "pytest-tooleval results")


def events_schema() -> dict[str, Any]:
    """The schema of a line that `--tooleval-events` writes. It refers to the other one."""
    text = json.dumps(_schema(Event, "events.schema.json", "pytest-tooleval event"))
    known = results_schema()["$defs"]
    for name in known:
        text = text.replace(f'"#/$defs/{name}"', f'"{_RESULTS}#/$defs/{name}"')
    schema: dict[str, Any] = json.loads(text)
    schema["$defs"] = {name: own for name, own in schema["$defs"].items() if name not in known}
    return schema


def _schema(type: object, file: str, title: str) -> dict[str, Any]:
    (root,), definitions = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        # Python leaves the indentation in docstrings until 3.13.
        definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _PUBLISHED + file,
        "title": title,
        **root,
        "$defs": definitions,
    }


def schema_text(schema: dict[str, Any]) -> str:
    """A schema as the text of its file."""
    ordered = json.loads(json.dumps(schema), object_hook=_null_last)
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


def _null_last(node: dict[str, Any]) -> dict[str, Any]:
    """The order of a union's types, which differs between versions of msgspec."""
    if "anyOf" in node:
        node["anyOf"].sort(key=lambda each: each.get("type") == "null")
    return node


def words_text() -> str:
    """What the scripts of the page say as Python does."""
    return f"""\
// @ts-check
// Words that Python says, too: `python tools/generated.py` writes them.

export const ABSENT = {json.dumps(NO_TEXTS)};
export const NOT_SAID = {json.dumps(NOT_SAID)};
export const WHOLE = {json.dumps(WHOLE)};
"""


FILES: dict[str, Callable[[], str]] = {
    "pytest_tooleval/reports/page/words.js": words_text,
    "docs/tooleval.schema.json": suite_schema_text,
    "docs/results.schema.json": lambda: schema_text(results_schema()),
    "docs/events.schema.json": lambda: schema_text(events_schema()),
}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def limits() -> str:
    return table(("limit", "at most"), [(f"`{name}`", text) for name, text in LIMITS.items()])


# A case of each kind with default thresholds of its own.
_KINDS: dict[str, dict[str, Any]] = {
    "usually": {"prompt": "?", "expected_tool": "t"},
    "in [chains](../guides/conversations.md#chains)": {
        "prompt": "?",
        "multi_turn": True,
        "expected_tool": "t",
        "expected_text": ["x"],
    },
    "in [conversations](../guides/conversations.md)": {"turns": [{"prompt": "?", "expected_tool": "t"}]},
    'with `"param_scoring": "bfcl"`': {
        "prompt": "?",
        "expected_tool": "t",
        "param_scoring": "bfcl",
    },
}


def thresholds() -> str:
    tool = {"type": "function", "function": {"name": "t"}}
    rows = []
    for kind, written in _KINDS.items():
        suite = parse_suite(json.dumps({"name": "s", "tools": [tool], "test_cases": [written]}), "s")
        [case] = suite.test_cases
        found = merged_thresholds(case, MODES[case.param_scoring or DEFAULT_MODE])
        rows.append((kind, ", ".join(f"`{name}` {value:g}" for name, value in found.items())))
    return table(("", "thresholds"), rows)


def modes() -> str:
    rows = [
        (f"`{name}`" + " (default)" * (name == DEFAULT_MODE), mode.strings, mode.numbers)
        for name, mode in MODES.items()
    ]
    return table(("mode", "strings", "numbers"), rows)


def matchers() -> str:
    rows = [(f'`{{"{one.key}": {one.example}}}`', one.says) for one in by_tier()]
    return table(("matcher", "matches"), rows)


_VALUES = {
    "model": "gpt-5-mini,claude",
    "trials": "5",
    "threshold": "tool_selection=0.9",
    "fail-under": "0.9",
    "baseline": "good",
    "cassette": "cassettes",
    "max-cost": "2.50",
    "report": "report.html",
    "transcripts": "logs",
    "judge": "claude-sonnet-5",
    "user": "gpt-5-mini",
    "allow-tools": "find_order,open_ticket",
    "shard": "1/4",
    "temperature": "0.7",
    "tool-choice": "auto",
    "variant": "distractors:20",
    "concurrency": "8",
    "timeout": "60",
    "pass": "4/5",
    "fail-over": "cost_usd=0.01",
    "confidence": "0.95",
    "baseline-model": "gpt-5=gpt-5-mini",
    "max-drop": "0.02",
    "history": "s3://our-bucket/tooleval",
    "events": "events.jsonl",
}


def options() -> str:
    """A heading with a link for each option: a table of so many columns is no use on a phone."""
    parts = []
    for title, group in OPTION_GROUPS.values():
        parts.append(f"## {title.capitalize()}\n")
        for option in group:
            value = option.metavar or "|".join(option.choices)
            meaning, _, default = option.help.partition(" (default: ")
            default, _, rest = default.partition(")")
            facts = [f"- `{choice}`: {meant}" for choice, meant in option.meanings.items()]
            facts += [f"- Default: {default}"] * bool(default)
            if value:
                other = next((each for each in option.choices if each != option.default), "")
                example = _VALUES.get(option.name, other)
                option.value(example)
                facts.append(f"- Example: `--tooleval-{option.name}={example}`")
            facts += [
                f"- Ini key: none, as {option.only_typed}"
                if option.only_typed
                else f"- Ini key: `tooleval_{option.key}`"
            ]
            is_plain = re.match(r"[a-z]+(?![\w:])", meaning)  # and not a value or a field
            text = f"{meaning[0].upper() if is_plain else meaning[0]}{meaning[1:]}{rest}."
            lines = "\n".join(facts)
            form = f"--tooleval-{option.name}{'=' * bool(value)}{value}"
            marks = f'{{ #{option.name} data-toc-label="--tooleval-{option.name}" }}'
            parts.append(f"### `{form}` {marks}\n\n{text}\n\n{lines}\n")
    return "\n" + "\n".join(parts) + "\n"


def presets() -> str:
    rows = [
        (f"`{name}`", each.meaning, " ".join(f"`{one}`" for one in options_text(each.sets).split()))
        for name, each in PRESETS.items()
    ]
    return table(("`--tooleval-preset=`", "means", "sets"), rows)


def document() -> str:
    definition = results_schema()
    while "$ref" in definition:
        definition = results_schema()["$defs"][definition["$ref"].rpartition("/")[2]]
    parts = definition["properties"]
    return table(("part", "has"), [(f"`{name}`", part["description"]) for name, part in parts.items()])


def fields(struct: str, *, without: Collection[str] = ()) -> Callable[[], str]:
    """The fields of a type of the results."""

    def made() -> str:
        parts = results_schema()["$defs"][struct]["properties"]
        rows = [
            (f"`{name}`", part["description"].replace("|", "\\|"))
            for name, part in parts.items()
            if name not in without
        ]
        return table(("field", "meaning"), rows)

    return made


# JSON, an option, a placeholder or a field's name in a description.
_ITEM = r"[^\[\]{}]"
for _ in range(4):
    _ITEM = rf"(?:[^\[\]{{}}]|[\[{{]{_ITEM}*[\]}}])"
_CODE = re.compile(rf'[\[{{]{_ITEM}*[\]}}]|"[^"]*"|--[\w-]+|\w+_\w+')

# Where a field is explained.
_EXPLAINED = {
    "turns": "../guides/conversations.md",
    "user": "../guides/judges.md#simulated-users",
    "parametrize": "../guides/cases.md#one-case-many-rows",
    "now": "../guides/cases.md#one-case-many-rows",
    "tools": "#tools",
    "provider_tools": "#a-providers-own-tools",
    "tools_from": "../guides/mcp.md#tools-read-at-run-time",
    "live_tools": "../guides/mcp.md#live-chains",
    "world": "../guides/worlds.md",
    "temperature": "models.md#a-models-table",
    "approvals": "agents.md#approvals",
    "expected_calls": "../guides/cases.md#several-right-ways",
    "forbidden_calls": "../guides/cases.md#forbid-what-must-never-happen",
    "policies": "../guides/policies.md",
    "expected_stop": "agents.md#an-agent-that-gives-up",
    "expected_text": "../guides/conversations.md#expectations",
    "param_scoring": "#plain-values",
    "thresholds": "../concepts/scores.md#what-passes",
    "pass": "../concepts/verdicts.md#cases",
    "cluster": "methods.md#intervals",
    "parallel": "../guides/conversations.md#calls-in-one-reply",
    "match": "../guides/conversations.md#expectations",
    "answers": "../guides/transcripts.md#where-the-world-disagrees",
    "play_failed_calls": "../guides/transcripts.md#calls-that-did-not-run",
}


def suite_fields(
    struct: str, names: str = "", *, tier: Tier | None = None, links: bool = False
) -> Callable[[], str]:
    """The fields of an object of the suite format: all, by name, or of a tier."""

    def made() -> str:
        schema = json.loads(suite_schema_text())
        definition = schema["$defs"].get(struct, schema)
        rows = []
        for name in names.split() or definition["properties"]:
            if tier and definition["properties"][name]["x-tier"] != tier:
                continue
            text = _CODE.sub(r"`\g<0>`", definition["properties"][name]["description"])
            required = "Required. " * (name in definition.get("required", ()))
            link = f"[`{name}`]({_EXPLAINED[name]})" if links and name in _EXPLAINED else f"`{name}`"
            rows.append((link, f"{required}{text}"))
        return table(("field", "meaning"), rows)

    return made


def gaps() -> str:
    return table(("gap", "why it passes"), [(f"`{gap}`", text) for gap, text in GAPS.items()])


def dialects() -> str:
    rows = [
        (
            each.name.replace("<", "&lt;").replace(">", "&gt;"),
            each.models,
            *(f"`{name}`" if name else "" for name in (each.vllm, each.sglang, each.ollama)),
        )
        for each in DIALECTS
    ]
    servers = ("vLLM `--tool-call-parser`", "SGLang `--tool-call-parser`", "Ollama `PARSER`")
    return table(("dialect", "models", *servers), rows)


def clients() -> str:
    rows = [
        (f"`{row.name}/`", " or ".join(f"`{key}`" for key in row.keys), row.base or f"`{row.bases[0]}`")
        for row in dict.fromkeys(PROVIDERS.values())
        if row.protocol
    ]
    return table(("models", "key", "address"), rows)


# Models that differ in what they can do, and how what they get is tested.
_SAMPLES: dict[str, tuple[ModelSpec, str]] = {
    "OpenAI from gpt-5.4 on": (HttpModel("m", model="openai/gpt-5.5"), "stand-in"),
    "other models of OpenAI": (HttpModel("m", model="openai/gpt-4o"), "stand-in"),
    "OpenAI's on Azure, from gpt-5.4 on": (
        HttpModel("m", model="azure/gpt-5.5", api_base="https://x", api_key_env="K"),
        "not tried",
    ),
    "Claude from 4.5 on": (HttpModel("m", model="anthropic/claude-opus-4-6"), "stand-in"),
    "other Claude models": (HttpModel("m", model="anthropic/claude-3-5-haiku-20241022"), "stand-in"),
    "Gemini": (HttpModel("m", model="gemini/gemini-3-flash-preview"), "stand-in"),
    "`builtin/lexical`": (Builtin("m"), "tried"),
    "agents": (CallableModel("m", callable="a:b"), "tried"),
    "all others": (HttpModel("m", model="ollama/x"), "stand-in"),
}


def features() -> str:
    rows = [
        (name, *(tried if feature in features_of(spec) else "" for feature in FEATURES))
        for name, (spec, tried) in _SAMPLES.items()
    ]
    return table(("models", *(f"`{feature}`" for feature in FEATURES)), rows)


def destructive() -> str:
    return ", ".join(f"`{word}`" for word in DESTRUCTIVE) + "\n"


def formats() -> str:
    header = ("format, and a file", "recognised by", "tools", "calls", "expectations")
    rows = []
    for each in sorted(all_formats().values(), key=lambda each: each.title.lower()):
        name = f"{each.title}: `{each.example}`"
        rows.append((name, each.recognised, each.tools, each.calls, each.expectations))
    return table(header, rows)


# A line of each everyday field, for "Start with these forty".
_FIELD_LINES: dict[str, Any] = {
    "id": "paris",
    "prompt": "Weather in Paris?",
    "expected_tool": "get_weather",
    "expected_params": {"city": "Paris"},
    "expected_calls": [{"tool": "pay"}, {"tool": "ship"}],
    "expected_text": ["Paris"],
    "forbidden_calls": ["delete_account"],
    "tool_choice": "auto",
    "turns": [{"prompt": "Hello", "expected_tool": None}],
    "thresholds": {"parameter_accuracy": 0.9},
    "trials": 5,
    "pass": "4/5",
    "tags": ["smoke"],
    "skip": "needs the new tool",
    "parametrize": [{"city": "Paris"}, {"city": "Rome"}],
}
# `a` in the example of a matcher stands for any value.
_VARIABLE, _QUOTED = r"\b([ab])\b", r'"\1"'
_COMMAND_LINES = {
    "new": "tooleval new weather.tooleval.json",
    "import": "tooleval import log.jsonl --out log.tooleval.json",
    "validate": "tooleval validate weather.tooleval.json",
    "mutate": "tooleval mutate weather.tooleval.json",
    "show": "tooleval show latest",
    "compare": "tooleval compare good latest",
    "ci": "tooleval ci run",
}


def _everyday_fields() -> str:
    known = suite_schema()["$defs"]["TestCase"]["properties"]
    everyday = [name for name in known if known[name]["x-tier"] == "everyday"]
    rows = []
    for name in everyday:
        # The first clause; "Instead of prompt: ..." goes on.
        text = re.split(r"(?<=.{20}): |; |\.(?: |$)", known[name]["description"])[0]
        line = json.dumps({name: _FIELD_LINES[name]})[1:-1].replace("|", "\\|")
        rows.append((f"`{line}`", text))
    return table(("in a case", "meaning"), rows)


def _everyday_matchers() -> str:
    rows = [
        (
            f'`{{"{one.key}": {re.sub(_VARIABLE, _QUOTED, one.example)}}}`',
            re.split(r"(?<=.{6})(?: \(|, or |; )", one.says)[0],
        )
        for one in by_tier()
        if one.tier == "everyday"
    ]
    return table(("in place of an expected value", "matches"), rows)


def _everyday_options() -> str:
    _, everyday = OPTION_GROUPS["everyday"]
    rows = []
    for option in everyday:
        value = _VALUES.get(option.name) or option.choices[0]
        meaning = option.help.partition(" (default: ")[0]
        rows.append((f"`--tooleval-{option.name}={value}`", meaning))
    return table(("with `pytest`", "meaning"), rows)


def _everyday_commands() -> str:
    with click.Context(main_command) as context:
        found = {name: main_command.get_command(context, name) for name in COMMANDS["everyday"]}
    rows = [
        (f"`{_COMMAND_LINES[name]}`", command.get_short_help_str(200))
        for name, command in found.items()
        if command
    ]
    return table(("command", "meaning"), rows)


FORTY = {
    "fields": _everyday_fields,
    "matchers": _everyday_matchers,
    "options": _everyday_options,
    "commands": _everyday_commands,
}
_RESULTS_IN_PYTHON = ("TrialResult", "Score", "Check", "Transcript", "Reply", "ToolCall")
# The text between `<!-- NAME -->` and `<!-- end of NAME -->`.
PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/guides/importing.md", "formats"): formats,
    ("docs/reference/metrics.md", "limits"): limits,
    ("docs/reference/metrics.md", "dialects"): dialects,
    ("docs/reference/suite-format.md", "fields of a suite"): suite_fields("Suite", links=True),
    **{
        ("docs/reference/suite-format.md", f"{tier} fields of a case"): suite_fields(
            "TestCase", tier=tier, links=True
        )
        for tier in TIERS
    },
    **{("docs/get-started/forty.md", f"everyday {kind}"): made for kind, made in FORTY.items()},
    ("docs/reference/suite-format.md", "fields of a function"): suite_fields(
        "Function", "strict defer_loading allowed_callers input_examples output_schema"
    ),
    ("docs/guides/judges.md", "fields of a user"): suite_fields("User"),
    ("docs/guides/policies.md", "fields of a policy"): suite_fields(
        "Policy", "tool params only_after never_after after_approval at_most at_least expected_params"
    ),
    ("docs/guides/mcp.md", "fields of tools_from"): suite_fields("ToolsFrom"),
    ("docs/concepts/scores.md", "default thresholds"): thresholds,
    ("docs/reference/suite-format.md", "modes"): modes,
    ("docs/reference/suite-format.md", "matchers"): matchers,
    ("docs/reference/options.md", "options"): options,
    ("docs/concepts/verdicts.md", "presets"): presets,
    ("docs/reference/results.md", "document"): document,
    ("docs/reference/providers/index.md", "clients"): clients,
    ("docs/reference/models.md", "features"): features,
    ("docs/guides/mutation.md", "destructive"): destructive,
    ("docs/guides/mutation.md", "gaps"): gaps,
    **{
        ("docs/reference/python.md", f"fields of {name}"): fields(
            name, without=Measures.__struct_fields__ if name in ("TrialResult", "Reply") else ()
        )
        for name in _RESULTS_IN_PYTHON
    },
}


def part(text: str, name: str) -> re.Match[str]:
    found = re.search(rf"(?<=<!-- {name} -->\n)(.*?)(?=<!-- end of {name} -->)", text, re.DOTALL)
    assert found, f"there is no part `{name}`"
    return found


def main() -> None:
    for file, make in FILES.items():
        (ROOT / file).write_text(make(), encoding="utf-8")
    for (file, name), make in PARTS.items():
        path = ROOT / file
        text = path.read_text(encoding="utf-8")
        found = part(text, name)
        path.write_text(text[: found.start()] + make() + text[found.end() :], encoding="utf-8")


if __name__ == "__main__":
    main()
