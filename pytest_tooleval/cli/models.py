"""`tooleval models`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.models.spec import LEXICAL
from ..secrets import shown_address
from ..text import printable
from ..text import shorten
from .check_judge import check_judge
from .tables import table

if TYPE_CHECKING:
    from ..engine.check import ProbeResult
    from ..engine.models.spec import ModelSpec
    from ..record.transcript import Reply


@click.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the configured models; check a model or a judge."""
    if context.invoked_subcommand is not None:
        return
    from ..engine.models.tables import read_tables
    from ..engine.models.tables import resolve_models

    tables = read_tables(Path.cwd())
    specs = resolve_models(tables.tables, tables)
    if not specs:
        click.echo(
            "no models are configured here: add a table [tool.tooleval.models.NAME] to pyproject.toml; "
            "litellm names such as openai/gpt-4o and builtin/lexical work without one"
        )
        return
    rows = [
        {
            "model": printable(spec.label),
            "calls": printable(spec.target),
            "over": _over(spec),
            "key": printable(spec.key_variable or ", ".join(spec.headers.values())),
            "defined at": tables.place(spec.label),
        }
        for spec in specs
    ]
    for line in table(rows, texts=rows[0]):
        click.echo(line)


def _over(spec: ModelSpec) -> str:
    """The host or library that is asked."""
    if spec.callable:
        return "Python"
    if spec.model == LEXICAL:
        return "this package"
    if spec.url:
        return "HTTP"
    address = spec.base or (spec.provider.base if spec.protocol else "")
    return printable(shown_address(address)) or "litellm"


models.add_command(check_judge)


@models.command()
@click.argument("name")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for one answer.")
def check(name: str, timeout: float) -> None:
    """Find out what a model and its server support.

    If a model behaves oddly, this sends a question with tools in several ways. It prints which
    parameters, tool_choice modes and parallel calls work, what was sent instead if not, and tokens, cost
    and latency. The exit status is 1 if the model calls no tool at all.
    """
    from ..engine.check import probe
    from ..engine.models.tables import read_tables
    from ..engine.models.tables import resolve_models

    (spec,) = resolve_models([name], read_tables(Path.cwd()))
    click.echo(printable(f"{spec.label}: {spec.target}, over {_over(spec)}"))
    results = list(probe(spec, timeout))
    for line in table([_row(each) for each in results], texts=("asked with", "works", "sent instead")):
        click.echo(line)
    for line in _explained(results):
        click.echo(line)
    if not any(each.works for each in results if each.probe.calls != 0):
        raise SystemExit(1)


def _row(result: ProbeResult) -> dict[str, str]:
    from ..errors import ModelError

    reply = result.reply
    row = {"asked with": result.probe.name, "works": "yes" if result.works else "no"}
    if isinstance(reply, ModelError):
        return {**row, "sent instead": "", "tokens": "", "cost": "", "latency": ""}
    sent = ", ".join(f"{name}: {sent or 'left out'}" for name, sent in reply.fallbacks.items())
    tokens = [count for count in (reply.prompt_tokens, reply.completion_tokens) if count is not None]
    return {
        **row,
        "sent instead": printable(sent),
        "tokens": f"{sum(tokens):,}" if tokens else "",
        "cost": "" if reply.cost_usd is None else f"${reply.cost_usd:.5f}",
        "latency": "" if reply.latency_s is None else f"{reply.latency_s:.2f} s",
    }


def _explained(results: list[ProbeResult]) -> Iterator[str]:
    """Why something did not work, each reason once."""
    from ..errors import ModelError

    reasons: dict[str, list[str]] = {}
    for each in results:
        if not each.works:
            reply = each.reply
            why = reply.message if isinstance(reply, ModelError) else _answered(reply)
            reasons.setdefault(why, []).append(each.probe.name)
    for why, names in reasons.items():
        yield f"{', '.join(names)}: {printable(shorten(why, 1000))}"


def _answered(reply: Reply) -> str:
    if reply.no_answer is not None:
        return f"{reply.no_answer.category}: {reply.no_answer.reason}"
    calls = ", ".join(call.name for call in reply.calls)
    if calls:
        return f"called {calls}"
    return f"called nothing, said {shorten(reply.text, 200)!r}" if reply.text else "empty answer"
