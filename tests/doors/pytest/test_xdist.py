"""The same results with pytest-xdist as without."""

from __future__ import annotations

import pytest
from nightly import at_night

from .project import Project, case, comparable, failed, raising, right, wrong

pytestmark = pytest.mark.slow

pytest.importorskip("xdist")


@pytest.fixture
def mixed(project: Project) -> Project:
    """Two suites with every outcome, and tests in Python."""
    project.write(
        "test_plain.py",
        """
        import pytest

        @pytest.mark.parametrize("n", range(5))
        def test_plain(n): pass
        """,
    )
    project.suite(right("a"), wrong("b"), raising("c"), right("d", skip="later"), wrong("e", xfail=True))
    project.suite(*(right(f"c{i}") for i in range(6)), file="more.tooleval.json", name="More")
    return project


@pytest.mark.parametrize("dist", ["loadfile", at_night("worksteal"), at_night("each")])
def test_rows_are_the_same_as_without(mixed: Project, dist: str) -> None:
    mixed.run("--tooleval-report=alone.json")
    count = len(mixed.calls)
    mixed.forget_calls()
    result = mixed.run("-n2", "-v", f"--dist={dist}", "--tooleval-report=out.json")
    assert comparable(mixed.rows()) == comparable(mixed.rows("alone.json"))
    text = result.stdout.str()
    assert text.count("= tool calling =") == 1
    assert "INTERNALERROR" not in text
    if dist == "each":
        return
    # With work stealing a case that was asked ahead may have moved on to the other worker.
    assert len(mixed.calls) == count if dist == "loadfile" else len(mixed.calls) >= count
    result.assert_outcomes(passed=12, failed=1, errors=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*FAILED 0.60*weather.tooleval.json::b[[]agent]*",
            "weather.tooleval.json:*: b on agent",
            "all suites*",
            "agent: 1 error*the agent is broken*",
            failed('city: expected "Paris", got "London"', "b[[]agent]"),
        ]
    )
    mixed.forget_calls()
    mixed.run("--lf").assert_outcomes(failed=1, errors=1)
    assert sorted(mixed.calls) == ["b", "c"]


def test_a_crashed_worker_fails_only_its_item(project: Project) -> None:
    # Asked ahead, it would take the cases before it along.
    project.write(
        "conftest.py",
        """
        def pytest_runtest_setup(item):
            if item.name.startswith("crash"):
                (item.config.rootpath / "reached").touch()
        """,
    )
    cases = [
        *(right(f"c{i}") for i in range(6)),
        case("crash", {"exit": 3, "until": "reached"}, tags=["smoke"], weight=2),
    ]
    project.suite(*cases)
    result = project.run("-n2", "--tooleval-report=out.json")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(["*worker*crashed while running*weather.tooleval.json::crash*"])
    rows = project.rows()
    assert {row["outcome"] for name, row in rows.items() if name != "crash[agent]"} == {"passed"}
    assert len([name for name in rows if name != "crash[agent]"]) == 6
    crashed = rows["crash[agent]"]
    assert (crashed["outcome"], crashed["suite"], crashed["position"]) == ("error", "Weather", 6)
    # What gates and `merge` read.
    assert (crashed["tags"], crashed["weight"]) == (["smoke"], 2)
    assert crashed["suite_fingerprint"] == rows["c0[agent]"]["suite_fingerprint"]
    assert crashed["reason"].startswith(
        "the worker process died while it ran this case and requested others"
    )
    assert "INTERNALERROR" not in result.stdout.str()


