"""Which models there are: an alias from the config table, the built-in baseline, or a litellm name."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .prices import litellm_folder
from .prices import price_list

LEXICAL = "baseline/lexical"

# Sampling parameters that a model's table may set by name; everything else goes under `extra`.
SAMPLING = ("temperature", "top_p", "max_tokens", "seed")
# Which library carries the calls.
APIS = ("openai", "litellm")
# Parameters of litellm itself: whoever sets one of these means litellm.
_LITELLM_EXTRAS = frozenset(
    "additional_drop_params allowed_openai_params api_version custom_llm_provider organization".split()
)


@dataclass(frozen=True)
class ModelSpec:
    """What to call under a label. Holds the name of the key's variable, never the key.

    `requests_per_minute`, `tokens_per_minute` and `max_concurrency` are upper limits, None for
    none; `timeout` is in seconds per call. `omit` names parameters that must never be sent.
    """

    label: str
    model: str = ""
    callable: str | None = None
    api: str | None = None
    api_base: str | None = None
    api_key_env: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    timeout: float | None = None
    max_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    source: str = ""
    folder: Path | None = None

    @property
    def lean(self) -> bool:
        """Whether the calls go over our own client for OpenAI's protocol instead of litellm."""
        if self.api is None:
            own = bool(self.api_base) and self.model.startswith("openai/")
            return own and not _LITELLM_EXTRAS.intersection(self.extra)
        return self.api == "openai"

    @property
    def over_litellm(self) -> bool:
        """Whether calls of this model import litellm."""
        return not (self.callable or self.model == LEXICAL or self.lean)

    @functools.cached_property
    def identity(self) -> str:
        """What is asked, apart from its label: part of the cassette's key.

        Of an agent its module's source is a part, so that changed code is asked anew.
        """
        if not self.callable:
            return self.model
        return f"callable:{self.callable}{_fingerprint(self.callable, self.folder)}"

    @property
    def place(self) -> str:
        """Where a user would change this model."""
        return self.source or f"--tooleval-model={self.label}"


@dataclass(frozen=True)
class ModelTables:
    """The `models` tables of a config file, with the text they came from for naming lines."""

    path: Path | None = None
    text: str = ""
    prefix: str = "tool.tooleval."
    tables: Mapping[str, Any] = field(default_factory=dict)

    def place(self, name: str, key: str | None = None) -> str:
        """`file:line:column` of a model's table, or of a key in it, as well as it can be found."""
        if self.path is None:
            return ""
        # tomllib gives no positions; the header is found as people write it.
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
        row = self.text.count("\n", 0, position) + 1
        column = position - (self.text.rfind("\n", 0, position) + 1) + 1
        return f"{self.path}:{row}:{column}"


def _fingerprint(target: str, folder: Path | None) -> str:
    """`@` and the start of the SHA-256 of the module's file; empty where there is no such file."""
    module = target.partition(":")[0].replace(".", "/")
    for place in (folder, *map(Path, sys.path)):
        for name in (f"{module}.py", f"{module}/__init__.py"):
            file = place / name if place is not None else None
            if file is not None and file.is_file():
                return "@" + hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    return ""


