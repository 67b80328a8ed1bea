from __future__ import annotations

import dataclasses
import json
import os
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from builders import call
from msgspec import structs

from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.models.spec import CallableModel, HttpModel
from pytest_tooleval.errors import ModelError
from pytest_tooleval.files.locks import ByteLocks

from ..fakes import WEATHER, says

SPEC = HttpModel("m", model="openai/gpt", api_base="http://localhost:1/v1")
REQUEST = ChatRequest(
    ({"role": "user", "content": "Hi \ud800 ☃"},), [WEATHER], "required", {"temperature": 0.0}
)
ASKED = question_of(SPEC, REQUEST)
KEY = key_of(ASKED)
ANSWER = ChatAnswer(
    says(call("get_weather", "{"), content="☃ \ud800"),
    "stop",
    prompt_tokens=50,
    completion_tokens=10,
    cost_usd=0.25,
    latency_s=1.5,
)


def claims(path: Path) -> ByteLocks:
    return ByteLocks(lambda: path.with_name("asking.lock"))


def recorded(path: Path, *keys: str, answer: ChatAnswer = ANSWER) -> Cassette:
    cassette = Cassette(path, claims=claims(path))
    for key in keys or (KEY,):
        cassette.add(key, ASKED, answer)
    return cassette


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "suite.jsonl"


def test_what_was_recorded_comes_back_equal(path: Path) -> None:
    assert recorded(path).find(KEY) == ANSWER
    assert Cassette(path, may_ask=False).find(KEY) == ANSWER
    assert Cassette(path, may_ask=False).find("other") is None


def test_a_large_cassette_stays_on_the_disk(path: Path) -> None:
    """Replaying an answer, or explaining a missing one, takes no memory for the others."""
    large = structs.replace(ANSWER, message=says(content="x" * 20_000))
    recorded(path, *(f"{number:x}" for number in range(200)), answer=large)
    tracemalloc.start()
    try:
        cassette = Cassette(path, may_ask=False)
        assert cassette.find("c7") == large
        assert "differs in sampling.temperature" in cassette.why_missing({**ASKED, "sampling": {}})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 4


@pytest.mark.parametrize("may_ask", [False, True])
def test_the_later_of_two_answers_counts_in_a_large_cassette(path: Path, may_ask: bool) -> None:
    recorded(path, KEY, "other")
    later = structs.replace(ANSWER, message=says(content="later"))
    recorded(path, answer=later)
    cassette = Cassette(path, may_ask=may_ask)
    found = cassette.find(KEY)
    assert found == later
    assert cassette.peek(KEY) is found
    assert cassette.find("other") == ANSWER
    assert not cassette.is_empty


def test_a_file_that_is_replaced_meanwhile_gives_no_other_answer(path: Path) -> None:
    recorded(path, "a", "b")
    cassette = Cassette(path)
    assert cassette.find("a") == ANSWER
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(reversed(lines)))
    assert cassette.find("a") is None
    path.write_bytes(lines[0][7:])
    assert cassette.find("b") is None


def test_a_line_can_be_read_by_people(path: Path) -> None:
    recorded(path)
    (line,) = path.read_text(encoding="ascii").splitlines()
    question = json.loads(line)["asked"]
    assert question["tools"] == ["get_weather"]
    assert question["model"] == "openai/gpt"
    assert question["messages"] == list(REQUEST.messages)


def test_what_is_asked_anew_is_asked_once_in_a_run(path: Path) -> None:
    earlier, started, now = (f"2026-11-25T13:02:1{i}.000+00:00" for i in range(3))
    recorded(path, answer=structs.replace(ANSWER, answered_at=earlier))
    mine, others = (Cassette(path, since=started, claims=claims(path)) for _ in range(2))
    assert (mine.find(KEY), others.find(KEY)) == (None, None)
    answer = structs.replace(ANSWER, answered_at=now)
    mine.add(KEY, ASKED, answer)
    assert (mine.find(KEY), others.find(KEY)) == (answer, answer)


def test_a_file_that_no_other_process_uses_is_read_once(path: Path) -> None:
    mine, shared = Cassette(path), Cassette(path, claims=claims(path))
    assert (mine.find(KEY), shared.find(KEY)) == (None, None)
    recorded(path)
    assert (mine.find(KEY), shared.find(KEY)) == (None, ANSWER)


def test_of_two_answers_the_later_one_holds(path: Path) -> None:
    recorded(path)
    later = ChatAnswer(says(content="later"))
    recorded(path, answer=later)
    assert Cassette(path, may_ask=False).find(KEY) == later


