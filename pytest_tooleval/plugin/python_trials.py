"""Runs the body of a Python test once for each trial, and judges them together."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from ..errors import ConfigError, ModelError
from ..python.case import PythonCase
from .items import CaseFailure


def body_of_trials(case: PythonCase, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs a test's body once for each trial, async as the body is."""
    if inspect.iscoroutinefunction(body):

        @functools.wraps(body)
        async def bodies(**arguments: Any) -> object:
            __tracebackhide__ = True
            returned = None
            for trial in _trials(case):
                with trial:
                    returned = await body(**arguments)
            return returned

        return bodies

    @functools.wraps(body)
    def in_order(**arguments: Any) -> object:
        __tracebackhide__ = True
        returned = None
        for trial in _trials(case):
            with trial:
                returned = body(**arguments)
        return returned  # pytest warns of a test that returns what it should assert

    return in_order


def _trials(case: PythonCase) -> Iterator[AbstractContextManager[None]]:
    """What each of the bodies runs in. At the end, the case is judged."""
    __tracebackhide__ = True
    raised: list[BaseException] = []
    for number in range(case.trials):
        case.number = number
        yield _ending(case, raised)
        if case.question is None:
            return  # without a request, the test is not a case
    _judge(case, raised)


def is_assertion(raised: BaseException | None) -> bool:
    """True for a failed assertion, even one by `pytest.fail` or `pytest.raises`."""
    return isinstance(raised, (AssertionError, pytest.fail.Exception))


_PASSING_ON = (KeyboardInterrupt, GeneratorExit, pytest.exit.Exception)


@contextmanager
def _ending(case: PythonCase, raised: list[BaseException]) -> Iterator[None]:
    """Note how a body ended. A failing one does not stop those after it."""
    __tracebackhide__ = True
    try:
        yield
    except (*_PASSING_ON, pytest.skip.Exception, unittest.SkipTest) as error:
        if case.has_asked and not isinstance(error, _PASSING_ON):
            result = case.skipped_result(str(error))
            if result.fails_despite.marks:
                raise CaseFailure(result.reason) from None
        raise
    except BaseException as error:
        if not case.has_asked:
            raise
        case.end(error, is_assertion=is_assertion(error))
        raised.append(error)
    else:
        if case.has_asked or case.question is None:
            case.end(None)
        else:
            raise ConfigError(f"trial {case.number + 1} asked nothing, but the first one did")
    if mistake := case.mistake():
        pytest.fail(mistake, pytrace=False)


def _judge(case: PythonCase, raised: Sequence[BaseException]) -> None:
    """Raise what makes the test fail, if its trials together do."""
    __tracebackhide__ = True
    result = case.conclude()
    if result.outcome == "passed":
        return
    errors = [each for each in raised if isinstance(each, ModelError)]
    others = [each for each in raised if not isinstance(each, ModelError)]
    chosen = errors or others if result.outcome == "error" else others
    if chosen:
        raise min(chosen, key=is_assertion)
    raise CaseFailure(result.reason)
