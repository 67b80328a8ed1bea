"""The report files of a run, and its output for GitHub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..checkout.ci import CiJob
from ..errors import ConfigError, os_reason
from ..record.document import Document, RowsDocument
from ..record.encoding import document_json
from ..writing import write_whole

if TYPE_CHECKING:
    from ..history import Trend
    from ..verdicts.run import RunProblem

FindTrends: TypeAlias = "Callable[[Document], Sequence[Trend]]"
_ENDINGS = {".json": "json", ".html": "html", ".md": "markdown", ".csv": "csv"}


class Report(NamedTuple):
    """A file to write; `option` names it in messages."""

    format: str
    path: Path
    option: str


class WrittenReports(NamedTuple):
    """The reports that were written, why others were not, and GitHub's workflow commands to print."""

    reports: Sequence[Report] = ()
    problems: Sequence[str] = ()
    commands: Sequence[str] = ()


def report_of(text: str, folder: Path) -> Report:
    """Read `FILE` or `FORMAT:FILE`. ConfigError for an unknown format."""
    option = f"--tooleval-report={text}"
    format, colon, name = text.partition(":")
    if not (colon and format in _ENDINGS.values()):
        format, name = _ENDINGS.get(Path(text).suffix.lower(), ""), text
    if not name.strip():
        raise ConfigError(f"{option}: expected the name of a file, got nothing")
    if not format:
        raise ConfigError(
            f"{option}: expected a file that ends in {', '.join(_ENDINGS)}, or its format and a colon "
            f"before it: {', '.join(_ENDINGS.values())}"
        )
    return Report(format, Path(folder, name), option)


def check_reports(reports: Sequence[Report], baseline: str | None = None) -> None:
    """ConfigError for a report that cannot be written, before anything runs.

    `baseline` may name a file, which a report must not replace.
    """
    options: dict[Path, str] = {}
    for report in reports:
        try:
            path = report.path.resolve()
            _check_writable(path, report.option)
        except OSError as error:  # a name that is too long, for instance
            raise ConfigError(f"{report.option[:80]}: {os_reason(error)}") from None
        if path in options:
            raise ConfigError(f"{options[path]} and {report.option} name the same file")
        if baseline is not None and path.is_file() and path == Path(baseline).resolve():
            raise ConfigError(f"{report.option}: is the baseline; name another file")
        options[path] = report.option


def _check_writable(path: Path, option: str) -> None:
    if path.name.lower().endswith(".tooleval.json"):
        raise ConfigError(f"{option}: *.tooleval.json are suites; choose another name")
    if path.is_dir():
        raise ConfigError(f"{option}: expected the name of a file, got a folder")
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ConfigError(f"{option}: cannot write to {above}")


def report_parts(
    format: str,
    document: Document,
    trends: FindTrends | None = None,
    findings: Sequence[RunProblem] = (),
) -> Iterator[bytes]:
    """The file in parts; `trends` are for HTML, `findings` for JUnit's XML."""
    if format == "json":
        texts = document_json(document)
    elif format == "html":
        from .html import html_text

        texts = iter([html_text(document, trends(document) if trends else ())])
    elif format == "markdown":
        from .markdown import COMMENT_LIMIT, markdown_text

        # The file is meant for a comment on GitHub.
        texts = iter([markdown_text(document.rows(), COMMENT_LIMIT)])
    elif format == "csv":
        from .csv import csv_text

        texts = iter([csv_text(document)])
    else:
        from .junit import junit_xml

        texts = iter([junit_xml(document, findings)])
    return (text.encode("utf-8", "replace") for text in texts)


def write_reports(
    document: Document,
    reports: Sequence[Report],
    trends: FindTrends | None,
    root: Path,
    *,
    github: bool,
    failures: bool = True,
    findings: Sequence[RunProblem] = (),
) -> WrittenReports:
    """Write the reports and, with `github`, the step summary.

    The document's file names are relative to `root`. `failures=False` leaves out annotations of
    failures, which another plugin makes.
    """
    written, problems, commands = [], [], []
    for report in reports:
        try:
            write_whole(report.path, report_parts(report.format, document, trends, findings))
            written.append(report)
        except OSError as error:
            problems.append(f"{report.option}: cannot be written: {os_reason(error)}")
    try:
        commands = _write_for_github(document.rows(), root, failures=failures) if github else []
    except OSError as error:
        problems.append(f"GITHUB_STEP_SUMMARY: cannot be written: {os_reason(error)}")
    return WrittenReports(written, problems, commands)


def on_github(option: str) -> bool:
    """Whether to write for GitHub Actions: `always`, `never`, or `auto`, if running there."""
    job = CiJob.now()
    return option == "always" or (option == "auto" and job is not None and job.annotates)


def _write_for_github(document: RowsDocument, root: Path, *, failures: bool) -> list[str]:
    """Append the step summary; return the annotations."""
    from .github import annotations, append_step_summary, room_in_step_summary
    from .markdown import LEAST_LIMIT, markdown_text

    job = CiJob.now()
    if job and job.summary_file and (room := room_in_step_summary(job.summary_file)) >= LEAST_LIMIT:
        append_step_summary(job.summary_file, markdown_text(document, room))
    return annotations(document, failures, root, job.workspace if job else None)
