"""The built-in scores and the category of a failure, from a case and a transcript."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from typing import Protocol

from ..record.calls import ToolCall
from ..record.metrics import BUILT_IN
from ..record.results import FailureCategory
from ..record.transcript import Transcript
from ..suite.model import ResolvedCase
from .arguments_schema import argument_flaw
from .arguments_schema import score_arguments
from .conversation import Conversation
from .drafts import Draft
from .drafts import Pair
from .multi_turn import Chain
from .single_turn import NoCallExpected
from .single_turn import OneCallExpected
from .single_turn import SeveralCallsExpected


class Analysis(Protocol):
    """How a kind of case judges the calls. Explanations are built when they are read."""

    def scores(self) -> dict[str, Draft]:
        """The metrics of this kind of case, all but `arguments_valid`."""

    def failure(self) -> FailureCategory | None:
        """The most important mistake, or None if the built-in metrics find none."""

    def argument_failure(self) -> FailureCategory | None:
        """What is wrong with the arguments alone."""

    def pairs(self) -> list[Pair]:
        """Each expected call with the one made for it, and each extra call with no tools."""


def analyse(case: ResolvedCase, transcript: Transcript) -> tuple[Analysis, dict[str, Draft]]:
    """The analysis of a transcript and all built-in scores.

    Raises CannotCompare if the suite asks for a comparison that cannot be made.
    """
    analysis: Analysis
    calls: Sequence[ToolCall] = transcript.calls
    if case.turns:
        analysis = Conversation(case, transcript)
    elif case.case.multi_turn:
        analysis = chain = Chain(case, transcript)
        calls = chain.calls
    elif case.case.expects_nothing:
        analysis = NoCallExpected(case, calls)
    elif case.case.expected_calls is not None:
        analysis = SeveralCallsExpected(case, calls)
    else:
        analysis = OneCallExpected(case, calls)
    scores = analysis.scores()
    scores["arguments_valid"] = score_arguments(case, calls)
    return analysis, scores


def failure_category(
    case: ResolvedCase, transcript: Transcript, analysis: Analysis, failing: Collection[str]
) -> FailureCategory:
    """The one category of a failed trial; `failing` are the metrics below their thresholds."""
    own = {metric for metric in failing if metric in BUILT_IN}
    if not own:
        return "below_threshold"
    if own == {"efficiency"}:
        return "inefficient_chain"
    if not own <= {"arguments_valid", "no_extra_calls"}:
        found = analysis.argument_failure() if own == {"parameter_accuracy"} else None
        found = found or analysis.failure()
        # A surplus call does more harm than a detour.
        if found is not None and not (found == "inefficient_chain" and "no_extra_calls" in own):
            return found
    if "arguments_valid" in own:
        found = argument_flaw(case, transcript.calls)
        if found == "hallucinated_tool" or "no_extra_calls" not in own:
            return found
    return "surplus_call" if "no_extra_calls" in own else "below_threshold"
