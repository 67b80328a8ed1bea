"""Finds models by name: in the config tables, the built-in model, or litellm's models."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ...errors import ConfigError, os_reason
from ...record.untrusted import values_in
from ...secrets import keep_secret
from ...text import near
from .prices import data_file, price_list
from .providers import PROVIDERS
from .spec import EFFORTS, LEXICAL, SAMPLING, Effort, ModelSpec


@dataclass(frozen=True)
class ModelTables:
    """The `models` tables of a config file, with its text for reporting lines."""

    path: Path | None = None
    text: str = ""
    prefix: str = "tool.tooleval."
    tables: Mapping[str, Any] = field(default_factory=dict)

    def place(self, name: str, key: str | None = None) -> str:
        """`file:line:column` of a model's table or of a key in it, or as much as can be found."""
        if self.path is None:
            return ""
        # tomllib gives no positions, so the usual spellings of the header are searched for.
        table = rf"{re.escape(self.prefix)}models\s*\.\s*[\"']?{re.escape(name)}[\"']?"
        header = re.compile(rf"^[ \t]*\[\s*{table}\s*(\.[^\]]*)?\]", re.MULTILINE)
        found = header.search(self.text)
        if found is None:
            return str(self.path)
        position = found.start()
        if key is not None:
            end = re.compile(r"^[ \t]*\[", re.MULTILINE).search(self.text, found.end())
            limit = end.start() if end else len(self.text)
            line = re.compile(rf"^[ \t]*(?=[\"']?{re.escape(key)}[\"']?\s*=)", re.MULTILINE)
            at = line.search(self.text, found.end(), limit)
            position = at.end() if at else position
        return _place(self.path, self.text, position)

    def error(self, name: str, message: str, key: str | None = None) -> ConfigError:
        """The error for a model's table, or for a key in it."""
        table = f"[{self.prefix}models.{_toml_key(name)}]"
        return ConfigError(f"{self.place(name, key)}: {table}: {message}")


def key_place(path: Path, text: str, *keys: str) -> str:
    """`file:line:column` of the first of these keys or table headers, or else only the file."""
    for key in keys:
        start = rf"^[ \t]*(?=\[*\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]:])"
        if (found := re.search(start, text, re.MULTILINE)) is not None:
            return _place(path, text, found.end())
    return str(path)


def _place(path: Path, text: str, position: int) -> str:
    row = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"{path}:{row}:{column}"


def read_tables(folder: Path) -> ModelTables:
    """Read `tooleval.toml` in `folder`, or else `[tool.tooleval]` of its pyproject.toml.

    Having both is an error.
    """
    own, project = folder / "tooleval.toml", folder / "pyproject.toml"
    in_project = _tables(project, "tool.tooleval.") if project.is_file() else ModelTables()
    if not own.is_file():
        return in_project
    if in_project.tables:
        raise ConfigError(
            f"{own}: models are defined both here and in [tool.tooleval] of {project}; keep one "
            "of the two"
        )
    return _tables(own, "")


