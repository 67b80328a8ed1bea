"""Hooks that conftest files and other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..scoring.registry import Scorer


def pytest_tooleval_register_scorers(register: Callable[[Scorer], None]) -> None:
    """Add scorers. Their metrics are reported, and may have thresholds, like the built-in ones.

    Called once for each suite file. An implementation in a folder's conftest.py applies to the suites
    of that folder::

        from pytest_tooleval import Score

        class Brevity:
            metrics = ("brevity",)

            def score(self, case, transcript):
                words = sum(len(reply.text.split()) for reply in transcript.replies)
                return {"brevity": Score(1.0 if words < 50 else 0.0, f"{words} words")}

        def pytest_tooleval_register_scorers(register):
            register(Brevity())

    If your conftest.py must also work without pytest-tooleval, mark the implementation with
    `@pytest.hookimpl(optionalhook=True)`.

    :param register: call it with a scorer; see `pytest_tooleval.Scorer`.
    """
