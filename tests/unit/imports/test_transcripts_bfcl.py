"""Result files of BFCL as transcripts; `tests/leaderboards` compares verdicts on them with BFCL's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.conversation import Conversation
from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.run.transcripts import answers_of
from pytest_tooleval.scoring.trial import score_messages, score_transcript
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

Calls = list[tuple[str, dict[str, Any] | None]]


def runs(folder: Path, *results: dict[str, Any]) -> list[Conversation]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "BFCL_v4_multi_turn_base_result.json"
    file.write_text("".join(json.dumps(each) + "\n" for each in results), encoding="utf-8")
    return read_transcripts([file])


def turns(run: Conversation) -> list[list[str | Calls]]:
    """The replies of each turn, as calls or text."""
    return [
        [[(c.name, c.arguments) for c in each.calls] or each.text for each in replies]
        for replies in Transcript.from_messages(run.messages).turns
    ]


def step(folder: Path, answer: Any) -> str | Calls:
    (run,) = runs(folder, {"id": "multi_turn_base_0", "result": [[answer]]})
    ((read,),) = turns(run)
    return read


def test_calls_of_models_with_function_calling(tmp_path: Path) -> None:
    result = {
        "id": "multi_turn_base_0",
        "result": [
            [[{"cd": '{"folder": "a"}'}, {"ls": {}}], {"pwd": "{}"}, "Done."],
            [[{"ls": "{bad"}, {"pwd": "{}"}]],
            [[{"ls": "[" * 200_000}]],
            [["It is [pwd()]"]],
            [None],
            [],
        ],
        "input_token_count": [[10, 20], [5]],
        "output_token_count": [[1, 2], [3]],
        "latency": [[0.5, 0.25]],
    }
    broken = {"id": "multi_turn_base_1", "result": "Error during inference: timed out"}
    run, other = runs(tmp_path / "result" / "some-model-FC" / "multi_turn", result, broken)
    assert turns(run) == [
        [[("cd", {"folder": "a"}), ("ls", {})], [("pwd", {})], "Done."],
        ['[{"ls": "{bad"}, {"pwd": "{}"}]'],
        [json.dumps([{"ls": "[" * 200_000}])],
        ['["It is [pwd()]"]'],
        [""],
        [""],
    ]
    assert (run.id, run.model) == ("multi_turn_base_0", "some-model-FC")
    assert (run.usage.prompt_tokens, run.usage.completion_tokens, run.usage.latency_s) == (35, 6, 0.75)
    assert (other.id, other.messages) == ("multi_turn_base_1", [])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("[cd(folder='a'), ls()]", [("cd", {"folder": "a"}), ("ls", {})]),
        ("```ls(a=True)\n```", [("ls", {"a": True})]),
        ("[sort('x')]", [("sort", {})]),
        ("api.ls()", [("api.ls", {})]),
        ("[f(a=2*3 - 1, b=-x)]", "[f(a=2*3 - 1, b=-x)]"),
        (
            "[f(a=2*3 - 1, b=[-1.5, {'k': None}], c=name)]",
            [("f", {"a": 5, "b": [-1.5, {"k": None}], "c": "name"})],
        ),
        (
            "[add(a=add(a=1, b=2), b=3)]",
            [("add", {"a": {"$call": "add", "arguments": {"a": 1, "b": 2}}, "b": 3})],
        ),
        ("[f(a={})]", "[f(a={})]"),
        ("[f(a=-(-1))]", "[f(a=-(-1))]"),
        ("[f(a='x' + 'y')]", [("f", {"a": "xy"})]),
        ("I have moved it (twice).", "I have moved it (twice)."),
        ("f(a=" + "-" * 5000 + "1)", "f(a=" + "-" * 5000 + "1)"),
        ("f(a='x' * 10**9)", "f(a='x' * 10**9)"),
        (f"f(a={'9' * 4000} * {'9' * 4000})", f"f(a={'9' * 4000} * {'9' * 4000})"),
        ("", ""),
        ("[]", "[]"),
    ],
)
def test_calls_written_as_python(tmp_path: Path, written: str, read: str | Calls) -> None:
    assert step(tmp_path, written) == read


def test_calls_in_a_form_of_the_models_own_are_read_from_the_log(tmp_path: Path) -> None:
    written = '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'
    result = {"id": "multi_turn_base_0", "result": [[written, "Done."]]}
    with pytest.raises(SuiteError, match="a step has calls in the model's own format"):
        runs(tmp_path, result)
    steps = [
        {"role": "assistant", "content": written},
        {
            "role": "handler_log",
            "content": "ok",
            "model_response_decoded": ["ls(a=nan)", "mv(a={}, b=pwd())"],
        },
        {"role": "tool", "content": "nothing"},
        {"role": "tool", "content": '{"result": "moved"}'},
    ]
    log = [
        [{"role": "state_info"}],
        {"begin_of_turn_query": [{"role": "user", "content": "Go"}], "step_0": steps},
    ]
    (run,) = runs(tmp_path, {**result, "inference_log": log})
    assert turns(run) == [
        [[("ls(a=nan)", {}), ("mv", {"a": {}, "b": {"$call": "pwd", "arguments": {}}})], "Done."]
    ]
    assert [each["content"] for each in run.messages] == [
        "Go",
        None,
        "nothing",
        '{"result": "moved"}',
        "Done.",
    ]
    # As in the benchmark, a call that was answered with an error is played, too.
    (replied, _) = Transcript.from_messages(run.messages).replies
    assert replied.by_suite == (True, True)


def test_only_native_calls_count_and_silence_is_an_answer_as_in_the_leaderboard(tmp_path: Path) -> None:
    written = '{"name": "ls", "arguments": {}}'
    (run,) = runs(tmp_path, {"id": "x", "result": [[""], [written], [[{"ls": "{}"}], ""]]})
    expected: list[list[dict[str, Any]]] = [[], [], [{"tool": "ls"}]]
    case = {"id": "x", "turns": [{"prompt": "?", "expected_calls": each} for each in expected]}
    tools = [{"type": "function", "function": {"name": "ls"}}]
    suite = Suite.model_validate({"name": "s", "tools": tools, "test_cases": [case]})
    resolved = resolve(suite, suite.test_cases[0])
    (transcript,) = answers_of(resolved, [run])
    assert isinstance(transcript, Transcript)
    assert score_transcript(resolved, transcript).passed
    assert score_messages(suite, "x", run.messages).failure == "empty_answer"


def test_results_of_other_categories(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"only results of BFCL's multi_turn categories can be read"):
        runs(tmp_path, {"id": "simple_python_0", "result": [{"area": "{}"}]})
