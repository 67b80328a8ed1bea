"""Finds models by name: in the config tables, the built-in model, known models, or litellm's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path

from ...errors import ConfigError
from ...text import first_few, near
from .known import INSTALL, Entry, data_file, entry_of, has_litellm, known_models, litellm_models
from .providers import PROVIDERS
from .spec import LEXICAL, Builtin, HttpModel, ModelSpec
from .table_checks import spec_from_table
from .tables import ModelTables, toml_key

_WRITE = "; write it with the provider: openai/NAME, anthropic/NAME, ollama_chat/NAME, ..."
# Providers of their own models, which no other provider's name has to stand for.
_MAKERS = ("anthropic", "deepseek", "gemini", "mistral", "moonshot", "openai", "xai", "zai")
_UNRELEASED = ("beta", "exp", "experimental", "latest", "preview")


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
            asked = spec.model if isinstance(spec, HttpModel) and spec.api != "openai" else ""
            if asked and (reason := why_no_provider(asked)):
                raise tables.error(name, f"model: {reason}", "model")
        elif name == LEXICAL:
            specs[name] = Builtin(name)
        else:
            full = newest_of(name, known_models())
            if full is None and (reason := why_no_provider(name)):
                raise _unknown(name, reason, tables)
            specs[name] = HttpModel(name, full or name)
    return list(specs.values())


def _check_label(name: str) -> None:
    if not name or name != name.strip() or not name.isprintable() or re.search(r"[\[\]]|::", name):
        raise ConfigError(
            f"model name {name!r}: expected a name without brackets, '::', control characters or "
            "surrounding spaces, because it becomes part of node ids"
        )
    if name.endswith("/"):
        raise ConfigError(f"model name {name!r}: the name is missing after the provider")


def _unknown(name: str, reason: str, tables: ModelTables) -> ConfigError:
    provider, slash, rest = name.partition("/")
    alike_providers = get_close_matches(provider, known_providers()) if slash else []
    spelled = [f"{other}/{rest}" for other in alike_providers]
    same = [
        label
        for label, table in tables.tables.items()
        if isinstance(table, dict) and table.get("callable") == name
    ]
    alike = near(name, [*tables.tables, LEXICAL, *spelled, *known_models(), *litellm_models()])
    alike = f", did you mean {same[0]}?" if same else alike
    home = tables.path.name if tables.path else "pyproject.toml"
    label, keys = _as_table(name, tables.path.parent if tables.path else Path())
    return ConfigError(
        f"unknown model {name!r}{alike}\n"
        f"  {reason}\n"
        f"  Models that you can use right now: {', '.join([*tables.tables, LEXICAL])}\n"
        f"  To define it, write [{tables.prefix}models.{toml_key(label)}] with {keys} in {home}"
    )


def _as_table(name: str, folder: Path) -> tuple[str, str]:
    """The name and the keys of a table for what was named instead: a function, an address, a model."""
    module, colon, function = name.rpartition(":")
    dotted = re.sub(r"[/\\]", ".", module.removesuffix(".py")).strip(".")
    file = folder / dotted.replace(".", "/")
    # An ollama model such as mistral:latest looks alike.
    if colon and function.isidentifier() and (file.is_dir() or file.with_suffix(".py").is_file()):
        return function, f'callable = "{dotted}:{function}"'
    if name.startswith(("http://", "https://")):
        return "served", f'model = "openai/NAME" and api_base = "{name}"'
    return name, 'model = "PROVIDER/NAME"'


def why_no_provider(name: str) -> str | None:
    """Why no provider is known for this name; None if one is.

    Reads the table of known models and litellm's data files first. Imports litellm, which takes seconds,
    only for other providers and for names with a colon, some of which it knows by pattern
    (`ft:gpt-4o:me::1`).
    """
    if entry_of(name) is not None:
        return None
    provider, slash, _ = name.partition("/")
    if slash and (provider == "responses" or provider in known_providers()):
        return None
    if not has_litellm():
        near_by = near(provider, known_providers())
        no_provider = f"no provider {provider!r} is known{near_by}"
        unknown = no_provider if slash else f"no known model has this name{_WRITE}"
        return f"{unknown}; litellm knows more: {INSTALL}"
    if (slash or ":" in name) and _litellm_accepts(name):
        return None
    if slash:
        return f"litellm knows no provider {provider!r}{near(provider, known_providers())}"
    return f"No config table defines it, and litellm does not know its provider{_WRITE}"


def newest_of(family: str, models: Mapping[str, Entry]) -> str | None:
    """The newest known model whose name begins with this one, such as `claude-sonnet`, by its full name.

    None for a model's own name, and if no name begins with it. Raises ConfigError if it begins names of
    several families, such as `gpt-6`.
    """
    if "/" in family or family in models:
        return None
    families: dict[tuple[str, ...], dict[tuple[tuple[float, ...], ...], str]] = {}
    for name, entry in models.items():
        provider = str(entry["litellm_provider"])
        bare = name.removeprefix(f"{provider}/")
        if provider in _MAKERS and bare.startswith((f"{family}-", f"{family}.")):
            words, version = _parts(bare)
            families.setdefault((provider, *words), {})[version] = f"{provider}/{bare}"
    newest = [versions[max(versions)] for versions in families.values()]
    if len(newest) > 1:
        raise ConfigError(
            f"model name {family!r} means several families of models; name one of {first_few(newest, 8)}"
        )
    return next(iter(newest), None)


def _parts(name: str) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """The words of a model's name, and what orders its versions: numbers, whether released, the date."""
    parts = name.split("-")
    numbers = [part for part in parts if re.fullmatch(r"v?[0-9.]+", part)]
    words = tuple(part for part in parts if part not in numbers and part not in _UNRELEASED)
    values = [float(number) for part in numbers for number in part.strip("v.").split(".")]
    version = tuple(takewhile(lambda value: value < 100, values))
    released = not any(part in _UNRELEASED for part in parts)
    return words, (version, (float(released),), tuple(values[len(version) :]))


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
    listed = (str(entry.get("litellm_provider")) for entry in litellm_models().values())
    return tuple(dict.fromkeys([*PROVIDERS, *supported, *listed]))
