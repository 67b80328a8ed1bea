"""What happens in a run, as it happens: the lines of `--tooleval-events`.

`docs/events.schema.json` is generated from these types.
"""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from msgspec import Meta
from msgspec import Struct

from .comparison import Comparison
from .document import VERSION
from .gates import Gate
from .results import CaseResult
from .results import CaseRow
from .run import Run


class _Event(Struct, frozen=True, kw_only=True, gc=False, tag_field="event"):
    """One line."""


class RunStarted(_Event, frozen=True, kw_only=True, tag="run_started"):
    """The run has begun. The first line."""

    version: Annotated[
        Literal[3], Meta(description="The version of this format and of the result document.")
    ] = VERSION
    root: Annotated[str, Meta(description="pytest's root folder, to which files are relative.")]
    run: Annotated[Run, Meta(description="The run, as far as it is known.")]


class CollectionProblem(_Event, frozen=True, kw_only=True, tag="collection_problem"):
    """A file or folder that cannot be collected."""

    nodeid: Annotated[str, Meta(description="pytest's node id, which is the path.")]
    message: Annotated[str, Meta(description="What pytest shows of it; may have several lines.")]


class Collected(_Event, frozen=True, kw_only=True, tag="collected"):
    """The selection is final."""

    files: Annotated[tuple[str, ...], Meta(description="The suite files that have cases in the run.")]
    cases: Annotated[
        dict[str, int],
        Meta(description="A model to the number of its cases; an empty name where none was named."),
    ]


class CaseStarted(_Event, frozen=True, kw_only=True, tag="case_started"):
    """It is a case's turn. Its model may have been asked long before."""

    nodeid: Annotated[str, Meta(description="pytest's node id.")]


class RowDone(_Event, frozen=True, kw_only=True, tag="case_done"):
    """A `CaseDone`, read without explanations and transcripts."""

    case: CaseRow


class CaseDone(RowDone, frozen=True, kw_only=True, tag="case_done"):
    """A case is over. If it is run again, the later line replaces the earlier one."""

    case: Annotated[CaseResult, Meta(description="The case, as in the result document.")]


class Progress(_Event, frozen=True, kw_only=True, tag="progress"):
    """More answers have come while one is waited for. Not told under pytest-xdist."""

    done: Annotated[int, Meta(ge=0, description="Cases that are over.")]
    answered: Annotated[int, Meta(ge=0, description="Cases that have all their answers.")]


class Judged(_Event, frozen=True, kw_only=True, tag="judged"):
    """All cases are over; gates and baseline were judged. Missing if the run was cut short."""

    gates: Annotated[tuple[Gate, ...], Meta(description="The gates of the run.")]
    baseline: Annotated[
        Comparison | None, Meta(description="The comparison with the baseline; null without one.")
    ]


class RunEnded(_Event, frozen=True, kw_only=True, tag="run_ended"):
    """The run is over. The last line, which is missing only if the process was killed."""

    run: Annotated[Run, Meta(description="The run, with its exit status and duration.")]
    reason: Annotated[str, Meta(description="Why the run was cut short; empty when it was not.")]
    files: Annotated[
        dict[str, str], Meta(description="A format (json, html, ...) to the file that was asked for.")
    ]
    unwritten: Annotated[tuple[str, ...], Meta(description="Those that could not be written, and why.")]


Event = (
    RunStarted | CollectionProblem | Collected | CaseStarted | CaseDone | Progress | Judged | RunEnded
)
# The same lines, read without explanations and transcripts.
RowEvent = (
    RunStarted | CollectionProblem | Collected | CaseStarted | RowDone | Progress | Judged | RunEnded
)
