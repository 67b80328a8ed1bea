"""Writing suites: the option for the file, and what is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from ..errors import SuiteError
from ..project.root import Project
from ..suite.discovery import SUITE_ENDING
from ..suite.source import SuiteSource
from ..text import printable

STDOUT = Path("-")


def existing(out: Path) -> SuiteSource | None:
    """The suite that is written over, if any; asked first, so that a mistake in --out shows at once."""
    from ..suite.write import read_existing

    return None if out == STDOUT else read_existing(out)


def name_for(out: Path, otherwise: str) -> str:
    """The name of a new suite: that of its file, if it has one."""
    return otherwise if out == STDOUT else out.name.removesuffix(SUITE_ENDING)


def say(out: Path, line: str) -> None:
    """Print what became of an import; beside the suite itself, to stderr."""
    click.echo(printable(line), err=out == STDOUT)


def say_uncollected(file: Path) -> None:
    """Say so if pytest will not find a suite that was written."""
    if why := Project.around(file.parent).why_uncollected():
        say(file, f"{file}: {why}")


class SuitePath(click.Path):
    """The path of a suite file to write; `allow_dash` as in click.Path."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(dir_okay=False, path_type=Path, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if self.allow_dash and path == STDOUT:
            return path
        if not path.name.endswith(SUITE_ENDING) or path.name == SUITE_ENDING:
            stem = path.name.removesuffix(".json").removesuffix(".tooleval") or "suite"
            better = printable(str(path.with_name(stem + SUITE_ENDING)))
            self.fail(f"pytest collects files that end in {SUITE_ENDING}: write {better}", param, ctx)
        return path


def write(
    out: Path,
    suite: Mapping[str, Any],
    previous: SuiteSource | None,
    counts: Iterable[str],
    *,
    dry_run: bool = False,
) -> bool:
    """Write the suite if it differs from the previous one, or print it. False if it has problems."""
    from ..suite.write import suite_text, text_problems, write_suite

    text = suite_text(suite, previous)
    if out == STDOUT:
        if problems := text_problems(text, Path("suite")):
            raise SuiteError(problems)
        click.echo(text, nl=False)
        say(out, f"printed: {', '.join(counts)}")
        return True
    is_same = previous is not None and text == previous.text
    problems = text_problems(text, out) if is_same or dry_run else write_suite(out, suite, previous)
    for problem in problems:
        click.echo(printable(str(problem)), err=True)
    done = f"{out} is up to date" if is_same else f"would write {out}" if dry_run else f"wrote {out}"
    say(out, f"{done}: {', '.join(counts)}")
    say_uncollected(out)
    return not problems
