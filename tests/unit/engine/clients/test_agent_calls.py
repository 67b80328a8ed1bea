"""Agents that call their tools themselves, run as the engine runs them."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import tool
from msgspec import structs

from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.clients import agent_calls
from pytest_tooleval.engine.clients.agent_calls import AgentCalls
from pytest_tooleval.engine.clients.callable_results import read_result
from pytest_tooleval.engine.models.spec import CallableModel
from pytest_tooleval.engine.replay import first_missing
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.transcript import Transcript, measures_of
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.worlds.world import WorldSpec

from ..fakes import case_of, only

AGENT = """
import asyncio, json, pathlib, time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).parent

def log(word):
    with open(HERE / "log.txt", "a") as file:
        file.write(word + "\\n")

def books(messages, tools, call_tool):
    log("run")
    found = json.loads(call_tool("search", {"to": "Oslo"}))
    call_tool("book", json.dumps({"flight": found["flight"]}))
    return "Booked."

async def books_anything(messages, tools, call_tool):
    await call_tool("search")
    try:
        await call_tool("book", {"flight": "OS1"})
    except Exception:
        (HERE / "sorry.txt").touch()

async def books_later(messages, tools, *, call_tool):
    found = json.loads(await call_tool("search", {"to": "Oslo"}))
    await call_tool("book", {"flight": found["flight"]})
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.01}
    return {"choices": [{"message": {"content": "Booked."}, "finish_reason": "stop"}], "usage": usage}

def in_a_loop_of_its_own(messages, tools, call_tool):
    return asyncio.run(books_later(messages, tools, call_tool=call_tool))

async def in_threads(messages, tools, call_tool):
    return await asyncio.to_thread(books, messages, tools, call_tool)

async def at_once(messages, tools, call_tool):
    return " ".join(await asyncio.gather(*(call_tool("search", {"n": n}) for n in range(3))))

def at_once_in_threads(messages, tools, call_tool):
    with ThreadPoolExecutor(3) as pool:
        return " ".join(sorted(pool.map(lambda n: call_tool("search", {"n": n}), range(3))))

def for_ever(messages, tools, call_tool):
    while True:
        try:
            call_tool("search")
        except Exception:
            pass

async def at_once_and_then(messages, tools, call_tool):
    await call_tool("search", {"n": 0})
    await asyncio.gather(*(call_tool("search", {"n": n}) for n in (1, 2)))
    await call_tool("search", {"n": 3})
    return "Done."

async def at_once_but_told_one_by_one(messages, tools, call_tool):
    found = await asyncio.gather(*(call_tool("search", {"n": n}) for n in (1, 2)))
    run = []
    for n, text in zip((1, 2), found):
        function = {"name": "search", "arguments": json.dumps({"n": n})}
        call = {"id": str(n), "type": "function", "function": function}
        run.append({"role": "assistant", "tool_calls": [call]})
        run.append({"role": "tool", "tool_call_id": str(n), "content": text})
    return [*run, "Done."]

async def at_once_but_slow_to_begin(messages, tools, call_tool):
    async def search(n):
        time.sleep(0.1 * (n - 1))  # the first call is answered before the second begins
        return await call_tool("search", {"n": n})
    await asyncio.gather(search(1), search(2))
    return "Done."

async def for_ever_later(messages, tools, call_tool):
    while True:
        await call_tool("search")

async def forgets_to_wait(messages, tools, call_tool):
    call_tool("search")
    return "?"

def by_keyword(messages, tools, call_tool):
    return call_tool("search", day="today")

def no_json(messages, tools, call_tool):
    try:
        call_tool("search", {"when": object()})
    except TypeError as error:
        return str(error)

def wild(messages, tools, call_tool):
    deep = []
    for _ in range(3000):
        deep = [deep]
    given = ["{", {"x": float("nan")}, {"deep": deep}, [1]]
    return " ".join([call_tool("search", each) for each in given] + [call_tool("\\x1b[31m", {})])

def large(messages, tools, call_tool):
    call_tool("search", "x" * 33 * 2**20)