def test_two_that_write_at_once_lose_nothing(path: Path) -> None:
    keys = [[f"{name}{number}" for number in range(300)] for name in "ab"]
    with ThreadPoolExecutor() as threads:
        both = list(threads.map(lambda mine: recorded(path, *mine), keys))
    for cassette in both:
        assert all(cassette.find(key) == ANSWER for mine in keys for key in mine)
        assert cassette.damaged == []


def test_an_unfinished_line_costs_only_itself(path: Path) -> None:
    recorded(path, "a", "b")
    path.write_bytes(path.read_bytes()[:-20])  # killed in the middle of a write
    recorded(path, "c")
    cassette = Cassette(path, may_ask=False)
    assert [cassette.find(key) is not None for key in "abc"] == [True, False, True]
    assert cassette.damaged == [2]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"{",
        b"5",
        b"[]",
        b"{}",
        b"[" * 200_000,
        b'{"version": 3, "key": "x", "answer": []}',
    ],
)
def test_a_damaged_line_is_named_and_skipped(path: Path, line: bytes) -> None:
    recorded(path, "a")
    path.write_bytes(path.read_bytes() + line + b"\n")
    recorded(path, "b")
    cassette = Cassette(path, may_ask=False)
    assert cassette.find("a") is not None
    assert cassette.find("b") is not None
    assert cassette.damaged == [2]


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('{"key": "x", "answer": {}}', "1"),
        ('{"version": 4, "key": "x", "answer": {}}', "4"),
        ('{"version": 4, "question": [], "reply": NaN}', "4"),
        ('{"version": "3.1", "key": "x", "answer": {}}', '"3.1"'),
        ('{"version": 4, "key": "x", "answer": {}', "4"),  # a last line without its newline
    ],
)
@pytest.mark.parametrize("options", [{"may_ask": False}, {}, {"since": "2026"}])
def test_a_line_of_another_version_makes_the_file_unusable(
    path: Path, line: str, version: str, options: dict[str, Any]
) -> None:
    recorded(path, "a")
    complete = line.endswith("}}") or "NaN" in line
    path.write_text(path.read_text() + (f"{line}\n" if complete else f"{line}}}"))
    cassette = Cassette(path, **options)
    for _ in range(2):
        with pytest.raises(ModelError, match=f"has version {version} .* delete it and record again"):
            cassette.find("a")
        with pytest.raises(ModelError, match=f"has version {version} "):
            cassette.require_reading()


def chain(first: str, second: str) -> tuple[dict[str, Any], ...]:
    return (
        {"role": "user", "content": "Hi"},
        says(call("search", id=first), call("check", id=second)),
        {"role": "tool", "tool_call_id": first, "content": "1"},
        {"role": "tool", "tool_call_id": second, "content": "2"},
    )


def test_ids_of_calls_do_not_matter_but_which_answer_is_whose_does() -> None:
    def key(messages: tuple[dict[str, Any], ...]) -> str:
        return key_of(question_of(SPEC, structs.replace(REQUEST, messages=messages)))

    crossed = chain("a", "b")
    crossed[2]["tool_call_id"], crossed[3]["tool_call_id"] = "b", "a"
    assert key(chain("a", "b")) == key(chain("toolu_1", "toolu_2"))
    assert key(chain("a", "b")) != key(crossed)


def test_time_outs_keys_and_labels_do_not_matter() -> None:
    other = dataclasses.replace(
        SPEC, label="x", timeout=5.0, api_key_env="KEY", max_concurrency=3, source="elsewhere"
    )
    assert key_of(question_of(other, REQUEST)) == KEY


@pytest.mark.parametrize(
    "change",
    [
        {"trial": 1},
        {"tool_choice": "auto"},
        {"tools": []},
        {"sampling": {"temperature": 0.5}},
        {"sampling": {}},
        {"messages": ({"role": "user", "content": "Ho"},)},
    ],
)
def test_what_may_change_the_answer_is_in_the_key(change: dict[str, Any]) -> None:
    assert key_of(question_of(SPEC, structs.replace(REQUEST, **change))) != KEY


@pytest.mark.parametrize(
    "change",
    [
        *({"model": "openai/other"}, {"api_base": None}),
        *({"stream": True}, {"api": "openai"}, {"api": "openai", "stream": True}),
    ],
)
def test_who_is_asked_is_in_the_key(change: dict[str, Any]) -> None:
    assert key_of(question_of(dataclasses.replace(SPEC, **change), REQUEST)) != KEY


