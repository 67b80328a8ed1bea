"""Messages in files of no known format, at any depth; and what is said of other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.apply import apply
from pytest_tooleval.imports.files import import_files
from pytest_tooleval.imports.transcripts import read_transcripts

Messages = list[dict[str, Any]]


def chat(name: str = "refund", city: str = "Oslo") -> Messages:
    function = {"name": name, "arguments": json.dumps({"city": city})}
    calls = [{"id": "c", "type": "function", "function": function}]
    return [
        {"role": "user", "content": f"Help in {city}."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]


def cases_of(path: Path, value: Any, place: str | None = None) -> list[Any]:
    text = json.dumps(value) if path.suffix != ".jsonl" else "\n".join(map(json.dumps, value))
    path.write_text(text)
    found, (line,) = import_files([path], None, has_tools=False, place=place)
    made = apply(found, "s")
    calls = [case.get("expected_params") or case["expected_tool"] for case in made.suite["test_cases"]]
    _, _, where = line.partition(", the messages at ")
    return [where, *calls, *(["left out"] if made.left_out else [])]


OSLO, BERGEN = {"city": "Oslo"}, {"city": "Bergen"}
FLAT = [*chat()[:1], {"role": "assistant", "tool_calls": [{"function": "f", "args": OSLO, "id": "c"}]}]
ECHO = {"role": "tool", "tool_call_id": "c", "content": "", "tool_call": FLAT[1]["tool_calls"][0]}
GOLD = {"task": {"actions": [{"name": "refund", "kwargs": {"city": "Rome"}}]}}
TWO = [{"m": chat()}, {"m": chat(city="Bergen")}]
BOTH = {"a": chat(), "b": chat(city="Bergen")}
MORE = {"tool": "refund", "args": BERGEN}
APART = {"req": {"a": chat()[:3]}, "res": {"x": 1}}


@pytest.mark.parametrize(
    ("value", "place", "expected"),
    [
        ({"history": chat(), "info": {}}, None, ["/history", OSLO, None]),
        ([{"a": {"b": chat()}}], None, ["/a/b", OSLO, None]),
        ({"trials": TWO}, None, ["/trials/*/m", OSLO, None, BERGEN, None]),
        ({"history": chat(), "steps": [{"query": chat()[:3]}]}, None, ["/history", OSLO, None]),
        ({"a~/b": chat()}, None, ["/a~0~1b", OSLO, None]),
        (BOTH, "/b", ["/b", BERGEN, None]),
        ({"runs": TWO}, "/runs/1/m", ["/runs/1/m", BERGEN, None]),
        ({"traj": chat(), "info": GOLD}, None, ["/traj", OSLO, None]),
        ({"traj": [*FLAT, ECHO, chat()[3]]}, None, ["/traj", OSLO, None]),
        # A call beside the messages is not lost.
        ({"traj": chat(), "more": MORE}, None, ["/traj", OSLO, "left out"]),
        (BOTH, None, "several lists of chat messages: /a, /b; choose"),
        ({"a": chat()}, "/b", "no list at /b; lists of messages: /a"),
        (APART, None, "the messages at /req/a end before an answer, and res beside them"),
        ({"a": chat()[:1]}, None, "no list of chat messages is found. Save the chat"),
    ],
)
def test_messages_are_found_at_any_depth(
    tmp_path: Path, value: Any, place: str | None, expected: Any
) -> None:
    path = tmp_path / "run.traj"
    if isinstance(expected, str):
        with pytest.raises(SuiteError, match=expected):
            cases_of(path, value, place)
    else:
        assert cases_of(path, value, place) == expected


def test_a_transcript_is_found_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "run.traj").write_text(json.dumps({"history": chat()}))
    (run,) = read_transcripts([tmp_path / "run.traj"])
    assert len(run.messages) == 4


@pytest.mark.parametrize(
    ("name", "text", "program"),
    [
        ("conversations.json", '[{"title": "t", "mapping": {}, "current_node": "x"}]', "ChatGPT"),
        ("chat.json", '{"requesterUsername": "a", "responderUsername": "b", "requests": []}', "Copilot"),
        ("composer.json", '{"composerId": "x", "conversation": []}', "Cursor"),
        ("state.vscdb", "SQLite format 3\0", "Cursor"),
        ("T-1.json", '{"v": 1, "created": 1, "messages": [], "env": {}}', "Amp"),
        (".aider.chat.history.md", "# aider chat started", "Aider"),
    ],
)
def test_sessions_that_are_not_read_are_named(
    tmp_path: Path, name: str, text: str, program: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SuiteError, match=f"a session of {program}.* is not read. Log the requests"):
        import_files([tmp_path / name], None, has_tools=False)


RUN = {
    "run_type": "llm",
    "inputs": {"messages": chat()[:1]},
    "outputs": {"choices": [{"message": chat()[1]}]},
}
TURNS = [{"from": "human", "value": "Help."}, {"from": "gpt", "value": "Done."}]
HERMES = {"role": "system", "content": "Use <tools>[]</tools>"}
TOOL = {"name": "refund", "parameters": {"type": "object"}}
CALL = {"name": "refund", "arguments": OSLO}
SAMPLE = {"messages": chat(), "attachments": {"a1": "?"}}
INSPECT, LANGSMITH, TRL = "a log of Inspect", "a run of LangSmith", "as TRL has them"
SHAREGPT, DEEPEVAL, XLAM = "as ShareGPT has it", "case of DeepEval", "a question as xLAM"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Read as the chat messages that they are.
        ({"messages": chat(), "tools": [TOOL]}, [OSLO, None]),
        ({"conversations": chat()}, [OSLO, None]),
        ({"messages": [HERMES, *chat()], "tools": [TOOL]}, [OSLO, None]),
        ({"messages": chat(), "eval": {"task": "t"}}, [OSLO, None]),
        ({"request": {"messages": chat()[:1]}, "response": RUN["outputs"], "name": "llm"}, [OSLO]),
        # Refused.
        ({"prompt": chat()[:1], "completion": chat()[1:2], "tools": [TOOL]}, TRL),
        ({"prompt": chat()[:1], "chosen": chat()[:2], "rejected": []}, TRL),
        ({"eval": {"task": "t"}, "samples": [SAMPLE]}, INSPECT),
        (RUN, LANGSMITH),
        ([{**RUN, "run_type": "chain"}, RUN], LANGSMITH),
        ({"post": [RUN], "patch": []}, LANGSMITH),
        ({"input": "Help.", "expected_tools": ["refund"], "actual_output": "Done."}, DEEPEVAL),
        ({"input": "Help.", "expectedTools": [CALL], "output": chat()[1]}, DEEPEVAL),
        ({"conversations": TURNS}, SHAREGPT),
        ({"conversations": json.dumps(TURNS), "tools": "[]"}, SHAREGPT),
        ({"conversations": TURNS[:1], "chosen": TURNS[1], "rejected": TURNS[1]}, SHAREGPT),
        ({"conversation": chat()[:1], "chosen": TURNS[1]}, SHAREGPT),
        ({"messages": [HERMES, *chat()]}, SHAREGPT),
        ({"a": {"turns": TURNS}}, "no list of chat messages is found"),
        (TURNS, "no list of chat messages is found"),
        ({"query": "Help.", "answers": json.dumps([CALL]), "tools": "[]"}, XLAM),
    ],
)
def test_what_other_programs_write_is_read_as_messages_or_refused(
    tmp_path: Path, value: Any, expected: Any
) -> None:
    path = tmp_path / "log.json"
    if isinstance(expected, str):
        for read in (cases_of, lambda path, value: read_transcripts([path])):
            with pytest.raises(SuiteError) as caught:
                read(path, value)
            (problem,) = caught.value.problems
            assert expected in problem.message
            assert "/guides/importing/#files" in problem.message
    else:
        assert cases_of(path, value)[1:] == expected


def test_files_of_other_programs_that_are_no_json_are_refused(tmp_path: Path) -> None:
    for name, title in (("log.eval", INSPECT), ("SKILL.md", "an agent skill")):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("PK")
        for path in (tmp_path / name, tmp_path / name / name):
            with pytest.raises(SuiteError, match=f"This is {title}, which is not read"):
                import_files([path], None, has_tools=False)


def test_records_that_are_not_read_are_left_out_of_others(tmp_path: Path) -> None:
    values = [{"messages": chat()}, {"conversations": TURNS}]
    assert cases_of(tmp_path / "log.jsonl", values) == ["", OSLO, None, "left out"]


def test_a_call_that_inspect_could_not_parse_is_no_call_without_arguments(tmp_path: Path) -> None:
    call = {"id": "c", "function": "refund", "arguments": {}, "parse_error": "no JSON"}
    value = {"messages": [*chat()[:1], {"role": "assistant", "tool_calls": [call]}]}
    with pytest.raises(SuiteError, match=r"a call of .*could not be parsed"):
        cases_of(tmp_path / "log.json", value)