def _tables(path: Path, prefix: str) -> ModelTables:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {os_reason(error)}") from None
    if prefix:
        if "tooleval" in data:
            place = key_place(path, text, "tooleval")
            raise ConfigError(f"{place}: unknown table [tooleval], did you mean [tool.tooleval]?")
        tool = data.get("tool")
        data = tool.get("tooleval", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: [tool.tooleval]: expected a table, got {data!r}")
    for key in data:
        if key != "models":
            hint = near(key, ["models"]) or (
                f"; expected only tables [{prefix}models.NAME]; pytest's ini file has the options, as "
                "tooleval_NAME"
            )
            place = key_place(path, text, prefix + key, "tool.tooleval")
            raise ConfigError(f"{place}: unknown key '{prefix}{key}'{hint}")
    tables = data.get("models", {})
    if not isinstance(tables, dict):
        raise ConfigError(
            f"{path}: [{prefix}models]: expected tables [{prefix}models.NAME], got {tables!r}; to "
            "choose models, set tooleval_model in pytest's ini file"
        )
    for table in tables.values():
        for variable in _variables(table):
            keep_secret(variable)
    return ModelTables(path, text, prefix, tables)


def _variables(table: object) -> Iterator[str]:
    """The variables that a table names. The table has not been checked yet."""
    if isinstance(table, dict):
        headers = table.get("headers")
        named = (table.get("api_key_env"), *(headers.values() if isinstance(headers, dict) else ()))
        yield from (variable for variable in named if isinstance(variable, str))


_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Count = Annotated[int, msgspec.Meta(gt=0)]
_Target = Annotated[str, msgspec.Meta(pattern=r"^[\w.]+:[\w.]+$")]
_Address = Annotated[str, msgspec.Meta(pattern=r"^https?://[^/@?#\s]+(/[^@?#]*)?$")]
_Variable = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*$")]
_Prefix = Annotated[str, msgspec.Meta(pattern=r"^[\w.:/-]+$", max_length=64)]
_Required = Annotated[str, msgspec.Meta(pattern=r"^(/.*[^?])?$")]
# A `?` at its end makes it optional.
_Pointer = Annotated[str, msgspec.Meta(pattern=r"^(/.*)?\??$")]


class _Pointers(msgspec.Struct, forbid_unknown_fields=True):
    """The places of text and calls in an agent's answer, and of name and arguments in a call."""

    text: _Pointer | None = None
    calls: _Pointer | None = None
    name: _Required | None = None
    arguments: _Pointer | None = None


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of `[models.NAME]`."""

    model: str | None = None
    callable: _Target | None = None
    url: _Address | None = None
    headers: dict[str, _Variable] | None = None
    request: dict[str, Any] | None = None
    answer: Literal["chat", "responses", "messages"] | _Pointers | None = None
    conversation: _Pointer | None = None
    api: Literal["openai", "litellm"] | None = None
    api_base: _Address | None = None
    api_key_env: _Variable | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: _Count | None = None
    seed: int | None = None
    reasoning_effort: Effort | None = None
    thinking: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None
    omit: list[str] | None = None
    text_calls: bool | None = None
    tool_prefix: _Prefix | None = None
    stream: bool | None = None
    timeout: _Positive | None = None
    max_concurrency: _Count | None = None
    requests_per_minute: _Count | None = None
    tokens_per_minute: _Count | None = None
    input_price: float | None = None
    output_price: float | None = None


# Replacements for unclear messages of msgspec. They never show the value, which may be the key.
_EXPECTED = {
    "api": 'expected "openai" or "litellm"',
    "reasoning_effort": f"expected one of {', '.join(EFFORTS)}",
    "callable": 'expected "module:function"',
    "api_base": 'expected a URL without credentials and query, such as "http://localhost:8000/v1"',
    "url": 'expected a URL without credentials and query, such as "https://shop.example/chat"',
    "headers": 'expected the variable of each header\'s value, such as { Authorization = "SHOP_AUTH" }',
    "answer": (
        'expected "chat", "responses" or "messages", or JSON Pointers such as '
        '{ text = "/reply", calls = "/steps", name = "/tool", arguments = "/input" }'
    ),
    "conversation": 'expected a JSON Pointer such as "/thread_id"',
    "tool_prefix": 'expected the beginning of all tool names, such as "mcp__shop__"',
    "api_key_env": "expected the name of an environment variable, such as OPENAI_API_KEY",
}
_OF_AGENTS = ("headers", "request", "answer", "conversation")
_FOR_AGENTS = frozenset(
    (
        *_OF_AGENTS, "url", "text_calls", "tool_prefix", "timeout", "max_concurrency",
        "requests_per_minute", "tokens_per_minute",
    )
)  # fmt: skip
# The placeholders that an agent's request may contain.
PLACEHOLDERS = ("$prompt", "$messages", "$system", "$tools", "$conversation")
_SECRETS = re.compile(r"api[-_]?key|authorization|token$|secret|password", re.IGNORECASE)
_ADDRESSES = ("base_url", "endpoint", "host")  # other libraries' names for api_base
# These belong to the case or the engine, or would make models incomparable.
_NOT_EXTRA = frozenset(
    "messages tools tool_choice functions function_call model stream n api_base base_url timeout "
    "num_retries max_retries drop_params mock_response".split()
)


def check_tables(tables: ModelTables) -> None:
    """Raise ConfigError for the first invalid table, even of a model that is not used."""
    for name in tables.tables:
        spec_from_table(name, tables)


def spec_from_table(name: str, tables: ModelTables) -> ModelSpec:
    """The model defined by `[models.NAME]`. Raises ConfigError that names the invalid key."""
    table = tables.tables[name]
    problem = next(_problems(table), None)
    if problem is not None:
        raise tables.error(name, *problem)
    own = {key: value for key, value in table.items() if key not in SAMPLING}
    spec = ModelSpec(
        label=name,
        **{**own, "omit": tuple(table.get("omit", ()))},
        sampling={key: table[key] for key in SAMPLING if key in table},
        source=f"[{tables.prefix}models.{_toml_key(name)}] in {tables.path}",
        folder=tables.path.parent if tables.path else None,
    )
    if spec.stream and spec.protocol != "openai":
        text = "stream: only for servers that are asked directly with OpenAI's protocol"
        raise tables.error(name, text, "stream")
    return spec


_Problems = Iterator[tuple[str, str | None]]


def _problems(table: Any) -> _Problems:
    """What is wrong with a table, and the key. Each check relies on those before it: take the first."""
    if not isinstance(table, dict):
        yield f"expected a table, got {table!r}", None
    yield from ((_unknown_key(key), key) for key in table if key not in _Table.__struct_fields__)
    try:
        msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$.")
        key = re.split(r"\W", place)[0]
        plain = message.replace("`", "").replace(" | null", "").replace("Expected", "expected")
        yield f"{key}: " + _EXPECTED.get(key, plain), key
    for key, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            yield f"{key}: expected a JSON value ({error})", key
    if sum(key in table for key in ("model", "callable", "url")) != 1:
        yield (
            'expected one of model = "PROVIDER/NAME", callable = "module:function", or url = '
            '"https://..." of an agent; the address of a model\'s server is api_base',
            None,
        )
    if "url" in table:
        yield from _problems_of_agent(table)
    else:
        yield from ((f"{key}: only for an agent with a url", key) for key in _OF_AGENTS if key in table)
    for problem in _problems_of_extra(table.get("extra", {})):
        yield f"extra: {problem}", "extra"
    api, model = table.get("api"), table.get("model", "")
    if api and (not model or model == LEXICAL):
        yield "api: only for models that are called over the network", "api"
    name = model.removeprefix("openai/").removeprefix("responses/")
    if api == "openai" and not table.get("api_base") and "/" in name:
        what = f"asks OpenAI, which has no model {model!r}; set api_base"
        yield f'api = "openai" without api_base {what}', "api"


def _problems_of_agent(table: Mapping[str, Any]) -> _Problems:
    """What is wrong with the keys of an agent at an address."""
    for key in table:
        if key not in _FOR_AGENTS:
            yield f"{key}: not for an agent with a url; what it gets stands in request", key
    if "request" not in table:
        yield 'url: also needs request, such as { message = "$prompt" }', "url"
    answer = table.get("answer", {})
    if not (isinstance(answer, str) or answer.keys() & {"text", "calls"}):
        yield f"answer: {_EXPECTED['answer']}", "answer" if answer else "url"
    texts = (text for text in values_in(table["request"]) if isinstance(text, str))
    names = [text for text in texts if text.startswith("$")]
    for name in names:
        if name not in PLACEHOLDERS:
            hint = near(name, PLACEHOLDERS) or f"; expected one of {', '.join(PLACEHOLDERS)}"
            yield f"request: unknown {name}{hint}", "request"
    if not {"$prompt", "$messages"} & set(names):
        yield 'request: expected "$prompt" or "$messages" in it', "request"
    if "$conversation" in names and "conversation" not in table:
        yield 'request: "$conversation" needs conversation, the JSON Pointer of the id', "request"


def _problems_of_extra(extra: Mapping[str, Any]) -> Iterator[str]:
    for key in (key for value in values_in(extra) for key in (value if isinstance(value, dict) else ())):
        if _SECRETS.search(key):
            yield f"{key}: do not put secrets in a file; use api_key_env"
    for key in extra:
        if key in _NOT_EXTRA:
            yield f"{key}: this parameter cannot be set here"
        if key in SAMPLING:
            yield f"{key}: set this directly in the model's table"


def _unknown_key(key: str) -> str:
    if key in ("api_key", "key", "token"):
        return (
            f"{key}: do not put API keys in a file; set an environment variable "
            'and name it with api_key_env = "MY_API_KEY"'
        )
    known = _Table.__struct_fields__
    hint = ", did you mean api_base?" if key in _ADDRESSES else near(key, known)
    return (
        f"unknown key {key!r}{hint}; expected one of: {', '.join(known)} "
        "(put other parameters of the provider into the table `extra`)"
    )


def resolve_models(names: Iterable[str], tables: ModelTables) -> list[ModelSpec]:
    """The models named on the command line or in the ini file, in order, each once.

    Raises ConfigError for an unknown name or provider, and for a label that cannot be part of a node id.
    The check may take seconds.
    """
    specs: dict[str, ModelSpec] = {}
    for name in names:
        _check_label(name)
        if name in specs:
            continue
        if name in tables.tables:
            spec = specs[name] = spec_from_table(name, tables)
            # A server that we query directly may give its models any names.
            asks = spec.model and spec.model != LEXICAL and spec.api != "openai"
            if asks and (reason := unserved(spec.model)):
                raise tables.error(name, f"model: {reason}", "model")
        elif name == LEXICAL:
            specs[name] = ModelSpec(label=name, model=name)
        elif reason := unserved(name):
            raise _unknown(name, reason, tables)
        else:
            specs[name] = ModelSpec(label=name, model=name, folder=tables.path and tables.path.parent)
    return list(specs.values())


def _check_label(name: str) -> None:
    if not name or name != name.strip() or not name.isprintable() or re.search(r"[\[\]]|::", name):
        raise ConfigError(
            f"model name {name!r}: expected a name without brackets, '::', control characters or "
            "surrounding spaces, because it becomes part of node ids"
        )


def _unknown(name: str, reason: str, tables: ModelTables) -> ConfigError:
    provider, slash, rest = name.partition("/")
    alike_providers = get_close_matches(provider, known_providers()) if slash else []
    spelled = [f"{known}/{rest}" for known in alike_providers]
    same = [
        label
        for label, table in tables.tables.items()
        if isinstance(table, dict) and table.get("callable") == name
    ]
    alike = near(name, [*tables.tables, LEXICAL, *spelled, *price_list()])
    alike = f", did you mean {same[0]}?" if same else alike
    home = tables.path.name if tables.path else "pyproject.toml"
    defined = ", ".join([*tables.tables, LEXICAL])
    label, lines = _as_table(name, tables.path.parent if tables.path else Path())
    return ConfigError(
        f"unknown model {name!r}{alike}\n"
        f"  {reason}\n"
        f"  Models that you can use right now: {defined}\n"
        f"  To define {label!r}, add to {home}:\n\n"
        f"    [{tables.prefix}models.{_toml_key(label)}]\n" + "".join(f"    {line}\n" for line in lines)
    )


def _as_table(name: str, folder: Path) -> tuple[str, Sequence[str]]:
    """The name and the lines of a table for what was named instead: a function, an address, a model."""
    module, colon, function = name.rpartition(":")
    dotted = re.sub(r"[/\\]", ".", module.removesuffix(".py")).strip(".")
    file = folder / dotted.replace(".", "/")
    # An ollama model such as mistral:latest looks alike.
    if colon and function.isidentifier() and (file.is_dir() or file.with_suffix(".py").is_file()):
        return function, [f'callable = "{dotted}:{function}"']
    if name.startswith(("http://", "https://")):
        return "served", [
            'model = "openai/NAME"   # the model that this server of OpenAI\'s protocol has',
            f'api_base = "{name}"',
        ]
    return name, [
        'model = "anthropic/claude-sonnet-5"   # a litellm name: PROVIDER/NAME',
        'api_key_env = "ANTHROPIC_API_KEY"       # the environment variable that holds the key',
    ]


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def unserved(name: str) -> str | None:
    """Why litellm does not know a provider for this name; None if it does.

    Reads litellm's data files first. Imports litellm, which takes seconds, only for other providers
    and for names with a colon, some of which it knows by pattern (`ft:gpt-4o:me::1`).
    """
    if name in price_list():
        return None
    provider, slash, _ = name.partition("/")
    if slash and (provider == "responses" or provider in known_providers()):
        return None
    if (slash or ":" in name) and _litellm_accepts(name):
        return None
    if slash:
        return f"litellm knows no provider {provider!r}{near(provider, known_providers())}"
    return (
        "No config table defines it, and litellm does not know its provider (write it with the "
        "provider: openai/NAME, anthropic/NAME, ollama_chat/NAME, ...)."
    )


def _litellm_accepts(name: str) -> bool:
    from .litellm_library import import_litellm

    try:
        import_litellm().get_llm_provider(name)
    except Exception:
        return False
    return True


@functools.cache
def known_providers() -> tuple[str, ...]:
    """The providers of our table, and most of litellm's, from its data files."""
    supported = data_file("provider_endpoints_support_backup.json").get("providers", {})
    listed = (str(entry.get("litellm_provider")) for entry in price_list().values())
    return tuple(dict.fromkeys([*PROVIDERS, *supported, *listed]))
