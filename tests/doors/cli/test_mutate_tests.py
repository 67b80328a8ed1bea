"""`tooleval mutate test_shop.py`, as a user runs it after pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import at_night

pytestmark = pytest.mark.slow

TESTS = """
import pytest
from pytest_tooleval import call


class Shop:
    def __init__(self):
        self.refunded = 0

    def refund(self, order: str, amount: int) -> str:
        self.refunded += amount
        return "done"


def agent(messages, tools, call_tool):
    with open("asked.log", "a") as log:
        log.write("asked\\n")
    if "A1" not in messages[-1]["content"]:
        return "Which order?"
    call_tool("refund", {"order": "A1", "amount": 40})
    return "I refunded 40 euros."


def test_all(tooleval):
    run = tooleval("Refund A1", agent=agent, world=Shop)
    assert run.calls == [call("refund", order="A1", amount=40)]
    assert "40" in run.text


@pytest.fixture
def shop():
    return Shop()


def test_state(tooleval, shop):
    tooleval("Refund A1", agent=agent, world=shop)
    assert shop.refunded == 40


class TestTurns:
    @pytest.mark.parametrize("order", ["agent A1"])  # the name of the agent, too
    def test_text(self, tooleval, order):
        run = tooleval("My money!", agent=agent, world=Shop)
        run.reply(order)
        assert "40" in run.text


async def test_later(tooleval):
    run = await tooleval.arun("Refund A1", agent=agent, world=Shop)
    assert run.judge is not None


def test_weather(tooleval, tooleval_model):
    def get_weather(city: str): ...
    run = tooleval("Weather in Paris?", tools=[get_weather])
    assert run.calls[0].name == "get_weather"


def test_that_fails(tooleval):
    assert tooleval("Refund A1", agent=agent, world=Shop).text == "No."


def test_plain():
    pass
"""


MORE = """
def test_state(tooleval):
    class Shop:
        def refund(self, order: str): "Refunds."
    tooleval("Hello", agent=lambda messages, tools: "Hi 1", world=Shop)
"""


TOGETHER = """
import json
import pytest


class Shop:
    def refund(self, order: str): "Refunds."


def agent(messages, tools):
    if messages[-1]["role"] == "tool":
        return "Refunded."
    function = {"name": "refund", "arguments": json.dumps({"order": "A1"})}
    calls = [{"id": id, "type": "function", "function": function} for id in "ab"]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize("together", [True, False])
def test_refunds(tooleval, together):
    run = tooleval("Refund A1 twice", agent=agent, world=Shop)
    assert [call.arguments for call in run.calls] == [{"order": "A1"}] * 2
    assert not together or len(run.transcript.replies[0].calls) == 2
"""


# That A2 is refunded does not show in this world.
FOUND = """\
test_shop.py: 10 of 23 wrong agents accepted
  test_state accepts 1 of 5 wrong agents:
    says "I refunded 41 euros." instead of "I refunded 40 euros."
  TestTurns::test_text[agent A1] accepts 3 of 5 wrong agents:
    says the same, and does nothing
    makes refund twice
    refund: amount 87 instead of 40
"""


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "test_shop.py").write_text(TESTS, encoding="utf-8")
    (folder / "test_new.py").write_text("def test_it(tooleval): ...\n", encoding="utf-8")
    (folder / "more").mkdir()
    (folder / "more" / "test_more.py").write_text(MORE, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p asyncio -p xdist -n2\nasyncio_mode = auto\n", encoding="utf-8"
    )
    files = ("test_shop.py", "more/test_more.py")
    done = run("pytest", *files, "--tooleval-model=builtin/lexical", folder=folder)
    assert "7 passed" in done.stdout, done.stdout
    return folder


def test_it_names_the_tests_that_check_too_little(project: Path) -> None:
    asked, runs = (project / "asked.log").read_text(), run("pytest_tooleval", "history", folder=project)
    done = run("pytest_tooleval", "mutate", "test_shop.py", "--json=out.json", folder=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(FOUND)
    scores = {test["id"]: test for test in json.loads((project / "out.json").read_text())["tests"]}
    assert scores["test_shop.py::test_all"]["accepted"] == []
    assert (
        len(scores["test_shop.py::test_later"]["accepted"])
        == scores["test_shop.py::test_later"]["agents"]
    )
    assert scores["test_shop.py::test_weather[builtin/lexical]"]["accepted"] == [
        'get_weather: city "something else" instead of "Paris"'
    ]
    assert "test_shop.py::test_that_fails" not in scores
    # Nobody was asked, and nothing was kept.
    assert (project / "asked.log").read_text() == asked
    assert run("pytest_tooleval", "history", folder=project).stdout == runs.stdout


def test_calls_of_one_reply_are_made_apart(tmp_path: Path) -> None:
    """Which only a test that reads the replies notices, and no other must."""
    (tmp_path / "test_both.py").write_text(TOGETHER, encoding="utf-8")
    run("pytest", folder=tmp_path)
    run("pytest_tooleval", "mutate", "test_both.py", "--json=out.json", folder=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())["tests"]
    assert [(test["agents"], test["accepted"]) for test in found] == [(6, []), (5, [])]


def test_a_limit_and_files_without_answers(project: Path) -> None:
    done = run("pytest_tooleval", "mutate", "test_shop.py", "--fail-under=0.9", folder=project)
    assert done.returncode == 1
    assert "test_shop.py::test_state: the mutation score 0.80 is below 0.90" in done.stdout
    assert "test_shop.py::test_all" not in done.stdout
    done = run("pytest_tooleval", "mutate", "test_new.py", folder=project)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: test_new.py: no run of this project has a test of it that passed"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        at_night("test_shop.py::test_all", "test_shop.py: 0 of 5 wrong agents accepted"),
        ("test_shop.py::TestTurns", "test_shop.py: 3 of 5 wrong agents accepted"),
        at_night("more", "more/test_more.py: 2 of 2 wrong agents accepted"),
        (
            "more test_shop.py::test_state",
            "  more/test_more.py::test_state accepts 2 of 2 wrong agents:",
        ),
        at_night("missing.py", "Error: missing.py: there is no file missing.py"),
        ("test_shop.py::test_al", "Error: test_shop.py::test_al: no run of this project has a test"),
    ],
)
def test_tests_can_be_named_by_folder_and_node_id(project: Path, paths: str, says: str) -> None:
    done = run("pytest_tooleval", "mutate", *paths.split(), folder=project)
    assert any(line.startswith(says) for line in (done.stdout + done.stderr).splitlines()), done


def test_options_of_other_runs_neither_stop_it_nor_get_its_files(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "-x --lf -k text --junitxml=other.xml --tooleval-report=other.html"
    monkeypatch.setenv("PYTEST_ADDOPTS", options, prepend=" ")
    done = run("pytest_tooleval", "mutate", "test_shop.py::test_state", folder=project)
    assert done.stdout.startswith("test_shop.py: 1 of 5 wrong agents accepted"), done
    assert not [*project.glob("other.*")]
