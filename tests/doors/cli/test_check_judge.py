"""`tooleval models check-judge`: a judge against labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mock_server import MockServer

from pytest_tooleval.cli import main

JUDGE = """
import json

def sorry(messages, tools):
    text = messages[-1]["content"].partition("<conversation>")[2]
    if "odd" in text:
        return "PASS"
    verdict = {"reason": "So it\\x1b[31m is.", "passed": "orry" in text}
    call = {"name": tools[0]["function"]["name"], "arguments": json.dumps(verdict)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": call}]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge_of_check.py").write_text(JUDGE)
    (tmp_path / "tooleval.toml").write_text('[models.sorry]\ncallable = "judge_of_check:sorry"\n')
    return tmp_path


def check(folder: Path, *lines: Any) -> Result:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "labels.jsonl").write_text(text)
    return CliRunner().invoke(main, ["models", "check-judge", "labels.jsonl", "--judge=sorry"])


def line(label: str, **said: Any) -> dict[str, Any]:
    return {"rubric": "Says sorry.", "label": label, **said}


def test_agreement_and_disagreements(folder: Path) -> None:
    chat = [{"role": "user", "content": "sorry?"}, {"role": "assistant", "content": "No."}]
    right = [line("pass", text="Sorry.")] * 10 + [line("fail", text="No.")] * 9
    done = check(folder, *right, "", line("fail", messages=chat, id=7))
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "            judge pass  judge fail",
        "label pass          10           0",
        "label fail           1           9",
        "agreement 0.95 (0.76 to 0.99) over 20 labels",
        "Cohen's kappa 0.90 (0.58 to 1.00)",
        "",
        "1 disagreement",
        'labels.jsonl:21: label fail, judge pass: "Says sorry.": So it\\x1b[31m is.',
    ]


def test_what_has_no_verdict_is_told_and_left_out(folder: Path) -> None:
    done = check(folder, line("pass", text="Sorry."), line("pass", text="odd"))
    assert done.exit_code == 1
    assert "agreement 1.00 (0.21 to 1.00) over 1 label\n" in done.output
    assert "Cohen's kappa -" in done.output
    assert "all labels are the same" in done.output
    assert "labels.jsonl:2: the judge sorry: expected one call verdict(reason, passed)" in done.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"rubric": 3}, "Expected `str`, got `int` - at `$.rubric`"),
        (line("maybe", text="x"), "Invalid enum value 'maybe' - at `$.label`"),
        (line("pass"), "expected either text or messages"),
        (line("pass", messages=[{"role": "user"}]), "expected either text or messages"),
        ("{", "Input data was truncated"),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: Any, message: str) -> None:
    done = check(folder, line)
    assert done.exit_code == 1
    assert f"labels.jsonl:1: {message}" in done.output


def test_the_judge_is_sent_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "kv.9F8e-7d6c5b4a")
    sayings = ["It is kv.9F8e-7d6c5b4a. Sorry.", "Sorry: ghp_" + "A0b1" * 9]
    with MockServer() as server:
        table = f'[models.sorry]\nmodel = "openai/m"\napi = "openai"\napi_base = "{server.base_url}"\n'
        (folder / "tooleval.toml").write_text(table)
        chat = [{"role": "user", "content": sayings[0]}, {"role": "assistant", "content": sayings[1]}]
        check(folder, line("pass", messages=chat), line("pass", text=" ".join(sayings)))
    asked = json.dumps(server.bodies)
    assert asked.count("It is xxxxxxxxxxxxxxxx. Sorry.") == 2
    assert asked.count("Sorry: ghp_" + "x" * 36) == 2
    assert "9F8e" not in asked
    assert "A0b1" not in asked
