"""`tooleval models`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..engine.models.names import resolve_models
from ..engine.models.spec import Builtin, CallableModel, DeployedAgent, HttpModel, ModelSpec
from ..errors import ModelError
from ..figures import seconds_text, usd_text
from ..project.root import Project
from ..record.transcript import Reply
from ..replies.dialects import options_for
from ..secrets import shown_address
from ..text import printable, shorten
from .check_judge import check_judge
from .shared import Group, table

if TYPE_CHECKING:
    from ..engine.probes import ProbeResult


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the configured models; check a model or a judge."""
    if context.invoked_subcommand is not None:
        return

    tables = Project.around().tables()
    specs = resolve_models(tables.tables, tables)
    if not specs:
        click.echo(
            "no models are configured here: add a table [tool.tooleval.models.NAME] to pyproject.toml; "
            "names such as openai/gpt-4o and builtin/lexical work without one"
        )
        return
    rows = [
        {"model": spec.label, **_asked(spec), "defined at": tables.place(spec.label)} for spec in specs
    ]
    for line in table(rows, texts=rows[0]):
        click.echo(printable(line))


def _asked(spec: ModelSpec) -> dict[str, str]:
    """The name of the model or agent, the host or library that is asked, and the variables of keys."""
    key = spec.key_variable or ""
    match spec:
        case CallableModel():
            return {"calls": spec.callable, "over": "Python", "key": key}
        case Builtin():
            return {"calls": spec.identity, "over": "this package", "key": key}
        case DeployedAgent():
            return {"calls": spec.url, "over": "HTTP", "key": ", ".join(spec.headers.values())}
        case HttpModel():
            address = spec.base or (spec.provider.base if spec.protocol else "")
            return {"calls": spec.model, "over": shown_address(address) or "litellm", "key": key}


models.add_command(check_judge)


@models.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for one answer.")
def check(names: tuple[str, ...], timeout: float) -> None:
    """Find out what a model and its server support.

    If a model behaves oddly, this sends a question with tools in several ways. It prints which
    parameters, tool_choice modes and parallel calls work, what was sent instead if not, and tokens, cost
    and latency. It also counts the calls that came as text, and names the server's option that reads
    them. Several names compare, for instance, two servers of one model. The exit status is 1 if a model
    calls no tool at all.
    """
    from ..engine.probes import probe

    calls = True
    for index, spec in enumerate(resolve_models(names, Project.around().tables())):
        if index:
            click.echo()
        asked = _asked(spec)
        click.echo(printable(f"{spec.label}: {asked['calls']}, over {asked['over']}"))
        results = list(probe(spec, timeout))
        for line in table([_row(each) for each in results], texts=_TEXTS):
            click.echo(line)
        for line in _explained(results):
            click.echo(line)
        for line in _forms(results):
            click.echo(line)
        calls = calls and any(each.works for each in results if each.probe.calls != 0)
    if not calls:
        raise SystemExit(1)


_TEXTS = ("asked with", "works", "sent instead")


def _forms(results: list[ProbeResult]) -> Iterator[str]:
    """How many calls came natively and how many as text, and the option that reads those."""
    replies = [each.reply for each in results if isinstance(each.reply, Reply)]
    recovered = sum(reply.recovered_calls for reply in replies)
    native = sum(len(reply.calls) for reply in replies) - recovered
    lost = sum(reply.lost_calls for reply in replies)
    yield f"calls: {native} native, {recovered} as text, {lost} lost"
    for dialect in dict.fromkeys(reply.dialect for reply in replies if reply.dialect):
        yield f"as text ({dialect}); the option of a server that reads it: {options_for(dialect)}"


def _row(result: ProbeResult) -> dict[str, str]:
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
        "cost": usd_text(reply.cost_usd),
        "latency": "" if reply.latency_s is None else seconds_text(reply.latency_s),
    }


def _explained(results: list[ProbeResult]) -> Iterator[str]:
    """Why something did not work, each reason once."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        if not result.works:
            reply = result.reply
            why = reply.message if isinstance(reply, ModelError) else _answered(reply)
            reasons.setdefault(why, []).append(result.probe.name)
    for why, names in reasons.items():
        yield f"{', '.join(names)}: {printable(shorten(why, 1000))}"


def _answered(reply: Reply) -> str:
    if reply.no_answer is not None:
        return f"{reply.no_answer.category}: {reply.no_answer.reason}"
    calls = ", ".join(call.name for call in reply.calls)
    if calls:
        return f"called {calls}"
    return f"called nothing, said {shorten(reply.text, 200)!r}" if reply.text else "empty answer"
