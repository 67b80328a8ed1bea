"""The models' tables in a config file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ConfigError, os_reason
from ...secrets import keep_header_secret, keep_secret
from ...text import near


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
        match = header.search(self.text)
        if match is None:
            return str(self.path)
        position = match.start()
        if key is not None:
            end = re.compile(r"^[ \t]*\[", re.MULTILINE).search(self.text, match.end())
            limit = end.start() if end else len(self.text)
            line = re.compile(rf"^[ \t]*(?=[\"']?{re.escape(key)}[\"']?\s*=)", re.MULTILINE)
            at = line.search(self.text, match.end(), limit)
            position = at.end() if at else position
        return _place(self.path, self.text, position)

    def error(self, name: str, message: str, key: str | None = None) -> ConfigError:
        """The error for a model's table, or for a key in it."""
        table = f"[{self.prefix}models.{toml_key(name)}]"
        return ConfigError(f"{self.place(name, key)}: {table}: {message}")


def key_place(path: Path, text: str, *keys: str) -> str:
    """`file:line:column` of the first of these keys or table headers, or else only the file."""
    for key in keys:
        start = rf"^[ \t]*(?=\[*\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]:])"
        if (match := re.search(start, text, re.MULTILINE)) is not None:
            return _place(path, text, match.end())
    return str(path)


def _place(path: Path, text: str, position: int) -> str:
    row = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"{path}:{row}:{column}"


def read_tables(folder: Path) -> ModelTables:
    """Read `tooleval.toml` in `folder`, or else `[tool.tooleval]` of its pyproject.toml.

    Having both is an error.
    """
    file, project = folder / "tooleval.toml", folder / "pyproject.toml"
    in_project = _tables(project, "tool.tooleval.") if project.is_file() else ModelTables()
    if not file.is_file():
        return in_project
    if in_project.tables:
        raise ConfigError(
            f"{file}: models are defined both here and in [tool.tooleval] of {project}; keep one "
            "of the two"
        )
    return _tables(file, "")


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
                f"; expected only tables [{prefix}models.NAME]; options belong beside pytest's own, in "
                f"its ini file: tooleval_{key.replace('-', '_')}"
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
        for name, value in _headers(table).items():
            keep_header_secret(str(name), str(value))
    return ModelTables(path, text, prefix, tables)


def _variables(table: object) -> Iterator[str]:
    """The variables that a table names. The table has not been checked yet."""
    if isinstance(table, dict):
        headers = table.get("headers")
        named = (table.get("api_key_env"), *(headers.values() if isinstance(headers, dict) else ()))
        yield from (variable for variable in named if isinstance(variable, str))


def _headers(table: object) -> Mapping[str, object]:
    """The headers that a table sends, with their values."""
    extra = table.get("extra") if isinstance(table, dict) else None
    headers = extra.get("extra_headers") if isinstance(extra, dict) else None
    return headers if isinstance(headers, dict) else {}


def toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
