"""Where cases stand: in which file and suite, at which node id, and with what fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..record.results import CaseResult
from ..record.transcript import text_of
from ..suite.case import ResolvedCase
from ..suite.fingerprints import ToolsFingerprints, fingerprint_of_bytes
from ..suite.model import Suite
from ..text import shorten

_ASKED = 2000  # characters of the prompt that are kept for lists and search


class CaseOnModel(NamedTuple):
    """A case on a model, and its result before any trial, which says where it stands."""

    case: ResolvedCase
    blank: CaseResult


def with_blank_result(nodeid: str, case: ResolvedCase, model: str, **in_file: Any) -> CaseOnModel:
    """A case on the model with this label; `in_file` are the fields that its file has."""
    later = (message for turn in case.turns[1:] for message in turn.messages)
    prompts = [text_of(m) for m in (*case.messages, *later) if m.get("role") == "user"]
    if case.user is not None:
        prompts = [case.user.goal]
    blank = CaseResult(
        nodeid=nodeid,
        suite=case.suite,
        case=case.id,
        model=model,
        variant=case.variant.label,
        against=case.variant.against,
        is_same=case.variant.is_same,
        is_earlier=case.variant.is_earlier,
        outcome="skipped",
        thresholds=dict(case.thresholds),
        limits=dict(case.limits),
        prompt_text=shorten(" ".join(prompts), _ASKED),
        offered=tuple(tool.name for tool in case.tools),
        forbids=case.forbids,
        weight=case.weight,
        cluster=case.cluster or "",
        tags=tuple(case.tags),
        tool_choice=str(case.tool_choice),
        line=case.line,
        pass_rule=case.pass_rule,
        **in_file,
    )
    return CaseOnModel(case, blank)


class Origin:
    """What the cases of one file share: their suite, and the fingerprint of the file."""

    def __init__(self, suite: Suite, path: Path) -> None:
        self.suite = suite
        self.file_fingerprint = fingerprint_of_bytes(path.read_bytes())
        self.positions = {case.id: number for number, case in enumerate(suite.test_cases)}
        self._tools = ToolsFingerprints(suite)

    def with_blank_result(self, nodeid: str, case: ResolvedCase, model: str) -> CaseOnModel:
        return with_blank_result(
            nodeid,
            case,
            model,
            file=nodeid.partition("::")[0],
            # A variant may have renamed the case.
            position=self.positions.get(case.id, 0),
            case_fingerprint=case.fingerprint,
            suite_fingerprint=self.file_fingerprint,
            suite_cases=len(self.suite.test_cases),
            tools_fingerprint=self._tools.of(case),
        )
