"""Result files of tau2-bench, as its `Results.save` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.reading import read_files
from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.secrets import redacted

CALL = {"id": "c1", "name": "cancel", "arguments": {"id": "X"}, "requestor": "assistant"}
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def simulation(reason: str = "user_stop", **more: Any) -> dict[str, Any]:
    messages = [
        {"role": "assistant", "content": "Hi! How can I help you today?", "usage": None, "turn_idx": 0},
        {"role": "user", "content": "Cancel X.", "usage": USAGE},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "usage": USAGE},
        {"role": "tool", "id": "c1", "content": "Error: none", "error": True},
        {"role": "assistant", "content": "Done.", "tool_calls": None, "usage": USAGE},
        {"role": "user", "content": "###STOP###"},
    ]
    made = {"id": "s", "task_id": "7", "termination_reason": reason, "messages": messages, "trial": 0}
    return {**made, "agent_cost": 0.5, "user_cost": 0.1, **more}


def results(path: Path, *simulations: Any) -> Path:
    info = {"agent_info": {"llm": "gpt-x"}, "environment_info": {"domain_name": "airline"}}
    path.write_text(json.dumps({"info": info, "tasks": [], "simulations": simulations}, indent=2))
    return path


def test_a_simulation_as_chat_messages(tmp_path: Path) -> None:
    [run] = read_transcripts([results(tmp_path / "r.json", simulation())])
    function = {"name": "cancel", "arguments": '{"id": "X"}'}
    assert run.messages == [
        {"role": "user", "content": "Cancel X."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Error: none", "status": "error"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "###STOP###"},
    ]
    assert (run.case, run.model) == ("tau2 airline::7", "gpt-x")
    assert (run.usage.prompt_tokens, run.usage.completion_tokens, run.usage.cost_usd) == (20, 4, 0.5)
    assert (run.no_answer, run.error) == (None, "")
    assert run.place.endswith("r.json:1: simulations[0]")


def test_a_folder_of_results(tmp_path: Path) -> None:
    """As `Results.save(path, format="dir")` writes it."""
    runs = [simulation(id=f"s{number}", trial=number, task_id=str(number)) for number in (1, 0)]
    file = results(tmp_path / "results.json", *runs)
    whole = json.loads(file.read_text())
    index = [{"id": each["id"], "task_id": each["task_id"], "trial": 0} for each in runs]
    del whole["simulations"]
    file.write_text(json.dumps({**whole, "simulation_index": index}))
    (tmp_path / "simulations").mkdir()
    for each in runs:
        (tmp_path / "simulations" / f"{each['id']}.json").write_text(json.dumps(each))
    for given in (tmp_path, file):
        found = read_transcripts([given])
        assert [run.case for run in found] == ["tau2 airline::0", "tau2 airline::1"]
        assert found[0].place.endswith("simulations/s0.json:1")
    (tmp_path / "simulations" / "s1.json").unlink()
    with pytest.raises(SuiteError, match=r"there is no file simulations/s1\.json beside it"):
        read_transcripts([tmp_path])


def test_files_of_simulations_are_cleaned_as_their_results_are(tmp_path: Path) -> None:
    key = f"sk-proj-{'aB3' * 14}"
    talk = [{"role": "user", "content": key}, {"role": "assistant", "content": "Done."}]
    file = results(tmp_path / "results.json")
    whole = json.loads(file.read_text())
    del whole["simulations"]
    file.write_text(json.dumps(whole))
    (tmp_path / "simulations").mkdir()
    (tmp_path / "simulations" / "s.json").write_text(json.dumps(simulation(messages=talk)))
    (batch,) = read_files([file], clean=redacted)
    assert key not in str(batch.items)
    assert "sk-" in str(batch.items)


def test_how_it_ended(tmp_path: Path) -> None:
    skipped = simulation("agent_error", messages=[], skipped=True)
    reasons = ("agent_stop", "max_steps", "agent_error", "user_error", "anything else")
    file = results(tmp_path / "r.json", *map(simulation, reasons), skipped)
    runs = read_transcripts([file])
    assert [(str(run.no_answer or ""), run.error) for run in runs] == [
        ("", ""),
        ("cut off: tau2 ended it by max_steps", ""),
        ("cut off: tau2 ended it by agent_error", ""),
        ("", "tau2 ended it by user_error"),
        ("", "tau2 ended it by anything else"),
        ("", "tau2 ended it by agent_error"),
    ]


def test_trials_come_in_their_order(tmp_path: Path) -> None:
    file = results(tmp_path / "r.json", simulation(trial=1), simulation(trial=0))
    assert [run.at.field for run in read_transcripts([file])] == ["simulations[1]", "simulations[0]"]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        read_transcripts([results(tmp_path / "r.json", simulation(task_id=None))])
    assert "the results of tau2" in str(caught.value)
    with pytest.raises(SuiteError, match="agent_cost: expected"):
        read_transcripts([results(tmp_path / "r.json", simulation(agent_cost=-1.0))])
