"""Values on their way into the store and back: texts, times, case rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from datetime import timezone
from typing import Any
from typing import NamedTuple

from ..rows import to_json

# A run waits for it. Higher levels take twice as long and save a sixth.
_LEVEL = 1
# Rows of a run are alike: a hundred together take a tenth of the space, and of the time. More would
# save little, and whoever looks at one case reads its whole block.
_BLOCK_ROWS = 100
_BLOCK_CHARACTERS = 1_000_000


class CaseColumns(NamedTuple):
    """What the table `cases` holds of a row, in the order of its columns."""

    nodeid: str
    file: str
    suite: str
    name: str
    model: str
    outcome: str
    overall: float | None
    weight: float
    passes: int
    scored: int
    cost_usd: float | None
    content: str
    suite_content: str


def safe_text(text: str) -> str:
    """Text that SQLite takes: a lone surrogate, which UTF-8 cannot hold, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def columns_of(row: Mapping[str, Any]) -> CaseColumns:
    """The columns of a packed row."""
    answered = [trial for trial in row["trials"] if trial["error"] is None]
    costs = [trial["cost_usd"] for trial in answered if trial["cost_usd"] is not None]
    return CaseColumns(
        nodeid=safe_text(row["nodeid"]),
        file=safe_text(row["file"]),
        suite=safe_text(row["suite"]),
        name=safe_text(row["case"]),
        model=safe_text(row["model"]),
        outcome=row["outcome"],
        overall=row["scores"].get("overall"),
        weight=row["weight"],
        passes=row["passes"],
        scored=row["scored"],
        cost_usd=sum(costs) if costs else None,
        content=row["content"],
        suite_content=row["suite_content"],
    )


def in_blocks(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Packed rows in groups that are stored together."""
    block: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        size += len(row["bulk"])
        if block and (len(block) == _BLOCK_ROWS or size > _BLOCK_CHARACTERS):
            yield block
            block, size = [], len(row["bulk"])
        block.append(row)
    if block:
        yield block


def light_text(row: Mapping[str, Any]) -> str:
    """A packed row without its bulk, as one line of JSON."""
    return to_json({name: value for name, value in row.items() if name != "bulk"})


def squeeze(lines: Sequence[str]) -> bytes:
    """zlib of texts that have no line breaks, as JSON never has."""
    return zlib.compress("\n".join(lines).encode(), _LEVEL)


def unsqueeze(data: bytes) -> list[str]:
    return zlib.decompress(data).decode().split("\n")


def iso(moment: float) -> str:
    """Unix time as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")


def timestamp(iso: str) -> float:
    """Unix time of an ISO 8601 text; without an offset it is UTC. Raises ValueError."""
    # Python 3.10 does not know the Z.
    moment = datetime.fromisoformat(iso.removesuffix("Z") + "+00:00" * iso.endswith("Z"))
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
