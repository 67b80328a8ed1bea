"""Tables and values for the terminal; every text is made safe to print."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..record.run import Git
from ..reports.aligned import aligned
from ..text import shown

_BARS = "▁▂▃▄▅▆▇█"


def table(rows: Sequence[Mapping[str, str]], texts: Collection[str]) -> list[str]:
    """Rows by column. `texts` are aligned left, others right; columns without values are left out."""
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    lines = [columns, *([row[name] for name in columns] for row in rows)]
    return aligned(lines, [place for place, name in enumerate(columns) if name in texts])


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
