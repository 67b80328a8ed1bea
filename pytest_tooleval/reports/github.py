"""GitHub Actions: annotations at the lines of cases, and the step summary.

The escaping follows GitHub's "Workflow commands" and `actions/toolkit`, packages/core.
"""

# Without `from __future__ import annotations`: a function has that name.

import os
from collections.abc import Mapping
from pathlib import Path

from ..record.comparison import Comparison
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.results import CaseRow
from ..text import printable, shorten
from ..verdicts.run_summary import excuse
from .markdown import SUMMARY_LIMIT

_MOST = 10  # of each kind per step, as GitHub shows no more
_TEXT = 1000


def annotations(
    document: RowsDocument,
    failures: bool = True,
    rootpath: Path | None = None,
    workspace: Path | None = None,
) -> list[str]:
    """Workflow commands to print, a line each: unreadable files, failed gates, failed cases, errors.

    Counted and tolerated cases and inconclusive verdicts are warnings, expected failures (xfail) are
    left out. At most 10 errors and 10 warnings, as GitHub shows no more; the last one says how many are
    left out. `failures=False` leaves out failed cases and verdicts, for when another plugin annotates
    them. The document's file names are relative to `rootpath`, and made relative to `workspace`, the
    repository, if both are known.
    """
    gates, baseline = document.gates, document.baseline
    by_level: dict[str, list[str]] = {"error": [], "warning": []}
    for unread in document.run.unreadable:
        title = {"file": _file(unread.file, rootpath, workspace), "title": "cannot be read"}
        by_level["error"].append(_command("error", title, unread.reason))
    if document.cases and all(case.outcome == "skipped" for case in document.plain_cases):
        title = {"title": f"not evaluated: 0 of {len(document.plain_cases)}"}
        by_level["warning"].append(_command("warning", title, document.plain_cases[0].reason))
    for gate in gates:
        if failures or not gate.failed:
            _add(by_level, f"gate: {gate.name}", gate)
    if baseline and (failures or not baseline.failed) and not baseline.is_only_unsure:
        _add(by_level, "baseline", baseline)
    for outcome in ("failed", "error"):
        cases = [*document.plain_cases, *document.leaks]
        for case in sorted(cases, key=lambda case: not case.called_forbidden):
            word = excuse(case, document)
            is_shown = failures or outcome == "error" or word
            if case.outcome == outcome and is_shown and not case.was_expected:
                level = "warning" if word else "error"
                path = _file(case.file, rootpath, workspace)
                by_level[level].append(_case(level, case, path, word))
    return [command for level, commands in by_level.items() for command in _capped(level, commands)]


def _add(by_level: dict[str, list[str]], title: str, judged: Gate | Comparison) -> None:
    """Add a verdict that did not pass."""
    level = "error" if judged.failed else "warning"
    title += " inconclusive" if judged.verdict == "inconclusive" else ""
    if judged.verdict != "passed":
        by_level[level].append(_command(level, {"title": title}, judged.message))


def _case(level: str, case: CaseRow, file: str, word: str) -> str:
    properties = {"file": file}
    if case.line > 0:
        properties["line"] = str(case.line)
    model = f"[{case.model}]" if case.model else ""
    excuse = f", {word}" if word else ""
    properties["title"] = f"{case.case}{model} {case.outcome}{excuse}"
    return _command(level, properties, case.reason)


def _file(file: str, rootpath: Path | None, workspace: Path | None) -> str:
    """The file relative to the repository, or absolute if it is outside."""
    if rootpath is None or workspace is None:
        return file
    path = Path(os.path.normpath(rootpath / file))
    root = Path(os.path.normpath(workspace))
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def _capped(level: str, commands: list[str]) -> list[str]:
    if len(commands) <= _MOST:
        return commands
    left = len(commands) - _MOST + 1
    more = f"and {left} more that GitHub does not show; see the log and the step summary"
    return [*commands[: _MOST - 1], _command(level, {"title": f"{left} more"}, more)]


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    """`::error file=a.json,line=3,title=what::message`; properties without a value are left out."""
    pairs = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    # GitHub ignores an annotation without a message.
    return f"::{level} {pairs}::{_data(message) or '(no reason given)'}"


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    # printable() leaves no line ends to escape.
    return printable(shorten(text, _TEXT)).replace("%", "%25")


def append_step_summary(path: Path, text: str) -> None:
    """Add Markdown to the file that $GITHUB_STEP_SUMMARY names; raises OSError."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def room_in_step_summary(path: Path) -> int:
    """How many bytes can be added: GitHub does not show a summary above 1 MiB."""
    used = path.stat().st_size if path.exists() else 0
    # The newline that append_step_summary may add counts too.
    return max(SUMMARY_LIMIT - used - 1, 0)