def sleeps(messages, tools, call_tool):
    try:
        call_tool("search")
        while not (HERE / "over").exists():
            time.sleep(0.02)
        call_tool("search")
    except BaseException as error:
        log(type(error).__name__)
        raise

def raises(messages, tools, call_tool):
    call_tool("search")
    raise ValueError("no key")

def trusting(messages, tools, call_tool):
    return json.loads(call_tool("serach"))["found"]

def whole_run(messages, tools):
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    book = {"id": "b", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    return [
        {"role": "system", "content": "You book."},
        *messages,
        {"role": "assistant", "tool_calls": [call, book], "usage": {"prompt_tokens": 7}},
        {"role": "tool", "tool_call_id": "b", "content": "booked"},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
        {"content": "Cut", "finish_reason": "length", "usage": {"prompt_tokens": 9}},
    ]

async def both(messages, tools, call_tool):
    await call_tool("search", {})
    await call_tool("book", {})
    return whole_run(messages, tools)

async def claims(messages, tools, call_tool):
    await call_tool("search", {})
    return whole_run(messages, tools)

async def claims_more_often(messages, tools, call_tool):
    await call_tool("search", {})
    await call_tool("book", {})
    run = whole_run(messages, tools)
    return [*run[:-1], *run[2:]]

async def claims_a_failure(messages, tools, call_tool):
    await call_tool("search", {})
    run = whole_run(messages, tools)
    return [each | {"is_error": True} if each.get("content") == "booked" else each for each in run]

async def ends_with_a_call(messages, tools, call_tool):
    await call_tool("search", {})
    call = {"id": "b", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    return [{"content": "Found."}, {"tool_calls": [call]}]

async def gives_up_before(messages, tools, call_tool):
    from pytest_tooleval import AgentGaveUp
    await call_tool("search", {})
    raise AgentGaveUp("the limit", whole_run(messages, tools)[2:3])

async def tells_less(messages, tools, call_tool):
    await call_tool("search", {})
    return await both(messages, tools, call_tool)

def asks_nobody(messages, tools):
    return [{"role": "user", "content": "?"}]

async def runs_its_own(messages, tools, before_tool):
    for name in ("search", "wipe", "book"):
        refusal = await before_tool(name, {"to": "Oslo"})
        if refusal is None:
            log(name)
    return "Done."

def runs_its_own_for_ever(messages, tools, before_tool):
    while True:
        try:
            if before_tool("search", {}) is None:
                log("search")
        except Exception:
            pass

async def returns_what_it_ran(messages, tools, before_tool):
    await before_tool("search", {})
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    ran = {"role": "tool", "tool_call_id": "a", "content": "OS1"}
    return [{"role": "assistant", "tool_calls": [call]}, ran, {"role": "assistant", "content": "OS1"}]

async def gives_up(messages, tools, call_tool):
    from pytest_tooleval import AgentGaveUp
    await call_tool("search", {})
    raise AgentGaveUp("the request limit of 1 was reached")

async def gives_up_and_tells(messages, tools):
    from pytest_tooleval import AgentGaveUp
    raise AgentGaveUp("enough", whole_run(messages, tools)[2:])

async def returns_more_than_the_hook_saw(messages, tools, before_tool):
    await before_tool("search", {"to": "Oslo", "sort": "price"})  # a default that a library adds
    made = [("search", '{"to": "Oslo"}'), ("book", "{}")]
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in made
    ]
    return [{"role": "assistant", "tool_calls": calls}, {"role": "assistant", "content": "Done."}]

async def tries_again_after_its_guard(messages, tools, call_tool):
    call = {"type": "function", "function": {"name": "search", "arguments": "{}"}}
    blocked = {"role": "tool", "tool_call_id": "a", "content": "blocked", "status": "refused"}
    found = {"role": "tool", "tool_call_id": "b", "content": await call_tool("search", {})}
    return [
        {"role": "assistant", "tool_calls": [{**call, "id": "a"}]}, blocked,
        {"role": "assistant", "tool_calls": [{**call, "id": "b"}]}, found,
        {"role": "assistant", "content": "Found."},
    ]

async def refuses_what_it_ran(messages, tools, call_tool):
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    await call_tool("search", {})
    withheld = {"role": "tool", "tool_call_id": "a", "content": "withheld", "status": "refused"}
    return [{"role": "assistant", "tool_calls": [call]}, withheld, "Sorry."]

async def deep_text(messages, tools, call_tool):
    await call_tool("search", "[" * 100000)
    return "Done."

async def stops_itself(messages, tools):
    class Stop(BaseException):
        pass
    raise Stop("sk-proj-Zq8vN2mK4tR7wX1yB5cD")

async def skips(messages, tools):
    import pytest
    pytest.skip("not here")

async def empty_name_then_forbidden(messages, tools, call_tool):
    await call_tool("", {})
    await call_tool("book", {"flight": "OS1"})

async def too_many_then_forbidden(messages, tools, call_tool):
    for _ in range(6):
        await call_tool("search", {})
    await call_tool("book", {})

async def forbidden_and_too_large(messages, tools, call_tool):
    await call_tool("book", {"a": "x" * (1 << 20)})

async def not_allowed_beside_forbidden(messages, tools, before_tool, **_):
    await asyncio.gather(before_tool("search", {}), before_tool("book", {"flight": "OS1"}))

async def withdraws(messages, tools, call_tool):
    made = [asyncio.ensure_future(_wait(call_tool("search", {"n": n}))) for n in range(5)]
    await asyncio.sleep(0)
    for each in made[1:]:
        each.cancel()
    await asyncio.sleep(0)
    (HERE / "withdrawn").touch()
    await asyncio.gather(*made, return_exceptions=True)
    return "Done."

async def _wait(later):
    return await later

class Desk:
    def search(self, n: int) -> str:
        while not (HERE / "withdrawn").exists():
            time.sleep(0.001)
        return "found"

async def parallel_and_backwards(messages, tools, call_tool):
    asked = [("search", {"n": 1}), ("search", {"n": 2})]
    for name, arguments in asked[::-1]:
        await call_tool(name, arguments)
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(asked)
    ]
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": "..."} for call in calls]
    return [{"role": "assistant", "tool_calls": calls}, *answers, "Done."]

