"""Runs over litellm in a process of their own, which must be silent: `python litellm_process.py`.

What it prints on stderr after the line LOGGING comes of a handler of the user's own.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from mock_server import MockServer

from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

FINISH = "stop\x1b[2J key=sk-planted-0123456789\n::error::owned"
MESSAGE = {"role": "assistant", "content": "no"}
HOSTILE = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": FINISH, "message": MESSAGE}],
}


def run(server: MockServer, count: int = 20, key: str = "") -> tuple[Runner, list[Future[Any]]]:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    cases = [{"prompt": f"How is it in Town{n}?", "expected_tool": "f"} for n in range(count)]
    suite = Suite.model_validate({"name": "s", "tools": [tool], "test_cases": cases})
    runner = Runner(20, 300.0, RetryPolicy(base=0.01))
    spec = HttpModel(
        "m", model="openai/mock", api="litellm", api_base=server.base_url, api_key_env=key or None
    )
    return runner, [
        runner.submit(TrialRequest(Job(resolve(suite, case), spec))) for case in suite.test_cases
    ]


def two_runs() -> None:
    """Nothing is left open; litellm's cached clients survive a second loop."""
    with MockServer(faults={"500": 7, "429": 11, "reset": 13}) as server:
        for _ in range(2):
            runner, futures = run(server)
            assert all(future.result(120)[0].calls for future in futures)
            runner.close()
        for thread in threading.enumerate():
            if thread.name.startswith("tooleval"):
                thread.join(60)  # it may be about to end
                assert not thread.is_alive(), thread
        assert server.repeats == 20, server.repeats


def cancelled_in_the_middle() -> None:
    with MockServer(latency=600.0) as server:
        runner, futures = run(server)
        while server.in_flight < 20:
            time.sleep(0.02)
        runner.close()
        assert all(future.cancelled() for future in futures)
        time.sleep(0.2)
        assert server.in_flight <= 20


def an_echoed_key() -> None:
    with MockServer(faults={"echo-key": 1}) as server:
        runner, futures = run(server, key="MY_API_KEY")
        print([repr(future.result(120)) for future in futures])
        runner.close()
        assert "Bearer sk-planted" in str(server.headers)
        assert server.requests <= 20


def hostile() -> None:
    with MockServer(respond=lambda path, request: (200, HOSTILE)) as server:
        runner, (future,) = run(server, count=1, key="MY_LOGIN")
        assert future.result(120)[0].replies
        runner.close()


if __name__ == "__main__":
    two_runs()
    cancelled_in_the_middle()
    an_echoed_key()
    hostile()
    print("LOGGING", file=sys.stderr)
    logging.basicConfig()
    hostile()
    print(time.time())
