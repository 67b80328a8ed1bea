"""People's own functions as models."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from nightly import at_night

from pytest_tooleval.engine.clients.callable_client import CallableClient
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.models.spec import CallableModel
from pytest_tooleval.errors import ModelError
from pytest_tooleval.threads import DaemonThreads

from ..fakes import WEATHER

REQUEST = ChatRequest(
    ({"role": "user", "content": "Hi"},), (WEATHER,), "required", {"temperature": 0.5, "seed": 1}, 2
)

AGENT = """
import asyncio, functools, sys, time

def text(messages, tools):
    return messages[-1]["content"] + " " + tools[0]["function"]["name"]

async def later(messages, tools):
    await asyncio.sleep(0)
    return {"content": "later"}

def returns_awaitable(messages, tools):
    return later(messages, tools)

partly = functools.partial(later)

class Agent:
    def __call__(self, messages, tools):
        return "instance"
    def method(self, messages, tools):
        return "method"

class Later:
    async def __call__(self, messages, tools):
        return "async instance"

class Lonely:
    pass

agent = Agent()

class Broken:
    def __init__(self):
        raise RuntimeError("no config")

def some(messages, tools, *, temperature, trial=None):
    return f"{temperature} {trial}"

def everything(messages, tools, **rest):
    return repr(sorted(rest.items()))

def mutates(messages, tools):
    messages[0]["content"] = "changed"
    tools[0]["function"]["name"] = "changed"
    messages.append({})
    return "done"

def raises_at_length(messages, tools):
    raise ValueError("bad news" + 300_000 * "!")

def raises(messages, tools):
    raise ValueError("bad\\nnews")

async def raises_later(messages, tools):
    raise ValueError("bad news")

def exits(messages, tools):
    sys.exit(3)

async def exits_later(messages, tools):
    sys.exit(3)

def stops(messages, tools):
    raise StopIteration

async def cancels(messages, tools):
    raise asyncio.CancelledError

def another_name(m, t, caller, *more):
    return "x"

def wrong_arguments(question):
    return "x"

def sleeps(messages, tools):
    time.sleep(600)

async def stubborn(messages, tools):
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)
            return "late"

async def blocks(messages, tools, trial):
    await asyncio.sleep(0)
    time.sleep(30 if trial == 3 else 0.3)
    return "at last"

async def blocks_in_tasks(messages, tools, trial):
    await asyncio.gather(blocks(messages, tools, trial))
    return "at last"

lock = asyncio.Lock()

async def shares(messages, tools):
    async with lock:
        await asyncio.sleep(0.2)
    return "shared"

def thread(messages, tools):
    time.sleep(0.6)
    return "thread"

VALUE = None

def gives(messages, tools):
    return VALUE

not_callable = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "my_agent.py").write_text(AGENT)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("my_agent", None)


@pytest.fixture(autouse=True)
async def _threads() -> None:
    """Sync functions run in threads that nobody waits for, as they do in the engine."""
    asyncio.get_running_loop().set_default_executor(DaemonThreads())


def client(folder: Path, name: str, module: str = "my_agent") -> CallableClient:
    return CallableClient(CallableModel("mine", callable=f"{module}:{name}", folder=folder))


async def ask(folder: Path, name: str, timeout_s: float = 60.0) -> ChatAnswer:
    return await client(folder, name).complete(REQUEST, timeout_s)


async def gives(folder: Path, value: object) -> ChatAnswer:
    mine = client(folder, "gives")
    sys.path.insert(0, str(folder))
    import my_agent  # type: ignore[import-not-found]

    my_agent.VALUE = value
    return await mine.complete(REQUEST, 10.0)


async def failing(folder: Path, name: str, timeout_s: float = 60.0) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(folder, name, timeout_s)
    assert "\n" not in raised.value.message
    return raised.value


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text", "Hi get_weather"),
        ("later", "later"),
        ("returns_awaitable", "later"),
        ("partly", "later"),
        ("Agent", "instance"),
        ("agent", "instance"),
        ("agent.method", "method"),
        ("Later", "async instance"),
        ("some", "0.5 2"),
        ("everything", "[('seed', 1), ('temperature', 0.5), ('tool_choice', 'required'), ('trial', 2)]"),
    ],
)
async def test_functions_of_every_kind(folder: Path, name: str, content: str) -> None:
    answer = await ask(folder, name)
    assert answer.message == {"role": "assistant", "content": content}
    assert answer.latency_s is not None


async def test_what_the_function_changes_is_its_own(folder: Path) -> None:
    await ask(folder, "mutates")
    assert REQUEST.messages[0] == {"role": "user", "content": "Hi"}
    assert REQUEST.tools[0]["function"]["name"] == "get_weather"


async def test_an_endless_exception_keeps_its_beginning(folder: Path) -> None:
    error = await failing(folder, "raises_at_length")
    assert error.message.startswith("my_agent:raises_at_length raised ValueError: bad news!")
    assert len(error.message) == 1000


