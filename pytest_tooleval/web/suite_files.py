"""The suite files of a folder: found, read and written.

Editors may change the files. So caches are checked against the file, and a file is only overwritten by
somebody who has seen its content: the etag is a fingerprint of the bytes, compared again just before the
file is replaced.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem, SuiteError, os_reason
from ..findings import Finding
from ..project.root import Project
from ..scoring.evidence.half_work import unnoticed_calls
from ..scoring.evidence.rehearsal import rehearse
from ..suite.discovery import SUITE_ENDING, UNSEARCHED, is_searched
from ..suite.drafts import DRAFT
from ..suite.fingerprints import fingerprint_of_bytes
from ..suite.lint import lint_suite
from ..suite.load import parse_document
from ..suite.model import Suite
from ..suite.slugs import slug
from ..suite.source import SuiteSource, decode_bytes, read_source
from ..suite.write import suite_text
from ..writing import write_whole
from .bodies import MAX_BYTES
from .responses import ApiError, field_error
from .suite_worlds import untrusted_worlds, worlds_of

_MAX_SUMMARIES = 2000
_REHEARSAL_S = 3.0


@dataclass(frozen=True)
class SuiteContent:
    """A file read as a suite: either suite and document, or problems."""

    suite: Suite | None
    document: SuiteSource | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def whole(self) -> tuple[Suite, SuiteSource]:
        """Suite and document; ApiError 422 if there are problems."""
        if self.suite is None or self.document is None:
            first = self.problems[0]
            prefix = f"{first.field}: " if first.field else ""
            raise ApiError(422, f"{prefix}{first.message}", self.problems)
        return self.suite, self.document


class SuiteFolder:
    """Can be used from any thread. All methods raise ApiError."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._summaries: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}

    def files(self) -> list[str]:
        """The names of all suite files, sorted."""
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = [*filter(is_searched, folders)]
            for name in names:
                if not name.endswith(SUITE_ENDING):
                    continue
                file = Path(folder, name).relative_to(self.root).as_posix()
                with contextlib.suppress(ApiError):
                    if self._path(file).is_file():
                        yield file

    def summaries(self) -> list[dict[str, Any]]:
        """A row per file. Unchanged files are not read again."""
        by_file: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
        rows = []
        for file in self.files():
            try:
                status = self._path(file).stat()
                seen = (status.st_mtime_ns, status.st_size, status.st_ino)
                before = self._summaries.get(file)
                row = before[1] if before and before[0] == seen else self._summary(file, status)
            except (ApiError, OSError):
                continue  # gone in the meantime
            if not row["problems"]:  # which may depend on other files
                by_file[file] = (seen, row)
            rows.append(row)
        self._summaries = by_file if len(by_file) <= _MAX_SUMMARIES else {}
        return rows

    def _summary(self, file: str, status: os.stat_result) -> dict[str, Any]:
        try:
            examined = self.examine(self.read(file), file)
        except ApiError as error:
            if error.status == 404:
                raise
            examined = SuiteContent(None, None, error.problems)  # too large, or not ours to read
        suite = examined.suite
        cases = suite.test_cases if suite else []
        modified = datetime.fromtimestamp(status.st_mtime, timezone.utc)
        return {
            "file": file,
            "name": suite.name if suite else None,
            "cases": len(cases),
            "drafts": sum(case.skip == DRAFT for case in cases),
            "tools": len(suite.tools) if suite else 0,
            "problems": len(examined.problems),
            "modified": modified.isoformat(timespec="seconds"),
        }

    def examine(self, content: str | bytes, file: str, *, lint: bool = False) -> SuiteContent:
        """Read the content of a file as a suite; `lint` adds what `tooleval validate` says of it."""
        # Showing a suite runs none of the project's code except its worlds, for their tools. If a
        # conftest file registers scorers, any metric is accepted; pytest checks them.
        metrics = None if self._has_scorers(file) else ()
        folder = (self.root / file).parent if file else self.root
        try:
            text = decode_bytes(content, file) if isinstance(content, bytes) else content
            source = read_source(text, file)
            if any(worlds_of(source.data)):
                untrusted = untrusted_worlds(source.data, folder, self._saved_worlds(file))
                if untrusted:
                    return SuiteContent(None, None, tuple(source.problems(untrusted)))
            suite, document = parse_document(content, file, metrics=metrics, folder=folder)
        except SuiteError as error:
            return SuiteContent(None, None, error.problems)
        if not lint:
            return SuiteContent(suite, document)
        warnings = [*lint_suite(suite, document), *_rehearsed(suite, document)]
        return SuiteContent(suite, document, (), tuple(warnings))

    def _saved_worlds(self, file: str) -> set[str]:
        """The worlds in the saved file; none without such a file."""
        if not file:
            return set()
        try:
            saved = read_source(decode_bytes(self.read(file), file), file)
        except (ApiError, SuiteError):
            return set()
        return {target for _, target in worlds_of(saved.data)}

    def _has_scorers(self, file: str) -> bool:
        """Whether a conftest file, from the root folder down to the suite's, registers scorers."""
        above = [folder for folder in (self.root / file).parents if folder.is_relative_to(self.root)]
        return any(_registers_scorers(folder / "conftest.py") for folder in above)

    def check(self, file: str) -> None:
        """ApiError 404 if there is no such file."""
        if not self._path(file).is_file():
            raise _missing(file)

    def check_cassette(self, folder: str) -> None:
        """ApiError 403 if what is recorded there would be written outside of the project."""
        try:
            is_inside = (self.root / folder).resolve().is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):
            is_inside = False
        if not is_inside:
            raise field_error(403, "cassette", "expected a folder in the project")

    def read(self, file: str) -> bytes:
        """The bytes of a file; ApiError 404 if there is none, 413 if it is too large."""
        path = self._path(file)
        try:
            if path.stat().st_size > MAX_BYTES:
                message = f"larger than {MAX_BYTES // (1024 * 1024)} MiB"
                raise field_error(413, "file", message, file)
            return path.read_bytes()
        except FileNotFoundError:
            raise _missing(file) from None
        except (OSError, ValueError) as error:
            raise _unusable(file, "read", error) from None

    def read_seen(self, file: str, etag: str) -> bytes:
        """The bytes of a file with this etag; ApiError 409 with its content if the etag differs."""
        current = self.read(file)
        if fingerprint_of_bytes(current) != etag:
            raise _conflict(file, current)
        return current

    def create(self, file: str | None, name: str, content: bytes) -> tuple[str, str]:
        """Create a file and its folders, by default named after the suite. Returns file and etag.

        Without a folder in its name, it goes where pytest collects suites.
        """
        with self._lock:
            folder = Project.around(self.root).suite_folder()
            if file is None:
                file = free_name(name, os.listdir(self.root / folder))
            if "/" not in file:
                file = (self.root / folder / file).relative_to(self.root).as_posix()
            path = self._path(file)
            try:
                write_whole(path, [content], lambda: self._check_free(file, path))
            except (OSError, ValueError) as error:
                raise _unusable(file, "written", error) from None
        return file, fingerprint_of_bytes(content)

    def replace(self, file: str, content: bytes, etag: str) -> str:
        """Replace the content with this etag; returns the new etag."""
        path = self._path(file)
        with self._lock:
            self.read_seen(file, etag)
            try:
                if not os.access(path, os.W_OK):
                    raise PermissionError(None, "the file is read-only")
                write_whole(path, [content], lambda: self.read_seen(file, etag))
            except OSError as error:
                raise _unusable(file, "written", error) from None
        return fingerprint_of_bytes(content)

    def delete(self, file: str, etag: str) -> None:
        with self._lock:
            self.read_seen(file, etag)
            try:
                self._path(file).unlink()
            except OSError as error:
                raise _unusable(file, "deleted", error) from None

    def _check_free(self, file: str, path: Path) -> None:
        if os.path.lexists(path):
            raise _conflict(file, self.read(file), "already exists; choose another name")

    def _path(self, file: str) -> Path:
        return self.root.joinpath(*check_name(file))


