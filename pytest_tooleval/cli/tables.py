"""Tables and values for the terminal; every text is made safe to print."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence

from ..record.run import Git
from ..reports.tables import aligned
from ..text import shown

_BARS = "▁▂▃▄▅▆▇█"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: Collection[str]) -> list[str]:
    """Columns in `texts` are aligned left, others right; columns without values are left out."""
    filled = [number for number in range(len(header)) if any(row[number] for row in rows)]
    kept = [[row[number] for number in filled] for row in [header, *rows]]
    return aligned(kept, [place for place, name in enumerate(kept[0]) if name in texts])


def sparkline(values: Sequence[float | None]) -> str:
    """A bar for each value from 0 to 1, a dot for None."""
    last = len(_BARS) - 1
    return "".join(
        "·" if value is None else _BARS[round(min(max(value, 0.0), 1.0) * last)] for value in values
    )


def commit_text(git: Git | None) -> str:
    """The short commit; a + means uncommitted changes."""
    return f"{short(git.commit[:9])}{'+' if git.dirty else ''}" if git else ""


def branch_text(git: Git | None) -> str:
    return short(git.branch, 30) if git and git.branch else ""


def short(text: str, limit: int = 40) -> str:
    """At most `limit` characters, all of them safe."""
    return shown(text, limit)