def asks_for_approval(messages, tools, approvals):
    return {"content": f"{approvals}"}
"""
CHAIN: dict[str, Any] = {
    "multi_turn": True,
    "expected_tool": "book",
    "valid_prerequisites": ["search"],
    "mock_responses": {"search": {"flight": "OS1"}},
    "max_rounds": 6,
}
NOT_RUN = '{"status": "accepted; the tool is not run in this test"}'


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "looping.py").write_text(AGENT)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("looping", None)


@pytest.fixture
def runner() -> Iterator[Runner]:
    running = Runner()
    yield running
    running.close()


def chain(**fields: Any) -> ResolvedCase:
    free = {"type": "object", "properties": {}}
    return case_of(tool("book", free), tool("search", free), **{**CHAIN, **fields})


def spec(folder: Path, name: str) -> CallableModel:
    return CallableModel(name, callable=f"looping:{name}", folder=folder)


def run(runner: Runner, folder: Path, name: str, case: ResolvedCase | None = None) -> Transcript:
    return only(runner.submit(TrialRequest(Job(case or chain(), spec(folder, name)))))


def calls(transcript: Transcript) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in transcript.calls]


def contents(transcript: Transcript) -> list[object]:
    return [answer["content"] for each in transcript.replies for answer in each.tool_answers]


@pytest.mark.parametrize("name", ["books", "books_later", "in_a_loop_of_its_own", "in_threads"])
def test_an_agent_is_asked_once_and_its_calls_are_scored(
    runner: Runner, folder: Path, name: str
) -> None:
    transcript = run(runner, folder, name)
    assert calls(transcript) == [("search", {"to": "Oslo"}), ("book", {"flight": "OS1"})]
    # The call that ends the chain is not run; an error would make the agent try again.
    assert contents(transcript) == ['{"flight": "OS1"}', NOT_RUN]
    assert transcript.replies[-1].text == "Booked."


def test_what_the_whole_run_took_is_kept(runner: Runner, folder: Path) -> None:
    taken = measures_of(run(runner, folder, "books_later"))
    assert (taken.prompt_tokens, taken.completion_tokens, taken.cost_usd) == (30, 5, 0.01)
    assert measures_of(run(runner, folder, "books")).prompt_tokens is None


def test_the_answers_to_parallel_calls_come_in_the_order_in_which_these_ran(
    runner: Runner, folder: Path
) -> None:
    case = chain(mock_responses={"search": {"$sequence": ["first", "second"]}})
    transcript = run(runner, folder, "parallel_and_backwards", case)
    ((one, two),) = [reply.tool_answers for reply in transcript.replies if reply.tool_answers]
    assert (one["tool_call_id"], one["content"]) == ("c1", "first")
    assert (two["tool_call_id"], two["content"]) == ("c0", "second")


@pytest.mark.parametrize("name", ["at_once", "at_once_in_threads"])
def test_calls_at_the_same_time(runner: Runner, folder: Path, name: str) -> None:
    transcript = run(runner, folder, name, chain(mock_responses={"search": {"$sequence": [0, 1, 2]}}))
    assert sorted(str(arguments) for _, arguments in calls(transcript)) == [
        "{'n': 0}",
        "{'n': 1}",
        "{'n': 2}",
    ]
    assert transcript.replies[-1].text == "0 1 2"


def test_where_there_is_no_chain_no_tool_is_run(runner: Runner, folder: Path) -> None:
    case = case_of(tool("search"), expected_tool="search")
    transcript = run(runner, folder, "wild", case)
    answers = contents(transcript)
    assert "not a JSON object" in str(answers[0])
    transcript = run(runner, folder, "at_once", case)
    assert contents(transcript) == [NOT_RUN] * 3


@pytest.mark.parametrize("name", ["for_ever", "for_ever_later"])
def test_an_agent_that_does_not_end_is_stopped_and_judged(
    runner: Runner, folder: Path, name: str
) -> None:
    transcript = run(runner, folder, name)
    assert [made for made, _ in calls(transcript)] == ["search"] * 6


@pytest.mark.parametrize("multi_turn", [True, False])
def test_a_forbidden_call_ends_the_run_and_is_not_answered(
    runner: Runner, folder: Path, multi_turn: bool
) -> None:
    fields = CHAIN if multi_turn else {"expected_tool": "search"}
    forbidden = [{"tool": "book", "params": {"flight": "OS1"}}]
    case = case_of(tool("book"), tool("search"), **fields, forbidden_calls=forbidden)
    name = "books" if multi_turn else "books_anything"
    transcript = run(runner, folder, name, case)
    assert [made for made, _ in calls(transcript)] == ["search", "book"]
    assert transcript.replies[-1].tool_answers == ()
    assert not (folder / "sorry.txt").exists()


def run_own(runner: Runner, folder: Path, name: str, allow: str, **fields: Any) -> Transcript:
    trial = TrialRequest(Job(chain(**fields), spec(folder, name), allowed=allow.split()))
    return only(runner.submit(trial))


def ran(folder: Path) -> list[str]:
    """The agent's own tools that really ran."""
    log = folder / "log.txt"
    return log.read_text().split() if log.exists() else []


