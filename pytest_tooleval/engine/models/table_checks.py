"""Checks a model's table, and makes the model of it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from ...record.untrusted import values_in
from ...text import near
from .spec import EFFORTS, LEXICAL, SAMPLING, SPEC_KINDS, Builtin, Effort, HttpModel, ModelSpec
from .tables import ModelTables, toml_key

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
    """The places of text and calls in an agent's answer, and of what a call has."""

    text: _Pointer | None = None
    calls: _Pointer | None = None
    name: _Required | None = None
    arguments: _Pointer | None = None
    result: _Pointer | None = None
    status: _Pointer | None = None


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of `[models.NAME]`."""

    model: str | None = None
    callable: _Target | None = None
    url: _Address | None = None
    headers: dict[str, _Variable] | None = None
    request: dict[str, Any] | None = None
    answer: Literal["chat", "responses", "messages"] | _Pointers | None = None
    conversation: _Pointer | None = None
    sequential: bool | None = None
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
_OF_AGENTS = ("headers", "request", "answer", "conversation", "sequential")
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
    (key,) = table.keys() & SPEC_KINDS.keys()
    kind = Builtin if table[key] == LEXICAL else SPEC_KINDS[key]
    fields = {each.name for each in dataclasses.fields(kind)}
    values = {key: table[key] for key in fields & table.keys()}
    spec = kind(
        label=name,
        **{**values, "omit": tuple(table.get("omit", ()))},
        sampling={key: table[key] for key in SAMPLING if key in table},
        source=f"[{tables.prefix}models.{toml_key(name)}] in {tables.path}",
        folder=tables.path.parent if tables.path else None,
    )
    if table.get("stream") and not (isinstance(spec, HttpModel) and spec.protocol == "openai"):
        text = "stream: only for servers that are asked directly with OpenAI's protocol"
        raise tables.error(name, text, "stream")
    return spec


_Problems = Iterator[tuple[str, str | None]]


def _problems(table: Any) -> _Problems:
    """The problems of a table, with their keys. Each check relies on those before it: take the first."""
    if not isinstance(table, dict):
        yield f"expected a table, got {table!r}", None
    yield from ((_unknown_key(key), key) for key in table if key not in _Table.__struct_fields__)
    try:
        msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        key = re.split(r"\W", path)[0]
        plain = message.replace("`", "").replace(" | null", "").replace("Expected", "expected")
        yield f"{key}: " + _EXPECTED.get(key, plain), key
    for key, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            yield f"{key}: expected a JSON value ({error})", key
    if len(table.keys() & SPEC_KINDS.keys()) != 1:
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
    """The problems in the keys of an agent at an address."""
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
    keys = _Table.__struct_fields__
    hint = ", did you mean api_base?" if key in _ADDRESSES else near(key, keys)
    return (
        f"unknown key {key!r}{hint}; expected one of: {', '.join(keys)} "
        "(put other parameters of the provider into the table `extra`)"
    )
