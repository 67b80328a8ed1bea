"""The loop of a trial against a scripted model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import call, tool
from msgspec import structs

from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.replay import first_missing
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.transcript import Reply, Transcript, measures_of
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import resolve

from .fakes import case_of, held, says

BOOK, SEARCH, CHECK = tool("book"), tool("search"), tool("check")
CHAIN: dict[str, Any] = {
    "expected_tool": "book",
    "multi_turn": True,
    "valid_prerequisites": ["search", "check"],
    "mock_responses": {"search": {"found": 1}, "check": "free"},
}


class Model:
    """Gives its messages one after the other, the last one for ever."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages = list(messages)
        self.requests: list[ChatRequest] = []

    async def ask(self, role: str, request: ChatRequest) -> Reply:
        self.requests.append(request)
        message = self.messages.pop(0) if len(self.messages) > 1 else self.messages[0]
        return read_reply(ChatAnswer(message), request, cached=False)

    async def run(self, case: ResolvedCase) -> Transcript:
        return await held(case, self.ask, trial=3)


def chain(**fields: Any) -> ResolvedCase:
    return case_of(BOOK, SEARCH, CHECK, **{**CHAIN, **fields})


async def test_a_single_turn_asks_once_whatever_comes() -> None:
    model = Model(says(call("search")))
    transcript = await model.run(case_of(BOOK, SEARCH, expected_tool="book", temperature=0.5))
    assert len(transcript.replies) == 1
    (request,) = model.requests
    assert request.tools == [BOOK, SEARCH]
    assert (request.tool_choice, request.trial) == ("required", 3)
    assert request.sampling == {"temperature": 0.5}
    assert list(transcript.prompt) == [{"role": "user", "content": "What's the weather in Paris?"}]


async def test_a_chain_ends_with_the_expected_tool() -> None:
    model = Model(says(call("search", id="s")), says(call("check", id="c")), says(call("book", id="b")))
    transcript = await model.run(chain())
    assert [made.name for made in transcript.calls] == ["search", "check", "book"]
    assert len(model.requests) == 3
    assert transcript.replies[-1].tool_answers == ()
    assert all(request.tools == [BOOK, SEARCH, CHECK] for request in model.requests)