def test_an_agents_own_tool_runs_if_the_case_offers_it_and_the_command_line_allows_it(
    runner: Runner, folder: Path
) -> None:
    transcript = run_own(runner, folder, "runs_its_own", "Search book wipe")
    assert ran(folder) == ["search", "book"]
    assert [made for made, _ in calls(transcript)] == ["search", "wipe", "book"]
    status = [each.statuses for each in transcript.replies]
    assert status == [(), ("refused",), (), ()]
    assert contents(transcript) == ['{"error": "there is no tool \'wipe\'"}']
    (folder / "log.txt").unlink()
    with pytest.raises(ModelError, match=r"its own tool book, .* --tooleval-allow-tools=book on the"):
        run_own(runner, folder, "runs_its_own", "search")
    assert ran(folder) == ["search"]


def test_a_forbidden_tool_of_an_agents_own_never_runs(runner: Runner, folder: Path) -> None:
    transcript = run_own(runner, folder, "runs_its_own", "search wipe book", forbidden_calls=["search"])
    assert ran(folder) == []
    assert transcript.replies[-1].statuses == ("refused",)
    result = score_transcript(chain(forbidden_calls=["search"]), transcript)
    assert result.failure == "forbidden_call"


def test_limits_hold_for_an_agents_own_tools(runner: Runner, folder: Path) -> None:
    transcript = run_own(runner, folder, "runs_its_own_for_ever", "search")
    assert ran(folder) == ["search"] * 6
    assert score_transcript(chain(), transcript).failure == "unfinished_chain"


