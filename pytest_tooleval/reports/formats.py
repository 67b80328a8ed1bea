"""A run in each format that it is written in."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
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


def write_whole(path: Path, text: str) -> None:
    """Put the text in place of a file that was there, whole or not at all. Raises OSError."""
    data = text.encode("utf-8", "replace")
    path = path.resolve()  # of a link, what it leads to
    if path.exists() and not path.is_file():  # a pipe or a device is written to, and not replaced
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:50], suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