async def test_calls_that_max_rounds_cuts_off_do_not_run(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(
        "class Desk:\n  def __init__(self): self.n = 0\n  def book(self) -> None: self.n += 1\n"
    )
    turn = {"prompt": "?", "expected_state": {"n": 1}}
    test = {"id": "one", "turns": [turn], "max_rounds": 2, "thresholds": {"overall": 0.5}}
    data = {"name": "s", "world": "desk:Desk", "test_cases": [test]}
    suite = parse_suite(json.dumps(data), str(tmp_path / "s.tooleval.json"))
    case = resolve(suite, suite.test_cases[0])
    transcript = await Model(says(call("book", "{}", "b"))).run(case)
    assert [each.statuses for each in transcript.replies] == [("ok",), ("refused",)]
    assert score_transcript(case, transcript).values["state"] == 1.0


async def test_every_parallel_call_is_answered_by_its_id() -> None:
    model = Model(
        says(call("search", id="x"), call("check", id="y"), call("nope", id="z")), says(call("book"))
    )
    transcript = await model.run(chain())
    answers = {a["tool_call_id"]: a["content"] for a in transcript.replies[0].tool_answers}
    assert list(answers) == ["x", "y", "z"]
    assert answers["y"] == "free"
    assert json.loads(answers["x"]) == {"found": 1}
    assert "no tool 'nope'" in answers["z"]
    assert [m.get("tool_call_id") for m in model.requests[1].messages] == [None, None, "x", "y", "z"]


async def test_the_assistants_message_goes_back_unchanged() -> None:
    message = says(
        {**call("search", '{ "q" :1}', "s"), "extra_content": {"google": {"thought_signature": "G"}}},
        content="Let me look.",
        thinking_blocks=[{"type": "thinking", "thinking": "hmm", "signature": "S=="}],
        reasoning_content="hmm",
    )
    model = Model(message, says(call("book")))
    await model.run(chain())
    assert model.requests[1].messages[1] == message


@pytest.mark.parametrize(
    "ids", [(None, None), ("", ""), (5, 5), ("same", "same"), ("call_1_1", None), (None, "call_1_0")]
)
async def test_missing_and_double_ids_are_made_up_for(ids: tuple[object, object]) -> None:
    looks = says(call("search", id=ids[0]), call("check", id=ids[1]))
    model = Model(looks, looks, says(call("book")))
    transcript = await model.run(chain())
    for request, number in ((model.requests[1], 1), (model.requests[2], 4)):
        sent = request.messages[number]
        made = [member["id"] for member in sent["tool_calls"]]
        answered = [m["tool_call_id"] for m in request.messages[number + 1 : number + 3]]
        assert made == answered
        assert len(set(made)) == 2
        assert all(isinstance(id, str) and id for id in made)
    assert transcript.replies[0].message == looks  # what came stays on record


@pytest.mark.parametrize("arguments", ["{not json", "[1]", 5])
async def test_broken_arguments_go_back_as_an_object(arguments: object) -> None:
    model = Model(says(call("search", arguments, "s")), says(call("book")))
    transcript = await model.run(chain())
    (sent,) = model.requests[1].messages[1]["tool_calls"]
    assert isinstance(json.loads(sent["function"]["arguments"]), dict)
    assert transcript.calls[0].arguments is None
    assert "not a JSON object" in transcript.replies[0].tool_answers[0]["content"]


async def test_a_call_without_a_name_goes_back_with_one() -> None:
    model = Model(says("junk", call("search", id="s")), says(call("book")))
    await model.run(chain())
    sent = model.requests[1].messages[1]["tool_calls"]
    assert [member["function"]["name"] for member in sent] == ["unknown", "search"]


async def test_a_recovered_call_goes_back_as_a_call() -> None:
    model = Model(says(content='{"name": "search", "arguments": {"q": 1}}'), says(call("book")))
    transcript = await model.run(chain())
    sent = model.requests[1].messages[1]
    assert sent["content"] is None
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {"q": 1}
    assert model.requests[1].messages[2]["tool_call_id"] == sent["tool_calls"][0]["id"]
    assert measures_of(transcript).format == "recovered"


async def test_the_older_function_call_goes_back_as_a_call() -> None:
    older = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "search", "arguments": "{}"},
    }
    model = Model(older, says(call("book")))
    await model.run(chain())
    sent = model.requests[1].messages[1]
    assert "function_call" not in sent
    assert sent["tool_calls"][0]["function"]["name"] == "search"


@pytest.mark.parametrize("most", [1, 2, 4])
async def test_it_never_takes_more_than_max_rounds(most: int) -> None:
    model = Model(says(call("search")))
    transcript = await model.run(chain(max_rounds=most))
    assert len(transcript.replies) == len(model.requests) == most
    assert transcript.replies[-1].tool_answers == ()


async def test_a_pause_is_no_round() -> None:
    answers = [says(content="I look."), says(call("search")), says(content="On."), says(call("book"))]

    async def ask(role: str, request: ChatRequest) -> Reply:
        message = answers.pop(0)
        reason = "pause_turn" if message["content"] else "tool_calls"
        return read_reply(ChatAnswer(message, reason), request, cached=False)

    transcript = await held(chain(max_rounds=2), ask)
    assert [made.name for made in transcript.calls] == ["search", "book"]


RAN = {**call("web_search", id="w"), "hosted": True}


async def test_what_the_provider_ran_needs_no_answer() -> None:
    model = Model(says(RAN, call("search", "{", "s")), says(RAN, content="Found."))
    transcript = await model.run(chain())
    first, last = transcript.replies
    assert [each["tool_call_id"] for each in first.tool_answers] == ["s"]
    assert first.statuses == ("ok", "refused")
    carried = model.requests[1].messages[1]
    assert [each["id"] for each in carried["tool_calls"]] == ["s"]
    assert ([made.name for made in last.calls], last.tool_answers) == (["web_search"], ())


