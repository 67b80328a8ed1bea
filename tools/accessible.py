"""A MkDocs hook: tables and options that fit a phone, and names for what the theme leaves nameless.

`docs/assets/site.js` does the same for what the theme's script adds. `tools/axe.py` checks the result.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th></th>\s*)+</tr>\s*</thead>\s*")
_HEADER = re.compile(r"<th(?: [^>]*)?>(.*?)</th>", re.DOTALL)
_WORD = re.compile(r"<code>([^\s<]{1,36})</code>")
# A section of the navigation, which a label without text names, and its title.
_SECTION = re.compile(
    r'aria-labelledby="(__nav_[\d_]+)_label"'
    r'([^>]*>\s*<label class="md-nav__title" for="\1">\s*<span[^>]*></span>\s*)([^<]+?)(?=\s*<)'
)
_ROW = re.compile(r"(?<=<tr>).*?(?=</tr>)", re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    html = _WORD.sub(r'<code class="word">\1</code>', html)
    return _TABLE.sub(lambda table: _with_labels(table[0]), html)


def on_post_page(output: str, **_: Any) -> str:
    output = output.replace(' role="dialog">', ' role="dialog" aria-label="Search">')
    return _SECTION.sub(r'aria-label="\3"\2\3', output)


def _with_labels(table: str) -> str:
    """Each cell has its column's header, which shows where cells are stacked."""
    table = _EMPTY_HEAD.sub("", table)
    labels = [escape(re.sub(r"<[^>]+>", "", header)) for header in _HEADER.findall(table)]
    table = table.replace("<th></th>", "<td></td>")
    return _ROW.sub(lambda row: _labelled(row[0], labels), table)


def _labelled(row: str, labels: list[str]) -> str:
    columns = iter(labels)
    return re.sub(r"<td(?=[ >])", lambda _: f'<td data-label="{next(columns, "")}"', row)
