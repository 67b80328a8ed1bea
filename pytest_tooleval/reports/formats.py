"""A run in each format that it is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..record.document import Document
from ..record.encoding import to_ascii_json

if TYPE_CHECKING:
    from ..history import Trends


def report_text(format: str, document: Document, trends: Trends | None = None) -> str:
    """The text of the file; `trends` are for HTML. Each renderer is imported where it is asked for."""
    if format == "json":
        return to_ascii_json(document)
    if format == "html":
        from .html import html_text

        return html_text(document, trends)
    if format == "markdown":
        from .markdown import COMMENT_LIMIT
        from .markdown import markdown_text

        # As much as GitHub takes in a comment, which is what the file is for.
        return markdown_text(document, COMMENT_LIMIT)
    from .csv import csv_text

    return csv_text(document)
