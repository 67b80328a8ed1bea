"""Files that variants read: attacks, which are texts to inject into tool answers, and lists of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from ..errors import ConfigError, SuiteError, os_reason
from ..findings import Finding, Loc
from ..secrets import without_key_values
from .fields import Expects, SuiteObject
from .reading import findings_of
from .source import decode_bytes, read_source
from .tools import Tool
from .types import Name

_P = TypeVar("_P", bound=SuiteObject)


class Attack(SuiteObject):
    """A text injected into tool answers that asks for a tool call."""

    EXPECTS = 'an object such as {"id": "...", "text": "...", "tool": {...}}'

    id: Annotated[Name, Expects("a name for the attack")]
    text: Annotated[Name, Expects("the text that asks for a call of the tool")]
    tool: Tool


class Attacks(SuiteObject):
    """An attack file."""

    EXPECTS = 'an object {"attacks": [...]}'

    attacks: Annotated[
        list[Attack],
        Field(min_length=1),
        Expects('a list of attacks such as [{"id": "...", "text": "...", "tool": {...}}]'),
    ]


class ToolsFile(SuiteObject):
    """Tools, and the descriptions of their namespaces."""

    EXPECTS = "a suite, an answer to tools/list, or a list of tools"

    tools: list[Tool]
    namespaces: Annotated[
        dict[str, str], Expects('names and descriptions, such as {"crm": "Customers."}')
    ] = Field(default_factory=dict)


@cache
def read_attacks(path: Path) -> Sequence[Attack]:
    """Read the attacks in a file. Raises ConfigError with the place of each problem."""
    return read_other(path, Attacks, lambda data: (data, ("attacks",) if data else ())).attacks


def read_other(path: Path, root: type[_P], shaped: Callable[[Any], tuple[Any, Loc]]) -> _P:
    """Read a file other than a suite, once it is `shaped` as `root` is.

    `shaped` also returns where in the file the only list is. Raises ConfigError with the place of each
    problem.
    """
    try:
        document = read_source(decode_bytes(path.read_bytes(), str(path)), str(path))
        data, at = shaped(without_key_values(document.data))
        findings = document.repeated_keys()
        if not isinstance(data, dict):
            findings.append(Finding(at, f"expected {root.EXPECTS}"))
        elif not findings:
            try:
                return root.model_validate(data)
            except ValidationError as error:
                findings = [_in_file(each, data, at) for each in findings_of(root, error, data)]
        raise SuiteError(document.problems(findings))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {os_reason(error)}") from None
    except SuiteError as error:
        raise ConfigError(str(error)) from None


def _in_file(finding: Finding, data: dict[Any, Any], at: Loc) -> Finding:
    is_inside = finding.loc[1:] and isinstance(data.get(finding.loc[0]), list)
    return finding._replace(loc=(*at, *finding.loc[1:])) if is_inside else finding
