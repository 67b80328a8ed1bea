"""The `tooleval` fixture: a test case run from a Python test."""

from __future__ import annotations

import pytest

from .project import Project
from .project import raising
from .project import right
from .project import wrong

SYNC = """
def test_it(tooleval):
    result = tooleval.run_sync("weather.tooleval.json", "paris")
    assert result.passed
    assert result.outcome == "passed"
    assert result.scores["overall"] == 1.0
    [trial] = result.trials
    [call] = trial.transcript.calls
    assert call.name == "get_weather"
    assert call.arguments == {"city": "Paris"}
    assert trial.scores["overall"].explanation
    assert result.model == "agent"
"""
ASYNC = SYNC.replace("def test", "@pytest.mark.asyncio\nasync def test").replace(
    "tooleval.run_sync", "await tooleval.run"
)


def test_in_a_sync_test(project: Project) -> None:
    project.suite(right("paris"), file="weather.tooleval.json")
    project.write("test_agent.py", SYNC)
    result = project.run("test_agent.py")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*tool calling*")
    assert project.calls == ["paris"]


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_in_an_async_test(project: Project, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    project.suite(right("paris"))
    project.write("test_agent.py", "import pytest\n" + ASYNC)
    project.run("test_agent.py", f"--asyncio-mode={mode}").assert_outcomes(passed=1)


def test_a_wrong_answer_is_for_the_test_to_judge(project: Project) -> None:
    project.suite(wrong("paris"))
    project.write(
        "test_agent.py",
        """
        def test_it(tooleval):
            result = tooleval.run_sync("weather.tooleval.json", "paris")
            assert not result.passed
            assert result.outcome == "failed"
            assert abs(result.scores["overall"] - 0.6) < 1e-9
            assert 'got "London"' in result.reason
        """,
    )
    project.run("test_agent.py").assert_outcomes(passed=1)


def test_several_cases_at_once(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    project.suite(*(right(f"c{i}", delay=1) for i in range(5)))
    project.write(
        "test_agent.py",
        """
        import asyncio

        async def test_it(tooleval):
            runs = [tooleval.run("weather.tooleval.json", f"c{i}") for i in range(5)]
            assert all(result.passed for result in await asyncio.gather(*runs))
        """,
    )
    project.run("test_agent.py", "--asyncio-mode=auto").assert_outcomes(passed=1)
    assert max(project.log("flight")) == 5


def test_a_suite_made_in_python(project: Project) -> None:
    project.suite(right("paris"))
    project.write(
        "test_agent.py",
        """
        from pathlib import Path
        from pytest_tooleval import load_suite

        def test_it(tooleval):
            suite = load_suite(Path(__file__).with_name("weather.tooleval.json"))
            result = tooleval.run_sync(suite, suite.test_cases[0])
            assert result.passed
        """,
    )
    project.run("test_agent.py").assert_outcomes(passed=1)


def test_naming_a_model(project: Project) -> None:
    project.suite(right("paris"))
    project.write(
        "test_agent.py",
        """
        def test_it(tooleval):
            result = tooleval.run_sync("weather.tooleval.json", "paris", model="other")
            assert result.model == "other"
            assert result.passed
        """,
    )
    project.run("test_agent.py", model=None).assert_outcomes(passed=1)
    project.run("test_agent.py", model="agent,other").assert_outcomes(passed=1)


def test_without_a_model_the_test_is_skipped(project: Project) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", SYNC)
    result = project.run("test_agent.py", "-rs", model=None)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no model is set*"])


def test_an_async_test_is_skipped_too(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    project.suite(right("paris"))
    project.write("test_agent.py", "import pytest\n" + ASYNC)
    project.run("test_agent.py", "--asyncio-mode=strict", model=None).assert_outcomes(skipped=1)


@pytest.mark.parametrize(
    ("call", "model", "error"),
    [
        ('"weather.tooleval.json", "paris"', "agent,other", "*several models (agent, other)*model=*"),
        ('"weather.tooleval.json", "rome"', "agent", "*the suite 'Weather' has no case 'rome'*"),
        ('"gone.tooleval.json", "paris"', "agent", "*gone.tooleval.json: there is no such file"),
        ('"weather.tooleval.json", "paris", "agnet"', "agent", "*unknown model 'agnet'*"),
    ],
)
def test_mistakes_are_named(project: Project, call: str, model: str, error: str) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", f"def test_it(tooleval):\n    tooleval.run_sync({call})\n")
    result = project.run("test_agent.py", model=model)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([error])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_answer_raises(project: Project, asynchronous: bool) -> None:
    project.suite(raising("paris", "out of order"))
    pytest.importorskip("pytest_asyncio")
    run = "await tooleval.run" if asynchronous else "tooleval.run_sync"
    project.write(
        "test_agent.py",
        f"""
        import pytest
        from pytest_tooleval import ModelError

        {"async " if asynchronous else ""}def test_it(tooleval):
            with pytest.raises(ModelError, match="out of order"):
                {run}("weather.tooleval.json", "paris")
        """,
    )
    project.run("test_agent.py", "--asyncio-mode=auto").assert_outcomes(passed=1)


def test_it_uses_the_cassette(project: Project) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", SYNC)
    project.run("--tooleval-cassette=tapes").assert_outcomes(passed=2)
    project.forget_calls()
    args = ("--tooleval-cassette=tapes", "--tooleval-record=none", "test_agent.py")
    project.run(*args).assert_outcomes(passed=1)
    assert project.calls == []


def test_it_runs_trials(project: Project) -> None:
    project.suite(right("paris"), trials=3)
    project.write(
        "test_agent.py",
        """
        def test_it(tooleval):
            assert len(tooleval.run_sync("weather.tooleval.json", "paris").trials) == 3
        """,
    )
    project.run("test_agent.py").assert_outcomes(passed=1)


def test_it_uses_the_scorers_of_conftest(project: Project) -> None:
    project.suite(right("paris"))
    project.write(
        "conftest.py",
        """
        from pytest_tooleval import Score

        class Politeness:
            metrics = ("politeness",)

            def score(self, case, transcript):
                return {"politeness": Score(0.5)}

        def pytest_tooleval_register_scorers(register):
            register(Politeness())
        """,
    )
    project.write(
        "test_agent.py",
        """
        def test_it(tooleval):
            result = tooleval.run_sync("weather.tooleval.json", "paris")
            assert result.scores["politeness"] == 0.5
        """,
    )
    project.run("test_agent.py").assert_outcomes(passed=1)


def test_the_suite_is_found_beside_the_test(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.suite(right("paris"), file="deep/down/weather.tooleval.json")
    project.write("deep/down/test_agent.py", SYNC)
    monkeypatch.chdir(project.path / "deep")
    project.run("down/test_agent.py").assert_outcomes(passed=1)


def test_under_xdist(project: Project) -> None:
    pytest.importorskip("xdist")
    project.suite(right("paris"))
    project.write("test_agent.py", SYNC)
    project.run_subprocess("-n2").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ('"weather.tooleval.json", "pariss"', "has no case 'pariss', did you mean 'paris'"),
        ('"weathr.tooleval.json", "paris"', "there is no such file"),
        ('"weather.tooleval.json", "paris", model="agnet"', "unknown model"),
    ],
)
def test_a_mistake_of_the_test_is_shown_at_its_own_line(
    project: Project, asked: str, message: str
) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", f"def test_it(tooleval):\n    tooleval.run_sync({asked})\n")
    result = project.run("test_agent.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E  *{message}*"])
    result.stdout.no_fnmatch_line("*pytest_tooleval/plugin/*")
    result.stdout.no_fnmatch_line("During handling*")


def test_a_rerun_of_the_test_asks_anew(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.suite(right("a"))
    project.write(
        "my_agent.py",
        """
        from pathlib import Path

        def answer(messages, tools):
            asked = Path("asked")
            if not asked.exists():
                asked.touch()
                return {"content": "Let me think."}
            call = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
            return {"tool_calls": [{"id": "1", "type": "function", "function": call}]}
        """,
    )
    project.write(
        "test_agent.py",
        "def test_it(tooleval): assert tooleval.run_sync('weather.tooleval.json', 'a').passed\n",
    )
    result = project.run("test_agent.py", "--reruns=2")
    result.stdout.fnmatch_lines(["*1 passed, 1 rerun*"])
