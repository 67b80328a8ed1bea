"""The formats of reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..record.document import Document
from ..record.encoding import document_json

if TYPE_CHECKING:
    from ..history import Trends


def report_parts(format: str, document: Document, trends: Trends | None = None) -> Iterator[bytes]:
    """The file in parts; `trends` are for HTML."""
    for text in _texts(format, document, trends):
        yield text.encode("utf-8", "replace")


def _texts(format: str, document: Document, trends: Trends | None) -> Iterator[str]:
    if format == "json":
        yield from document_json(document)
    elif format == "html":
        from .html import html_text

        yield html_text(document, trends)
    elif format == "markdown":
        from .markdown import COMMENT_LIMIT
        from .markdown import markdown_text

        # The file is meant for a comment on GitHub.
        yield markdown_text(document.rows(), COMMENT_LIMIT)
    else:
        from .csv import csv_text

        yield csv_text(document)
