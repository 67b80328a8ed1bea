"""Problems in a file by the path of the value; `suite.source` finds its line and column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Loc = tuple["str | int", ...]


class Finding(NamedTuple):
    """A problem at a path in the data; with `at_key`, at the key instead of its value."""

    loc: Loc
    message: str
    at_key: bool = False


Findings = Iterator[Finding]
