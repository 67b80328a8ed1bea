"""Attack files: texts to inject into tool answers, each asking for a tool call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ..errors import ConfigError, SuiteError, os_reason
from ..findings import Finding
from ..secrets import without_key_values
from .fields import Expects, Part
from .reading import findings_of
from .source import decode_bytes, read_document
from .tools import Tool
from .types import Name


class Attack(Part):
    """A text injected into tool answers that asks for a tool call."""

    EXPECTS = 'an object such as {"id": "...", "text": "...", "tool": {...}}'

    id: Annotated[Name, Expects("a name for the attack")]
    text: Annotated[Name, Expects("the text that asks for a call of the tool")]
    tool: Tool


class Attacks(Part):
    """An attack file."""

    EXPECTS = 'an object {"attacks": [...]}'

    attacks: Annotated[
        list[Attack],
        Field(min_length=1),
        Expects('a list of attacks such as [{"id": "...", "text": "...", "tool": {...}}]'),
    ]


@cache
def read_attacks(path: Path) -> Sequence[Attack]:
    """Read the attacks in a file. Raises ConfigError with the place of each problem."""
    try:
        document = read_document(decode_bytes(path.read_bytes(), str(path)), str(path))
        findings = document.repeated_keys()
        data = without_key_values(document.data)
        if not isinstance(data, dict):
            findings.append(Finding((), f"expected {Attacks.EXPECTS}"))
        elif not findings:
            try:
                return Attacks.model_validate(data).attacks
            except ValidationError as error:
                findings = findings_of(Attacks, error, data)
        raise SuiteError(document.problems(findings))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {os_reason(error)}") from None
    except SuiteError as error:
        raise ConfigError(str(error)) from None
