"""The prices, limits and traits of models that are known before any request.

Models of our own protocols are in a table, which `tools/known_models.py` makes from litellm's list, and
whose entries have litellm's fields. Other models are known only where litellm is installed, from its
list, without importing it.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

TABLE = Path(__file__).with_name("known_models.json")
# How to get the client of all models but those that we speak to ourselves.
INSTALL = "pip install 'pytest-tooleval[litellm]'"

Entry = Mapping[str, Any]


class _TableHead(msgspec.Struct):
    date: str
    litellm: str


class _Table(_TableHead):
    models: dict[str, dict[str, Any]]


def has_litellm() -> bool:
    return litellm_file() is not None


def litellm_file() -> Path | None:
    """The module of litellm, which is not imported; None if it is not installed."""
    spec = importlib.util.find_spec("litellm")
    return None if spec is None or spec.origin is None else Path(spec.origin)


def data_file(name: str) -> Mapping[str, Any]:
    """One of litellm's JSON files; empty if it cannot be read."""
    package = litellm_file()
    if package is None:
        return {}
    try:
        data = msgspec.json.decode(package.with_name(name).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return data if isinstance(data, dict) else {}


@functools.cache
def litellm_models() -> Mapping[str, Entry]:
    """litellm's entries by model; empty without litellm. Takes about 10 ms the first time."""
    listed = data_file("model_prices_and_context_window_backup.json")
    return {name: entry for name, entry in listed.items() if isinstance(entry, dict)}


@functools.cache
def known_models() -> Mapping[str, Entry]:
    """The entries of our own table by model."""
    return msgspec.json.decode(TABLE.read_bytes(), type=_Table).models


def table_date() -> str:
    """The day of the table's prices, as YYYY-MM-DD."""
    return msgspec.json.decode(TABLE.read_bytes(), type=_TableHead).date


def entry_of(name: str) -> Entry | None:
    """The entry with exactly this name: our own, or else litellm's."""
    return known_models().get(name) or litellm_models().get(name)


def known_entry(model: str) -> Entry | None:
    """The entry of a model, with or without its provider in the name."""
    model = "/".join(part for part in model.split("/") if part != "responses")
    entry = entry_of(model)
    if entry is None:
        provider, _, name = model.partition("/")
        entry = entry_of(name)
        # Some providers have several entries: vertex_ai-language-models, bedrock_converse.
        if entry is None or not str(entry.get("litellm_provider")).startswith(provider):
            return None
    return entry


def provider_of(model: str) -> str:
    """litellm's provider for a model, from the name's prefix or else from its entry."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return "openai" if prefix == "responses" else prefix
    return str((entry_of(model) or {}).get("litellm_provider", "")).partition("-")[0]