async def test_an_exception_names_the_line(folder: Path) -> None:
    for name in ("raises", "raises_later"):
        error = await failing(folder, name)
        line = (
            AGENT.split("\n").index(f"{'async ' * (name != 'raises')}def {name}(messages, tools):") + 2
        )
        assert (
            f"my_agent:{name} raised ValueError: bad news at {folder / 'my_agent.py'}:{line}"
            in error.message
        )
        assert (error.kind, error.retryable, error.fatal) == ("callable", False, False)


@pytest.mark.parametrize(
    ("name", "exception"),
    [
        ("exits", "SystemExit: 3"),
        ("exits_later", "SystemExit: 3"),
        ("stops", "StopIteration"),
        ("cancels", "CancelledError"),
    ],
)
async def test_no_exception_ends_the_engine(folder: Path, name: str, exception: str) -> None:
    error = await failing(folder, name)
    assert f"raised {exception}" in error.message
    assert error.kind == "callable"


async def test_a_parameter_that_gets_no_value_is_named(folder: Path) -> None:
    error = await failing(folder, "another_name")
    assert error.message.startswith("my_agent:another_name takes (m, t, caller, *more), and nothing is")
    assert "called caller here; after messages and tools, parameters go by name" in error.message


@pytest.mark.parametrize("name", ["sleeps", "stubborn"])
async def test_a_function_that_takes_too_long(folder: Path, name: str) -> None:
    error = await failing(folder, name, timeout_s=0.1)
    assert error.kind == "timeout"
    assert "0.1 s (--tooleval-timeout)" in error.message
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait([task], timeout=30.0)


async def test_cancelling_the_question_cancels_the_function(folder: Path) -> None:
    task = asyncio.create_task(ask(folder, "sleeps"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("no_such_agent", "f", "cannot import 'no_such_agent': ModuleNotFoundError"),
        ("exiting_agent", "f", "cannot import 'exiting_agent': SystemExit: 2"),
        ("my_agent", "nothing", "'my_agent' has no 'nothing'"),
        ("my_agent", "agent.nothing.more", "'my_agent' has no 'agent.nothing.more'"),
        ("my_agent", "wrong_arguments", "wrong_arguments takes (question), expected (messages, tools)"),
        ("my_agent", "not_callable", "cannot be called"),
        ("my_agent", "Lonely", "cannot be called"),
        ("my_agent", "Broken", "Broken() raised RuntimeError: no config"),
    ],
)
async def test_what_cannot_be_loaded_ends_the_model(
    folder: Path, module: str, name: str, message: str
) -> None:
    (folder / "exiting_agent.py").write_text("raise SystemExit(2)")
    with pytest.raises(ModelError) as raised:
        await client(folder, name, module).complete(REQUEST, 10.0)
    assert message in raised.value.message
    assert raised.value.fatal


async def test_a_module_in_another_folder_stays_unfound_and_is_pointed_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evals").mkdir()
    (folder / "evals" / "far_agent.py").write_text("def agent(messages, tools): return 'Hi.'")
    agent = client(folder, "agent", "far_agent")
    for _ in range(2):
        with pytest.raises(ModelError) as raised:
            await agent.complete(REQUEST, 10.0)
        where = f"looked in {folder} and where Python does; there is evals/far_agent.py"
        assert f"{where}: name it 'evals.far_agent'" in raised.value.message
        monkeypatch.syspath_prepend(folder / "evals")  # as a world beside its suite does
    answer = await client(folder, "agent", "evals.far_agent").complete(REQUEST, 10.0)
    assert answer.message["content"] == "Hi."


async def test_a_module_is_loaded_once(folder: Path) -> None:
    (folder / "counting_agent.py").write_text(
        "import time, sys\nsys.loads = getattr(sys, 'loads', 0) + 1\ntime.sleep(0.1)\n"
        "class A:\n    def __init__(self): sys.loads += 10\n    def __call__(self, m, t): return 'x'\n"
    )
    mine = client(folder, "A", "counting_agent")
    await asyncio.gather(*(mine.complete(REQUEST, 10.0) for _ in range(20)))
    assert sys.loads == 11  # type: ignore[attr-defined]
    sys.modules.pop("counting_agent")


