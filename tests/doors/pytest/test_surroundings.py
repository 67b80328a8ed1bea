"""Beside other plugins, options and odd places."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from mock_server import MockServer

from .project import Project, right, wrong

pytestmark = pytest.mark.slow


def test_a_timeout_plugin_interrupts_the_wait(project: Project) -> None:
    pytest.importorskip("pytest_timeout")
    if sys.platform == "win32":
        pytest.skip("the signal method needs SIGALRM")
    # The other case is answered once both are in flight, however slow the machine is.
    project.suite(right("fast", together=2), right("slow", delay=600))
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[1].add_marker(pytest.mark.timeout(1, method="signal"))
        """,
    )
    result = project.run_subprocess("-ptimeout", "--tooleval-report=out.json")
    result.assert_outcomes(errors=1, passed=1)
    assert len(project.log("cancelled")) == 1
    row = project.rows()["slow[agent]"]
    assert row["outcome"] == "error"
    assert "Timeout" in row["reason"]
    # One line, and nothing of the frames between pytest and the wait.
    result.stdout.fnmatch_lines(["weather.tooleval.json:*: Failed: Timeout (>1.0s)*"])
    assert "pluggy/" not in result.stdout.str()


def test_without_a_terminal(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    result = project.run_subprocess("-p", "no:terminal", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(project.rows()) == 2
    assert result.stderr.str() == ""


@pytest.mark.parametrize(
    "options",
    [
        "--import-mode=importlib",
        "--import-mode=append",
        "--import-mode=prepend --setup-show",
        "-p no:cacheprovider --strict-config -otooleval_model=agent",
        "--durations=5 -rA -l",
    ],
)
def test_options_of_pytest(project: Project, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    # With `append` the agents that other tests of this process have left would come first.
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not Path(p, "my_agent.py").exists()])
    project.suite(right("a"), wrong("b"))
    project.write("test_plain.py", "def test_plain(): pass\n")
    fixture = "import pytest\n@pytest.fixture(autouse=True)\ndef _noise(request): yield\n"
    if "append" not in options:  # with which the conftest of these tests comes first
        project.write("conftest.py", fixture)
    model = None if "tooleval_model" in options else "agent"
    project.run(*options.split(), model=model).assert_outcomes(passed=2, failed=1)
    assert project.calls == ["a", "b"]


def test_from_another_folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.suite(right("a"), file="suites/weather.tooleval.json")
    (project.path / "elsewhere").mkdir()
    monkeypatch.chdir(project.path / "elsewhere")
    result = project.run("../suites/weather.tooleval.json", "--tooleval-report=out.json")
    result.assert_outcomes(passed=1)
    [row] = project.document("elsewhere/out.json")["cases"]
    assert row["nodeid"] == "suites/weather.tooleval.json::a[agent]"


def test_a_suite_outside_the_root(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    project.write("pytest.ini", "[pytest]\n")
    outside = tmp_path_factory.mktemp("outside") / "far.tooleval.json"
    project.suite(right("a"), wrong("b"))
    (project.path / "weather.tooleval.json").rename(outside)
    args = (f"--rootdir={project.path}", str(outside), "--tooleval-cassette=tapes")
    result = project.run(*args, "--tooleval-report=out.json")
    result.assert_outcomes(passed=1, failed=1)
    assert project.rows()["a[agent]"]["nodeid"].endswith("far.tooleval.json::a[agent]")
    tapes = list((project.path / "tapes").rglob("*.jsonl"))
    assert [tape.name for tape in tapes] == ["far.jsonl"]
    listed = project.run("--co", "-q", *args).outlines
    assert any(line.endswith("far.tooleval.json::a[agent]") for line in listed)


def test_suites_of_one_name_outside_the_root_keep_their_answers_apart(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project.write("pytest.ini", "[pytest]\n")
    files = []
    for name, prompt, make in (("one", "Weather in Paris?", right), ("two", "And in Rome?", wrong)):
        project.suite({**make("same"), "prompt": prompt}, file="moving.tooleval.json")
        files.append(tmp_path_factory.mktemp(name) / "same.tooleval.json")
        (project.path / "moving.tooleval.json").rename(files[-1])
    args = (f"--rootdir={project.path}", "--tooleval-cassette=tapes", *map(str, files))
    project.run(*args, "--tooleval-report=out.json").assert_outcomes(passed=1, failed=1)
    assert [row["outcome"] for row in project.document()["cases"]] == ["passed", "failed"]
    project.run(*args, "--tooleval-record=none").assert_outcomes(passed=1, failed=1)
    assert len(project.calls) == 2
    project.run(*args, "--lf").assert_outcomes(failed=1)


def test_where_no_cache_can_be_written(project: Project) -> None:
    """A CI may run on a read-only file system; root ignores permissions, hence a file in the way."""
    project.suite(right("a"), wrong("b"))
    project.write(".pytest_cache", "in the way")
    result = project.run()
    result.assert_outcomes(passed=1, failed=1, warnings=result.parseoutcomes().get("warnings", 0))
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(project: Project) -> None:
    project.suite(right("a"))
    Path(project.path / "calls.log").touch()
    project.path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        project.run("-p", "no:cacheprovider").assert_outcomes(passed=1)
    finally:
        project.path.chmod(stat.S_IRWXU)


def test_a_warning_stands_where_the_suite_is_wrong(project: Project) -> None:
    project.suite(right("a"), wrong("b", expected_params={"city": 5}), file="sub/weather.tooleval.json")
    result = project.run("sub")
    result.stdout.fnmatch_lines(
        [
            "sub/weather.tooleval.json::b[[]agent[]]",
            "*weather.tooleval.json:58: PytestWarning: b: expected_params.city: the number 5 does not*",
        ]
    )
    assert "the number" not in project.run("sub/weather.tooleval.json::a[agent]").stdout.str()


def test_warnings_as_errors(project: Project) -> None:
    project.suite(right("a", tags=["x"]), wrong("b"), right("c", delay=0.1))
    result = project.run_subprocess("-W", "error", "--strict-markers", "--strict-config")
    result.assert_outcomes(passed=2, failed=1)
    assert "Warning" not in result.stdout.str() + result.stderr.str()


@pytest.mark.nightly
def test_the_import_of_litellm_and_the_filters_of_warnings(project: Project) -> None:
    """It neither fails by the session's filters nor lands on a case nor changes what tests see."""
    project.write(
        "conftest.py",
        """
        import sys
        import warnings

        class Warns:
            def find_spec(self, name, path=None, target=None):
                if name == "litellm.main":
                    warnings.filterwarnings("ignore", message="of a test")
                    warnings.warn("of the import")

        sys.meta_path.insert(0, Warns())
        """,
    )
    project.write(
        "test_plain.py",
        """
        import warnings

        import pytest

        def test_plain():
            with pytest.raises(UserWarning, match="of a test"):
                warnings.warn("of a test")
        """,
    )
    project.suite(right("a"), right("b"))
    with MockServer() as server:
        url = server.base_url
        project.write("tooleval.toml", f'[models.m]\nmodel = "deepseek/x"\napi_base = "{url}"\n')
        project.run_subprocess("-W", "error", model="m").assert_outcomes(passed=3)


def test_exceptions_in_the_garbage_of_tests_are_still_reported(project: Project) -> None:
    """Also of what was there before the first test: it is garbage only since then."""
    project.suite(right("a"))
    project.write(
        "test_plain.py",
        "class Broken:\n"
        "    def __init__(self): self.me = self\n"
        "    def __del__(self): raise ValueError('in the garbage')\n"
        "shared = Broken()\n"
        "def test_plain():\n"
        "    global shared\n"
        "    shared = None\n",
    )
    result = project.run_subprocess("-W", "error", "-p", "no:cacheprovider")
    assert result.ret != 0
    assert "ValueError: in the garbage" in result.stdout.str() + result.stderr.str()


def test_pdb_on_a_failure_does_not_break(project: Project) -> None:
    project.suite(wrong("a"), right("b"))
    project.write(
        "quiet_pdb.py",
        """
        class Quiet:
            quitting = False
            def __init__(self, **kwargs): pass
            def reset(self): pass
            def interaction(self, *args): pass
        """,
    )
    result = project.run("--pdb", "--pdbcls=quiet_pdb:Quiet")
    result.assert_outcomes(failed=1, passed=1)
    assert "INTERNALERROR" not in result.stdout.str()


def test_ignoring_suites(project: Project) -> None:
    project.suite(right("a"), file="skipme/a.tooleval.json")
    project.suite(right("b"))
    project.run("--ignore=skipme").assert_outcomes(passed=1)
    project.run("--ignore-glob=*.tooleval.json").assert_outcomes()
    assert project.calls == ["b"]


def test_a_conftest_may_change_items(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            marks = {
                "b": pytest.mark.skip(reason="by conftest"),
                "d": pytest.mark.skipif(True, reason="never here"),
                "e": pytest.mark.skipif(False, reason="always here"),
                "f": pytest.mark.xfail(run=False, reason="would crash"),
            }
            for item in items:
                if item.name[0] in marks:
                    item.add_marker(marks[item.name[0]])
            items.reverse()
        """,
    )
    project.suite(*map(right, "abcdef"))
    result = project.run("-v", "--tooleval-report=out.json")
    result.assert_outcomes(passed=3, skipped=2, xfailed=1)
    assert sorted(project.calls) == ["a", "c", "e"]
    rows = {row["case"]: (row["outcome"], row["reason"]) for row in project.document()["cases"]}
    assert rows["b"] == ("skipped", "by conftest")
    assert rows["f"] == ("skipped", "would crash")


def test_failing_hooks_of_another_plugin_are_errors(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        def pytest_runtest_setup(item):
            if item.name.startswith("a"):
                raise RuntimeError("another plugin")

        def pytest_runtest_teardown(item):
            if item.name.startswith("b"):
                raise RuntimeError("cannot tidy up")
        """,
    )
    project.suite(right("a"), right("b"))
    result = project.run("--tooleval-report=out.json")
    result.assert_outcomes(passed=1, errors=2)
    rows = project.rows()
    assert (rows["a[agent]"]["outcome"], rows["b[agent]"]["outcome"]) == ("error", "passed")
    assert "another plugin" in rows["a[agent]"]["reason"]


def test_our_modules_are_not_rewritten_as_tests_are(project: Project) -> None:
    project.suite(right("a"))
    project.write(
        "test_loaders.py",
        "import sys\n"
        "def test_loaders():\n"
        "    ours = {n: m for n, m in sys.modules.items() if n.startswith('pytest_tooleval.plugin.')}\n"
        "    loaders = {n: type(m.__loader__).__name__ for n, m in ours.items()}\n"
        "    rewritten = {n for n, loader in loaders.items() if loader != 'SourceFileLoader'}\n"
        "    assert len(loaders) > 10 and rewritten <= {'pytest_tooleval.plugin.bytecode'}\n",
    )
    project.run_subprocess("-W", "error").assert_outcomes(passed=2)


def test_nothing_of_ours_finds_modules_after_the_run(project: Project) -> None:
    project.suite(right("a"))
    project.write(
        "run.py",
        """
        import sys
        import pytest
        for _ in range(2):
            assert pytest.main(["-q", "-p", "no:cacheprovider", "--tooleval-model=builtin/lexical"]) == 0
            assert not [each for each in sys.meta_path if "pytest_tooleval" in str(each)]
        """,
    )
    result = project.pytester.runpython(project.path / "run.py")
    assert result.ret == 0, result.stderr.str()
