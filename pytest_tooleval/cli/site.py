"""The static site of a history: a list of runs, and the HTML report of each."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..history import History
from ..record.run import RunSummary, whole_first
from ..reports.html import html_text, page_style
from ..writing import write_whole
from .output import history_cells

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; style-src '{hash}'; base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tooleval history</title>
<style>{style}</style>
</head>
<body>
<header class="top"><span class="brand">tooleval</span></header>
<main>
<h1>History</h1>
<div class="scrolling" tabindex="0" role="region" aria-label="Runs"><table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
</main>
</body>
</html>
"""


def write_site(history: History, folder: Path, runs: Sequence[RunSummary]) -> None:
    """Write `index.html` and `runs/ID.html`. Raises OSError, and ToolevalError."""
    for run in runs:
        document = history.document(run.id)
        page = html_text(document, history.trends_for(document))
        write_whole(folder / "runs" / f"{run.id}.html", [page.encode("utf-8", "replace")])
    write_whole(folder / "index.html", [_index(runs).encode("utf-8", "replace")])


def _index(runs: Sequence[RunSummary]) -> str:
    runs = whole_first(runs)
    cells = history_cells(runs)
    names = [name for name in cells[0] if any(row[name] for row in cells)]
    style = page_style()
    rows = []
    for run, row in zip(runs, cells, strict=True):
        link = f'<a href="runs/{escape(run.id)}.html">{escape(row["id"])}</a>'
        others = "".join(f"<td>{escape(row[name])}</td>" for name in names if name != "id")
        rows.append(f'<tr><th scope="row">{link}</th>{others}</tr>')
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return _FRAME.format(hash=f"sha256-{digest}", style=style, heads=heads, rows="\n".join(rows))
