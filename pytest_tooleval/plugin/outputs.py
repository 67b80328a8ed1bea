"""The files that a run writes in the end, and what it tells GitHub."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..record.document import Document
from ..writing import write_whole

if TYPE_CHECKING:
    from ..history import Trends


def write_files(files: Mapping[str, Path], document: Document, trends: Trends | None) -> list[str]:
    """Write each format to its file. Returns a line for each one that cannot be written."""
    from ..reports.formats import report_text

    problems = []
    for format, path in files.items():
        try:
            write_whole(path, report_text(format, document, trends).encode("utf-8", "replace"))
        except OSError as error:
            problems.append(f"--tooleval-{format}={path}: cannot be written: {error.strerror or error}")
    return problems


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
    return annotations(document, failures, rootpath=root)
