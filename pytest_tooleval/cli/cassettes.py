"""`tooleval cassette`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import ConfigError
from ..text import counted, printable
from .shared import Group
from .suite_files import SuitePath, existing, say, write

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import Cassette
    from ..engine.models.tables import ModelTables
    from ..engine.trial import Trial
    from ..mcp.suite_tools import SuiteTools
    from ..suite.case import ResolvedCase
    from ..suite.model import Suite
    from ..suite.overrides import ChoiceWord


@click.group(cls=Group)
def cassette() -> None:
    """Inspect recorded answers."""


@dataclass(frozen=True)
class _Recording:
    """A suite and its cassette, with the options of the run that recorded it."""

    cassette_file: Path
    suite_file: Path
    models: tuple[str, ...]
    temperature: float | None
    tool_choice: str | None
    trials: int | None
    judge: str | None
    user: str | None
    metrics: tuple[str, ...]

    def load(self) -> tuple[Cassette, SuiteTools, Suite]:
        """The cassette, which never asks, and the suite with the tools recorded on it."""
        from ..engine.cassettes.cassette import Cassette
        from ..mcp.suite_tools import SuiteTools
        from ..suite.load import load_suite

        file = self.cassette_file
        if file.is_dir():
            files = sorted(file.rglob("*.jsonl"))
            such = f", such as {printable(str(files[0]))}" if files else ""
            raise click.UsageError(f"{printable(str(file))} is a folder; name a file in it{such}")
        if not file.is_file():
            raise click.UsageError(f"there is no cassette {printable(str(file))}")
        recorded = Cassette(file, "none")
        tools = SuiteTools(recorded, ())
        suite = load_suite(self.suite_file, metrics=self.metrics, fetch_tools=tools.fetch)
        return recorded, tools, suite

    @functools.cached_property
    def tables(self) -> ModelTables:
        from ..project.root import Project

        return Project.around().tables()

    def trials_of(
        self, cases: Sequence[ResolvedCase], recorded: Cassette, tools: SuiteTools
    ) -> Iterator[tuple[str, Trial]]:
        """Each trial of these cases, with its name."""
        from ..engine.models.tables import resolve_models
        from ..engine.trial import Job, Trial
        from ..engine.users import user_of

        tables = self.tables
        specs = resolve_models(self.models, tables)
        judging, playing = (
            resolve_models([name], tables)[0] if name else None for name in (self.judge, self.user)
        )
        for case in cases:
            player = user_of(case.user, playing, lambda: tables)
            for spec in specs:
                job = Job(case, spec, recorded, tools.live, judging, player)
                for number in range(case.trials):
                    name = f"{case.id}[{spec.label}]"
                    name += f" trial {number + 1}" if case.trials > 1 else ""
                    yield name, Trial(job, number)

    def resolved(self, suite: Suite) -> list[ResolvedCase]:
        from ..suite.overrides import Overrides
        from ..suite.resolved import resolve

        choice = cast("ChoiceWord | None", self.tool_choice)
        overrides = Overrides(choice, self.temperature, trials=self.trials)
        return [resolve(suite, case, overrides) for case in suite.test_cases]


def _recording_options(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments and options of `_Recording`, which the command gets as `recording`."""

    @click.argument("cassette_file", type=click.Path(path_type=Path))
    @click.argument("suite_file", type=click.Path(path_type=Path))
    @click.option("--model", "models", multiple=True, required=True, help="A model, as in a run.")
    @click.option("--temperature", type=float, help="As --tooleval-temperature in the run.")
    @click.option(
        "--tool-choice", type=click.Choice(["required", "auto", "none"]), help="As in the run."
    )
    @click.option("--trials", type=click.IntRange(1), help="As --tooleval-trials in the run.")
    @click.option("--judge", help="As --tooleval-judge in the run.")
    @click.option("--user", help="As --tooleval-user in the run.")
    @click.option("--metric", "metrics", multiple=True, help="Your own metric that thresholds use.")
    @functools.wraps(command)
    def with_recording(**values: Any) -> None:
        recording = _Recording(**{field.name: values.pop(field.name) for field in fields(_Recording)})
        command(recording, **values)

    return with_recording


