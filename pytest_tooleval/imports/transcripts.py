"""Transcripts from files and folders, whatever their format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import Problem, SuiteError, each_reason_once
from ..record.transcript import text_of
from ..record.variants import model_label
from ..replies.outside_transcript import OutsideTranscript, as_words
from ..secrets import redact, without_key_values
from ..suite.source import MAX_PROBLEMS
from ..text import shown
from .reading import read_files

_MOST_CHARACTERS = 8 << 20  # of one conversation


def read_transcripts(paths: Sequence[Path]) -> list[OutsideTranscript]:
    """All runs in these files and folders, in order.

    Raises SuiteError if any part cannot be read, as that could be a run that failed.
    """
    runs: list[OutsideTranscript] = []
    problems: list[Problem] = []
    # Keys are removed once the case is known, which may name them.
    for batch in read_files(paths, clean=without_key_values):
        for item in batch.items:
            if isinstance(item, OutsideTranscript) and item.is_inner:
                continue
            outside = _bounded(item) if isinstance(item, OutsideTranscript) else item
            if isinstance(outside, OutsideTranscript):
                runs.append(outside)
            elif isinstance(outside, Problem):
                problems.append(outside)
            else:
                what = f"read as {batch.format.title}, which holds no conversation"
                problems.append(Problem(outside.at.path, 1, 1, "", what))
    if not runs and not problems:
        problems = [Problem(str(path), 1, 1, "", "no transcripts") for path in paths]
    if problems:
        problems.sort(key=lambda problem: (problem.path, problem.line))
        raise SuiteError(each_reason_once(problems)[:MAX_PROBLEMS])
    return runs


def _bounded(outside: OutsideTranscript) -> OutsideTranscript | Problem:
    """The run without secrets, pictures and files; or a problem if it is too large."""
    messages = [as_words(message) for message in outside.messages]
    size = sum(len(text_of(each)) + len(str(each.get("tool_calls") or "")) for each in messages)
    if size > _MOST_CHARACTERS:
        message = f"a conversation of more than {_MOST_CHARACTERS >> 20} million characters"
        return outside.at.problem(message)
    model, case, id, error = redact([outside.model, outside.case, outside.id, outside.error])
    model = model_label(shown(model, 100))
    return outside._replace(messages=messages, model=model, case=case, id=id, error=error)
