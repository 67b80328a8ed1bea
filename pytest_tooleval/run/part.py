"""What single processes know of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..record.run import Shard, Spent, add_up


class PartOfRun(Struct, frozen=True):
    """What one process knows of the run. An xdist worker sends it to the controller when it ends.

    Every process that collects cases knows the same of the whole run, and each knows its own part.
    """

    # Known of the whole run:
    case_counts: Mapping[str, int] = {}  # the cases of each model, selected or not
    unapplied: tuple[str, ...] = ()  # the variants that apply to no selected case
    unclaimed: tuple[str, ...] = ()  # lines about transcripts without a case
    without_known_case: tuple[str, ...] = ()  # lines about transcripts that name an unknown case
    shard: Shard | None = None
    selected: int = 0  # the selected cases of suites, each once for each model
    may_ask: int = 0  # the selected Python tests with the fixture
    # Known of this process:
    unasked: int = 0  # the Python tests that sent no request
    agents: Mapping[str, str] = {}  # the agents that Python tests passed, by label
    problems: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()  # lines about replayed answers of code that has changed since
    recorded: int = 0  # the answers added to cassettes
    spent: Mapping[str, Spent] = {}


def joined(parts: Iterable[PartOfRun]) -> PartOfRun:
    """The run as its processes know it together."""
    whole = PartOfRun()
    for part in parts:
        whole = PartOfRun(  # a worker that ended before it collected knows nothing of the whole run
            case_counts=whole.case_counts or part.case_counts,
            unapplied=whole.unapplied or part.unapplied,
            unclaimed=whole.unclaimed or part.unclaimed,
            without_known_case=whole.without_known_case or part.without_known_case,
            shard=whole.shard or part.shard,
            selected=whole.selected or part.selected,
            may_ask=whole.may_ask or part.may_ask,
            unasked=whole.unasked + part.unasked,
            agents={**whole.agents, **part.agents},
            problems=tuple(dict.fromkeys((*whole.problems, *part.problems))),
            outdated=tuple(dict.fromkeys((*whole.outdated, *part.outdated))),
            recorded=whole.recorded + part.recorded,
            spent=add_up(whole.spent, part.spent),
        )
    return whole
