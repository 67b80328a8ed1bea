"""Naming models: on the command line, in the ini file, in config tables, or not at all."""

from __future__ import annotations

import pytest

from .project import Project, right, wrong


def test_without_a_model_cases_are_skipped_loudly(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    result = project.run("-rs", "--tooleval-report=out.json", model=None)
    result.assert_outcomes(skipped=2)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "SKIPPED*no model is set: use --tooleval-model=NAME*",
            "2 test cases were NOT EVALUATED: *(your config defines agent, other; builtin/*",
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


@pytest.mark.parametrize("arguments", [(), ("weather.tooleval.json::a",), ("-n1",)], ids=str)
def test_a_wrong_config_is_a_usage_error_also_without_a_model(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.suite(right("a"))
    project.write("tooleval.toml", "[models.bot]\ncallabl = 'bot:answer'")
    result = project.run(*arguments, model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *tooleval.toml:2:1: *unknown key 'callabl', did you mean*"])
    assert "Traceback" not in result.stderr.str()


def test_a_misspelt_option_is_a_usage_error_with_the_near_names(project: Project) -> None:
    result = project.run("--tooleval-basline=good")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: unknown option --tooleval-basline, did you mean --tooleval-b*"])


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
    "--tooleval-preset=strict": "--tooleval-preset=strict",
    "--tooleval-estimate": "--tooleval-estimate",
    "--tooleval-baseline=good.json": "--tooleval-baseline=good.json",
    "weather.tooleval.json": "weather.tooleval.json",
    "weather.tooleval.json::a": "weather.tooleval.json",
    "-oaddopts=weather.tooleval.json": "weather.tooleval.json",
    "-otooleval_fail_under=0.5": "a gate",
    "-otooleval_preset=pr": "tooleval_preset=pr",
}


def test_a_verdict_without_a_model_is_a_usage_error(project: Project) -> None:
    """What nobody asked of a model must not pass; collecting asks nothing."""
    project.suite(right("a"))
    project.run("--tooleval-report=good.json")
    project.forget_calls()
    for option, needs in NEEDS_MODEL.items():
        result = project.run(option, model=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        message = f"ERROR: no model is set, and {needs} needs one: use --tooleval-model=NAME*"
        result.stderr.fnmatch_lines([message])
    assert project.calls == []
    shown = project.run("--co", "--tooleval-preset=pr", "weather.tooleval.json", model=None)
    assert shown.ret == pytest.ExitCode.OK


@pytest.fixture
def folders(project: Project) -> Project:
    """A folder with suites alone and one with other tests beside them, and a failure of each."""
    project.suite(right("a"), wrong("b", tags=["hard"]), file="evals/deep/weather.tooleval.json")
    project.suite(right("c"), wrong("d"), file="both/weather.tooleval.json")
    project.write("both/test_plain.py", "def test_plain(): pass\n")
    project.write("evals/helpers_test.py", "ANSWER = 42\n")
    project.run()
    return project


ONLY_CASES = "no model is set, and {} (all tests in it are test cases) needs one: use --tooleval-model=*"
PATHS: tuple[tuple[str, ...], ...] = (
    ("evals",),
    ("evals/deep/..",),
    ("evals", "-k", "a or plain"),
    ("evals", "-m", "hard"),
    ("evals", "--lf"),
    ("both/test_plain.py", "evals"),
    ("both", "evals/deep"),
)
MIXED: tuple[tuple[str, ...], ...] = (
    (),
    (".",),
    ("both",),
    ("both", "--lf"),
    ("both", "-k", "weather"),
    ("--lf",),
    ("-k", "weather"),
    ("-o", "testpaths=evals"),
    ("evals", "--co"),
)


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=str)
def test_a_path_with_cases_alone_names_its_suites(folders: Project, workers: tuple[str, ...]) -> None:
    """A forgotten model must not be green; paths with other tests may be about those."""
    for arguments in PATHS[: 1 if workers else None]:
        result = folders.run(*arguments, *workers, model=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR, arguments
        path = next(each for each in arguments if each.startswith("evals"))
        result.stderr.fnmatch_lines([f"ERROR: {ONLY_CASES.format(path)}"])
    for arguments in MIXED[: 1 if workers else None]:
        result = folders.run(*arguments, *workers, model=None)
        assert result.ret == pytest.ExitCode.OK, arguments
        if "--co" not in arguments:
            result.stdout.fnmatch_lines(["* NOT EVALUATED: no model is set: *"])


def test_a_verdict_without_a_model_is_a_usage_error_under_xdist(project: Project) -> None:
    project.suite(right("a"), right("b"))
    result = project.run("-n2", "--tooleval-preset=pr", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no model is set, and --tooleval-preset=pr needs one: use*"])


def test_an_unknown_model_is_a_usage_error_with_near_names_and_the_table(project: Project) -> None:
    """Also without a suite, and one in the ini file is no way out of an empty name."""
    project.write("test_plain.py", "def test_plain(): assert True\n")
    project.write("pytest.ini", "[pytest]\ntooleval_model = other\n")
    for model, lines in {
        "agnet": [
            "ERROR: unknown model 'agnet', did you mean *agent*",
            "*agent, other, builtin/lexical*",
        ],
        "": ["ERROR: --tooleval-model=*a name is empty*"],
        "\x1b[31m": ["ERROR: *expected a name without brackets*"],
    }.items():
        result = project.run(model=model)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(lines)
        assert "Traceback" not in result.stderr.str()
        assert "\x1b" not in result.stderr.str()


def test_models_from_the_ini_file(project: Project) -> None:
    project.suite(right("a"), file="sub/weather.tooleval.json")
    project.write("pytest.ini", "[pytest]\ntooleval_model = agent other\n")
    result = project.run("-v", "sub", model=None)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["tooleval: agent, other; 32 requests at a time"])
    result = project.run("-v", "sub", model="agent,agent")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*a[[]agent]*PASSED*"])


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
    (project.path / "pyproject.toml").unlink()
    lexical = "weather.tooleval.json::a[[]builtin/lexical] PASSED 1.00*"
    project.run("-v", model="builtin/lexical").stdout.fnmatch_lines([lexical])


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
