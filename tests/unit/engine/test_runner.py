from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import json
import subprocess
import sys
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from builders import call, tool

from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.receiving import receiving_tasks
from pytest_tooleval.engine.limits.spending import Spending
from pytest_tooleval.engine.models.spec import Builtin, HttpModel
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.run import Payments

from .fakes import QUICK, FakeClient, case_of, only, says, use_clients

SPEC = HttpModel("m", "")
CASE = case_of()
GOOD = says(call("get_weather", '{"city": "Paris"}'))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    client = FakeClient(lambda _: GOOD)
    use_clients(monkeypatch, {"m": client})
    return client


def engine_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tooleval-engine"]


def test_every_trial_is_answered_and_no_more_than_the_limit_run_at_a_time(client: FakeClient) -> None:
    client.latency, client.together = 0.001, 7
    runner = Runner(concurrency=7)
    futures = [runner.submit(TrialRequest(Job(CASE, SPEC), number=n, priority=n)) for n in range(60)]
    transcripts = list(map(only, futures))
    runner.close()
    assert all(
        t.calls == (ToolCall("get_weather", {"city": "Paris"}, '{"city": "Paris"}', "call_1"),)
        for t in transcripts
    )
    assert sorted(chat.trial for chat in client.requests) == list(range(60))
    assert client.max_in_flight == 7


def test_early_cases_finish_before_late_ones_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[int] = []

    def answer(chat: ChatRequest) -> dict[str, Any] | ModelError:
        order.append(chat.trial)
        last = len(chat.messages) > 3
        return says(call("book" if last else "search"))

    use_clients(monkeypatch, {"m": FakeClient(answer, 0.001)})
    chain = case_of(tool("book"), tool("search"), expected_tool="book", multi_turn=True)
    runner = Runner(concurrency=1)
    futures = [runner.submit(TrialRequest(Job(chain, SPEC), number=n, priority=n)) for n in range(4)]
    concurrent.futures.wait(futures, 60)
    runner.close()
    # Between two replies of a case others may slip in, but never all of them.
    assert max(i for i, n in enumerate(order) if n == 0) < min(i for i, n in enumerate(order) if n == 3)


def test_an_error_is_the_futures_exception(client: FakeClient) -> None:
    client.answer = lambda _: ModelError("refused", kind="bad_request")
    runner = Runner(policy=QUICK)
    with pytest.raises(ModelError, match="refused"):
        only(runner.submit(TrialRequest(Job(CASE, SPEC))))
    runner.close()


def test_a_cancelled_trial_stops_asking_and_gives_its_slot_back(client: FakeClient) -> None:
    client.latency = 120.0
    runner = Runner(concurrency=1)
    first = runner.submit(TrialRequest(Job(CASE, SPEC)))
    while not client.in_flight:
        time.sleep(0.01)
    first.cancel()
    client.latency = 0.0
    assert only(runner.submit(TrialRequest(Job(CASE, SPEC)))).calls
    assert client.in_flight == 0
    runner.close()


def test_closing_leaves_no_thread_and_nothing_pending(client: FakeClient) -> None:
    client.latency = 120.0
    before = engine_threads()
    runner = Runner(concurrency=5)
    futures = [runner.submit(TrialRequest(Job(CASE, SPEC))) for _ in range(20)]
    while client.in_flight < 5:
        time.sleep(0.01)
    begin = time.monotonic()
    runner.close()
    assert time.monotonic() - begin < 60.0
    assert all(future.cancelled() for future in futures)
    assert client.in_flight == 0
    assert client.closed
    assert engine_threads() == before
    runner.close()  # again is fine


def test_responses_that_have_begun_come_in_and_cancelled_requests_are_counted() -> None:
    """A chain's next question is not sent."""
    release, asked = threading.Event(), list[int]()
    answer = {**says(call("search")), "role": "assistant"}
    usage = {"prompt_tokens": 500_000, "completion_tokens": 500_000, "total_tokens": 1_000_000}
    body = json.dumps({"id": "x", "choices": [{"index": 0, "message": answer}], "usage": usage}).encode()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(1)
            if len(asked) <= 2:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:10])
                release.wait(60)
                self.wfile.write(body[10:])
            else:
                never.wait(60)

        def log_message(self, *_: object) -> None: ...

    never, spending = threading.Event(), Spending()
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/v1"
        spec = HttpModel("m", model="openai/x", api_base=base, input_price=1.0, output_price=1.0)
        chain = case_of(tool("book"), tool("search"), expected_tool="book", multi_turn=True)
        runner = Runner(spending=spending)
        runner.submit(*(TrialRequest(Job(chain, spec), number=number) for number in range(2)))
        while len(asked) < 2:
            time.sleep(0.01)
        late = runner.submit(TrialRequest(Job(chain, spec), number=2))
        while len(asked) < 3 or len(receiving_tasks()) < 3:  # with the one that waits for both
            time.sleep(0.01)
        threading.Timer(0.2, release.set).start()
        runner.close()
        never.set()
        server.shutdown()
    assert late.cancelled()
    assert len(asked) == 3
    assert spending.by_model == {"m": Payments(2, 2, 2.0, cancelled=1)}
    assert not receiving_tasks()


def test_what_ends_before_it_begins_warns_of_nothing(client: FakeClient) -> None:
    gc.collect()  # what earlier tests have left
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(10):
            runner = Runner()
            futures = [runner.submit(TrialRequest(Job(CASE, SPEC))) for _ in range(20)]
            runner.close()
            assert all(future.done() for future in futures)
        gc.collect()
    assert [str(each.message) for each in caught] == []


def test_nothing_is_taken_after_the_end(client: FakeClient) -> None:
    runner = Runner()
    runner.close()
    with pytest.raises(RuntimeError, match="closed"):
        runner.submit(TrialRequest(Job(CASE, SPEC)))


def test_a_client_that_swallows_cancellation_does_not_hold_the_end(client: FakeClient) -> None:
    class Stubborn(FakeClient):
        async def complete(self, request: ChatRequest, timeout_s: float) -> Any:
            self.in_flight += 1
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(120)

    stubborn = Stubborn(client.answer)
    with pytest.MonkeyPatch.context() as patch:
        use_clients(patch, {"m": stubborn})
        before = engine_threads()
        runner = Runner()
        runner.submit(TrialRequest(Job(CASE, SPEC)))
        while not stubborn.in_flight:
            time.sleep(0.01)
        begin = time.monotonic()
        runner.close()
        assert time.monotonic() - begin < 60.0
        assert engine_threads() == before


def test_models_run_side_by_side() -> None:
    runner = Runner()
    specs = [Builtin("a"), Builtin("b")]
    futures = [runner.submit(TrialRequest(Job(CASE, spec))) for spec in specs]
    assert len({str(only(future).calls) for future in futures}) == 1
    runner.close()


def test_a_process_ends_although_a_users_function_hangs(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text("import time\ndef answer(m, t): time.sleep(600)\n")
    code = f"""
from pathlib import Path
from pytest_tooleval.engine.models.spec import CallableModel
from pytest_tooleval.engine.runner import Job, Runner, TrialRequest
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve
suite = Suite.model_validate({{"name": "s", "test_cases": [{{"prompt": "x", "expected_tool": None}}]}})
runner = Runner(timeout_s=0.2)
spec = CallableModel("m", callable="hanging:answer", folder=Path({str(tmp_path)!r}))
print(repr(runner.submit(TrialRequest(Job(resolve(suite, suite.test_cases[0]), spec))).result(60)))
runner.close()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "did not answer within 0.2 s" in done.stdout
    assert done.stderr == ""