def test_an_agent_has_other_keys_than_a_model() -> None:
    agent = CallableModel("m", SPEC.model, api_base=SPEC.api_base)
    assert key_of(question_of(agent, REQUEST)) != KEY


@pytest.mark.parametrize("secret", ["sk-planted-12345", 'quote"and\\slash', "schlüssel-☃"])
def test_no_secret_is_in_the_file(path: Path, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("MY_API_KEY", secret)
    text = f"the key {secret}!"
    tools = [{"type": "function", "function": {"name": "get_weather", "description": text}}]
    request = structs.replace(REQUEST, messages=[{"role": "user", "content": text}], tools=tools)
    sent = question_of(SPEC, request)
    Cassette(path).add(key_of(sent), sent, ANSWER)
    assert json.dumps(secret)[1:-1] not in path.read_text(encoding="ascii")
    cassette = Cassette(path, may_ask=False)
    assert cassette.find(key_of(sent)) is not None
    assert cassette.damaged == []


def test_a_password_that_is_an_ordinary_word_damages_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "message")
    recorded(path)
    assert Cassette(path, may_ask=False).find(KEY) == ANSWER


def test_an_answer_of_changed_modules_is_not_found(path: Path, tmp_path: Path) -> None:
    read: list[Path] = []

    def today(file: Path) -> str:
        read.append(file)
        return "new"

    old, new = {"a.py": "old", "b.py": "new"}, {"a.py": "new", "b.py": "new"}
    for key in ("one", "two"):
        Cassette(path).add(key, ASKED, ANSWER, old)
    mine, other = (Cassette(path, claims=claims(path), fingerprint=today) for _ in range(2))
    for cassette in (mine, other):
        assert [
            find(key, tmp_path) for find in (cassette.find, cassette.peek) for key in ("one", "two")
        ] == [None] * 4
    assert read == [tmp_path / name for name in ("a.py", "b.py")] * 2
    later = structs.replace(ANSWER, prompt_tokens=7)
    other.add("one", ASKED, later, new)
    assert mine.find("one", tmp_path) == later  # another process has asked it meanwhile
    assert mine.problems == []
    assert other.problems == [f"cassette {path}: asked again what was recorded before a change of a.py"]
    assert mine.find("two", tmp_path) is None


def test_an_answer_holds_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cassette = Cassette(tmp_path / "file" / "suite.jsonl")
    cassette.require_writing()
    cassette.add(KEY, ASKED, ANSWER)
    cassette.add("agent's", ASKED, ANSWER, {"a.py": "old"})
    assert cassette.find(KEY) == cassette.find("agent's", tmp_path) == ANSWER
    [problem] = cassette.problems
    assert "suite.jsonl cannot be written: " in problem
    assert problem.endswith("2 answers scored and not recorded")


def test_nothing_is_asked_for_a_wanted_cassette_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cassette = Cassette(tmp_path / "file" / "suite.jsonl", must_record=True)
    with pytest.raises(ModelError, match=r"not asked, .*suite\.jsonl cannot be written") as raised:
        cassette.require_writing()
    assert raised.value.kind == "replay"


def test_trying_leaves_no_file(path: Path) -> None:
    Cassette(path, must_record=True).require_writing()
    assert list(path.parent.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_nothing_more_is_asked_once_the_disk_is_full(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("/dev/full")
    cassette = Cassette(path, must_record=True)
    cassette.require_writing()
    cassette.add(KEY, ASKED, ANSWER)
    assert cassette.find(KEY) == ANSWER
    with pytest.raises(ModelError, match="cannot be written: No space left on device"):
        cassette.require_writing()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_line_that_was_cut_off_is_noticed_and_harms_no_other(path: Path) -> None:
    import resource

    recorded(path, KEY)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    cassette = Cassette(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limits[1]))
    try:
        cassette.add("cut off", ASKED, ANSWER)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "File too large" in cassette.problems[-1]
    cassette.add("later", ASKED, ANSWER)
    again = Cassette(path, may_ask=False)
    assert [again.find(key) == ANSWER for key in (KEY, "cut off", "later")] == [True, False, True]
    assert again.damaged == [2]


def test_a_file_that_cannot_be_read_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **keywords: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    recorded(path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelError, match="cannot be read: Permission denied"):
        Cassette(path, may_ask=False).find(KEY)


def test_another_host_of_the_environment_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = HttpModel("m", model="openai/m")
    at_openai = key_of(question_of(spec, REQUEST))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert key_of(question_of(spec, REQUEST)) != at_openai
