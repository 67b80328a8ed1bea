"""Hooks that conftest files and other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..scoring.registry import Scorer
    from ..variants.variant import Register


def pytest_tooleval_register_scorers(register: Callable[[Scorer], None]) -> None:
    """Add scorers. Their metrics are reported and may have thresholds, like the built-in ones.

    Called once per suite file. An implementation in a folder's conftest.py applies to the suites in
    that folder::

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


def pytest_tooleval_variants(register: Register) -> None:
    """Add variants for `--tooleval-variant`, next to the built-in ones.

    Called once per suite file. A variant is a function that takes a case and returns the same case
    under another condition, or None if the variant does not apply to it::

        from msgspec.structs import replace

        def polite(case, condition):
            *before, last = case.messages
            if not isinstance(last["content"], str):
                return None
            return replace(case, messages=(*before, {**last, "content": last["content"] + " Please."}))

        def pytest_tooleval_variants(register):
            register("polite", polite)

    `condition.argument` is the text after the name and a colon; `condition.random(case)` is a random
    number generator that is the same in each run.

    :param register: call it with a name and a function. With `control=` and another function, the
        cases are compared with that function's cases instead of the unchanged ones.
    """
