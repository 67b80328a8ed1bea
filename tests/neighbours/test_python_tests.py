"""Python tests that ask an agent, beside other plugins."""

from __future__ import annotations

import pytest
from doors.pytest.project import Project

from .plugins import loaded

APP = """
def agent(messages, tools, call_tool):
    call_tool("refund", {"order": "A1", "amount": 40})
    return "I refunded 40 euros."

async def on_a_loop(messages, tools, call_tool):
    await call_tool("refund", {"order": "A1", "amount": 40})
    return "I refunded 40 euros."

class Shop:
    def refund(self, order: str, amount: float) -> str:
        return "done"
"""
HEAD = """
import pytest
from my_app import Shop, agent, on_a_loop
from pytest_tooleval import call
"""
SYNC = """
@pytest.mark.tooleval(trials=2)
@pytest.mark.parametrize("order", ["A1", "B2", "C3"])
def test_it(tooleval, order):
    run = tooleval(f"Refund {order}", agent=agent, world=Shop)
    assert run.calls == [call("refund", order="A1", amount=40)]
"""
ASYNC = """
@pytest.mark.tooleval(trials=2)
async def test_it(tooleval):
    run = await tooleval.arun("Refund A1", agent=on_a_loop, world=Shop)
    assert call("refund", ...) in run.calls

@pytest.mark.tooleval(trials=2)
async def test_on_the_tests_loop(tooleval):
    run = await tooleval.arun("Refund A1", agent=on_a_loop, world=Shop, loop="test")
    await run.areply("Again")
    assert run.calls.count(call("refund", ...)) == 2
"""
MARKED = ASYNC.replace("async def", "@pytest.mark.{}\nasync def")
ANYIO = (
    MARKED.format("anyio", "anyio")
    + """
@pytest.fixture
def anyio_backend():
    return "asyncio"
"""
)
DIRTY = """
from dirty_equals import IsPositive, IsStr

def test_it(tooleval):
    run = tooleval("Refund A1", agent=agent, world=Shop)
    assert run.calls == [call("refund", order=IsStr, amount=IsPositive())]
"""
SUBTESTS = """
def test_it(tooleval, subtests):
    run = tooleval("Refund A1", agent=agent, world=Shop)
    with subtests.test("calls"):
        assert run.calls
    with subtests.test("text"):
        assert "sorry" in run.text
"""
SNAPSHOT = """
from inline_snapshot import snapshot

def test_it(tooleval):
    run = tooleval("Refund A1", agent=agent, world=Shop)
    assert run.calls == snapshot()
"""
SCOPE = "-oasyncio_default_fixture_loop_scope=function"  # without it, the plugin warns
BESIDE: dict[str, tuple[str, str, str, int]] = {
    "pytest-asyncio, strict": (
        "pytest-asyncio",
        f"--asyncio-mode=strict {SCOPE}",
        MARKED.format(*["asyncio"] * 2),
        2,
    ),
    "pytest-asyncio, auto": ("pytest-asyncio", f"--asyncio-mode=auto {SCOPE}", ASYNC, 2),
    "anyio": ("anyio", "", ANYIO, 2),
    "pytest-rerunfailures": ("pytest-rerunfailures", "--reruns=1", SYNC, 3),
    "pytest-randomly": ("pytest-randomly", "", SYNC, 3),
    "pytest-timeout": ("pytest-timeout", "--timeout=120", SYNC, 3),
    "pytest-xdist": ("pytest-xdist", "-n2 --dist=loadfile", SYNC, 3),
    "dirty-equals": ("dirty-equals", "", DIRTY, 1),
}


def run(project: Project, plugin: str, text: str, *options: str) -> pytest.RunResult:
    project.write("my_app.py", APP)
    project.write("test_it.py", HEAD + text)
    try:
        plugins = loaded(plugin)
    except LookupError:
        pytest.skip(f"{plugin} is not installed")
    given = (*plugins, *options, "-Werror", "--tooleval-report=out.json")
    return project.run_subprocess(*given, model=None)


@pytest.mark.parametrize(("plugin", "options", "text", "passed"), BESIDE.values(), ids=BESIDE)
def test_python_tests_run_beside_it(
    project: Project, plugin: str, options: str, text: str, passed: int
) -> None:
    run(project, plugin, text, *options.split()).assert_outcomes(passed=passed)
    rows = project.document()["cases"]
    assert [row["outcome"] for row in rows] == ["passed"] * passed


def test_a_failed_subtest_fails_the_case(project: Project) -> None:
    assert run(project, "pytest-subtests", SUBTESTS).ret == pytest.ExitCode.TESTS_FAILED
    (row,) = project.document()["cases"]
    assert row["outcome"] == "failed"
    assert row["reason"].startswith("text: ")


def test_a_snapshot_fills_itself_in(project: Project) -> None:
    run(project, "inline-snapshot", SNAPSHOT, "--inline-snapshot=create")
    filled = '[call("refund", order="A1", amount=40)]'
    # Only with black installed, its quotes are those of black.
    assert f"snapshot({filled})" in (project.path / "test_it.py").read_text().replace("'", '"')
    again = SNAPSHOT.replace("snapshot()", f"snapshot({filled})")
    run(project, "inline-snapshot", again).assert_outcomes(passed=1)


def test_a_time_out_of_the_test_is_no_answer(project: Project) -> None:
    text = """
def test_it(tooleval):
    import time
    tooleval("Hi", agent=lambda messages, tools: time.sleep(20) or "late", name="late")
"""
    run(project, "pytest-timeout", text, "--timeout=1").assert_outcomes(errors=1)
    (row,) = project.document()["cases"]
    assert "Timeout" in row["reason"]
