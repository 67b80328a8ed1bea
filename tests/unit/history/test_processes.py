"""Several processes and threads at one store, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_tooleval.history import History, log
from pytest_tooleval.history.log import is_locked

from .conftest import Keep
from .runs import case_of, kept, problems_of, run_of

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]

WRITE = """
import sys
from pathlib import Path
from pytest_tooleval.history import History
from unit.history.runs import case_of, kept, run_of

name, count = sys.argv[2], int(sys.argv[3])
history = History(Path(sys.argv[1]))
writer = history.begin(run_of(id=name))
print("begun", flush=True)
for number in range(count):
    writer.add(kept(*(case_of(f"{number}-{place}", answer=name) for place in range(20))))
    print("added", flush=True)
"""
FINISH = WRITE + "writer.finish(run_of(id=name))\n"
WAIT = WRITE + "import time\ntime.sleep(600)\n"


def start(code: str, history: History, name: str, batches: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", code, str(history.folder), name, str(batches)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)


def read_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline()


def test_two_processes_write_at_once_while_a_third_reads(history: History) -> None:
    processes = [start(FINISH, history, name, 40) for name in ("one", "two")]
    seen = 0
    while any(process.poll() is None for process in processes):
        summaries = history.runs()
        assert sum(summary.cases for summary in summaries) >= seen
        assert all(summary.status != "killed" for summary in summaries)
        seen = sum(summary.cases for summary in summaries)
        time.sleep(0.01)
    assert [process.communicate()[0].count("added") for process in processes] == [40, 40]
    assert {(s.id, s.cases, s.status) for s in history.runs()} == {
        ("one", 800, "finished"),
        ("two", 800, "finished"),
    }
    for name in ("one", "two"):
        texts = {
            case.trials[0].transcript.messages[-1]["content"]
            for case in history.document(name).cases
            if case.trials[0].transcript
        }
        assert texts == {name}


def test_four_processes_make_the_store_at_once(history: History) -> None:
    processes = [start(FINISH, history, f"run{number}", 1) for number in range(4)]
    assert [process.communicate()[0].count("added") for process in processes] == [1] * 4
    assert [process.returncode for process in processes] == [0] * 4
    assert len(history.runs()) == 4


def test_threads_share_a_history(history: History) -> None:
    def write(name: str) -> None:
        writer = history.begin(run_of(id=name))
        for number in range(10):
            writer.add(kept(case_of(str(number))))
            history.runs()
        writer.finish(run_of(id=name))

    threads = [threading.Thread(target=write, args=(f"run{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(s.cases, s.status) for s in history.runs()] == [(10, "finished")] * 6


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")
def test_a_killed_run_keeps_what_it_had(history: History, keep: Keep) -> None:
    keep(1)
    process = start(WAIT, history, "victim", 3)
    read_lines(process, 4)
    (alive, _) = history.runs()
    assert (alive.id, alive.status, alive.cases) == ("victim", "running", 60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (dead, _) = history.runs()
    assert (dead.status, dead.cases) == ("killed", 60)
    document = history.rows_document("victim")
    assert (document.run.status, len(document.cases)) == ("killed", 60)
    assert document.run.duration_s >= 0
    # `latest` is a run that went to its end, and the store goes on.
    assert history.find("latest") != "victim"
    keep(23)
    assert history.delete("victim")[0] == 60
    assert [s.status for s in history.runs()] == ["finished", "finished"]
    assert list(history.logs.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")
def test_runs_killed_at_any_moment_lose_no_case_that_was_added(history: History) -> None:
    for number in range(6):
        process = start(WAIT, history, f"run{number}", 500)
        read_lines(process, 1)
        time.sleep(0.03 * number)
        os.kill(process.pid, signal.SIGKILL)
        added = process.communicate()[0].count("added")
        assert problems_of(history) == []
        (run,) = (run for run in history.runs() if run.id == f"run{number}")
        assert run.status == "killed"
        assert run.cases == len(history.document(run.id).cases)
        assert added * 20 <= run.cases <= added * 20 + 20


def test_a_line_that_a_kill_cut_is_ignored(history: History) -> None:
    writer = history.begin(run_of())
    writer.add(kept(case_of("a"), case_of("b")))
    writer.close()
    (path,) = history.logs.iterdir()
    path.write_bytes(path.read_bytes()[:-10])
    assert problems_of(history) == []
    assert [case.case for case in history.document(writer.id).cases] == ["a"]
    assert history.case(writer.id, "weather.tooleval.json::a[claude-3]") == case_of("a")
    path.write_bytes(path.read_bytes().replace(b'{"case":', b"{", 1))
    assert f"running/{path.name}: damaged: " in problems_of(history)[0].replace(os.sep, "/")


def test_a_run_of_this_process_is_seen_as_running(history: History) -> None:
    run = run_of()
    writer = history.begin(run)
    assert history.runs()[0].status == "running"
    writer.finish(run)
    assert history.runs()[0].status == "finished"
    other = history.begin(run_of("2026-11-23T10:00:00+00:00"))
    other.close()
    assert history.runs()[0].status == "killed"


def test_looking_does_not_take_the_lock(history: History) -> None:
    writer = history.begin(run_of())
    (path,) = history.logs.iterdir()
    assert [is_locked(path) for _ in range(3)] == [True] * 3
    writer.close()
    assert is_locked(path) is False


def test_a_run_of_another_machine_counts_as_running_for_an_hour(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(log, "this_host", lambda: "elsewhere")
        writer = history.begin(run_of())
    writer.close()  # a lock that cannot be seen from here
    assert history.runs()[0].status == "running"
    monkeypatch.setattr(log, "SILENCE_S", 0.0)
    assert history.runs()[0].status == "killed"


def test_without_locks_age_decides(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(log, "lock_file", refuse)
    history.begin(run_of())
    assert history.runs()[0].status == "running"
    monkeypatch.setattr(log, "SILENCE_S", 0.0)
    assert history.runs()[0].status == "killed"
