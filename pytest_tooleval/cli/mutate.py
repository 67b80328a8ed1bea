"""`tooleval mutate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from ..errors import os_reason
from ..figures import limit_text, score_text
from ..mutation.results import GAPS, CaseMutation, Mutations, SuiteMutation
from ..record.encoding import to_ascii_json
from ..suite.discovery import SUITE_ENDING
from ..text import plural, printable
from ..writing import write_whole
from .mutate_tests import is_python_test, mutate_tests, test_lines
from .shared import ShareType
from .suite_files import STDOUT
from .suites import suite_files

# `--all` shows the rest.
_MOST_CASES = 10
_MOST_LINES = 4
_MOST_ANSWERS = 2


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--fail-under",
    type=ShareType(0, 1),
    metavar="SCORE",
    help="Exit with status 1 if the mutation score of a suite is below this.",
)
@click.option("--all", "everything", is_flag=True, help="Show every wrong answer that passes.")
@click.option(
    "--json",
    "out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results as JSON; - prints them.",
)
@click.option("--metric", "metrics", multiple=True, help="Your own metric that thresholds use.")
def mutate(
    paths: tuple[Path, ...],
    fail_under: float | None,
    everything: bool,
    out: Path | None,
    metrics: tuple[str, ...],
) -> None:
    """Find wrong answers that your suites would let pass.

    PATHS are suite files, Python tests (test_shop.py, test_shop.py::test_refund), or folders. Breaks the
    right answer of each case the way models do, and scores the result, without a model. The mutation
    score is the share of wrong answers that fail. Those that pass are shown, with the line that would
    catch them.

    Python tests run again with agents made from the last answers that passed, each wrong in one thing:
    a call left out or made twice, another amount, nothing done at all. Those that a test accepts are
    shown.
    """
    from ..mcp.suite_tools import SuiteTools
    from ..mutation.score import mutate_suite
    from ..suite.load import load_suite

    if out is not None and out.name.lower().endswith(SUITE_ENDING):
        raise click.UsageError(f"--json: {out} would replace a suite; name another file for the results")
    mutations = []
    suites = [path for path in paths if not is_python_test(path)]
    told = mutate_tests([path for path in paths if path.is_dir() or is_python_test(path)])
    for line in test_lines(told) if told else ():
        click.echo(line, err=out == STDOUT)
    for file in suite_files(tuple(suites), may_have_none=bool(told)):
        suite = load_suite(file, metrics=metrics, fetch_tools=SuiteTools(None, ()).fetch)
        mutations.append(mutate_suite(suite, str(file)))
        for line in _lines(mutations[-1], everything):
            click.echo(line, err=out == STDOUT)
    if out is not None:
        text = to_ascii_json(Mutations(tuple(mutations), tuple(told)))
        try:
            if out == STDOUT:
                click.echo(text, nl=False)
            else:
                write_whole(out, [text.encode()])
        except OSError as error:
            raise click.ClickException(f"cannot write {out}: {os_reason(error)}") from None
    if fail_under is not None:
        scores = [(_where(each), each.score) for each in mutations]
        scores += [(printable(test.id), test.score) for test in told]
        failed = [(name, score) for name, score in scores if score is None or score < fail_under]
        for name, score in failed:
            text = f"{name}: {_below(score, fail_under)}"
            click.secho(text, fg="red", err=out == STDOUT)
        if failed:
            raise SystemExit(1)


def _below(score: float | None, least: float) -> str:
    if score is None:
        return "no mutation score: there is no right answer to break"
    return f"the mutation score {score_text(score, [least])} is below {limit_text(least)}"


def _where(suite: SuiteMutation, line: int | None = None) -> str:
    return printable(suite.file if line is None else f"{suite.file}:{line}")


def _lines(suite: SuiteMutation, everything: bool) -> Iterator[str]:
    yield f"{click.style(_where(suite), bold=True)}: {_summary(suite)}"
    yield from _gaps(suite)
    for policy in suite.unnoticed:
        yield f"  {printable(policy)}: no case would notice a call that breaks it"
    unknown = [case for case in suite.cases if case.calls is None]
    weak = [case for case in suite.cases if case.survivors]
    for cases, lines in ((unknown, _unknown_lines), (weak, _weak_lines)):
        shown = cases if everything else cases[:_MOST_CASES]
        for case in shown:
            yield from lines(suite, case, everything)
        if len(cases) > len(shown):
            yield f"  and {plural(len(cases) - len(shown), 'more case')}; --all shows them"


def _summary(suite: SuiteMutation) -> str:
    parts = []
    if suite.score is not None:
        every = f"all {plural(suite.mutants, 'wrong answer')} noticed"
        noticed = _passing(suite.survivors, suite.mutants) if suite.survivors else every
        shown = f"mutation score {score_text(suite.score)}"
        parts.append(f"{click.style(shown, fg='yellow' if suite.survivors else 'green')}, {noticed}")
    if suite.unknown:
        parts.append(f"no right answer known for {plural(suite.unknown, 'case')}")
    if suite.skipped:
        parts.append(f"{plural(suite.skipped, 'case')} skipped")
    return "; ".join(parts) or "no cases"


def _passing(survivors: int, mutants: int) -> str:
    return f"{survivors} of {plural(mutants, 'wrong answer')} pass{'es' * (survivors == 1)}"


def _gaps(suite: SuiteMutation) -> Iterator[str]:
    gaps = Counter(survivor.gap for case in suite.cases for survivor in case.survivors)
    for gap, number in gaps.most_common():
        yield f"  {number:5} {GAPS[gap].replace('`', '')}"


def _unknown_lines(suite: SuiteMutation, case: CaseMutation, everything: bool) -> Iterator[str]:
    where = _where(suite, case.line)
    yield f"  {where}: {printable(case.id)}: no right answer is known: {printable(case.unknown)}"


def _weak_lines(suite: SuiteMutation, case: CaseMutation, everything: bool) -> Iterator[str]:
    from ..mutation.text import gaps_of

    passing = _passing(len(case.survivors), case.mutants)
    yield f"  {_where(suite, case.line)}: {printable(case.id)}: {passing}"
    gaps = gaps_of(case)
    shown = gaps if everything else gaps[:_MOST_LINES]
    for gap in shown:
        yield f"    add to {printable(gap.to)}: {click.style(printable(gap.add), fg='green')}"
        most = len(gap.answers) if everything else _MOST_ANSWERS
        yield from (f"      {printable(answer)}" for answer in gap.answers[:most])
        if len(gap.answers) > most:
            yield f"      and {len(gap.answers) - most} more; --all shows them"
    if len(gaps) > len(shown):
        yield f"    and {plural(len(gaps) - len(shown), 'more line')}; --all shows them"
