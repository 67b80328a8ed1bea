"""Passed, failed, error, skipped: which one, and what it shows."""

from __future__ import annotations

import socket
from fnmatch import fnmatch

import pytest

from .project import Project
from .project import call
from .project import case
from .project import failed
from .project import raising
from .project import right
from .project import wrong


def test_right_passes(project: Project) -> None:
    project.suite(right("a"))
    assert project.run().ret == pytest.ExitCode.OK


@pytest.mark.parametrize("style", ["long", "short", "line", "native", "auto"])
def test_a_failure_says_what_was_compared(project: Project, style: str) -> None:
    project.suite(wrong("london"))
    result = project.run(f"--tb={style}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*city: expected "Paris", got "London"*', "*weather.tooleval.json*"])
    output = result.stdout.str()
    assert "Traceback" not in output
    assert "collection.py" not in output
    if style != "line":
        result.stdout.fnmatch_lines(
            [
                "weather.tooleval.json:*: london on agent",
                '  - city  "Paris"',
                '  + city  "London"*',
                "*overall*0.60*needs 1.00*",
                "*user*What is the weather in Paris?*",
                '*assistant*get_weather(city="London")*',
            ]
        )


def test_no_traceback_style_still_names_the_failure(project: Project) -> None:
    project.suite(wrong("london"))
    result = project.run("--tb=no")
    result.stdout.fnmatch_lines([failed('city: expected "Paris", got "London"', "london[[]agent]")])


@pytest.mark.parametrize(
    ("script", "failure", "reason"),
    [
        (
            {"calls": [call("get_time", city="Paris")]},
            "wrong_tool",
            "expected get_weather, called get_time",
        ),
        (
            {"calls": [call("get_wether", city="Paris")]},
            "hallucinated_tool",
            "expected get_weather, called get_wether: a tool that was not offered",
        ),
        ({"text": "It is sunny."}, "missing_call", "expected get_weather, no tool was called"),
        (
            {"calls": [{"name": "get_weather", "arguments": "Paris"}]},
            "invalid_arguments",
            "the arguments are not a JSON object: Paris",
        ),
        ({"calls": [call()]}, "missing_argument", 'city is missing (expected "Paris")'),
        ({"calls": [call(city="London")]}, "wrong_value", 'city: expected "Paris", got "London"'),
    ],
)
def test_the_reason_says_what_was_wrong(
    project: Project, script: dict[str, object], failure: str, reason: str
) -> None:
    project.suite(case("a", script))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([failed(reason, "a[[]agent]")])
    row = project.rows()["a[agent]"]
    assert row["outcome"] == "failed"
    assert row["trials"][0]["failure"] == failure


def test_an_answer_without_calls_is_right_where_nothing_is_expected(project: Project) -> None:
    project.suite(
        case("text", {"text": "Hello!"}, expected_tool=None, expected_params=None),
        case("called", {"calls": [call(city="x")]}, expected_tool=None, expected_params=None),
    )
    project.run().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            {"error": "out of order"},
            "*my_agent:answer raised ValueError: out of order at *my_agent.py:*",
        ),
        ({"returns": 5}, "*my_agent:answer returned int 5; expected the assistant's message*"),
        ({"returns": {"answer": 1}}, "*my_agent:answer returned dict*expected the assistant's message*"),
        (
            {"returns": ["a", {"b": 1}]},
            "*my_agent:answer returned list ?'a', {'b': 1}?; expected*",
        ),
        ({"returns": None}, "*my_agent:answer returned NoneType None; expected*"),
        ({"delay": 30}, "*my_agent:answer did not answer within 2 s (--tooleval-timeout)"),
    ],
)
@pytest.mark.parametrize("style", ["long", "no"])
def test_no_usable_answer_is_an_error_not_a_failure(
    project: Project, script: dict[str, object], message: str, style: str
) -> None:
    project.suite(case("a", script), right("b"))
    result = project.run("--tooleval-timeout=2", "--tooleval-report=out.json", f"--tb={style}")
    result.assert_outcomes(errors=1, passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([message])
    assert "Traceback" not in result.stdout.str()
    assert "collection.py" not in result.stdout.str()
    row = project.rows()["a[agent]"]
    assert row["outcome"] == "error"
    assert row["scores"] == {}
    assert row["trials"][0]["error"]["kind"] in ("callable", "timeout")


@pytest.mark.parametrize("style", ["long", "line", "no"])
def test_an_error_is_named_in_the_short_summary(project: Project, style: str) -> None:
    project.suite(raising("a"))
    result = project.run(f"--tb={style}")
    result.stdout.fnmatch_lines(["ERROR weather.tooleval.json::a[[]agent]*"])


def test_one_trial_without_answer_makes_the_case_an_error(project: Project) -> None:
    project.suite(right("a"), trials=2)
    project.write(
        "twofaced.py",
        """
        def answer(messages, tools, trial):
            if trial:
                raise RuntimeError("second time unlucky")
            call = {"name": "get_weather", "arguments": {"city": "Paris"}}
            return {"tool_calls": [{"function": call}]}
        """,
    )
    project.write("tooleval.toml", '[models.twofaced]\ncallable = "twofaced:answer"\n')
    result = project.run("--tooleval-report=out.json", model="twofaced")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*second time unlucky*(1 of 2 trials)*"])
    row = project.rows()["a[twofaced]"]
    assert [trial["error"] is None for trial in row["trials"]] == [True, False]


@pytest.mark.parametrize(
    "gates", [(), ("--tooleval-fail-under=0.9",), ("--tooleval-fail-over=errors=0",)]
)
def test_a_model_that_only_lacks_answers_has_not_failed(
    project: Project, gates: tuple[str, ...]
) -> None:
    project.suite(raising("a"), raising("b"))
    result = project.run(*gates, "--tooleval-report=out.md")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["agent ERROR: 2 cases without an answer*"])
    assert "- **ERROR**: `agent`, `2 cases without an answer" in (project.path / "out.md").read_text()


