"""`tooleval import draft`: cases to finish, from failed cases and transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import calling, result_of, tool, trial_of
from click.testing import CliRunner, Result
from unit.history.runs import run_of

from pytest_tooleval.cli import main
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.verdicts.summary import rows_document, whole_document

TOOLS = [tool("search"), tool("weather")]
ASKED = {"role": "user", "content": "Is it raining in Oslo?"}
WRONG = [ASKED, calling("search", city="Oslo")]
LATER = [ASKED, {"role": "assistant", "content": "No."}, {"role": "user", "content": "And in Rome?"}]


def drafts(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["import", "draft", *arguments, "--out", "d.tooleval.json"])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def case_of(
    id: str, messages: list[dict[str, Any]], outcome: str = "failed", **fields: Any
) -> CaseResult:
    failure = "wrong_tool" if outcome == "failed" else None
    trial = trial_of(transcript_of(messages), failure=failure, mistake="expected weather")
    file = {"file": "s.tooleval.json", "line": 3, "tool_choice": "required"}
    return result_of(case=id, outcome=outcome, trials=(trial,), **{**file, **fields})


@pytest.fixture(autouse=True)
def _a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`out.json`, of two failed cases, one that passed, and one whose suite is gone."""
    monkeypatch.chdir(tmp_path)
    ids = ("oslo", "rome", "fine")
    prompts = [{"id": id, "prompt": id, "expected_tool": "weather"} for id in ids]
    suite = {"name": "s", "tools": TOOLS, "test_cases": prompts}
    Path("s.tooleval.json").write_text(json.dumps(suite))
    cases = [
        case_of("oslo", WRONG),
        case_of("rome", [*LATER, calling("search", city="Rome")]),
        case_of("fine", WRONG, "passed"),
        case_of("gone", WRONG, file="gone.tooleval.json"),
    ]
    document = whole_document(rows_document(run_of(), cases), cases)
    Path("out.json").write_bytes(to_json(document))


def made() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(Path("d.tooleval.json").read_text())["test_cases"]
    return cases


def test_each_failed_case_becomes_a_draft() -> None:
    done = drafts("out.json")
    assert done.stdout == "wrote d.tooleval.json: 2 cases added, 1 left out\n"
    assert "gone.tooleval.json:3:1: left out: gone: its tools are unknown" in done.stderr
    first, second = made()
    assert first == {
        "id": "is-it-raining-in-oslo",
        "prompt": ASKED["content"],
        "$comment": 'called: search({"city": "Oslo"})',
        "expected_tool": "*",
        "skip": "draft: write what should be called; oslo failed on m: expected weather",
    }
    assert second["prompt"] == LATER
    assert drafts("out.json").stdout == (
        "d.tooleval.json is up to date: 0 cases added, 2 skipped: prompt already in suite, 1 left out\n"
    )


def test_one_case_of_a_run() -> None:
    assert drafts("out.json", "--case=rome").exit_code == 0
    assert [case["prompt"] for case in made()] == [LATER]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.json", "--case=fine"], "out.json: no failed case fine; failed: oslo, rome, gone"),
        (["latest"], "there are no runs yet"),
        (["none.json"], "none.json: there is no such file"),
    ],
)
def test_nothing_to_draft(arguments: list[str], message: str) -> None:
    done = drafts(*arguments)
    assert done.exit_code == 1
    assert message in done.output


def test_a_draft_names_calls_of_any_form() -> None:
    written = {"role": "assistant", "content": '{"name": "search", "arguments": {"city": "Oslo"}}'}
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    query = {"role": "assistant", "content": None, "tool_calls": [custom]}
    tools = [*TOOLS, {"type": "custom", "custom": {"name": "sql"}}]
    Path("t.jsonl").write_text(json.dumps({"messages": [ASKED, written, query], "tools": tools}))
    assert drafts("t.jsonl").exit_code == 0
    called = 'called: search({"city": "Oslo"}), sql({"input": "SELECT 1"})'
    assert made()[0]["$comment"] == called


def test_a_transcript_becomes_a_draft_even_if_its_call_cannot_be_read() -> None:
    broken = calling("search")
    broken["tool_calls"][0]["function"]["arguments"] = '{"city": '
    Path("t.jsonl").write_text(json.dumps({"messages": [ASKED, broken], "tools": TOOLS}))
    assert drafts("t.jsonl").exit_code == 0
    assert made()[0]["$comment"] == 'called: search({"city": )'
    assert made()[0]["skip"] == "draft: write what should be called"
