"""Passed, failed, error, skipped: which one, and what it shows."""

from __future__ import annotations

import socket
from fnmatch import fnmatch

import pytest
from nightly import at_night

from .project import Project, call, case, failed, right, wrong

WRONG: dict[str, tuple[dict[str, object], str]] = {
    "wrong_tool": (
        {"calls": [call("get_time", city="Paris")]},
        "expected get_weather, called get_time",
    ),
    "hallucinated_tool": (
        {"calls": [call("get_wether", city="Paris")]},
        "expected get_weather, called get_wether: a tool that was not offered",
    ),
    "missing_call": ({"text": "It is sunny."}, "expected get_weather, no tool was called"),
    "invalid_arguments": (
        {"calls": [{"name": "get_weather", "arguments": "Paris"}]},
        "the arguments are not a JSON object: Paris",
    ),
    "missing_argument": ({"calls": [call()]}, 'city is missing (expected "Paris")'),
    "wrong_value": ({"calls": [call(city="London")]}, 'city: expected "Paris", got "London"'),
    "unexpected_call": ({"calls": [call(city="x")]}, "called get_weather: no tool should be called"),
}


def test_the_reason_says_what_was_wrong(project: Project) -> None:
    nothing = {"expected_tool": None, "expected_params": None}
    project.suite(
        case("right", {"text": "Hello!"}, **nothing),
        *(
            case(failure, script, **(nothing if failure == "unexpected_call" else {}))
            for failure, (script, _) in WRONG.items()
        ),
    )
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(passed=1, failed=len(WRONG))
    for failure, (_, reason) in WRONG.items():
        result.stdout.fnmatch_lines([failed(reason, f"{failure}[[]agent]")])
        row = project.rows()[f"{failure}[agent]"]
        assert (row["outcome"], row["trials"][0]["failure"]) == ("failed", failure)


NO_ANSWER: dict[str, tuple[dict[str, object], str]] = {
    "raises": ({"error": "out of order"}, "raised ValueError: out of order at *my_agent.py:*"),
    "number": ({"returns": 5}, "returned int 5; expected the assistant's message*"),
    "dict": ({"returns": {"answer": 1}}, "returned dict*expected the assistant's message*"),
    "list": ({"returns": ["a", {"b": 1}]}, "returned list ?'a', {'b': 1}?; expected*"),
    "none": ({"returns": None}, "returned NoneType None; expected*"),
    "slow": ({"delay": 600}, "did not answer within 5 s (--tooleval-timeout)"),
    "expected": ({"error": "and expected to"}, "raised ValueError: and expected to at *"),
    "secret": ({"error": "refused: sk-very-secret-value"}, "raised ValueError: refused: ?secret? at *"),
}


@pytest.mark.parametrize("style", ["long", at_night("no")])
def test_no_usable_answer_is_an_error_not_a_failure(
    project: Project, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "sk-very-secret-value")
    cases = [
        case(id, script, **({"xfail": True} if id == "expected" else {}))
        for id, (script, _) in NO_ANSWER.items()
    ]
    project.suite(*cases, right("b"))
    files = ("--tooleval-report=out.json", "--junitxml=out.xml", "-vv")
    result = project.run("--tooleval-timeout=5", f"--tb={style}", *files)
    result.assert_outcomes(errors=len(NO_ANSWER), passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [f"*my_agent:answer {message}" for _, message in NO_ANSWER.values()]
    )
    assert "Traceback" not in result.stdout.str()
    assert "collection.py" not in result.stdout.str()
    rows = project.rows()
    assert rows.pop("b[agent]")["outcome"] == "passed"
    for row in rows.values():
        assert (row["outcome"], row["scores"]) == ("error", {})
        assert row["trials"][0]["error"]["kind"] in ("callable", "timeout")
    texts = [
        result.stdout.str(),
        *((project.path / name).read_text() for name in ("out.json", "out.xml")),
    ]
    assert not [text for text in texts if "sk-very-secret-value" in text]


