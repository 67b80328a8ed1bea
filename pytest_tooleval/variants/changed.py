"""What suites' files changed since a git revision, in words for a reviewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import ConfigError, ToolevalError
from ..history.git import git_output
from ..suite.discovery import SUITE_ENDING
from ..suite.load import load_suite
from ..suite.model import Suite
from ..text import counted, first_few
from .blame import part_text
from .revisions import parts_of, read_at

# Told by tool, or case by case.
_APART = {"tools", "namespaces", "system_prompt", "test_cases"}


def changed_suites(revision: str, root: Path) -> dict[str, list[str]]:
    """The changes of the suites in a folder that `git diff` finds, by file."""
    given = ("--name-only", "--no-renames", "--relative", "-z", revision, "--", f"*{SUITE_ENDING}")
    files = (git_output(root, "diff", *given) or "").split("\0")
    return {
        file: [*_changes(revision, root / file)] if (root / file).is_file() else ["the suite is gone"]
        for file in filter(None, files)
    }


def _changes(revision: str, file: Path) -> Iterator[str]:
    try:
        suite, earlier = load_suite(file, metrics=None), read_at(revision, file)
    except (ConfigError, ToolevalError):
        yield "its file; one of the two versions cannot be read"
        return
    if earlier is None:
        yield f"a new suite with {counted(len(suite.test_cases), 'case')}"
        return
    yield from map(part_text, _parts(suite, earlier))
    for name in Suite.model_fields:
        if name not in _APART and getattr(suite, name) != getattr(earlier, name):
            yield f"the new {name} of the suite"
    before, now = ({case.id or "": case for case in each.test_cases} for each in (earlier, suite))
    kinds = {
        "added": [id for id in now if id not in before],
        "removed": [id for id in before if id not in now],
        "changed": [
            id
            for id, case in now.items()
            if id in before
            and case.model_dump(exclude={"tools"}) != before[id].model_dump(exclude={"tools"})
        ],
    }
    for kind, ids in kinds.items():
        if ids:
            yield f"{counted(len(ids), 'case')} {kind}: {first_few(ids)}"


def _parts(suite: Suite, earlier: Suite) -> Iterator[str]:
    """The changed tools and prompts, each once; those of cases that both have."""
    both = {case.id for case in earlier.test_cases}
    yield from dict.fromkeys(
        part
        for case in suite.test_cases
        if case.tools is None or case.id in both
        for part in parts_of(case, suite, earlier)
    )
