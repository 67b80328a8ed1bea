"""What single processes know of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..record.run import Payments, Shard, add_up


class ProcessFacts(Struct, frozen=True):
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
    # The selected Python tests by file; 0 for a file that skipped itself, or an empty suite.
    tests_by_file: Mapping[str, int] = {}
    # Known of this process:
    unasked: int = 0  # the Python tests that sent no request
    agents: Mapping[str, str] = {}  # the agents that Python tests passed, by label
    problems: tuple[str, ...] = ()
    recorded: int = 0  # the answers added to cassettes
    spent: Mapping[str, Payments] = {}


def joined_facts(processes: Iterable[ProcessFacts]) -> ProcessFacts:
    """The run as its processes know it together."""
    whole = ProcessFacts()
    for facts in processes:
        whole = ProcessFacts(  # a worker that ended before it collected knows nothing of the whole run
            case_counts=whole.case_counts or facts.case_counts,
            unapplied=whole.unapplied or facts.unapplied,
            unclaimed=whole.unclaimed or facts.unclaimed,
            without_known_case=whole.without_known_case or facts.without_known_case,
            shard=whole.shard or facts.shard,
            selected=whole.selected or facts.selected,
            tests_by_file=whole.tests_by_file or facts.tests_by_file,
            unasked=whole.unasked + facts.unasked,
            agents={**whole.agents, **facts.agents},
            problems=tuple(dict.fromkeys((*whole.problems, *facts.problems))),
            recorded=whole.recorded + facts.recorded,
            spent=add_up(whole.spent, facts.spent),
        )
    return whole