def test_a_callable_that_cannot_be_loaded(project: Project) -> None:
    """A usage error that names the place; beside other tests, an error of its cases."""
    project.suite(right("a"), right("b"))
    project.write("tooleval.toml", '[models.agent]\ncallable = "my_agent:anser"\n')
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.lines if line.startswith("ERROR: callable")]
    assert fnmatch(line, "*tooleval.toml*'my_agent' has no 'anser', did you mean answer*")
    project.write("test_plain.py", "def test_plain(): assert True\n")
    project.run().assert_outcomes(passed=1, errors=2)


def test_skip_shows_its_reason_and_counts_apart(project: Project) -> None:
    project.suite(right("a", skip="no licence"), right("b"))
    project.run("--tooleval-report=out.json").assert_outcomes(skipped=1, passed=1)
    row = project.rows()["a[agent]"]
    assert (row["outcome"], row["reason"], row["trials"]) == ("skipped", "no licence", [])


def test_an_expected_failure_is_tolerated(project: Project) -> None:
    forms = {
        "true": True,
        "text": "known weakness",
        "reason": {"reason": "r"},
        "strict": {"strict": True},
    }
    project.suite(*(wrong(id, xfail=xfail) for id, xfail in forms.items()))
    result = project.run("--tooleval-report=out.json", "-rx")
    result.assert_outcomes(xfailed=len(forms))
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["XFAIL*known weakness*"])
    for row in project.rows().values():
        assert (row["outcome"], row["tolerated"]) == ("failed", True)
        assert row["scores"]["overall"] == pytest.approx(0.6)
    assert "known weakness" in project.rows()["text[agent]"]["reason"]
    project.run("--runxfail").assert_outcomes(failed=len(forms))


_HOOKS = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if not item.name.startswith(("skips", "leaks")):
            item.add_marker(pytest.mark.xfail(reason="known"))

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if item.name.startswith("skips"):
        pytest.skip("not here")
    raise RuntimeError("broken by " + {key!r})
"""


def test_what_others_hooks_say_of_a_case(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their mark excuses no forbidden call, and is no miss of the model; their errors leak no key."""
    key = "sk-very-secret-value"
    monkeypatch.setenv("SOME_API_KEY", key)
    script = {"calls": [call(city="Paris"), call("get_time")]}
    forbids = case("forbidden", script, forbidden_calls=["get_time"])
    project.suite(right("a"), wrong("b"), forbids, wrong("skips"), right("leaks"))
    project.pytester.makeconftest(_HOOKS.format(key=key))
    result = project.run("--tooleval-report=out.json", "--tooleval-fail-under=0")
    result.assert_outcomes(xfailed=2, failed=2, skipped=1)
    rows = {name.partition("[")[0]: row for name, row in project.rows().items()}
    outcomes = {name: (row["outcome"], row["tolerated"], row["counted"]) for name, row in rows.items()}
    assert outcomes == {
        "a": ("passed", False, False),
        "b": ("failed", True, False),
        "forbidden": ("failed", False, False),
        "skips": ("skipped", False, False),
        "leaks": ("failed", False, False),
    }
    assert rows["skips"]["reason"] == "not here"
    assert key not in (project.path / "out.json").read_text()


def test_an_unexpected_pass(project: Project) -> None:
    project.suite(right("lax", xfail=True), right("strict", xfail={"strict": True, "reason": "hard"}))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(xpassed=1, failed=1)
    rows = project.rows()
    assert rows["lax[agent]"]["outcome"] == "passed"
    assert rows["strict[agent]"]["outcome"] == "failed"
    assert "XPASS(strict)" in result.stdout.str()


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
    # A replay needs none.
    result = project.run("--tooleval-cassette=tapes", "--tooleval-record=none", model="hosted")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["hosted: no recorded answer in *"])
    assert "MY_TEAM_KEY" not in result.stdout.str()
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