async def test_what_the_provider_ran_may_be_forbidden() -> None:
    model = Model(says(RAN, call("search", id="s")), says(call("book")))
    transcript = await model.run(chain(forbidden_calls=["*"]))
    (reply,) = transcript.replies
    assert (reply.statuses, reply.tool_answers) == (("ok", "refused"), ())


async def test_no_later_error_hides_what_the_provider_ran() -> None:
    """Neither in the next turn, nor after a pause in the same one."""
    two = case_of(
        SEARCH,
        turns=[{"prompt": each, "expected_tool": None} for each in ("Hi", "Again")],
        forbidden_calls=["web_search"],
    )
    for case, reason in (
        (two, None),
        (chain(forbidden_calls=["web_search"]), "pause_turn"),
    ):
        answers = [ChatAnswer(says(RAN, content="Found."), reason)]

        async def ask(role: str, request: ChatRequest, answers: list[ChatAnswer] = answers) -> Reply:
            if not answers:
                raise ModelError("down", kind="server")
            return read_reply(answers.pop(), request, cached=False)

        transcript = await held(case, ask)
        assert score_transcript(case, transcript).failure == "forbidden_call"


async def test_a_pause_in_which_the_provider_searches_goes_on() -> None:
    answers = [says(RAN), says(call("book"))]

    async def ask(role: str, request: ChatRequest) -> Reply:
        return read_reply(ChatAnswer(answers.pop(0), "pause_turn"), request, cached=False)

    assert [made.name for made in (await held(chain(), ask)).calls] == ["web_search", "book"]


async def test_ten_rounds_where_nothing_is_said() -> None:
    assert len((await Model(says(call("search"))).run(chain())).replies) == 10


async def test_it_ends_with_a_reply_without_calls() -> None:
    model = Model(says(call("search")), says(content="I give up."))
    transcript = await model.run(chain())
    assert [reply.text for reply in transcript.replies] == ["", "I give up."]


async def test_any_tool_ends_where_any_is_expected() -> None:
    assert len((await Model(says(call("search"))).run(chain(expected_tool="*"))).replies) == 1


async def test_an_expected_call_among_others_ends_it() -> None:
    model = Model(says(call("search", id="a"), call("BOOK", id="b")))
    assert len((await model.run(chain())).replies) == 1


async def test_a_forbidden_call_ends_it() -> None:
    params = {"tool": "check", "params": {"day": {"$gte": 1}}}
    model = Model(says(call("search")), says(call("check", '{"day": 2}')), says(call("book")))
    transcript = await model.run(chain(forbidden_calls=[params]))
    assert [made.name for made in transcript.calls] == ["search", "check"]
    assert transcript.replies[-1].tool_answers == ()


async def test_an_error_in_a_later_round_is_the_trials_error() -> None:
    error = ModelError("down", kind="server")

    async def ask(role: str, request: ChatRequest) -> Reply:
        if len(request.messages) > 1:
            raise error
        return read_reply(ChatAnswer(says(call("search"))), request, cached=False)

    with pytest.raises(ModelError) as raised:
        await held(chain(), ask)
    assert raised.value is error


WORLD = """
class Desk:
    def __init__(self, refunded=0):
        self.refunded = refunded
    def look(self):
        print("looked")
        return {"refunded": self.refunded}
    def refund(self, amount: float):
        self.refunded += amount
        return "ok"
"""


def talk(folder: Path, *turns: dict[str, Any], **fields: Any) -> ResolvedCase:
    (folder / "desk.py").write_text(WORLD, encoding="utf-8")
    written = [{"prompt": f"turn {number}", **turn} for number, turn in enumerate(turns, 1)]
    case = {"id": "one", "turns": written, "expected_text": ["x"], **fields}
    world = {} if "tools" in fields else {"world": "desk:Desk", "world_args": {"refunded": 5}}
    data = {"name": "s", **world, "test_cases": [case]}
    suite = parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))
    return resolve(suite, suite.test_cases[0])


