"""The HTML report: one self-contained file.

The scripts in `reports/page` draw it. Here they are joined to one script, next to the data.
`tooleval ui` serves them as they are.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from .. import __version__
from ..record.comparison import Comparison
from ..record.document import Document, RowsDocument
from ..record.encoding import to_json
from ..record.variants import ComparedVariant
from ..verdicts.run_summary import run_summary
from .columns import COLUMNS, Column, View, table_of
from .comparison import case_lists, metrics_table, moved_item
from .model_lines import model_lines
from .notes import notes
from .tables import model_table
from .variants import series_of, variants_table

if TYPE_CHECKING:
    from ..history import Trend

PAGE = Path(__file__).with_name("page")
# Compressed one by one, cases would take four times the space. More at a time would save little,
# and take longer to open.
_TOGETHER = 8
_IMPORT = re.compile(r'^import [^;]*?"\./([\w-]+\.js)";\n', re.MULTILINE)

# Nothing else can style or run; nothing is fetched, sent or parsed as markup.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "img-src data:",
        "style-src '{style_hash}'",
        "script-src '{script_hash}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>tooleval</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<span class="brand">tooleval</span>
<nav aria-label="Sections"></nav>
<button type="button" class="theme" id="theme">Theme</button>
</header>
<main id="main" tabindex="-1"><noscript><p>This report needs JavaScript. \
The one of --tooleval-report=FILE.md does not.</p></noscript></main>
<footer>pytest-tooleval {version}</footer>
<script type="text/plain" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html_text(document: Document, trends: Sequence[Trend] = ()) -> str:
    """A result document as one HTML page that needs no network.

    No text of the document is in the markup. The data is compressed: a line for what is shown at once,
    and one for every few cases with their transcripts, which the page reads when one is opened.
    """
    style, script = (PAGE / "page.css").read_text(encoding="utf-8"), script_text()
    policy = _POLICY.format(style_hash=_hash(style), script_hash=_hash(script))
    starts = range(0, len(document.cases), _TOGETHER)
    blocks = (list(document.cases[start : start + _TOGETHER]) for start in starts)
    head = {"document": page_document(document.rows()), "trends": trends, "together": _TOGETHER}
    data = "\n".join(map(_packed, chain([head], blocks)))
    return _FRAME.format(policy=policy, style=style, version=__version__, data=data, script=script)


def page_document(document: RowsDocument, say: Callable[[str], str] = str) -> dict[str, object]:
    """The page's data: the document, and the sentences and tables about it.

    `say` puts a note into the page's own words.
    """
    comparison = document.baseline
    rows = [*document.models, *document.suites]
    short = model_table(document, rows)
    return {
        **structs.asdict(document),
        "variants": [_page_variant(each, document.shared_names) for each in document.variants],
        "summary": run_summary(document),
        "notes": list(map(say, notes(document))),
        "lines": list(model_lines(document)),
        "columns": page_columns(),
        "short": short.columns,
        "scores": table_of("scores", rows).columns,
        "limits": short.limits,
        "comparison": None if comparison is None else page_comparison(comparison),
        "variant_table": variants_table(document.variants),
        "series": series_of(document.variants),
    }


def _page_variant(variant: ComparedVariant, shared: Container[str]) -> dict[str, object]:
    moved = {
        name: [moved_item(case, shared) for case in cases]
        for name, cases in (("worse", variant.worse), ("better", variant.better))
    }
    return {**structs.asdict(variant), **moved}


def page_comparison(comparison: Comparison) -> dict[str, object]:
    """A comparison as the page shows it."""
    blocks = {"metrics": metrics_table(comparison), "lists": case_lists(comparison)}
    return {**structs.asdict(comparison), **blocks}


def page_columns() -> dict[str, list[Column]]:
    """The columns of each place of the page that shows no single document."""
    views: tuple[View, ...] = ("page runs", "trial", "reply")
    return {view: [column for column in COLUMNS if view in column.shown] for view in views}


def _packed(value: object) -> str:
    """JSON, compressed with zlib, in base64."""
    return base64.b64encode(zlib.compress(to_json(value))).decode()


def script_text() -> str:
    """The modules of the report as one script, each after its imports."""
    return '"use strict";\n' + "".join(_modules("report.js", set()))


def _modules(name: str, seen: set[str]) -> Iterator[str]:
    if name in seen:
        return
    seen.add(name)
    text = (PAGE / name).read_text(encoding="utf-8")
    for imported in _IMPORT.findall(text):
        yield from _modules(imported, seen)
    # Names are unique over all modules, which share one scope here.
    yield re.sub("^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
