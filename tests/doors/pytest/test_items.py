"""What is collected, how it is selected, and that only what is selected is asked."""

from __future__ import annotations

import json

import pytest

from .project import Project, raising, right, wrong


@pytest.fixture
def three(project: Project) -> Project:
    """Two cases that pass, one that fails between them."""
    project.suite(right("paris", tags=["smoke"]), wrong("london"), right("tokyo", tags=["slow-one"]))
    return project


def test_an_item_per_case_and_model_in_the_order_of_the_file(three: Project) -> None:
    """And looking at them asks nothing, and leaves nothing behind."""
    result = three.run("--collect-only", "-q", "--tooleval-model=other")
    assert result.outlines[:6] == [
        f"weather.tooleval.json::{case}[{model}]"
        for case in ("paris", "london", "tokyo")
        for model in ("agent", "other")
    ]
    assert result.ret == 0
    assert not (three.path / ".tooleval").exists()
    for option in ("-qq --co", "--fixtures", "--markers"):
        result = three.run(*option.split())
        assert result.ret == 0
    result.stdout.fnmatch_lines(["@pytest.mark.tooleval(model, suite, case):*"])
    three.suite()
    assert three.run().ret in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.INTERRUPTED)
    assert three.calls == []


@pytest.mark.parametrize(
    ("args", "asked"),
    [
        (["weather.tooleval.json::london[agent]"], ["london"]),
        (["weather.tooleval.json::london"], ["london"]),
        (["-k", "tokyo or paris"], ["paris", "tokyo"]),
        (["-k", "smoke"], ["paris"]),
        (["-m", "smoke", "--strict-markers"], ["paris"]),
        (["-m", "slow-one", "--strict-markers"], ["tokyo"]),
        (["-m", 'tooleval(case="tokyo")'], ["tokyo"]),
        (["-m", 'tooleval(suite="Weather", case="london")'], ["london"]),
        (["-m", "not tooleval"], []),
        (["--deselect", "weather.tooleval.json::london[agent]"], ["paris", "tokyo"]),
        (["--deselect", "weather.tooleval.json::london"], ["paris", "tokyo"]),
    ],
)
def test_only_the_selected_are_asked(three: Project, args: list[str], asked: list[str]) -> None:
    result = three.run(*args)
    assert sorted(three.calls) == sorted(asked)
    assert sum(result.parseoutcomes().get(word, 0) for word in ("passed", "failed")) == len(asked)


def test_selecting_a_model(three: Project) -> None:
    result = three.run("-m", 'tooleval(model="other")', "-v", model="agent,other")
    result.assert_outcomes(passed=2, failed=1, deselected=3)
    assert "[agent]" not in result.stdout.str()
    three.run("weather.tooleval.json::paris", model="agent,other").assert_outcomes(passed=2)
    three.forget_calls()
    result = three.run("--lf", "weather.tooleval.json::london[other]", model="agent,other")
    result.assert_outcomes(failed=1)
    assert three.calls == ["london"]


def test_ids_with_unusual_characters_can_be_named(project: Project) -> None:
    ids = [
        "a/b",
        "with space",
        "größe-東京",
        "a@b",
        "what?",
        "x;y & z",
        "100%",
        "dotted.name",
        "-v",
        "'q'",
    ]
    project.suite(*map(right, ids), right("the other"))
    nodes = [f"weather.tooleval.json::{id}[agent]" for id in ids]
    assert project.run("--co", "-q").outlines[: len(ids)] == nodes
    project.run(*nodes).assert_outcomes(passed=len(ids))
    assert sorted(project.calls) == sorted(ids)


def test_an_unknown_node_id_is_a_usage_error_and_asks_nothing(three: Project) -> None:
    result = three.run("weather.tooleval.json::rome[agent]")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert three.calls == []


def test_cases_without_id_get_stable_names(project: Project) -> None:
    project.suite(right(None), {**right(None), "prompt": "Weather, please!"})
    result = project.run("--co", "-q")
    result.stdout.fnmatch_lines(
        [
            "weather.tooleval.json::what-is-the-weather-in-paris-none[[]agent]",
            "weather.tooleval.json::weather-please[[]agent]",
        ]
    )


def test_last_failed_asks_only_what_failed_or_errored(project: Project) -> None:
    project.suite(right("good"), wrong("bad"), raising("broken"), file="a.tooleval.json")
    project.suite(right("fine"), file="b.tooleval.json")
    project.run().assert_outcomes(passed=2, failed=1, errors=1)
    project.forget_calls()
    result = project.run("--lf")
    result.assert_outcomes(failed=1, errors=1)
    assert sorted(project.calls) == ["bad", "broken"]


def test_stepwise_goes_on_where_it_failed(three: Project) -> None:
    three.run("--sw").assert_outcomes(passed=1, failed=1)
    three.forget_calls()
    three.run("--sw")
    assert "paris" not in three.calls


def test_tags_of_one_suite_do_not_mark_another(project: Project) -> None:
    project.suite(right("a", tags=["red"]), file="a.tooleval.json")
    project.suite(right("b", tags=["blue"]), file="b.tooleval.json")
    result = project.run("-m", "red", "--strict-markers")
    result.assert_outcomes(passed=1, deselected=1)


def test_two_files_may_hold_the_same_ids(project: Project) -> None:
    project.suite(right("same"), file="a.tooleval.json")
    project.suite(right("same"), file="sub/a.tooleval.json")
    project.run("--tooleval-report=out.json").assert_outcomes(passed=2)
    nodes = [row["nodeid"] for row in project.document()["cases"]]
    assert sorted(nodes) == ["a.tooleval.json::same[agent]", "sub/a.tooleval.json::same[agent]"]


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="older ones run Python files twice, too")
def test_a_suite_given_twice_is_run_once(three: Project) -> None:
    three.run("weather.tooleval.json", "weather.tooleval.json").assert_outcomes(passed=2, failed=1)
    assert len(three.calls) == 3


def test_other_json_files_are_left_alone(three: Project) -> None:
    three.write("data.json", json.dumps({"not": "a suite"}))
    three.write("tooleval.json", "{")
    three.run().assert_outcomes(passed=2, failed=1)


def test_properties_of_others_stay_in_junits_file(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    project.write(
        "conftest.py",
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                item.user_properties.append(("ticket", item.name))
        """,
    )
    project.run("--junitxml=out.xml", "-ojunit_family=xunit1")
    written = (project.path / "out.xml").read_text()
    assert written.count('name="ticket"') == 2
    assert written.count('name="tooleval.case"') == 2


def test_hooks_that_look_for_fixtures_find_none(project: Project) -> None:
    project.suite(right("a"))
    project.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items):\n"
        "    print('with db:', [i for i in items if 'db' in i.fixturenames])\n",
    )
    result = project.run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*with db: []"])
