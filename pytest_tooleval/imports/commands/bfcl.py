"""Files of BFCL's questions, with the answers in another place, or only some of them."""

from __future__ import annotations

from pathlib import Path

from ..apply import Found
from ..command import Command, Surroundings
from ..formats.bfcl import answers_beside, bfcl_suite


def _found(source: str, around: Surroundings, answers: Path | None, limit: int | None) -> Found:
    questions = Path(source)
    suite = bfcl_suite(questions, answers or answers_beside(questions), limit=limit)
    return Found(questions.stem, suite=suite)


COMMAND = Command(
    help="""Convert a category of BFCL, the Berkeley leaderboard.

QUESTIONS is a file such as BFCL_v4_simple_python.json of the package bfcl-eval. Existing cases stay
as they are; new ones are added.
""",
    source="QUESTIONS",
    found=_found,
    options={
        "answers": (Path, "The possible answers; default: possible_answer/NAME next to QUESTIONS."),
        "limit": (int, "Only the first N questions."),
    },
)
