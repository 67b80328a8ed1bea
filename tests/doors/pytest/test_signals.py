"""What ends a run in order: what has come is kept, and nothing more is asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from nightly import at_night

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History

from .project import Project, call, case, right, wrong

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals to send"),
]
WAITING = [right("quick"), *(right(f"c{i}", delay=600) for i in range(8))]


def write_waiting(project: Project) -> None:
    project.suite(*WAITING)
    project.write(
        "conftest.py",
        """
        class Finished:
            def pytest_runtest_logfinish(self, nodeid):
                with open("finished.log", "a") as file:
                    print(nodeid, file=file)

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Finished())
        """,
    )


def write_interrupting(project: Project, owner: str, method: str) -> None:
    """Send Ctrl-C whenever the run calls this method of the history."""
    project.write(
        "conftest.py",
        f"""
        import os, signal
        from pytest_tooleval.history import {owner}

        original = {owner}.{method}

        def interrupted(*args):
            os.kill(os.getpid(), signal.SIGINT)
            return original(*args)

        {owner}.{method} = interrupted
        """,
    )


def wait_until_asked(project: Project, process: subprocess.Popen[str]) -> None:
    """And until the first case is reported."""
    project.wait_for("calls.log", "\n", process, times=len(WAITING))
    project.wait_for("finished.log", "quick", process)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "args"),
    [
        ([signal.SIGINT], ()),
        ([signal.SIGTERM], ()),
        ([signal.SIGTERM, signal.SIGTERM], ()),
        ([signal.SIGHUP], ()),
        pytest.param([signal.SIGINT], ("-n2",), marks=pytest.mark.slow),
        ([signal.SIGTERM], ("-n2",)),
        ([signal.SIGHUP], ("-n2",)),
    ],
    ids=str,
)
def test_a_signal_ends_the_run_at_once_with_what_has_come(
    project: Project, signals: list[int], args: tuple[str, ...]
) -> None:
    write_waiting(project)
    files = ("--tooleval-report=out.json", "--junitxml=junit.xml")
    with project.started(*files, *args) as process:
        wait_until_asked(project, process)
        for number in signals:
            process.send_signal(number)
        # An idle machine takes a second; the answers would take ten minutes.
        output, _ = process.communicate(timeout=120)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert len(project.log("cancelled")) == 8
    name = "" if signals[0] == signal.SIGINT else f": {signal.Signals(signals[0]).name}"
    assert f"KeyboardInterrupt{name} !" in output
    assert "--tooleval-resume reuses the answers" in output
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output
    assert project.rows()["quick[agent]"]["outcome"] == "passed"
    run = project.document()["run"]
    assert run["exitstatus"] == 2
    assert sum(spent["answers"] for spent in run["spent"].values()) == 1
    assert "quick[agent]" in (project.path / "junit.xml").read_text()
    _assert_kept_but_not_the_latest(project, run["id"])


@pytest.mark.parametrize("args", [(), ("-s",), ("-n2",)], ids=str)
def test_the_run_ends_with_the_program_that_started_it(project: Project, args: tuple[str, ...]) -> None:
    write_waiting(project)
    env = {**os.environ, "TOOLEVAL_STOP_ON_EOF": "1"}
    with project.started("--tooleval-report=out.json", *args, stdin=subprocess.PIPE, env=env) as process:
        wait_until_asked(project, process)
        output, _ = process.communicate(timeout=120)  # which closes its input
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "KeyboardInterrupt: standard input has ended !" in output
    assert len(project.log("cancelled")) == 8
    assert project.rows()["quick[agent]"]["outcome"] == "passed"


def test_a_closed_terminal_ends_the_run(project: Project) -> None:
    """Nothing can be written to it by then."""
    import pty  # not on Windows

    write_waiting(project)
    own, terminal = pty.openpty()
    with project.started("--tooleval-report=out.json", stdin=terminal, stdout=terminal) as process:
        os.close(terminal)
        wait_until_asked(project, process)
        os.close(own)
        process.send_signal(signal.SIGHUP)
        process.wait(120)
    assert len(project.log("cancelled")) == 8
    assert project.rows()["quick[agent]"]["outcome"] == "passed"
    _assert_kept_but_not_the_latest(project, project.document()["run"]["id"])


def test_nohup_keeps_the_run_going(project: Project) -> None:
    project.suite(case("slow", {"calls": [call(city="Paris")], "until": "go"}))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with project.started() as process:
        signal.signal(signal.SIGHUP, before)
        project.wait_for("calls.log", "\n", process)
        process.send_signal(signal.SIGHUP)
        project.write("go", "")
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


def test_a_second_ctrl_c_before_the_first_was_noted(project: Project) -> None:
    project.suite(right("quick"), right("slow", delay=600))
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
    project.run_subprocess("--tooleval-report=out.json")
    run = project.document()["run"]
    assert run["exitstatus"] == pytest.ExitCode.INTERRUPTED
    _assert_kept_but_not_the_latest(project, run["id"])


def test_ctrl_c_while_the_history_begins(project: Project) -> None:
    """A program that follows the run may send it as soon as it hears of the first case."""
    project.suite(right("quick"), right("slow", delay=600))
    write_interrupting(project, "History", "begin")
    result = project.run_subprocess("--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    run = project.document()["run"]
    _assert_kept_but_not_the_latest(project, run["id"])


def test_ctrl_c_while_the_results_are_written(project: Project) -> None:
    project.suite(right("quick"))
    write_interrupting(project, "RunWriter", "finish")
    result = project.run_subprocess("--tooleval-report=out.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["saved as *", "results: *", "*1 passed*"])
    assert result.stderr.str() == ""
    history = History(project.path / ".tooleval")
    assert history.find("latest") == project.document()["run"]["id"]


@pytest.mark.parametrize(
    "hook", [at_night("pytest_testnodedown(node)"), "pytest_sessionfinish(session)"]
)
def test_a_signal_after_the_last_case_changes_nothing(project: Project, hook: str) -> None:
    project.suite(wrong("bad"), wrong("worse"))
    project.write(
        "conftest.py",
        f"""
        import os, signal

        ended = [] if "PYTEST_XDIST_WORKER" not in os.environ else None

        def {hook}:
            if ended is not None:
                ended.append(1)
                if len(ended) == 2 or {"session" in hook}:
                    os.kill(os.getpid(), signal.SIGTERM)
        """,
    )
    result = project.run_subprocess("-n2", timeout=120)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["agent  0.00*", "saved as *"])
    assert "SIGTERM" not in result.stdout.str()


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
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert before[1] is signal.SIG_DFL
    project.write(
        "conftest.py",
        "import signal\n"
        "def pytest_runtest_logfinish():\n"
        "    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL\n",
    )
    project.run().assert_outcomes(passed=1)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def _assert_kept_but_not_the_latest(project: Project, id: str) -> None:
    history = History(project.path / ".tooleval")
    assert [case.case for case in history.document(id).cases] == ["quick"]
    with pytest.raises(ToolevalError, match="0 runs finished"):
        history.find("latest")
