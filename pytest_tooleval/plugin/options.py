"""Registers the options with pytest, and reads them from its command line and ini file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ..settings.options import OPTION_GROUPS, OPTIONS, Option
from ..text import near

_PREFIX = "tooleval_"


def add_options(parser: pytest.Parser) -> None:
    for tier, (title, options) in OPTION_GROUPS.items():
        group = parser.getgroup(f"tooleval-{tier}", f"tooleval: {title}")
        for option in options:
            group.addoption(f"--tooleval-{option.name}", **_for_argparse(option))
            if not option.only_typed:
                type = "args" if option.repeatable else "bool" if option.is_flag else "string"
                help = f"default of --tooleval-{option.name}"
                parser.addini(_PREFIX + option.key, help, type=type, default=None)  # type: ignore[arg-type]


def suggest_options(args: Iterable[str]) -> None:
    """Raise UsageError for an option of ours that is misspelt, where pytest would only refuse it."""
    prefix, names = "--tooleval-", [option.name for option in OPTIONS.values()]
    for arg in (arg.partition("=")[0] for arg in args if arg.startswith(prefix)):
        name = arg.removeprefix(prefix)
        if name not in names and (hint := near(name, names, prefix)):
            raise pytest.UsageError(f"unknown option {arg}{hint}")


def _for_argparse(option: Option) -> dict[str, Any]:
    help = option.help.replace("%", "%%")
    if option.is_flag:
        return {"help": help, "action": "store_true"}
    metavar = option.metavar or "|".join(option.choices)
    return {"help": help, "action": "append" if option.repeats else "store", "metavar": metavar}


def typed_options(config: pytest.Config) -> dict[str, Any]:
    """The options set on the command line, by key."""
    values = {key: config.getoption(_PREFIX + key, None) for key in OPTIONS}
    return {key: value for key, value in values.items() if value not in (None, False)}


def ini_options(config: pytest.Config) -> dict[str, Any]:
    """The options set in the ini file, by key. Raises UsageError for an unknown key."""
    _check_keys(config)
    values: dict[str, Any] = {}
    for key in (key for key, option in OPTIONS.items() if not option.only_typed):
        try:
            value = config.getini(_PREFIX + key)
        except (TypeError, ValueError, pytest.UsageError) as error:
            raise pytest.UsageError(f"{_PREFIX}{key}: {error}") from None
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif isinstance(value, list):  # `a, b`
            value = [text.strip(",") for text in value if text.strip(",")]
        if value:
            values[key] = value
    return values


def _check_keys(config: pytest.Config) -> None:
    """Raise UsageError for an unknown key, which pytest would only warn about."""
    keys = [key for key, option in OPTIONS.items() if not option.only_typed]
    unknown = [key for key in sorted(config._get_unknown_ini_keys()) if key.startswith(_PREFIX)]
    if unknown:
        key = unknown[0].removeprefix(_PREFIX)
        if key in OPTIONS:
            option = OPTIONS[key]
            hint = f"; {option.only_typed}: use --tooleval-{option.name} on the command line"
        else:
            hint = near(key, keys, _PREFIX) or f"; expected one of {_PREFIX}{', '.join(keys)}"
        raise pytest.UsageError(f"{_ini_place(config, unknown[0])}: unknown key {unknown[0]}{hint}")


def _ini_place(config: pytest.Config, key: str) -> str:
    from ..engine.models.tables import key_place

    path = config.inipath
    return key_place(path, path.read_text(encoding="utf-8-sig"), key) if path is not None else "-o"
