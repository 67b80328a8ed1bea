"""A model that plays the user: what it is told, when it ends, and when it never does."""

from __future__ import annotations

from typing import Any

import pytest
from builders import call, tool

from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.spec import CallableModel
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.transcript import Reply, Transcript

from .fakes import case_of, held, says

SPEC = CallableModel("ada", callable="x:y", sampling={"temperature": 0.7})


class Cast:
    """A user and an assistant that say their lines, one after the other, the last one for ever."""

    def __init__(self, user: list[str], assistant: list[dict[str, Any]], **fields: Any) -> None:
        played = {"goal": "Get {it}.", "stop": "[end]", **fields}
        self.case = case_of(
            tool("book"), prompt=None, user=played, expected_calls=[], expected_tool=None
        )
        self.lines: dict[str, list[Any]] = {"user": [*user], "assistant": [*assistant]}
        self.requests: dict[str, list[ChatRequest]] = {"user": [], "assistant": []}

    async def _answer(self, role: str, request: ChatRequest) -> Reply:
        who = role or "assistant"
        self.requests[who].append(request)
        lines = self.lines[who]
        line = lines.pop(0) if len(lines) > 1 else lines[0]
        message = line if isinstance(line, dict) else {"role": "assistant", "content": line}
        return read_reply(ChatAnswer(message, cost_usd=0.25), request, cached=False)

    async def play(self) -> Transcript:
        return await held(self.case, self._answer, SPEC, trial=3)


def says_text(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


async def test_the_user_hears_what_is_said_and_nothing_else() -> None:
    looks = {**says(call("book")), "content": "Let me see."}
    cast = Cast(["I want it.", "This one.", "[end]"], [says_text("Which?"), looks, says_text("Done.")])
    transcript = await cast.play()
    heard_by_user = [[m["content"] for m in request.messages[1:]] for request in cast.requests["user"]]
    assert heard_by_user[0] == ["Write the user's first message."]
    mine, heard = heard_by_user[2][1::2], heard_by_user[2][2::2]
    assert mine == ["I want it.", "This one."]
    asks = "The assistant says:\n\n{}\n\nWrite the user's next message."
    assert heard == [asks.format(said) for said in ("Which?", "Let me see.\n\nDone.")]
    first = cast.requests["user"][0]
    assert "Get {it}." in first.messages[0]["content"]
    assert (first.tools, first.trial, first.sampling["temperature"]) == ((), 3, 0.7)
    heard = [m["content"] for m in cast.requests["assistant"][-1].messages if m["role"] == "user"]
    assert heard == ["I want it.", "This one."]
    assert [len(turn) for turn in transcript.turns] == [1, 2]
    assert [m["content"] for m in transcript.prompt] == ["I want it."]
    assert transcript.user is not None
    assert (transcript.user.ending, transcript.others_cost_usd) == ("[end]", 0.75)


@pytest.mark.parametrize(
    ("lines", "heard"),
    [
        # Other harnesses drop the yes, or ask the user again, who says yes once more.
        (["Book it.", "Yes, please. [end]", "Yes, please."], ["Book it.", "Yes, please."]),
        (["Book it, for today. [end] Thanks.", "Book it."], ["Book it, for today."]),
        (["Book it.", "Yes [end], [end]", "Yes"], ["Book it.", "Yes"]),
        (["Book it.", "Yes.", "**[end]**", "Yes."], ["Book it.", "Yes."]),
    ],
)
async def test_the_last_words_get_one_whole_turn(lines: list[str], heard: list[str]) -> None:
    """The stop word alone gets none; before it, also the last message of `max_turns` may come."""
    asks, books = [says_text("Shall I?")] * (len(heard) - 1), [says(call("book")), says_text("Done.")]
    cast = Cast(lines, [*asks, *books], max_turns=2)
    transcript = await cast.play()
    request = cast.requests["assistant"][-1]
    assert [m["content"] for m in request.messages if m["role"] == "user"] == heard
    assert [len(reply.calls) for reply in transcript.replies] == [*(0 for _ in asks), 1, 0]
    assert "[end]" not in str(request.messages)
    assert transcript.user is not None
    assert "[end]" in transcript.user.ending
    assert len(cast.requests["user"]) == sum("[end]" not in line for line in lines[:-1]) + 1


async def test_the_model_that_does_not_end_its_turn_ends_the_conversation() -> None:
    cast = Cast(["Go."], [says(call("book"))])
    transcript = await cast.play()
    assert len(transcript.replies) == 10
    assert transcript.user is not None
    assert transcript.user.ending == ""


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["More."], r"did not reach its goal in 2 turns \(user.max_turns\): it never said \[end\]"),
        (["[end]"], "ended the conversation before it had begun"),
        ([" "], "gave no answer: empty answer"),
    ],
)
async def test_a_user_that_goes_wrong_is_an_error(lines: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=f"the user, played by ada: {message}") as caught:
        await Cast(lines, [says_text("Hm.")], max_turns=2).play()
    assert caught.value.kind == "user"


async def test_the_last_turn_may_be_the_one_that_is_needed() -> None:
    cast = Cast(["A.", "B.", "[end]"], [says_text("Hm.")], max_turns=2)
    assert len((await cast.play()).turns) == 2
