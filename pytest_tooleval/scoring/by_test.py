"""A case of a Python test, whose body is its scorer: nothing is expected here."""

from __future__ import annotations

from ..record.transcript import Transcript
from ..suite.case import ResolvedCase
from .assessment import Assessment


def assess(case: ResolvedCase, transcript: Transcript) -> Assessment:
    """Return what `kinds.assess` completes with what holds for cases of every kind."""
    calls = [(case, call) for reply in transcript.replies if not reply.inner for call in reply.calls]
    turns = transcript.turns if case.kind == "conversation" else ()
    return Assessment({}, calls, lambda _: "failed_assertion", lambda _: (), turns=turns)
