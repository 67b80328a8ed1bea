"""Running many cases against a faulty server."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from dataclasses import dataclass

from mock_server import MockServer

from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError

from .fakes import case_of


@dataclass(frozen=True)
class Outcome:
    """What a run came to: right answers, errors, and the server's counters."""

    answered: int
    errors: list[str]
    repeats: int
    faulted: int
    choices: set[str | None]


def answers_under(faults: Mapping[str, int], count: int, api: str) -> Outcome:
    """Ask `count` cases, 20 at a time, of a server with these faults."""
    with MockServer(faults=faults) as server:
        # A hang costs the whole time-out, which no other answer may reach, however busy the machine.
        runner = Runner(20, 20.0, RetryPolicy(base=0.02, attempts=10, timeout_attempts=10))
        spec = HttpModel("m", model="openai/mock", api=api, api_base=server.base_url)
        warm = runner.submit(TrialRequest(Job(case_of(prompt="How is it in Warmville?"), spec)))
        concurrent.futures.wait([warm], 60)
        cases = [case_of(prompt=f"How is it in Town{n}?") for n in range(count)]
        futures = [
            runner.submit(TrialRequest(Job(case, spec), priority=n)) for n, case in enumerate(cases)
        ]
        errors, answered, choices = [], 0, set()
        for n, future in enumerate(futures):
            (answer,) = future.result(60)
            if isinstance(answer, ModelError):
                errors.append(str(answer))
                continue
            (call,) = answer.calls
            answered += call.arguments == {"city": f"Town{n}"}
            choices.add(answer.replies[0].tool_choice)
        runner.close()
        return Outcome(answered, errors, server.repeats, server.faulted, choices)
