"""Naming models: on the command line, in the ini file, in config tables, or not at all."""

from __future__ import annotations

import pytest

from .project import Project
from .project import right
from .project import wrong


def test_without_a_model_cases_are_skipped_loudly(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    result = project.run("-rs", "--tooleval-report=out.json", model=None)
    result.assert_outcomes(skipped=2)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "SKIPPED*no model is set: use --tooleval-model=NAME*",
            "2 test cases were NOT EVALUATED: no model is set*builtin/lexical*",
        ]
    )
    assert project.calls == []
    assert {row["outcome"] for row in project.document()["cases"]} == {"skipped"}


def test_without_a_model_and_without_suites_nothing_is_said(project: Project) -> None:
    project.write("test_plain.py", "def test_plain(): assert True\n")
    result = project.run(model=None)
    result.assert_outcomes(passed=1)
    assert "tooleval" not in result.stdout.str().replace("tooleval-0", "").partition("plugins:")[0]
    assert "NOT EVALUATED" not in result.stdout.str()


def test_without_a_model_the_configured_ones_are_named(project: Project) -> None:
    project.suite(right("a"))
    result = project.run(model=None)
    result.stdout.fnmatch_lines(["*NOT EVALUATED: no model is set*(your config defines agent, other; *"])


@pytest.mark.parametrize("arguments", [(), ("weather.tooleval.json::a",), ("-n1",)], ids=str)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[model.bot]\ncallable = 'bot:answer'", "*unknown key 'model', did you mean models?"),
        (
            "[models.bot]\ncallabl = 'bot:answer'",
            "*:2:1: *unknown key 'callabl', did you mean*",
        ),
    ],
)
def test_a_wrong_config_is_a_usage_error_also_without_a_model(
    project: Project, table: str, message: str, arguments: tuple[str, ...]
) -> None:
    project.suite(right("a"))
    project.write("tooleval.toml", table)
    run = project.run_subprocess if "-n1" in arguments else project.run
    result = run(*arguments, model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


@pytest.mark.parametrize(("model", "asked"), [("agent,other", "agent, other"), (None, "no model")])
def test_a_case_of_a_model_that_is_not_asked_is_a_usage_error(
    project: Project, model: str | None, asked: str
) -> None:
    project.suite(right("a"))
    named = "weather.tooleval.json::a[wrong]"
    result = project.run(named, model=model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"ERROR: {named}: this run asks {asked}, not wrong; use --tooleval-model=wrong"
    assert message in result.stderr.lines
    assert project.calls == []


NEEDS_MODEL = {
    "--tooleval-fail-under=0.5": "a gate",
    "--tooleval-preset=strict": "the preset strict",
    "--tooleval-estimate": "--tooleval-estimate",
    "--tooleval-baseline=good.json": "the baseline",
    "weather.tooleval.json": "weather.tooleval.json",
    "weather.tooleval.json::a": "weather.tooleval.json",
    "-oaddopts=weather.tooleval.json": "weather.tooleval.json",
    "-otooleval_fail_under=0.5": "a gate",
    "-otooleval_preset=pr": "the preset pr",
}


@pytest.mark.parametrize("option", NEEDS_MODEL)
def test_a_verdict_without_a_model_is_a_usage_error(project: Project, option: str) -> None:
    """What nobody asked of a model must not pass."""
    project.suite(right("a"))
    project.run("--tooleval-report=good.json")
    project.forget_calls()
    result = project.run(option, model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"ERROR: no model is set, and {NEEDS_MODEL[option]} needs one: use --tooleval-model=NAME*"
    result.stderr.fnmatch_lines([message])
    assert project.calls == []


def test_a_folder_is_no_suite_and_collecting_needs_no_model(project: Project) -> None:
    project.suite(right("a"))
    assert project.run(".", model=None).ret == pytest.ExitCode.OK
    shown = project.run("--co", "--tooleval-preset=pr", "weather.tooleval.json", model=None)
    assert shown.ret == pytest.ExitCode.OK


def test_a_verdict_without_a_model_is_a_usage_error_in_workers(project: Project) -> None:
    project.suite(right("a"), right("b"))
    result = project.run_subprocess("-n2", "--tooleval-preset=pr", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no model is set, and the preset pr needs one: use*"])


def test_a_test_that_asks_for_a_case_needs_a_model(project: Project) -> None:
    project.suite(right("a"))
    project.write("test_it.py", "def test_it(tooleval): tooleval.run_sync('weather.tooleval.json', 'a')")
    result = project.run("test_it.py", "--tooleval-fail-under=0.5", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*no model is set, and a gate needs one: use*"])


@pytest.mark.parametrize("value", ["", ",", "agent,", ",agent", " ", "agent,,other"])
def test_an_empty_model_is_a_usage_error(project: Project, value: str) -> None:
    project.suite(right("a"))
    result = project.run(model=value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --tooleval-model=*a name is empty*"])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize("suites", [True, False])
def test_an_unknown_model_is_a_usage_error_with_near_names_and_the_table(
    project: Project, suites: bool
) -> None:
    if suites:
        project.suite(right("a"))
    else:
        project.write("test_plain.py", "def test_plain(): assert True\n")
    result = project.run(model="agnet")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: unknown model 'agnet', did you mean *agent*",
            "*agent, other, builtin/lexical*",
            "*[[]models.agnet]",
            "*model = *",
            "*api_key_env = *",
        ]
    )
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize("name", ["a[b]", "a::b", "\x1b[31m"])
def test_a_name_that_would_break_node_ids_is_a_usage_error(project: Project, name: str) -> None:
    project.suite(right("a"))
    result = project.run(model=name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "\x1b" not in result.stderr.str()


def test_models_from_the_ini_file(project: Project) -> None:
    project.suite(right("a"))
    project.write("pytest.ini", "[pytest]\ntooleval_model = agent other\n")
    result = project.run("-v", model=None)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["tooleval: agent, other; 32 requests at a time"])


def test_the_command_line_wins_over_the_ini_file(project: Project) -> None:
    project.suite(right("a"))
    project.write("pytest.ini", "[pytest]\ntooleval_model = other\n")
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*a[[]agent]*PASSED*"])


def test_an_empty_model_is_an_error_even_with_one_in_the_ini_file(project: Project) -> None:
    project.suite(right("a"))
    project.write("pytest.ini", "[pytest]\ntooleval_model = other\n")
    assert project.run(model="").ret == pytest.ExitCode.USAGE_ERROR


def test_models_from_pyproject(project: Project) -> None:
    (project.path / "tooleval.toml").unlink()
    project.suite(right("a"))
    project.write(
        "pyproject.toml",
        """
        [tool.pytest.ini_options]
        tooleval_model = ["mine"]

        [tool.tooleval.models.mine]
        callable = "my_agent:answer"

        [tool.tooleval.models."my/own"]
        callable = "my_agent:answer"
        """,
    )
    project.run("-v", model=None).stdout.fnmatch_lines(["*a[[]mine]*PASSED*"])
    project.run("-v", model="my/own").stdout.fnmatch_lines(["*a[[]my/own]*PASSED*"])


def test_models_in_two_places_are_an_error(project: Project) -> None:
    project.suite(right("a"))
    project.write("pyproject.toml", '[tool.tooleval.models.mine]\ncallable = "my_agent:answer"\n')
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *tooleval.toml*pyproject.toml*keep one*"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('modle = "x/y"', "*tooleval.toml:2:1*modle*did you mean model*"),
        ('api_key = "sk-1"', "*tooleval.toml:2:1*environment variable*api_key_env*"),
        ("model = 5", "*tooleval.toml:2:1*expected str, got int*"),
        ('model = "openai/gpt-4o"\ntimeout = -1', "*tooleval.toml:3:1*> 0*"),
        ("temperature = 0.5", "*tooleval.toml:1:1*expected one of model = *callable = *"),
        ('callable = "my_agent"', '*tooleval.toml:2:1*expected "module:function"*'),
        ("callable = ", "*tooleval.toml*line 2*"),
    ],
)
def test_a_wrong_table_names_file_line_and_cure(project: Project, table: str, message: str) -> None:
    project.suite(right("a"))
    project.write("tooleval.toml", f"[models.agent]\n{table}\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.slow
def test_a_provider_that_litellm_does_not_know(project: Project) -> None:
    project.suite(right("a"))
    project.write("tooleval.toml", '[models.agent]\nmodel = "opnai/gpt-4o"\n')
    # In a process of its own, because litellm is asked.
    result = project.run_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tooleval.toml:2:1*opnai*did you mean openai*"])
    assert "Traceback" not in result.stderr.str()


def test_a_model_named_twice_is_run_once(project: Project) -> None:
    project.suite(right("a"))
    project.run("--tooleval-model=agent", model="agent,agent").assert_outcomes(passed=1)


def test_the_baseline_needs_no_config(project: Project) -> None:
    (project.path / "tooleval.toml").unlink()
    project.suite(right("a"))
    result = project.run("-v", model="builtin/lexical")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["weather.tooleval.json::a[[]builtin/lexical] PASSED 1.00*"])


def test_models_from_the_folder_of_the_ini_file(project: Project) -> None:
    project.suite(right("a"), file="sub/weather.tooleval.json")
    project.write("pytest.ini", "[pytest]\n")
    project.run("sub").assert_outcomes(passed=1)


def test_tables_are_read_from_the_root_when_started_elsewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suite(right("a"), file="sub/weather.tooleval.json")
    project.write("pytest.ini", "[pytest]\n")
    monkeypatch.chdir(project.path / "sub")
    project.run("weather.tooleval.json").assert_outcomes(passed=1)


def test_an_effort_reaches_callables_that_take_one(project: Project) -> None:
    project.write(
        "agent.py",
        """
        def effort(messages, tools, reasoning_effort=None):
            return f"I reason: {reasoning_effort}"

        def deaf(messages, tools):
            return "What?"
        """,
    )
    project.suite(right("one"))
    tables = [
        f'[models.{name}]\ncallable = "agent:{name}"\nreasoning_effort = "low"\n'
        for name in ("effort", "deaf")
    ]
    project.write("tooleval.toml", "".join(tables))
    result = project.run("--tooleval-report=out.json", model="effort,deaf")
    left = "no reasoning effort sent, because this model is not known to reason (1 case)"
    result.stdout.fnmatch_lines([f"deaf: {left}"])
    document = project.document()
    assert {row["model"]: row["fallbacks"] for row in document["models"]}["effort"] == []
    replies = [row["trials"][0]["transcript"]["replies"][0] for row in document["cases"]]
    assert "I reason: low" in [reply["message"]["content"] for reply in replies]