def test_what_an_agents_own_tool_answered_is_in_the_run(runner: Runner, folder: Path) -> None:
    transcript = run_own(runner, folder, "returns_what_it_ran", "search")
    assert contents(transcript) == ["OS1"]


@pytest.mark.parametrize(
    ("name", "made"), [("gives_up", ["search"]), ("gives_up_and_tells", ["search", "book"])]
)
def test_an_agent_that_gives_up_fails(runner: Runner, folder: Path, name: str, made: list[str]) -> None:
    transcript = run(runner, folder, name)
    assert [name for name, _ in calls(transcript)] == made
    result = score_transcript(chain(), transcript)
    assert (result.passed, result.failure) == (False, "gave_up")
    assert result.mistake.startswith("gave up: ")


@pytest.mark.parametrize(
    ("name", "unanswered"),
    [
        ("in_threads", [0, 0, 0]),
        ("at_once_and_then", [0, 0, 1, 0, 0]),
        ("at_once_but_told_one_by_one", [0, 1, 0]),
        ("at_once_but_slow_to_begin", [0, 1, 0]),
    ],
)
def test_a_call_that_began_before_another_was_answered_did_not_come_after_it(
    runner: Runner, folder: Path, name: str, unanswered: list[int]
) -> None:
    replies = run(runner, folder, name).replies
    assert [each.unanswered_before for each in replies] == unanswered
    assert all(any(each.ran_by_suite) == bool(each.calls) for each in replies)


def test_a_returned_call_that_no_hook_saw_is_not_lost(runner: Runner, folder: Path) -> None:
    transcript = run_own(runner, folder, "returns_more_than_the_hook_saw", "search")
    assert calls(transcript) == [("search", {"to": "Oslo"}), ("book", {})]


def test_what_a_guard_stopped_is_not_what_the_suite_answered(runner: Runner, folder: Path) -> None:
    transcript = run(runner, folder, "tries_again_after_its_guard")
    assert contents(transcript) == ["blocked", '{"flight": "OS1"}']
    assert [each.statuses for each in transcript.replies] == [("refused",), ("ok",), ()]


def test_what_the_suite_answered_has_run_once_also_if_a_guard_withheld_it(
    runner: Runner, folder: Path
) -> None:
    transcript = run(runner, folder, "refuses_what_it_ran")
    assert contents(transcript) == ['{"flight": "OS1"}']
    assert [each.statuses for each in transcript.replies] == [("ok",), ()]


def test_arguments_that_are_nested_endlessly_are_the_models_mistake(
    runner: Runner, folder: Path
) -> None:
    assert run(runner, folder, "deep_text").calls[0].arguments is None


