"""Load suite files as `Suite`, reporting all problems together, each with line, column and fix."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from ..errors import Problem, SuiteError, WorldError, os_reason
from ..explain import describe
from ..findings import Finding, Loc
from ..record.encoding import PYTHON
from ..record.untrusted import as_mapping, as_text, objects_in
from ..secrets import keep_secret, key_variables
from ..worlds.tools import tools_of
from ..worlds.world import WorldSpec
from ..writing import read_whole
from .checks.errors import suite_errors
from .discovery import SUITE_ENDING
from .model import SEARCHED, Suite, suite_without_keys
from .parametrize import expand
from .reading import read_suite
from .servers import ToolsFrom
from .slugs import with_ids
from .source import SuiteSource, decode_bytes, read_source
from .types import WORLD_PATTERN

FetchTools = Callable[[ToolsFrom], Sequence[Mapping[str, Any]]]


def load_suite(
    path: str | os.PathLike[str],
    *,
    metrics: Collection[str] | None = (),
    fetch_tools: FetchTools | None = None,
) -> Suite:
    """Read a suite file.

    `metrics` are additional metrics that thresholds may use; None allows any. `fetch_tools` reads the
    tools of a suite with `tools_from`; without it, such a suite has no tools and its cases' tools are
    not checked. Raises SuiteError with every problem in the file if it cannot be read or used.
    """
    return load_document(path, metrics=metrics, fetch_tools=fetch_tools)[0]


def parse_suite(
    text: str | bytes, path: str = "<string>", *, metrics: Collection[str] | None = ()
) -> Suite:
    """Like `load_suite`, from text; problems name it `path`."""
    return parse_document(text, path, metrics=metrics)[0]


def load_document(
    path: str | os.PathLike[str],
    *,
    metrics: Collection[str] | None = (),
    fetch_tools: FetchTools | None = None,
) -> tuple[Suite, SuiteSource]:
    """Load a suite together with its `SuiteSource`, which locates any value in the text."""
    name = os.fspath(path)
    return parse_document(_read(name), name, metrics=metrics, fetch_tools=fetch_tools)


def parse_document(
    text: str | bytes,
    path: str = "<string>",
    *,
    metrics: Collection[str] | None = (),
    fetch_tools: FetchTools | None = None,
    folder: Path | None = None,
) -> tuple[Suite, SuiteSource]:
    """Like `load_document`, from a file's content; worlds are next to `path`, or in `folder`."""
    document = read_source(decode_bytes(text, path) if isinstance(text, bytes) else text, path)
    data = document.data
    if not isinstance(data, dict):
        _refuse(path, _not_an_object(data), document)
    findings = document.repeated_keys()
    if "tools" in data and data.get("tools_from") is not None:
        findings.append(
            Finding(("tools",), ("cannot be combined with tools_from; keep one of them"), at_key=True)
        )
    elif fetch_tools is not None:
        source = _readable_source(data)
        if source is not None:
            data = {**data, "tools": list(fetch_tools(source))}
    _keep_secrets(data)
    folder = folder or Path(path).parent
    expanded = expand(data, folder)
    data, problems = expanded.data, [*document.problems(expanded.findings), *expanded.problems]
    document.places = expanded.places if any(expanded.bases) else None
    key_places = list(_key_places(data, (), key_variables()))
    data = suite_without_keys(data)
    data, of_worlds = _with_world_tools(data, folder)
    suite, unreadable = read_suite(data)
    suite.note_rows(document.places or (), expanded.bases)
    findings += [*of_worlds, *unreadable]
    findings += suite_errors(suite, document.line, metrics)
    if findings or problems:
        raise SuiteError([*problems, *document.problems(findings)])
    suite.note_places(folder, document.case_lines(), key_places)
    return suite, document


def _keep_secrets(data: Mapping[str, Any]) -> None:
    """Treat the variables that `provider_tools` names as keys; later checks validate the field."""
    for tools in as_mapping(data.get("provider_tools")).values():
        for tool in objects_in(tools):
            for variable in (tool.get("authorization"), *as_mapping(tool.get("headers")).values()):
                keep_secret(as_text(variable))


def _key_places(value: Any, loc: Loc, variables: Mapping[str, str]) -> Iterator[tuple[Loc, str]]:
    """Yield the path of each value that contains a variable's value, with the variable's name."""
    if isinstance(value, str):
        folded = value.casefold()
        yield from ((loc, name) for secret, name in variables.items() if secret.casefold() in folded)
    elif isinstance(value, (dict, list)):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            if (*loc, key) != ("tools_from",):
                yield from _key_places(member, (*loc, key), variables)


def read_model(data: dict[str, Any]) -> Suite:
    """Validate the field types of a suite's data, but not whether its cases fit its tools.

    Raises pydantic's ValidationError.
    """
    return Suite.model_validate(with_ids(data), context=SEARCHED)


def _readable_source(data: dict[str, Any]) -> ToolsFrom | None:
    """Return `tools_from` if it is given and valid; later checks report what is wrong with it."""
    try:
        return ToolsFrom.model_validate(data.get("tools_from"))
    except ValidationError:
        return None


def _read(path: str) -> bytes:
    if path.endswith(".py"):
        _refuse(path, f"{PYTHON}; expected a suite, *{SUITE_ENDING}")
    try:
        return read_whole(Path(path))
    except FileNotFoundError:
        _refuse(path, "there is no such file")
    except (OSError, ValueError) as error:
        _refuse(path, f"the file cannot be read: {os_reason(error)}")


def _not_an_object(data: Any) -> str:
    message = (
        f'expected an object {{"name": ..., "tools": [...], "test_cases": [...]}}, got {describe(data)}'
    )
    if isinstance(data, list) and data and isinstance(data[0], dict) and "prompt" in data[0]:
        message += '; put a bare list of cases into "test_cases" of such an object'
    return message


def _refuse(path: str, message: str, document: SuiteSource | None = None) -> NoReturn:
    if document is not None:
        raise SuiteError(document.problems([Finding((), message)]))
    raise SuiteError([Problem(path, 0, 0, "", message)])


def _with_world_tools(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[Finding]]:
    """Fill in tools from worlds where the data has no others; also return the worlds that failed."""
    findings: list[Finding] = []

    def filled(holder: Any, loc: Loc) -> Any:
        target = as_mapping(holder).get("world")
        if not isinstance(target, str) or not re.fullmatch(WORLD_PATTERN, target) or _has_tools(holder):
            return holder
        args = data.get("world_args") if holder.get("world_args") is None else holder["world_args"]
        try:
            spec = WorldSpec(target, folder, as_mapping(args))
            return {**holder, "tools": tools_of(spec)}
        except WorldError as error:
            findings.append(Finding((*loc, "world"), str(error)))
            return holder

    cases = data.get("test_cases")
    if _has_tools(data):
        return data, []
    if isinstance(cases, list):
        filled_cases = [filled(case, ("test_cases", index)) for index, case in enumerate(cases)]
        data = {**data, "test_cases": filled_cases}
    return filled(data, ()), findings


def _has_tools(holder: dict[str, Any]) -> bool:
    return holder.get("tools") is not None or holder.get("tools_from") is not None
