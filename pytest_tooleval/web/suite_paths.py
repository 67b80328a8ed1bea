"""File names in requests: relative, in the folder, and safe on every system."""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Iterator

from ..suite.discovery import SUITE_ENDING
from ..suite.discovery import UNSEARCHED
from ..suite.slugs import DEVICE
from ..suite.slugs import file_stem
from .responses import field_error

_LONGEST = 1000
_LONGEST_PART = 200  # bytes; systems take 255
_REFUSED_BY_WINDOWS = frozenset('<>:"|?*')


def check_name(file: str) -> tuple[str, ...]:
    """The parts of a file name. ApiError 400 unless it is like `a/b.tooleval.json`."""
    problem = next(_problems(file), None)
    if problem is not None:
        raise field_error(400, "file", problem)
    return tuple(file.split("/"))


def check_new_name(file: str) -> None:
    """Like `check_name`, for a new file, whose name must be valid on every system."""
    for part in check_name(file):
        if _REFUSED_BY_WINDOWS.intersection(part) or part != part.strip() or part.endswith("."):
            what = 'expected a name without <>:"|?*, spaces around a part, or a . at the end of one'
            raise field_error(400, "file", what)


def _problems(file: str) -> Iterator[str]:
    if not file.endswith(SUITE_ENDING):
        yield f"expected a name that ends in {SUITE_ENDING}"
    if len(file) > _LONGEST:
        yield f"expected at most {_LONGEST} characters"
    if not file.isprintable() or "\\" in file:
        yield "expected a name without backslashes and control characters"
    for part in file.split("/"):
        if not part or part in (".", ".."):
            yield "expected a path below the folder, without empty parts, . and .."
        if part.startswith("."):
            yield "expected no hidden folders or files, which start with a dot"
        if len(part.encode("utf-8", "replace")) > _LONGEST_PART:
            yield f"expected parts of at most {_LONGEST_PART} bytes"
        if DEVICE.fullmatch(part.partition(".")[0].strip()) or re.match("[A-Za-z]:", part):
            yield "expected a name that is not a device or drive of Windows"
    for folder in file.split("/")[:-1]:
        if folder in UNSEARCHED:
            yield f"expected another folder: pytest does not look for suites in {folder}"


def free_name(suite: str, taken: Collection[str]) -> str:
    """A file name for a suite that is not in `taken`, ignoring case."""
    used = {name.casefold() for name in taken}
    stem = file_stem(suite, "suite")
    number, file = 1, stem + SUITE_ENDING
    while file.casefold() in used:
        number += 1
        file = f"{stem}-{number}{SUITE_ENDING}"
    return file
