"""The report files of a run, and its output for GitHub."""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NamedTuple

from ..errors import ConfigError
from ..errors import os_reason
from ..record.document import Document
from ..record.document import RowsDocument
from ..record.encoding import document_json
from ..writing import write_whole

if TYPE_CHECKING:
    from ..history import Trends


def read_files(given: Mapping[str, str | None], folder: Path) -> dict[str, Path]:
    """The files to write, by format. ConfigError for one that cannot be written, before the run."""
    files: dict[str, Path] = {}
    for format, name in given.items():
        if name is None:
            continue
        option = f"--tooleval-{format}"
        if not name.strip():
            raise ConfigError(f"{option}=: expected the name of a file, got nothing")
        path = Path(folder, name)
        other = next((each for each, file in files.items() if file.resolve() == path.resolve()), None)
        if other is not None:
            raise ConfigError(f"--tooleval-{other} and {option} name the same file, {path}")
        try:
            _check_writable(path, f"{option}={name}")
        except OSError as error:  # a name that is too long, for instance
            raise ConfigError(f"{option}={name[:80]}: {os_reason(error)}") from None
        files[format] = path
    return files


def _check_writable(path: Path, option: str) -> None:
    if path.is_dir():
        raise ConfigError(f"{option}: expected the name of a file, got a folder")
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ConfigError(f"{option}: cannot write to {above}")


def _write_files(files: Mapping[str, Path], document: Document, trends: Trends | None) -> list[str]:
    problems = []
    for format, path in files.items():
        try:
            write_whole(path, report_parts(format, document, trends))
        except OSError as error:
            problems.append(f"--tooleval-{format}={path}: cannot be written: {os_reason(error)}")
    return problems


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


class Left(NamedTuple):
    """A line for each file that could not be written, and GitHub's workflow commands to print."""

    unwritten: list[str]
    annotations: list[str]


def leave(
    document: Document,
    files: Mapping[str, Path],
    trends: Trends | None,
    root: Path,
    *,
    github: bool,
    failures: bool = True,
) -> Left:
    """Write the files and, with `github`, the step summary and annotations.

    The document's file names are relative to `root`. `failures=False` leaves out annotations of
    failures, which another plugin makes.
    """
    unwritten = _write_files(files, document, trends)
    if not github:
        return Left(unwritten, [])
    try:
        return Left(unwritten, _tell_github(document.rows(), root, failures=failures))
    except OSError as error:
        return Left([*unwritten, f"GITHUB_STEP_SUMMARY: cannot be written: {os_reason(error)}"], [])


def on_github(option: str) -> bool:
    """Whether to write for GitHub Actions: `always`, `never`, or `auto`, if running there."""
    return option == "always" or (option == "auto" and os.environ.get("GITHUB_ACTIONS") == "true")


def _tell_github(document: RowsDocument, root: Path, *, failures: bool) -> list[str]:
    """Append the step summary; return the annotations."""
    from .github import annotations
    from .github import append_step_summary
    from .github import room_in_step_summary
    from .markdown import LEAST_LIMIT
    from .markdown import SUMMARY_LIMIT
    from .markdown import markdown_text

    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        room = min(SUMMARY_LIMIT, room_in_step_summary(Path(summary)))
        if room >= LEAST_LIMIT:
            append_step_summary(Path(summary), markdown_text(document, room))
    return annotations(document, failures, rootpath=root)