def test_no_model_and_broken_suites_are_named_once(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.write("bad.tooleval.json", '{"name": 5}')
    result = project.run("-n2", model=None)
    assert result.ret != pytest.ExitCode.OK
    # xdist goes on with what it could collect, also for Python tests; the run is not green.
    result.assert_outcomes(skipped=2, errors=1)
    result.stdout.fnmatch_lines(["2 test cases were NOT EVALUATED*"])
    text = result.stdout.str()
    assert text.count("bad.tooleval.json:1:10: name: ") == 1
    assert "Traceback" not in text


def test_one_cassette_serves_both_workers(mixed: Project) -> None:
    mixed.run("--tooleval-report=alone.json")
    args = ("-n2", "--tooleval-cassette=tapes", "--tooleval-report=out.json")
    mixed.run(*args)
    assert comparable(mixed.rows()) == comparable(mixed.rows("alone.json"))
    mixed.forget_calls()
    result = mixed.run(*args, "--tooleval-record=none")
    assert mixed.calls == []
    result.assert_outcomes(passed=12, failed=1, errors=1, skipped=1, xfailed=1)


@pytest.mark.nightly
def test_workers_do_not_wait_for_what_their_controller_imports(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        import sys
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_xdist_node_collection_finished():
            print("ready:", "pytest_tooleval.plugin.session" in sys.modules)
        """,
    )
    project.suite(right("a"))
    for args, model in [((), "agent"), (("--tooleval-report=out.json",), None)]:
        result = project.run_subprocess("-n1", "-s", *args, model=model)
        result.stdout.fnmatch_lines(["ready: True"])


def test_the_controller_loads_neither_the_suite_format_nor_an_event_loop(project: Project) -> None:
    """It asks nothing and scores nothing, and workers wait for it."""
    project.suite(right("a"), wrong("b"))
    project.write(
        "conftest.py",
        """
        import sys

        def pytest_unconfigure(config):
            if not hasattr(config, "workerinput"):
                heavy = {"pydantic", "asyncio", "pytest_tooleval.suite.model"} & set(sys.modules)
                print("controller has", sorted(heavy))
        """,
    )
    result = project.run_subprocess("-n2", "-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["controller has []"])


@pytest.mark.nightly
def test_no_heartbeat_in_workers(project: Project) -> None:
    """And --collect-only asks nothing."""
    project.write(
        "conftest.py",
        """
        from pytest_tooleval.plugin import terminal
        terminal._HEARTBEAT_S = 0.1
        """,
    )
    project.suite(right("a", delay=0.4))
    project.run_subprocess("-n1", "--collect-only")
    assert project.calls == []
    result = project.run_subprocess("-n1")
    result.assert_outcomes(passed=1)
    assert "waiting for an answer" not in result.stdout.str()


@pytest.mark.parametrize(
    ("model", "message"),
    [("hosted", "MY_TEAM_KEY is not set"), at_night("agnet", "unknown model 'agnet'")],
)
def test_a_model_that_cannot_be_asked_is_said_once(project: Project, model: str, message: str) -> None:
    project.suite(right("a"), right("b"))
    table = 'model = "anthropic/claude-sonnet-4-5"\napi_key_env = "MY_TEAM_KEY"\n'
    project.write("tooleval.toml", f"[models.hosted]\n{table}")
    result = project.run("-n2", "--tooleval-fail-over=errors=100%", model=model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.str().count(message) == 1


def test_workers_ask_ahead_within_one_max_cost(project: Project) -> None:
    project.suite(*(right(f"c{i}", delay=0.05, together=4) for i in range(24)))
    result = project.run("-n2", "--tooleval-concurrency=8")
    result.assert_outcomes(passed=24)
    # Each worker counts its own: half of the eight, and never more.
    assert max(project.log("flight")) == 4


def test_workers_share_the_limits_of_a_model(project: Project) -> None:
    project.write("tooleval.toml", '[models.agent]\ncallable = "my_agent:answer"\nmax_concurrency = 4\n')
    project.suite(*(right(f"c{i}", delay=0.3) for i in range(8)))
    result = project.run("-n2")
    result.assert_outcomes(passed=8)
    assert max(project.log("flight")) == 2  # of each worker


def test_stopping_at_the_first_failure_stops_all_workers(project: Project) -> None:
    project.suite(wrong("first"), *(right(f"c{i}", delay=1) for i in range(200)))
    result = project.run("-n2", "-x", "--tooleval-concurrency=2")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes.get("passed", 0) < 100


@pytest.mark.nightly
def test_a_worker_may_have_ended_before_its_failure_is_reported(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        import time

        def pytest_runtest_logreport(report):
            while hasattr(report, "node") and report.failed and not report.node.channel.isclosed():
                time.sleep(0.02)
        """,
    )
    project.suite(*(wrong(f"c{i}") for i in range(20)))
    result = project.run_subprocess("-n2", "-x", "--tooleval-report=out.json", timeout=120)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["agent  0.00*", "saved as *", "*Interrupted: stopping after *"])
    assert project.rows()


def test_a_case_that_a_hook_skips_leaves_nothing_behind(project: Project) -> None:
    """Else a worker would go on counting it to what it asks ahead, and ask less and less."""
    project.write(
        "conftest.py",
        """
        import pytest
        from pytest_tooleval.plugin import eval_session

        def pytest_runtest_setup(item):
            if "skipped" in item.name:
                pytest.skip("not today")

        def pytest_sessionfinish(session):
            print("left:", eval_session(session.config).case_session().queue.waiting)
        """,
    )
    slow = [right(f"skipped-{n}", delay=30) for n in range(3)]
    project.suite(*slow, right("last"))
    result = project.run("-s")
    result.assert_outcomes(passed=1, skipped=3)
    result.stdout.fnmatch_lines(["*left: 0*"])
