"""Ctrl-C and SIGTERM end a run in order: what has come is kept, and nothing more is asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History

from .project import Project
from .project import right

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals to send")


@pytest.mark.parametrize(
    ("signals", "args"),
    [
        ([signal.SIGINT], ()),
        ([signal.SIGTERM], ()),
        ([signal.SIGTERM, signal.SIGTERM], ()),
        ([signal.SIGINT], ("-pxdist", "-n2")),
        ([signal.SIGTERM], ("-pxdist", "-n2")),
    ],
    ids=str,
)
def test_a_signal_ends_the_run_at_once_with_what_has_come(
    project: Project, signals: list[int], args: tuple[str, ...]
) -> None:
    project.suite(right("quick"), *(right(f"c{i}", delay=120) for i in range(8)))
    files = ("--tooleval-json=out.json", "--junitxml=junit.xml")
    process = _start(project, *files, *args)
    try:
        _wait_for(project.path / "calls.log", lines=9, process=process)
        begin = time.monotonic()
        for number in signals:
            process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        took = time.monotonic() - begin
    finally:
        process.kill()
        process.wait()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert took < 25.0, output  # a second on an idle machine
    assert len(project.log("cancelled")) == 8
    assert f"KeyboardInterrupt{': SIGTERM' * (signal.SIGTERM in signals)} !" in output
    assert "--tooleval-resume reuses the answers" in output
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output
    assert project.rows()["quick[agent]"]["outcome"] == "passed"
    run = project.document()["run"]
    assert run["exitstatus"] == 2
    assert sum(spent["answers"] for spent in run["spent"].values()) == 1
    assert "quick[agent]" in (project.path / "junit.xml").read_text()
    _assert_kept_but_not_the_latest(project, run["id"])


def test_a_second_ctrl_c_before_the_first_was_noted(project: Project) -> None:
    project.suite(right("quick"), right("slow", delay=120))
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_runtest_logfinish():
            raise KeyboardInterrupt

        @pytest.hookimpl(tryfirst=True)
        def pytest_keyboard_interrupt():
            raise KeyboardInterrupt
        """,
    )
    project.run_subprocess("--tooleval-json=out.json")
    run = project.document()["run"]
    assert run["exitstatus"] == pytest.ExitCode.INTERRUPTED
    _assert_kept_but_not_the_latest(project, run["id"])


def test_a_handler_that_somebody_has_set_stays(project: Project) -> None:
    project.suite(right("quick"))
    project.write(
        "conftest.py", "import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('theirs'))\n"
    )
    project.write(
        "test_handler.py",
        "import os, signal\ndef test_handler():\n    os.kill(os.getpid(), signal.SIGTERM)\n",
    )
    result = project.run_subprocess("-s")
    result.assert_outcomes(passed=2)
    assert "theirs" in result.stdout.str()


def test_our_handler_goes_with_the_run(project: Project) -> None:
    project.suite(right("quick"))
    before = signal.getsignal(signal.SIGTERM)
    assert before is signal.SIG_DFL
    project.write(
        "conftest.py",
        "import signal\n"
        "def pytest_runtest_logfinish():\n"
        "    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL\n",
    )
    project.run().assert_outcomes(passed=1)
    assert signal.getsignal(signal.SIGTERM) is before


def _start(project: Project, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "--tooleval-model=agent", *args]
    return subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _wait_for(path: Path, lines: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and len(path.read_text().splitlines()) >= lines:
            time.sleep(0.5)  # so that the first case is reported as well
            return
        time.sleep(0.05)
    raise AssertionError("the agent was not asked in time")


def _assert_kept_but_not_the_latest(project: Project, id: str) -> None:
    history = History(project.path / ".tooleval")
    assert [case.case for case in history.document(id).cases] == ["quick"]
    with pytest.raises(ToolevalError, match="0 runs finished"):
        history.find("latest")