@pytest.mark.parametrize(
    ("name", "message"),
    [("stops_itself", r"raised Stop: sk-proj-x{20} at"), ("skips", "raised Skipped: not here")],
)
def test_whatever_an_agent_raises_is_an_error_without_keys(
    runner: Runner, folder: Path, name: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        run(runner, folder, name)


@pytest.mark.parametrize(
    "name",
    [
        "empty_name_then_forbidden",
        "not_allowed_beside_forbidden",
        "too_many_then_forbidden",
        "forbidden_and_too_large",
    ],
)
def test_no_error_hides_a_forbidden_call(
    runner: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(agent_calls, "BODY_BYTES", 1 << 20)
    transcript = run_own(runner, folder, name, "book", forbidden_calls=["book"])
    result = score_transcript(chain(forbidden_calls=["book"]), transcript)
    assert result.failure == "forbidden_call"


def test_a_call_that_the_agent_has_withdrawn_does_not_run(runner: Runner, folder: Path) -> None:
    # The world is still busy with the first one when the others are withdrawn.
    case = structs.replace(chain(), world=WorldSpec("looping:Desk", folder))
    transcript = run(runner, folder, "withdraws", case)
    assert len(transcript.calls) < 5
    assert transcript.replies[-1].text == "Done."


def test_a_case_answers_requests_for_approval(runner: Runner, folder: Path) -> None:
    transcript = run(runner, folder, "asks_for_approval", chain(approvals={"book": "approve"}))
    assert transcript.replies[-1].text == "{'book': 'approve'}"


def test_what_a_model_makes_up_is_its_own_mistake(runner: Runner, folder: Path) -> None:
    transcript = run(runner, folder, "wild")
    assert [call.arguments for call in transcript.calls[:4]] == [None] * 4
    assert "there is no tool" in str(contents(transcript)[4])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("forgets_to_wait", "call_tool('search') was not awaited; in async code, write await"),
        ("no_json", "call_tool('search') got arguments that are not valid JSON: Object of type object"),
        ("by_keyword", "call_tool('search', day=...): expected a tool's name and its arguments as one"),
        ("large", "the calls are larger than 32 MiB in total"),
        ("raises", "raised ValueError: no key at"),
        ("raises", ", after search answered "),
        ("trusting", ', after serach answered {"error": "there is no tool \'serach\''),
        ("asks_nobody", "or a list of all messages of the run"),
    ],
)
def test_an_error_is_no_failure(runner: Runner, folder: Path, name: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        run(runner, folder, name)
    assert message in str(caught.value)


def test_time_runs_out_for_the_whole_run(folder: Path) -> None:
    runner = Runner(timeout_s=0.5)
    trial = TrialRequest(Job(chain(), spec(folder, "sleeps")))
    with pytest.raises(ModelError, match=r"did not answer within 0\.5 s"):
        only(runner.submit(trial))
    (folder / "over").touch()
    deadline = time.monotonic() + 60
    while not (folder / "log.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    # Its next call ends the thread, whatever it catches.
    assert (folder / "log.txt").read_text() == "RunIsOver\n"
    runner.close()


async def test_a_library_may_cancel_a_call_that_waits() -> None:
    """As some do with the other calls of a reply when one of them ends the run."""
    own = AgentCalls(Toolbox(chain()))

    async def call() -> None:
        await own.call_tool("search", {"to": "Oslo"})

    task = asyncio.ensure_future(call())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    own.end()
    assert task.cancelled()


def test_a_list_of_messages_is_a_whole_run(runner: Runner, folder: Path) -> None:
    transcript = run(runner, folder, "whole_run")
    assert calls(transcript) == [("search", {}), ("book", {})]
    assert contents(transcript) == ["found", "booked"]
    assert len(transcript.replies) == 2
    assert transcript.no_answer is not None
    assert transcript.no_answer.category == "cut_off"
    assert measures_of(transcript).prompt_tokens == 16


def test_a_run_is_told_in_its_rounds_and_loses_no_call(runner: Runner, folder: Path) -> None:
    transcript = run(runner, folder, "both")
    assert calls(transcript) == [("search", {}), ("book", {})]
    assert contents(transcript) == ['{"flight": "OS1"}', NOT_RUN]
    assert measures_of(transcript).prompt_tokens == 16
    transcript = run(runner, folder, "tells_less")
    assert calls(transcript) == [("search", {}), ("search", {}), ("book", {})]
    assert transcript.replies[-1].text == "Cut"
    assert measures_of(transcript).prompt_tokens == 16


@pytest.mark.parametrize("name", ["claims", "claims_more_often"])
def test_claims_are_no_calls(runner: Runner, folder: Path, name: str) -> None:
    with pytest.raises(ModelError, match=r"hold calls that call_tool did not make: .*book; make each"):
        run(runner, folder, name)
    # Where nothing answers, there is nothing to run.
    assert run(runner, folder, name, case_of(tool("search"), tool("book"), expected_tool="book"))
    # Attempts of what is forbidden are judged.
    made = run(runner, folder, name, chain(forbidden_calls=["book"]))
    assert ("book", {}) in calls(made)


@pytest.mark.parametrize("name", ["claims_a_failure", "ends_with_a_call", "gives_up_before"])
def test_calls_that_the_agent_says_did_not_run_are_no_claims(
    runner: Runner, folder: Path, name: str
) -> None:
    assert ("book", {}) in calls(run(runner, folder, name))


SYSTEM = {"role": "system", "content": "Be brief."}
FIRST, SECOND = ({"role": "user", "content": text} for text in ("Find one.", "Book it."))
SECOND_IN_PARTS = {"role": "user", "content": [{"type": "text", "text": "Book it."}]}
GO_ON = {"role": "user", "content": "Please go on."}


def says(content: str | None, *names: str) -> dict[str, Any]:
    made = [{"id": "c", "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}


TOOL = {"role": "tool", "tool_call_id": "c", "content": "ok"}
EARLIER = [FIRST, says(None, "search"), TOOL, says("Found.")]
RUN = [says(None, "book"), TOOL, GO_ON, says("Done.")]


@pytest.mark.parametrize(
    "returned",
    [
        RUN,
        [SECOND, *RUN],
        [SECOND_IN_PARTS, *RUN],
        [{**SECOND, "content": "[Monday] Book it."}, *RUN],
        [SYSTEM, *RUN],
        [SYSTEM, SECOND, *RUN],
        [*EARLIER, SECOND, *RUN],
        [SYSTEM, *EARLIER, SECOND, *RUN],
        # Either what the user said or what the assistant and its tools said was changed.
        [SYSTEM, {**FIRST, "content": "[Monday] Find one."}, *EARLIER[1:], SECOND, *RUN],
        [*EARLIER[:2], {**TOOL, "content": "(cut)"}, says("FOUND"), SECOND, *RUN],
    ],
)
def test_of_a_returned_run_only_the_prompt_is_cut_off(returned: list[Any]) -> None:
    prompt = [{"role": "system", "content": "You book."}, *EARLIER, SECOND]
    read = read_result(CallableModel("agent", callable="a:b"), returned, prompt, 0.0).replies
    made = [each.message.get("tool_calls", [{}])[0].get("function", {}).get("name") for each in read]
    assert made == ["book", None]


def test_a_whole_run_is_recorded_and_replayed(runner: Runner, folder: Path) -> None:
    path = folder / "tape.jsonl"
    own = spec(folder, "books")
    first = only(runner.submit(TrialRequest(Job(chain(), own, cassette=Cassette(path)))))
    replayed = only(
        runner.submit(TrialRequest(Job(chain(), own, cassette=Cassette(path, may_ask=False))))
    )
    assert (folder / "log.txt").read_text() == "run\n"
    assert replayed.messages == first.messages
    assert first_missing(TrialRequest(Job(chain(), own, cassette=Cassette(path, may_ask=False)))) is None
    # Other mocks might have led it elsewhere.
    other = chain(mock_responses={"search": {"flight": "OS2"}})
    with pytest.raises(
        ModelError, match=r"tools_answer\.mock_responses\.search\.flight: \"OS1\" → \"OS2\""
    ):
        only(runner.submit(TrialRequest(Job(other, own, cassette=Cassette(path, may_ask=False)))))
