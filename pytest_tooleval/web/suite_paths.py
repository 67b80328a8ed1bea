"""File names in requests: relative, and in the folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..suite.discovery import SUITE_ENDING, UNSEARCHED
from ..suite.slugs import slug
from .responses import field_error


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
