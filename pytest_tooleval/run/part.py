"""What single processes know of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..record.run import Shard, Spent, add_up


class PartOfRun(Struct, frozen=True):
    """What one process knows of the run. An xdist worker sends it to the controller when it ends.

    Every process that collects cases knows the same of the whole run: `case_counts`, the number of cases
    of each model, selected or not; `unapplied`, the variants that apply to no selected case; lines about
    transcripts without a case (`unclaimed`), and about those that name an unknown one (`misnamed`).
    `selected` is the number of selected cases of suites, each once for each model, and `may_ask` that of
    Python tests with the fixture. `problems`, `recorded` (answers
    added to cassettes), `spent`, `unasked`, the number of Python tests without a request, and `agents`,
    which such tests passed, by label, are its own.
    """

    case_counts: Mapping[str, int] = {}
    unapplied: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    misnamed: tuple[str, ...] = ()
    shard: Shard | None = None
    selected: int = 0
    may_ask: int = 0
    unasked: int = 0
    agents: Mapping[str, str] = {}
    problems: tuple[str, ...] = ()
    recorded: int = 0
    spent: Mapping[str, Spent] = {}


def joined(parts: Iterable[PartOfRun]) -> PartOfRun:
    """The run as its processes know it together."""
    whole = PartOfRun()
    for part in parts:
        whole = PartOfRun(  # a worker that ended before it collected knows nothing of the whole run
            case_counts=whole.case_counts or part.case_counts,
            unapplied=whole.unapplied or part.unapplied,
            unclaimed=whole.unclaimed or part.unclaimed,
            misnamed=whole.misnamed or part.misnamed,
            shard=whole.shard or part.shard,
            selected=whole.selected or part.selected,
            may_ask=whole.may_ask or part.may_ask,
            unasked=whole.unasked + part.unasked,
            agents={**whole.agents, **part.agents},
            problems=tuple(dict.fromkeys((*whole.problems, *part.problems))),
            recorded=whole.recorded + part.recorded,
            spent=add_up(whole.spent, part.spent),
        )
    return whole
