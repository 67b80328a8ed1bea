"""`tooleval cassette`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.cassettes.cassette import Cassette
from ..engine.exchange.errors import NotRecorded
from ..engine.models.names import resolve_models
from ..errors import ConfigError
from ..project.root import Project
from ..suite.overrides import ChoiceWord, Overrides
from ..text import counted, printable
from .shared import Group
from .suite_files import SuitePath, existing, say, write

if TYPE_CHECKING:
    from ..engine.trial import Trial
    from ..suite.case import ResolvedCase


@click.group(cls=Group)
def cassette() -> None:
    """Inspect recorded answers."""


class _Recording:
    """A suite with its cassette, and its cases as the run asked them that recorded it."""

    def __init__(
        self,
        cassette_file: Path,
        suite_file: Path,
        models: Sequence[str],
        temperature: float | None,
        tool_choice: ChoiceWord | None,
        trials: int | None,
        judge: str | None,
        user: str | None,
        metrics: tuple[str, ...],
    ) -> None:
        from ..mcp.suite_tools import SuiteTools
        from ..suite.load import load_suite
        from ..suite.resolved import resolve

        if cassette_file.is_dir():
            files = sorted(cassette_file.rglob("*.jsonl"))
            such = f", such as {printable(str(files[0]))}" if files else ""
            place = printable(str(cassette_file))
            raise click.UsageError(f"{place} is a folder; name a file in it{such}")
        if not cassette_file.is_file():
            raise click.UsageError(f"there is no cassette {printable(str(cassette_file))}")
        self.cassette_file, self.suite_file = cassette_file, suite_file
        self.cassette = Cassette(cassette_file, may_ask=False)
        tools = SuiteTools(self.cassette, ())
        self.suite = load_suite(suite_file, metrics=metrics, fetch_tools=tools.fetch)
        overrides = Overrides(tool_choice, temperature, trials=trials)
        self.cases = [resolve(self.suite, case, overrides) for case in self.suite.test_cases]
        self._live, self._tables = tools.live, Project.around().tables()
        self._models = resolve_models(models, self._tables)
        self._judge, self._user = (
            resolve_models([name], self._tables)[0] if name else None for name in (judge, user)
        )

    def trials_of(self, cases: Iterable[ResolvedCase]) -> Iterator[tuple[str, Trial]]:
        """Each trial of these cases, with its name."""
        from ..engine.trial import Job, Trial
        from ..engine.users import user_of

        for case in cases:
            player = user_of(case.user, self._user, lambda: self._tables)
            for spec in self._models:
                job = Job(case, spec, self.cassette, self._live, self._judge, player)
                for number in range(case.trials):
                    name = f"{case.id}[{spec.label}]"
                    name += f" trial {number + 1}" if case.trials > 1 else ""
                    yield name, Trial(job, number)


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
        names = inspect.signature(_Recording).parameters
        command(_Recording(**{name: values.pop(name) for name in names}), **values)

    return with_recording


@cassette.command()
@_recording_options
@click.option("--case", "ids", multiple=True, help="A case's id; default: all.")
def explain(recording: _Recording, ids: tuple[str, ...]) -> None:
    """Show which answers are missing, and why.

    Models are looked up in the project's pyproject.toml or tooleval.toml. The exit status is 1
    if an answer is missing.
    """
    from ..engine.replay import first_missing

    recorded = recording.cassette
    chosen = [case for case in recording.cases if not ids or case.id in ids]
    missing: dict[str, list[str]] = {}
    total = 0
    for name, trial in recording.trials_of(chosen):
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
    from ..engine.freeze import frozen, frozen_suite, live_answers
    from ..engine.replay import replayed

    recorded, suite = recording.cassette, recording.suite
    document = existing(recording.suite_file)
    if document is None or not (suite.live_tools or any(case.live_tools for case in suite.test_cases)):
        place = printable(str(recording.suite_file))
        raise ConfigError(f'{place}: nothing to freeze, as there are no "live_tools" in it')
    answers = differing = 0
    missing: dict[str, list[str]] = {}
    mocks: list[dict[str, Any]] = []
    for case in recording.cases:
        trials = []
        for name, trial in recording.trials_of([case]):
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
