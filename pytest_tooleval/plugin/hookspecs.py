"""Hooks that conftest files and other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..scoring.registry import Scorer


def pytest_tooleval_register_scorers(register: Callable[[Scorer], None]) -> None:
    """Add scorers, whose metrics are then reported and may have thresholds like the built-in ones.

    Called once for each suite file. An implementation in a sub-folder's conftest holds for the
    suites of that folder::

        from pytest_tooleval import Score

        class Brevity:
            metrics = ("brevity",)

            def score(self, case, transcript):
                words = sum(len(reply.text.split()) for reply in transcript.replies)
                return {"brevity": Score(1.0 if words < 50 else 0.0, f"{words} words")}

        def pytest_tooleval_register_scorers(register):
            register(Brevity())

    A conftest that must also work without pytest-tooleval marks its implementation with
    `@pytest.hookimpl(optionalhook=True)`.

    :param register: takes one scorer, see `pytest_tooleval.Scorer`.
    """