@cassette.command()
@_recording_options
@click.option("--case", "ids", multiple=True, help="A case's id; default: all.")
def explain(recording: _Recording, ids: tuple[str, ...]) -> None:
    """Show which answers are missing, and why.

    Models are looked up in the project's pyproject.toml or tooleval.toml. The exit status is 1
    if an answer is missing.
    """
    from ..engine.cassettes.replay import first_missing

    recorded, tools, suite = recording.load()
    chosen = [case for case in recording.resolved(suite) if not ids or case.id in ids]
    missing: dict[str, list[str]] = {}
    total = 0
    for name, trial in recording.trials_of(chosen, recorded, tools):
        total += 1
        question = first_missing(trial)
        if question is not None:
            missing.setdefault(recorded.why_missing(question, always=True), []).append(name)
    for text in _missing_lines(missing):
        click.echo(text)
    if not chosen:
        raise click.UsageError(f"the suite has no case {', '.join(ids)}")
    for line in recorded.damaged:
        click.echo(f"{recording.cassette_file}:{line}: unreadable line, ignored")
    unanswered = sum(map(len, missing.values()))
    click.echo(f"{counted(total, 'conversation')}, {unanswered} with missing answers")
    if missing:
        raise SystemExit(1)


@cassette.command()
@_recording_options
@click.option(
    "--out",
    type=SuitePath(allow_dash=True),
    help="Write this suite; - prints it. Default: SUITE_FILE.",
)
def freeze(recording: _Recording, out: Path | None) -> None:
    """Turn recorded answers of live tools into mocks.

    Later runs still query the model, but need the tools' server only for the list of tools. Each answer
    becomes a mock for the recorded arguments; repeated calls get their answers in order. "live_tools" is
    removed. Pass the options of the recording.
    """
    from ..engine.cassettes.cassette import NotRecorded
    from ..engine.cassettes.freeze import frozen, frozen_suite, live_answers
    from ..engine.cassettes.replay import replayed

    recorded, tools, suite = recording.load()
    document = existing(recording.suite_file)
    if document is None or not _has_live_tools(suite):
        place = printable(str(recording.suite_file))
        raise ConfigError(f'{place}: nothing to freeze, as there are no "live_tools" in it')
    answers = differing = 0
    missing: dict[str, list[str]] = {}
    mocks: list[dict[str, Any]] = []
    for case in recording.resolved(suite):
        trials = []
        for name, trial in recording.trials_of([case], recorded, tools):
            try:
                trials.append([*live_answers(trial.job, replayed(trial))])
            except NotRecorded as error:
                why = recorded.why_missing(error.asked, always=True)
                missing.setdefault(why, []).append(name)
        made, unequal = frozen(trials, case.param_scoring)
        answers += sum(map(len, trials))
        differing += unequal
        mocks.append(made)
    if missing:
        lines = [*_missing_lines(missing), "not all answers are recorded, so nothing was written"]
        raise ConfigError("\n".join(lines))
    to = out or recording.suite_file
    counts = (
        f"{counted(answers, 'recorded answer')}",
        f"{counted(sum(map(len, mocks)), 'mock')}",
    )
    is_valid = write(to, frozen_suite(document.data, mocks), existing(to), counts)
    if differing:
        say(to, f"{counted(differing, 'answer')} differed between trials; the first one was taken")
    if not is_valid:
        raise SystemExit(1)


def _missing_lines(missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each reason once, with the conversations that it concerns."""
    for why, names in missing.items():
        yield printable(why)
        yield printable(f"  {counted(len(names), 'conversation')}: {', '.join(names)}")


def _has_live_tools(suite: Suite) -> bool:
    return bool(suite.live_tools) or any(case.live_tools for case in suite.test_cases)
