"""The `tooleval` fixture: a test case run from a Python test."""

from __future__ import annotations

import pytest

from .project import Project, call, case, raising, right, wrong

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


def test_what_a_test_may_ask_for(project: Project) -> None:
    """A case that the agent gets wrong, a suite made in Python, another model, trials, scorers."""
    project.suite(right("paris"), wrong("london"), right("thrice", trials=3))
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
        from pathlib import Path
        from pytest_tooleval import load_suite

        FILE = "weather.tooleval.json"

        def test_wrong(tooleval):
            result = tooleval.run_sync(FILE, "london", model="agent")
            assert not result.passed
            assert result.outcome == "failed"
            assert abs(result.scores["overall"] - 0.6) < 1e-9
            assert 'got "London"' in result.reason

        def test_object(tooleval):
            suite = load_suite(Path(__file__).with_name(FILE))
            result = tooleval.run_sync(suite, suite.test_cases[0], model="agent")
            assert result.passed

        def test_other(tooleval):
            result = tooleval.run_sync(FILE, "paris", model="other")
            assert result.model == "other"
            assert result.passed

        def test_trials_and_scorers(tooleval):
            result = tooleval.run_sync(FILE, "thrice", model="agent")
            assert len(result.trials) == 3
            assert result.scores["politeness"] == 0.5
        """,
    )
    for model in ("agent,other", None):
        project.run("test_agent.py", model=model).assert_outcomes(passed=4)


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_in_an_async_test(project: Project, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    project.suite(right("paris"))
    project.write("test_agent.py", "import pytest\n" + ASYNC)
    project.run("test_agent.py", f"--asyncio-mode={mode}").assert_outcomes(passed=1)
    skipped = project.run("test_agent.py", f"--asyncio-mode={mode}", model=None)
    skipped.assert_outcomes(skipped=1)


def test_several_cases_at_once(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    project.suite(*(right(f"c{i}", together=5) for i in range(5)))
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


def test_without_a_model_the_test_is_skipped(project: Project) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", SYNC)
    result = project.run("test_agent.py", "-rs", model=None)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no model is set*"])


MISTAKES = {
    '"weather.tooleval.json", "paris"': "several models (agent, other)*model=",
    '"weather.tooleval.json", "pariss", "agent"': "'Weather' has no case 'pariss', did you mean 'paris'",
    '"gone.tooleval.json", "paris", "agent"': "gone.tooleval.json: there is no such file",
    '"weather.tooleval.json", "paris", model="agnet"': "unknown model 'agnet'",
}


def test_mistakes_are_named_at_the_line_of_the_test(project: Project) -> None:
    project.suite(right("paris"))
    project.write(
        "test_agent.py",
        "".join(
            f"def test_{number}(tooleval):\n    tooleval.run_sync({call})\n"
            for number, call in enumerate(MISTAKES)
        ),
    )
    result = project.run("test_agent.py", model="agent,other")
    result.assert_outcomes(failed=len(MISTAKES))
    result.stdout.fnmatch_lines([f"E  *{message}*" for message in MISTAKES.values()])
    result.stdout.no_fnmatch_line("*pytest_tooleval/plugin/*")
    result.stdout.no_fnmatch_line("During handling*")


def test_no_answer_raises(project: Project) -> None:
    project.suite(raising("paris", "out of order"))
    pytest.importorskip("pytest_asyncio")
    project.write(
        "test_agent.py",
        """
        import pytest
        from pytest_tooleval import ModelError

        def test_it(tooleval):
            with pytest.raises(ModelError, match="out of order"):
                tooleval.run_sync("weather.tooleval.json", "paris")

        async def test_it_too(tooleval):
            with pytest.raises(ModelError, match="out of order"):
                await tooleval.run("weather.tooleval.json", "paris")
        """,
    )
    project.run("test_agent.py", "--asyncio-mode=auto").assert_outcomes(passed=2)


def test_it_uses_the_cassette(project: Project) -> None:
    project.suite(right("paris"))
    project.write("test_agent.py", SYNC)
    project.run("--tooleval-cassette=tapes").assert_outcomes(passed=2)
    project.forget_calls()
    args = ("--tooleval-cassette=tapes", "--tooleval-record=none", "test_agent.py")
    project.run(*args).assert_outcomes(passed=1)
    assert project.calls == []


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


def test_a_rerun_of_the_test_asks_anew(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.suite(case("a", [{"text": "Let me think."}, {"calls": [call(city="Paris")]}]))
    project.write(
        "test_agent.py",
        "def test_it(tooleval): assert tooleval.run_sync('weather.tooleval.json', 'a').passed\n",
    )
    result = project.run("test_agent.py", "--reruns=2")
    result.stdout.fnmatch_lines(["*1 passed, 1 rerun*"])
