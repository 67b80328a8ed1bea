"""The files that a run writes in the end, and what it tells GitHub."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..record.document import Document
from ..record.encoding import to_ascii_json

if TYPE_CHECKING:
    from ..history import Trends


def write_files(files: Mapping[str, Path], document: Document, trends: Trends | None) -> list[str]:
    """Write each format to its file. Returns a line for each one that cannot be written."""
    problems = []
    for format, path in files.items():
        try:
            _write(format, path, document, trends)
        except OSError as error:
            problems.append(f"--tooleval-{format}={path}: cannot be written: {error.strerror or error}")
    return problems


def _write(format: str, path: Path, document: Document, trends: Trends | None) -> None:
    from ..reports.document import replacing

    with replacing(path) as file:
        file.write(_text(format, document, trends))


def _text(format: str, document: Document, trends: Trends | None) -> str:
    # Each is imported where it is asked for.
    if format == "json":
        return to_ascii_json(document)
    if format == "html":
        from ..reports.html import html_text

        return html_text(document, trends)
    if format == "markdown":
        from ..reports.markdown import COMMENT_LIMIT
        from ..reports.markdown import markdown_text

        # As much as GitHub takes in a comment, which is what the file is for.
        return markdown_text(document, COMMENT_LIMIT)
    from ..reports.csv import csv_text

    return csv_text(document)


def on_github(option: str) -> bool:
    """Whether to speak to GitHub Actions: `always`, `never`, or by `auto` when running there."""
    return option == "always" or (option == "auto" and os.environ.get("GITHUB_ACTIONS") == "true")


def tell_github(document: Document, root: Path, *, failures: bool) -> list[str]:
    """Append the step summary; return the workflow commands to print, a line each.

    Without `failures` another plugin annotates what failed.
    """
    from ..reports.github import annotations
    from ..reports.github import append_step_summary
    from ..reports.github import room_in_step_summary
    from ..reports.markdown import LEAST_LIMIT
    from ..reports.markdown import SUMMARY_LIMIT
    from ..reports.markdown import markdown_text

    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        room = min(SUMMARY_LIMIT, room_in_step_summary(Path(summary)))
        if room >= LEAST_LIMIT:
            append_step_summary(Path(summary), markdown_text(document, room))
    workspace = os.environ.get("GITHUB_WORKSPACE")
    return annotations(
        document, failures, rootpath=root, workspace=Path(workspace) if workspace else None
    )
