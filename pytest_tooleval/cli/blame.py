"""`tooleval blame`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from ..errors import ToolevalError
from ..figures import usd_text
from ..project.child import Child
from ..project.root import Project
from ..record.events import RowDone, RunEnded, RunStarted
from ..record.identity import Identity
from ..record.results import CaseRow
from ..reports.estimate import estimate_lines
from ..run.nodeids import CaseId
from ..text import plural, printable

_SHOWN = 3000  # characters of pytest's output when it cannot go on
_LEAST_USD = 1e-9  # the option takes no 0; for so little, nothing is asked
_FAILED = 1  # pytest's exit status for failed tests; a higher one means that it could not run


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("revision", metavar="REV")
@click.argument("arguments", metavar="[PATHS] [PYTEST OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--trials",
    type=click.IntRange(3, 100),
    default=5,
    show_default=True,
    help="Trials of each newly broken case under each condition.",
)
def blame(revision: str, arguments: tuple[str, ...], trials: int) -> None:
    """Find the change since REV that broke cases.

    Runs each case twice: with today's tools and system prompt, and with those of the git revision REV.
    For cases that pass only as of REV, reverts each change alone: a field of a tool (such as its
    description or schema), an added or removed tool, the system prompt. If no single change explains a
    case, reverts two at a time.

    PATHS and options are pytest's. Write options as --NAME=VALUE:

    tooleval blame main tests/ --tooleval-model=gpt-4o --tooleval-cassette=cassettes
    """
    from ..suite.load import load_suite
    from ..variants.blame import (
        blame_lines,
        broken_cases,
        pairs_of,
        part_text,
        rates_of,
        uncompared_lines,
        variants_to_rerun,
    )
    from ..variants.revisions import suite_at, undoable

    paths = [text for text in arguments if not text.startswith("-")]
    options = [text for text in arguments if text.startswith("-")]
    against, undo = f"against:{revision}", f"undo:{revision}:"
    first = [f"--tooleval-variant={against}", *options]
    click.echo(_estimated([*paths, *first]))
    run = _run([*paths, *first])
    root, rows = run.root, [row for row in run.rows if not row.is_python]
    broken, uncompared = broken_cases(rows, against), [*uncompared_lines(rows, against, revision)]
    for line in (*uncompared, *_python_lines(len(run.rows) - len(rows))):
        click.echo(printable(line))
    if not broken:
        other = " other" if uncompared else ""
        click.echo(f"no{other} case that passes as of {printable(revision)} fails today")
        return
    parts: dict[Identity, list[str]] = {}
    for file in dict.fromkeys(case.file for case in broken):
        suite, earlier = load_suite(root / file, metrics=None), suite_at(revision, root / file)
        if earlier is not None:
            of_file = [case for case in broken if case.file == file]
            parts |= {case: list(undoable(suite.case(case.case), suite, earlier)) for case in of_file}
    names = [part_text(part) for part in dict.fromkeys(part for each in parts.values() for part in each)]
    click.echo("\n  ".join([plural(len(names), "change") + ":" * bool(names), *map(printable, names)]))
    again = [*options, f"--tooleval-trials={trials}"]
    variants = {case: variants_to_rerun(parts[case], undo) for case in broken}
    _print_price(variants, trials, rows)
    run = _ask(run, variants, again)
    rates = rates_of(run.rows, undo)
    left = [case for case in rates if rates[case].is_unexplained]
    pairs = {case: [undo + pair for pair in pairs_of(parts[case])] for case in left}
    if any(pairs.values()):
        click.echo("no single change explains some cases: reverting two at a time")
        _print_price(pairs, trials, rows)
        more = rates_of(_ask(run, pairs, again).rows, undo)
        rates |= {case: rates[case]._replace(undone=more[case].undone) for case in more}
    for line in blame_lines(rates):
        click.echo(printable(line))


def _python_lines(tests: int) -> list[str]:
    if not tests:
        return []
    text = f"not blamed: {plural(tests, 'Python test')}"
    return [f"{text}, as only the tools and prompts of suites can be reverted"]


def _require_model(arguments: Sequence[str]) -> None:
    named = any(text.startswith("--tooleval-model") for text in arguments)
    if not named and not Project.around().models():
        raise click.UsageError(
            "no model is set: add --tooleval-model=NAME, or set tooleval_model in the ini file"
        )


def _print_price(variants: dict[Identity, list[str]], trials: int, rows: Sequence[CaseRow]) -> None:
    """Print how many trials follow, and their cost, estimated from the trials so far."""
    count = trials * sum(map(len, variants.values()))
    costs = [t.cost_usd for row in rows for t in row.trials if t.cost_usd is not None]
    price = f", about {usd_text(count * sum(costs) / len(costs))}" if costs else ", at an unknown price"
    click.echo(f"{plural(len(variants), 'newly broken case')}: {plural(count, 'trial')}{price}")


class _Run(NamedTuple):
    """A run: pytest's root folder, its cases, and what --tooleval-max-cost leaves for further ones."""

    root: Path
    rows: list[CaseRow]
    left_usd: float | None


def _ask(before: _Run, variants_of: dict[Identity, list[str]], options: Sequence[str]) -> _Run:
    labels = dict.fromkeys(label for each in variants_of.values() for label in each)
    variants = [f"--tooleval-variant={label}" for label in labels]
    items = [
        str(before.root / CaseId(case.file, case.case, case.model, label).nodeid)
        for case, labels in variants_of.items()
        for label in labels
    ]
    limit = [] if before.left_usd is None else [f"--tooleval-max-cost={before.left_usd:.9f}"]
    return _run([*items, *variants, *options, *limit])


def _estimated(arguments: Sequence[str]) -> str:
    """pytest's estimate for a run."""
    _require_model(arguments)
    with Child([*arguments, "--tooleval-estimate", "-q"]) as child:
        if (estimated := child.read_estimate()) is None:
            raise _cannot_run(child)
    return "\n".join(estimate_lines(estimated))


def _run(arguments: Sequence[str]) -> _Run:
    with Child([*arguments, "--tooleval-history=off", "-q"]) as child:
        events = [each.event for each in child.events()]
        roots = [Path(each.root) for each in events if isinstance(each, RunStarted)]
        runs = [each.run for each in events if isinstance(each, RunEnded)]
        rows = [each.case for each in events if isinstance(each, RowDone)]
        if child.exitstatus > _FAILED or not roots or not runs or not rows:
            raise _cannot_run(child)
    most, spent = runs[0].max_cost_usd, sum(each.usd for each in runs[0].spent.values())
    left = None if most is None else max(most - spent, _LEAST_USD)
    return _Run(roots[0], list({row.nodeid: row for row in rows}.values()), left)


def _cannot_run(child: Child) -> ToolevalError:
    return ToolevalError(f"pytest could not run the cases:\n{child.output()[-_SHOWN:]}")