def test_the_mean_over_trials_decides(project: Project) -> None:
    project.write(
        "mixed.py",
        """
        def answer(messages, tools, trial):
            city = "Paris" if trial != 1 else "London"
            return {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": city}}}]}
        """,
    )
    project.write("tooleval.toml", '[models.mixed]\ncallable = "mixed:answer"\n')
    project.suite(right("a", thresholds={"overall": 0.8}), right("b", thresholds={"overall": 0.95}))
    result = project.run("--tooleval-trials=4", "--tooleval-report=out.json", model="mixed")
    result.assert_outcomes(passed=1, failed=1)
    assert project.rows()["a[mixed]"]["scores"]["overall"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('callable = "no_such_module:answer"', "*cannot import 'no_such_module'*"),
        ('callable = "my_agent:anser"', "*'my_agent' has no 'anser', did you mean answer*"),
        ('callable = "my_agent:reply"', "*'my_agent' has no 'reply'*"),
        ('callable = "json:loads"', "*: loads takes (s, *, cls=*, expected (messages, tools)*"),
        ('callable = "my_agent:HERE"', "*my_agent*HERE*"),
    ],
)
def test_a_callable_that_cannot_be_loaded(project: Project, table: str, message: str) -> None:
    project.suite(right("a"), right("b"))
    project.write("tooleval.toml", f"[models.agent]\n{table}\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.lines if line.startswith("ERROR: callable")]
    assert fnmatch(line, message)
    assert "tooleval.toml" in line


def test_beside_other_tests_a_callable_that_cannot_be_loaded_is_an_error_of_its_cases(
    project: Project,
) -> None:
    project.suite(right("a"), right("b"))
    project.write("test_plain.py", "def test_plain(): assert True\n")
    project.write("tooleval.toml", '[models.agent]\ncallable = "no_such_module:answer"\n')
    project.run().assert_outcomes(passed=1, errors=2)


def test_skip_shows_its_reason_and_counts_apart(project: Project) -> None:
    project.suite(right("a", skip="no licence"), right("b"))
    project.run("--tooleval-report=out.json").assert_outcomes(skipped=1, passed=1)
    row = project.rows()["a[agent]"]
    assert (row["outcome"], row["reason"], row["trials"]) == ("skipped", "no licence", [])


@pytest.mark.parametrize("xfail", [True, "known weakness", {"reason": "r"}, {"strict": True}])
def test_an_expected_failure_is_tolerated(project: Project, xfail: object) -> None:
    project.suite(wrong("a", xfail=xfail))
    result = project.run("--tooleval-report=out.json", "-rx")
    result.assert_outcomes(xfailed=1)
    assert result.ret == pytest.ExitCode.OK
    row = project.rows()["a[agent]"]
    assert (row["outcome"], row["tolerated"]) == ("failed", True)
    assert row["scores"]["overall"] == pytest.approx(0.6)
    if xfail == "known weakness":
        assert "known weakness" in row["reason"]
        result.stdout.fnmatch_lines(["XFAIL*known weakness*"])


def test_an_expected_failure_without_answer_stays_an_error(project: Project) -> None:
    project.suite(raising("a", xfail=True))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(errors=1)
    assert project.rows()["a[agent]"]["outcome"] == "error"


def test_an_unexpected_pass(project: Project) -> None:
    project.suite(right("lax", xfail=True), right("strict", xfail={"strict": True, "reason": "hard"}))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(xpassed=1, failed=1)
    rows = project.rows()
    assert rows["lax[agent]"]["outcome"] == "passed"
    assert rows["strict[agent]"]["outcome"] == "failed"
    assert "XPASS(strict)" in result.stdout.str()


def test_a_case_that_is_expected_to_fail_and_not_asked_has_the_reason_of_its_mark(
    project: Project,
) -> None:
    project.suite(right("a"))
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.xfail(reason="too dear", run=False))
        """,
    )
    project.run("--tooleval-report=out.json").assert_outcomes(xfailed=1)
    (row,) = project.document("out.json")["cases"]
    assert (row["outcome"], row["reason"]) == ("skipped", "too dear")


def test_runxfail_takes_failures_for_failures(project: Project) -> None:
    project.suite(wrong("a", xfail=True), right("b", xfail={"strict": True}))
    project.run("--runxfail").assert_outcomes(failed=1, passed=1)


def test_what_cannot_be_scored_is_an_error(project: Project) -> None:
    slow = {"city": {"$regex": "(a+)+$"}}
    script = {"calls": [call(city="a" * 5000 + "!")]}
    project.suite(case("slow", script, expected_params=slow), right("b"))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        ["weather.tooleval.json:*: cannot be scored: Weather::slow: expected_params.city: *"]
    )
    row = project.rows()["slow[agent]"]
    assert (row["outcome"], row["scores"]) == ("error", {})
    assert "Traceback" not in result.stdout.str()


def test_thresholds_that_never_apply_are_an_error_not_a_pass(project: Project) -> None:
    project.suite(
        right("a", expected_params=None, thresholds={"overall": None, "parameter_accuracy": 1.0})
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*cannot be scored*parameter_accuracy*overall*"])


def test_a_missing_key_says_which_variable(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.write(
        "tooleval.toml",
        """
        [models.hosted]
        model = "anthropic/claude-sonnet-4-5"
        api_key_env = "MY_TEAM_KEY"
        """,
    )
    told = ["*MY_TEAM_KEY is not set*'hosted'*tooleval.toml*"]
    result = project.run(model="hosted")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(told)
    assert result.stderr.str().count("MY_TEAM_KEY") == 1
    # Other tests run all the same.
    project.write("test_other.py", "def test_other(): pass")
    result = project.run(model="hosted")
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(told)
    assert "Traceback" not in result.stdout.str()


def test_a_dead_endpoint_is_an_error_that_names_it(project: Project) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    project.suite(right("a"), right("b"))
    project.write(
        "tooleval.toml",
        f"""
        [models.local]
        model = "openai/tiny"
        api_base = "http://127.0.0.1:{port}/v1"
        """,
    )
    result = project.run(model="local")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"*no connection to http://127.0.0.1:{port}/v1*"])
    assert "Traceback" not in result.stdout.str()


def test_a_secret_in_an_exception_is_not_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "sk-very-secret-value")
    project.suite(raising("a", "refused: sk-very-secret-value"))
    result = project.run("--tooleval-report=out.json", "--junitxml=out.xml", "-vv")
    result.assert_outcomes(errors=1)
    shown = result.stdout.str() + result.stderr.str()
    for name in ("out.json", "out.xml"):
        shown += (project.path / name).read_text()
    assert "sk-very-secret-value" not in shown