class Dumps:
    def __init__(self, data: Any) -> None:
        self.data = data

    def model_dump(self, exclude_none: bool = False) -> Any:
        return self.data


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESPONSE = {
    "choices": [{"message": {"content": None, "tool_calls": [CALL]}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 0},
}


@pytest.mark.parametrize("value", [RESPONSE, Dumps(RESPONSE), Dumps(RESPONSE["choices"][0]["message"])])  # type: ignore[index]
async def test_responses_of_libraries(folder: Path, value: object) -> None:
    answer = await gives(folder, value)
    assert answer.message == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert answer.prompt_tokens == (5 if "usage" in str(getattr(value, "data", value)) else None)
    assert answer.completion_tokens is None


@pytest.mark.parametrize(
    "value",
    [
        {"content": None, "refusal": "No."},
        {"choices": [{"message": {"role": "assistant", "refusal": "No."}, "finish_reason": "stop"}]},
    ],
)
async def test_a_refusal_in_a_response(folder: Path, value: object) -> None:
    answer = await gives(folder, value)
    assert (answer.finish_reason, answer.finish_message) == ("refusal", "No.")


async def test_short_calls_are_taken(folder: Path) -> None:
    answer = await gives(folder, {"tool_calls": [{"name": "f", "arguments": {"x": 1}}]})
    (made,) = answer.message["tool_calls"]
    assert made["function"] == {"name": "f", "arguments": {"x": 1}}


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        [],
        {},
        {"choices": []},
        {"choices": ["x"]},
        {"text": "x"},
        {"content": object()},
        {"tool_calls": [{"args": {}}]},
        {"tool_calls": ["f"]},
        {"tool_calls": {"name": "f"}},
        Dumps(object()),
        b"bytes",
    ],
)
async def test_anything_else_shows_what_is_expected(folder: Path, value: object) -> None:
    with pytest.raises(ModelError) as raised:
        await gives(folder, value)
    assert raised.value.kind == "callable"
    assert '"function": {"name": ..., "arguments": {...}}' in raised.value.message
    assert len(raised.value.message) <= 1000


async def test_no_key_is_in_a_message(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "bad")
    monkeypatch.setenv("OTHER_TOKEN", "ValueError: bad")
    assert "ValueError: bad" not in (await failing(folder, "raises_later")).message


@pytest.mark.parametrize("name", [at_night("blocks"), "blocks_in_tasks"])
async def test_the_time_of_a_call_stands_still_while_others_block_the_loop(
    folder: Path, name: str
) -> None:
    """Sixteen calls of 0.3 s, one after the other, and none takes longer than 4 s."""
    mine = client(folder, name)
    calls = (mine.complete(structs.replace(REQUEST, trial=9), 4.0) for _ in range(16))
    answers = await asyncio.gather(*calls)
    assert {answer.message["content"] for answer in answers} == {"at last"}
    assert all(0.2 < (answer.latency_s or 0) < 4.0 for answer in answers)
    assert mine.problem.startswith(
        f"my_agent:{name} blocks the event loop; use a plain def, or run it alone"
    )


async def test_one_call_at_a_time_blocks_nobody(folder: Path) -> None:
    mine = client(folder, "blocks")
    for _ in range(4):
        await mine.complete(structs.replace(REQUEST, trial=9), 60.0)
    assert mine.problem == ""


async def test_a_loop_that_is_never_given_back_ends_all_calls(folder: Path) -> None:
    mine = client(folder, "blocks")
    other = client(folder, "later")
    calls = [mine.complete(structs.replace(REQUEST, trial=3), 2.0) for _ in range(3)]
    first = asyncio.ensure_future(asyncio.gather(*calls, return_exceptions=True))
    await asyncio.sleep(0.5)
    with pytest.raises(
        ModelError, match=r"within 0\.1 s .*; my_agent:blocks blocks the event loop; use"
    ):
        await other.complete(REQUEST, 0.1)
    for error in await first:
        assert isinstance(error, ModelError)
        assert error.kind == "timeout"
        assert "2 s (--tooleval-timeout); it blocks the event loop; use a plain def" in error.message
    await mine.close()
    # A later run of the process has a loop that runs.
    assert (await ask(folder, "later", 5.0)).message["content"] == "later"


async def test_agents_share_a_loop_and_the_time_of_one_is_not_charged_to_another(folder: Path) -> None:
    """As libraries do, the agents share a connection, which belongs to an event loop."""
    blocking, waiting, threaded = (client(folder, name) for name in ("blocks", "shares", "thread"))
    later = structs.replace(REQUEST, trial=9)
    blocked = [blocking.complete(later, 4.0) for _ in range(8)]
    shared = [mine.complete(later, 1.0) for mine in (waiting, client(folder, "shares")) for _ in "ab"]
    answers = await asyncio.gather(*blocked, *shared, threaded.complete(later, 4.0))
    assert [each.message["content"] for each in answers] == ["at last"] * 8 + ["shared"] * 4 + ["thread"]
    assert all((each.latency_s or 0) < 1.0 for each in answers[8:-1])
    assert (answers[-1].latency_s or 0) > 0.5  # nobody blocks a thread
    assert blocking.problem
    assert not waiting.problem + threaded.problem


async def test_an_agent_that_ends_leaves_the_others_alone(folder: Path) -> None:
    mine, other = client(folder, "stubborn"), client(folder, "shares")
    ending = asyncio.ensure_future(mine.complete(REQUEST, 60.0))
    going = asyncio.ensure_future(other.complete(REQUEST, 60.0))
    await asyncio.sleep(0.1)
    await mine.close()
    assert (await ending).message["content"] == "late"
    assert (await going).message["content"] == "shared"
