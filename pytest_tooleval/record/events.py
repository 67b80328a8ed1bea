"""The events of a run: the lines of `--tooleval-events`.

`docs/events.schema.json` is generated from these types.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from .comparison import Comparison
from .document import DOCUMENT_VERSION
from .estimate import Estimate
from .fields import doc
from .gates import Gate
from .results import CaseResult, CaseRow
from .run import Run


class _Event(Struct, frozen=True, kw_only=True, gc=False, tag_field="event"):
    """One line of the events file."""


class RunStarted(_Event, frozen=True, kw_only=True, tag="run_started"):
    """The run has begun. Always the first line."""

    version: Annotated[Literal[7], doc("The version of this format and the result document.")] = (
        DOCUMENT_VERSION
    )
    root: Annotated[str, doc("pytest's root folder, to which files are relative.")]
    run: Annotated[Run, doc("The run, as far as it is known by now.")]


class CollectionProblem(_Event, frozen=True, kw_only=True, tag="collection_problem"):
    """A file or folder that cannot be collected."""

    nodeid: Annotated[str, doc("pytest's node id, which is the path.")]
    message: Annotated[str, doc("pytest's text about it; may have several lines.")]


class Collected(_Event, frozen=True, kw_only=True, tag="collected"):
    """The selection of cases is final."""

    files: Annotated[tuple[str, ...], doc("The suite files that have cases in the run.")]
    cases: Annotated[dict[str, int], doc("The number of cases by model; empty name: none was set.")]


class CaseStarted(_Event, frozen=True, kw_only=True, tag="case_started"):
    """pytest has reached a case. Its model may have been queried long before."""

    nodeid: Annotated[str, doc("pytest's node id.")]


class RowDone(_Event, frozen=True, kw_only=True, tag="case_done"):
    """A `CaseDone`, read without explanations and transcripts."""

    case: CaseRow


class CaseDone(RowDone, frozen=True, kw_only=True, tag="case_done"):
    """A case is over. If it runs again, the later line replaces the earlier one."""

    case: Annotated[CaseResult, doc("The case, as in the result document.")]


class Progress(_Event, frozen=True, kw_only=True, tag="progress"):
    """More answers have arrived while the run waits for one. Not sent under pytest-xdist."""

    done: Annotated[int, doc("Cases that are over.", ge=0)]
    answered: Annotated[int, doc("Cases that have all their answers.", ge=0)]


class Estimated(_Event, frozen=True, kw_only=True, tag="estimated"):
    """What the selected cases would send and cost, with --tooleval-estimate. No case starts then."""

    models: Annotated[tuple[Estimate, ...], doc("One for each model, judge and simulated user.")]


class Decided(_Event, frozen=True, kw_only=True, tag="judged"):
    """All cases are over; gates and baseline are judged. Missing if the run was cut short."""

    gates: Annotated[tuple[Gate, ...], doc("The run's gates.")]
    baseline: Annotated[Comparison | None, doc("The comparison with the baseline; null: none.")]


class RunEnded(_Event, frozen=True, kw_only=True, tag="run_ended"):
    """The run is over. Always the last line, missing only if the process was killed."""

    run: Annotated[Run, doc("The run, with its exit status and duration.")]
    reason: Annotated[str, doc("The reason if the run was cut short; else empty.")]
    reports: Annotated[tuple[str, ...], doc("The files of --tooleval-report that were written.")]
    unwritten: Annotated[tuple[str, ...], doc("The files that could not be written, and why.")]


_Other = (
    RunStarted | CollectionProblem | Collected | Estimated | CaseStarted | Progress | Decided | RunEnded
)
Event = _Other | CaseDone
# The same lines, read without explanations and transcripts.
RowEvent = _Other | RowDone