def read_tables(folder: Path) -> ModelTables:
    """Read `tooleval.toml` in `folder`, or else `[tool.tooleval]` of the pyproject.toml there.

    Both at once are refused, as it would be unclear which one holds.
    """
    own, project = folder / "tooleval.toml", folder / "pyproject.toml"
    in_project = _tables(project, "tool.tooleval.") if project.is_file() else ModelTables()
    if not own.is_file():
        return in_project
    if in_project.tables:
        raise ConfigError(
            f"{own}: models are defined both here and in [tool.tooleval] of {project}; keep one of them"
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
        raise ConfigError(f"{path}: {error}") from None
    where = f"{path}: [{prefix}models]" if prefix else f"{path}: [models]"
    if prefix:
        tool = data.get("tool")
        data = tool.get("tooleval", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: [tool.tooleval]: expected a table, got {data!r}")
    for key in data:
        if key != "models":
            hint = _near(key, ["models"])
            raise ConfigError(
                f"{path}: [{prefix.rstrip('.')}]: unknown key {key!r}{hint}; expected only `models`"
                if prefix
                else f"{path}: unknown key {key!r}{hint}; expected only tables [models.NAME]"
            )
    tables = data.get("models", {})
    if not isinstance(tables, dict):
        raise ConfigError(f"{where}: expected tables [{prefix}models.NAME], got {tables!r}")
    return ModelTables(path, text, prefix, tables)


_KEYS: Mapping[str, tuple[type[Any], ...]] = {
    "model": (str,),
    "callable": (str,),
    "api": (str,),
    "api_base": (str,),
    "api_key_env": (str,),
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": (int,),
    "seed": (int,),
    "extra": (dict,),
    "omit": (list,),
    "timeout": (int, float),
    "max_concurrency": (int,),
    "requests_per_minute": (int,),
    "tokens_per_minute": (int,),
    "input_price": (int, float),
    "output_price": (int, float),
}
_POSITIVE = (
    "max_tokens",
    "timeout",
    "max_concurrency",
    "requests_per_minute",
    "tokens_per_minute",
)
_TYPE_NAMES = {str: "a string", int: "an integer", float: "a number", dict: "a table", list: "a list"}
_SECRETS = re.compile(r"api[-_]?key|authorization|token$|secret|password", re.IGNORECASE)
# What belongs to the case or to the engine, or makes models incomparable.
_NOT_EXTRA = frozenset(
    "messages tools tool_choice functions function_call model stream n temperature top_p max_tokens "
    "seed api_base base_url timeout num_retries max_retries drop_params mock_response".split()
)


def spec_from_table(name: str, tables: ModelTables) -> ModelSpec:
    """The model defined by `[models.NAME]`; ConfigError naming the key when the table is wrong."""
    table = tables.tables[name]

    def fail(message: str, key: str | None = None) -> ConfigError:
        return ConfigError(
            f"{tables.place(name, key)}: [{tables.prefix}models.{_toml_key(name)}]: {message}"
        )

    if not isinstance(table, dict):
        raise fail(f"expected a table, got {table!r}")
    for key, value in table.items():
        if key in ("api_key", "key", "token"):
            raise fail(
                f"{key}: a key does not belong into a file; put it into an environment variable "
                'and name that with api_key_env = "MY_API_KEY"',
                key,
            )
        types = _KEYS.get(key, ())
        if not types:
            hint = _near(key, list(_KEYS))
            raise fail(
                f"unknown key {key!r}{hint}; expected one of: {', '.join(_KEYS)} "
                "(other parameters of the provider go into the table `extra`)",
                key,
            )
        if not isinstance(value, types) or isinstance(value, bool):
            raise fail(f"{key}: expected {_TYPE_NAMES[types[-1]]}, got {value!r}", key)
        if isinstance(value, float) and not math.isfinite(value):
            raise fail(f"{key}: expected a finite number, got {value!r}", key)
        if key in _POSITIVE and not value > 0:
            raise fail(f"{key}: expected a number above 0, got {value!r}", key)
    if ("model" in table) == ("callable" in table):
        raise fail('expected either model = "PROVIDER/NAME" or callable = "module:function"')
    if "callable" in table and not re.fullmatch(r"[\w.]+:[\w.]+", table["callable"]):
        raise fail(
            f'callable: expected "module:function", got {table["callable"]!r}',
            "callable",
        )
    if "api_base" in table and not re.match(r"https?://[^/@?#\s]+(/[^@?#]*)?$", table["api_base"]):
        raise fail(
            "api_base: expected a URL without credentials and query, such as "
            f'"http://localhost:8000/v1", got {_hidden(table["api_base"])!r}',
            "api_base",
        )
    if not re.fullmatch(r"[A-Za-z_]\w*", table.get("api_key_env", "X")):
        # It may be the key itself, so it is not shown.
        raise fail(
            "api_key_env: expected the name of an environment variable, such as OPENAI_API_KEY",
            "api_key_env",
        )
    extra = table.get("extra", {})
    for key in _keys_within(extra):
        if _SECRETS.search(key):
            raise fail(f"extra: {key}: a secret does not belong into a file; use api_key_env", "extra")
    for key in extra:
        if key in _NOT_EXTRA:
            raise fail(f"extra: {key}: this parameter cannot be set here", "extra")
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError):
        raise fail(f"extra: expected values that JSON has, got {extra!r}", "extra") from None
    omit = table.get("omit", [])
    if not all(isinstance(key, str) for key in omit):
        raise fail(f"omit: expected a list of parameter names, got {omit!r}", "omit")
    model, api = table.get("model", ""), table.get("api")
    if api is not None:
        _check_api(table, fail)
    # A server that is asked directly may call its models what it likes.
    if model and model != LEXICAL and api != "openai":
        _check_litellm_name(model, lambda message: fail(f"model: {message}", "model"))
    return ModelSpec(
        label=name,
        model=model,
        callable=table.get("callable"),
        api=api,
        api_base=table.get("api_base"),
        api_key_env=table.get("api_key_env"),
        sampling={key: table[key] for key in SAMPLING if key in table},
        extra=dict(extra),
        omit=tuple(omit),
        timeout=table.get("timeout"),
        max_concurrency=table.get("max_concurrency"),
        requests_per_minute=table.get("requests_per_minute"),
        tokens_per_minute=table.get("tokens_per_minute"),
        input_price=table.get("input_price"),
        output_price=table.get("output_price"),
        source=f"[{tables.prefix}models.{_toml_key(name)}] in {tables.path}",
        folder=tables.path.parent if tables.path else None,
    )


def _check_api(table: Mapping[str, Any], fail: Callable[[str, str], ConfigError]) -> None:
    api, model = table["api"], table.get("model", "")
    if api not in APIS:
        raise fail(f'api: expected "openai" or "litellm", got {api!r}', "api")
    if not model or model == LEXICAL:
        raise fail("api: only for a model that is called over the network", "api")
    if api == "openai" and not table.get("api_base") and "/" in model.removeprefix("openai/"):
        raise fail(
            f'api = "openai" without api_base asks OpenAI, which has no model {model!r}; set api_base',
            "api",
        )


def resolve_models(names: Iterable[str], tables: ModelTables) -> list[ModelSpec]:
    """The models named on the command line or in the ini file, in order, each once.

    Raises ConfigError for a name that is neither in the tables, nor built in, nor known to
    litellm; and for a label that cannot stand in a node id.
    """
    specs: dict[str, ModelSpec] = {}
    for name in names:
        _check_label(name)
        if name in specs:
            continue
        if name in tables.tables:
            specs[name] = spec_from_table(name, tables)
        elif name == LEXICAL:
            specs[name] = ModelSpec(label=name, model=name)
        else:
            _check_litellm_name(name, lambda reason, name=name: _unknown(name, reason, tables))
            specs[name] = ModelSpec(label=name, model=name, folder=tables.path and tables.path.parent)
    return list(specs.values())


def _check_label(name: str) -> None:
    if not name or name != name.strip() or not name.isprintable() or re.search(r"[\[\]]|::", name):
        raise ConfigError(
            f"model name {name!r}: expected a name without brackets, '::', control characters "
            "or space around it, because it becomes part of node ids"
        )


def _unknown(name: str, reason: str, tables: ModelTables) -> ConfigError:
    _, slash, rest = name.partition("/")
    spelled = [f"{known}/{rest}" for known in _known_providers()] if slash else []
    near = _near(name, [*tables.tables, LEXICAL, *spelled, *_known_litellm_models()])
    home = tables.path.name if tables.path else "pyproject.toml"
    defined = ", ".join([*tables.tables, LEXICAL])
    return ConfigError(
        f"unknown model {name!r}{near}\n"
        f"  {reason}\n"
        f"  Models that can be used right now: {defined}\n"
        f"  To define {name!r}, add to {home}:\n\n"
        f"    [{tables.prefix}models.{_toml_key(name)}]\n"
        '    model = "anthropic/claude-sonnet-5"   # PROVIDER/NAME, as litellm has it\n'
        '    api_key_env = "ANTHROPIC_API_KEY"       # the environment variable that holds the key\n'
    )


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f", did you mean {' or '.join(near)}?" if near else ""


def _keys_within(value: Any) -> Iterator[str]:
    """The keys of a table and of all tables inside it."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _keys_within(member)
    elif isinstance(value, list):
        for member in value:
            yield from _keys_within(member)


def _hidden(url: str) -> str:
    """A URL without the credentials in it."""
    return re.sub(r"[^/]*@", "[secret]@", url)


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _check_litellm_name(name: str, fail: Any) -> None:
    """Raise `fail(reason)` unless litellm can tell which provider serves this name.

    litellm takes seconds to import, so its own data files are asked first, and litellm itself
    only about names with a colon, some of which it knows by pattern (`ft:gpt-4o:me::1`).
    """
    if name in _known_litellm_models():
        return
    provider = name.partition("/")[0]
    if "/" in name and provider in _known_providers():
        return
    if ":" in name and _litellm_accepts(name):
        return
    if "/" in name:
        raise fail(f"litellm knows no provider {provider!r}{_near(provider, _known_providers())}")
    raise fail(
        "It is in no config table, and litellm does not know which provider serves it "
        "(write it with the provider: openai/NAME, anthropic/NAME, ollama_chat/NAME, ...)."
    )


def _litellm_accepts(name: str) -> bool:
    from .litellm_client import load_litellm

    try:
        load_litellm().get_llm_provider(name)
    except Exception:
        return False
    return True


@functools.cache
def _known_litellm_models() -> tuple[str, ...]:
    """The model names in litellm's price list, read without importing litellm."""
    return tuple(price_list())


@functools.cache
def _known_providers() -> tuple[str, ...]:
    """litellm's providers, read from the enum in its source without importing it."""
    folder = litellm_folder()
    try:
        source = (folder / "types" / "utils.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return ()
    _, _, body = source.partition("class LlmProviders(")
    body, _, _ = body.partition("\nclass ")
    return tuple(re.findall(r'^ +[A-Z0-9_]+ = "([^"]+)"', body, re.MULTILINE))
