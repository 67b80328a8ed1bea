"""What is wrong in a file, by the path of the value; `suite.source` finds its line and column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Loc = tuple["str | int", ...]


class Finding(NamedTuple):
    """Something wrong at a path in the data; `at_key` points at the key and not at its value."""

    loc: Loc
    message: str
    at_key: bool = False


Findings = Iterator[Finding]