async def test_a_turn_ends_with_a_reply_without_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model(
        says(call("refund", '{"amount": 2}', "a"), call("look", id="b")),
        says(content="done"),
        says(call("look")),
        says(),
    )
    transcript = await model.run(talk(tmp_path, {}, {"new_tools": ["look"]}))
    assert [len(replies) for replies in transcript.turns] == [2, 2]
    assert transcript.printed == "looked\n"
    assert [message["content"] for message in transcript.messages if message["role"] != "assistant"] == [
        "turn 1",
        "ok",
        '{"error": "there is no tool \'look\'"}',
        "turn 2",
        '{"refunded": 7.0}',
    ]
    assert [reply.prompt for reply in transcript.replies if reply.prompt] == [
        ({"role": "user", "content": "turn 2"},)
    ]
    offered = [[tool["function"]["name"] for tool in request.tools] for request in model.requests]
    assert offered == [["refund"]] * 2 + [["look", "refund"]] * 2
    assert [request.tool_choice for request in model.requests] == ["auto"] * 4
    assert capsys.readouterr().out == ""
    assert transcript_of(transcript.messages).turns[1][0].prompt


async def test_a_turn_without_an_end_ends_the_conversation(tmp_path: Path) -> None:
    model = Model(says(call("look")))
    transcript = await model.run(talk(tmp_path, {}, {}, max_rounds=3))
    assert len(transcript.replies) == len(model.requests) == 3
    assert transcript.replies[-1].tool_answers == ()


async def test_a_turn_in_which_nothing_was_said_or_called_ends_the_conversation(tmp_path: Path) -> None:
    transcript = await Model(says(call("look")), says(), says(), says(content="3")).run(
        talk(tmp_path, {}, {}, {})
    )
    assert [len(replies) for replies in transcript.turns] == [2, 1]
    assert [each.no_answer is None for each in transcript.replies] == [True, True, False]
    assert str(transcript.no_answer) == "empty answer: neither a text nor a call"


async def test_turns_without_a_world_are_answered_by_mocks(tmp_path: Path) -> None:
    model = Model(says(call("check")), says(content="1"), says(call("check")), says(content="2"))
    case = talk(
        tmp_path,
        {},
        {"new_tools": ["check"]},
        tools=[SEARCH, CHECK],
        mock_responses={"check": "free"},
    )
    transcript = await model.run(case)
    answers = [answer["content"] for reply in transcript.replies for answer in reply.tool_answers]
    assert answers == ['{"error": "there is no tool \'check\'"}', "free"]


async def test_a_world_that_misbehaves_is_an_error_of_the_trial(tmp_path: Path) -> None:
    case = talk(tmp_path, {})
    (tmp_path / "broken.py").write_text("class Desk:\n  def look(self): return object()\n")
    assert case.world is not None
    broken = structs.replace(case, world=replace(case.world, target="broken:Desk", args={}))
    with pytest.raises(ModelError, match=r"^Desk\.look returned something that is not JSON: ") as caught:
        await Model(says(call("look"))).run(broken)
    assert caught.value.kind == "world"


async def test_a_changed_world_is_a_miss_that_names_the_first_answer(tmp_path: Path) -> None:
    spec = HttpModel(label="m", model="openai/m")
    case = talk(tmp_path, {}, {})
    model = Model(says(call("refund", '{"amount": 1}')), says(content="1"), says(call("look")))
    await model.run(structs.replace(case, max_rounds=2))
    cassette = Cassette(tmp_path / "tape.jsonl")
    replies = [says(call("refund", '{"amount": 1}')), says(content="1"), says(call("look")), says()]
    for request, reply in zip(model.requests, replies, strict=True):
        sent = question_of(spec, structs.replace(request, sampling={"temperature": 0.0}, trial=0))
        cassette.add(key_of(sent), sent, ChatAnswer(reply))
    assert (
        await asyncio.to_thread(first_missing, TrialRequest(Job(case, spec, cassette=cassette))) is None
    )
    assert case.world is not None
    changed = structs.replace(case, world=replace(case.world, args={"refunded": 6}))
    missing = await asyncio.to_thread(first_missing, TrialRequest(Job(changed, spec, cassette=cassette)))
    assert missing is not None
    why = cassette.why_missing(missing, always=True)
    assert 'message 7, content: "{\\"refunded\\": 6.0}" → "{\\"refunded\\": 7.0}"' in why