def _rehearsed(suite: Suite, document: SuiteSource) -> list[Problem]:
    """Problems with the worlds' answers to the expected calls, if they are known in a few seconds.

    None of it keeps a suite from being saved.
    """
    until = time.monotonic() + _REHEARSAL_S
    findings: list[Finding] = []
    for index in range(len(suite.test_cases)):
        if time.monotonic() > until:
            message = f"the expected calls from here on were not tried in {_REHEARSAL_S:g} s; "
            findings.append(Finding(("test_cases", index), f"{message}use tooleval validate"))
            break
        findings += [*rehearse(suite, [index]), *unnoticed_calls(suite, [index])]
    return document.problems(findings, limit=None)


def _registers_scorers(conftest: Path) -> bool:
    try:
        return b"pytest_tooleval_register_scorers" in conftest.read_bytes()
    except OSError:
        return False


def _missing(file: str) -> ApiError:
    return field_error(404, "file", "there is no such file", file)


def _unusable(file: str, what: str, error: Exception) -> ApiError:
    reason = os_reason(error) if isinstance(error, OSError) else "not a valid file name"
    return field_error(403, "file", f"cannot be {what}: {reason}", file)


def _conflict(file: str, current: bytes, what: str = "was changed in the meantime") -> ApiError:
    error = ApiError(
        409, f"{file}: the file {what}", etag=fingerprint_of_bytes(current), text=decoded_text(current)
    )
    error.problems = (Problem(file, 1, 1, "", error.message),)
    return error


def decoded_text(content: bytes) -> str | None:
    """The exact text of a file; None if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def suite_to_text(suite: Mapping[str, Any], previous: SuiteSource | None = None) -> str:
    """The text of a suite. Unchanged parts of the previous one keep their formatting."""
    try:
        return suite_text(suite, previous)
    except ConfigError as error:
        raise field_error(422, "suite", str(error)) from None


def check_name(file: str) -> tuple[str, ...]:
    """The parts of a file name. ApiError 400 unless it is like `a/b.tooleval.json`."""
    problem = next(_problems(file), None)
    if problem is not None:
        raise field_error(400, "file", problem)
    return tuple(file.split("/"))


def _problems(file: str) -> Iterator[str]:
    if not file.endswith(SUITE_ENDING):
        yield f"expected a name that ends in {SUITE_ENDING}"
    if not file.isprintable() or "\\" in file:
        yield "expected a name without backslashes and control characters"
    for part in file.split("/"):
        if not part or part in (".", ".."):
            yield "expected a path below the folder, without empty parts, . and .."
        if part.startswith("."):
            yield "expected no hidden folders or files, which start with a dot"
    for folder in file.split("/")[:-1]:
        if folder in UNSEARCHED:
            yield f"expected another folder: pytest does not look for suites in {folder}"


def free_name(suite: str, taken: Collection[str]) -> str:
    """A file name for a suite that is not in `taken`, ignoring case."""
    used = {name.casefold() for name in taken}
    stem = slug(suite) or "suite"
    number, file = 1, stem + SUITE_ENDING
    while file.casefold() in used:
        number += 1
        file = f"{stem}-{number}{SUITE_ENDING}"
    return file
