"""The docs' tables are stacked on a phone, with the column's name beside each cell."""

from __future__ import annotations

import accessible


def test_cells_have_the_header_of_their_column_and_a_corner_is_no_header() -> None:
    head = "<thead><tr><th></th><th><code>pass</code> rate</th></tr></thead>"
    body = "<tbody><tr><td>a</td><td>1 &amp; 2</td></tr></tbody>"
    html = accessible.on_page_content(f"<table>{head}{body}</table>")
    assert '<td data-label=""></td><th>' in html
    assert '<td data-label="">a</td><td data-label="pass rate">1 &amp; 2</td>' in html


def test_a_header_without_a_word_is_left_out() -> None:
    html = "<table><thead>\n<tr><th></th>\n<th></th></tr>\n</thead><tbody></tbody></table>"
    assert accessible.on_page_content(html) == "<table><tbody></tbody></table>"
