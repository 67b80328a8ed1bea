"""Cases under variants: items of their own, and no part of the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from .project import WEATHER_TOOL, Project, right, wrong

HOOK = """
from msgspec.structs import replace


def louder(case, condition):
    if case.id == "c":
        return None
    prompt = case.messages[-1]["content"] + condition.argument
    return replace(case, messages=({"role": "user", "content": prompt},))


def same(case, condition):
    return case


def pytest_tooleval_variants(register):
    register("louder", louder)
    register("same", same)
"""


@pytest.fixture
def varied(project: Project) -> Project:
    """Three right cases, of which the agent gets `a` wrong when it is asked louder."""
    project.write("conftest.py", HOOK)
    project.suite(right("a"), right("b"), right("c"))
    for id, each in (("a", wrong("a")), ("b", right("b"))):
        project.script(f"What is the weather in Paris? ({id})!", **each["_script"])
    return project


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_failure_of_a_variant_fails_no_run(varied: Project, workers: Sequence[str]) -> None:
    result = varied.run("--tooleval-variant=louder:!", "--tooleval-variant=same", "-x", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "agent passed: 3 of 3 cases passed",
            "variant *before *after *difference*",
            "louder:! *2 *1.00 *0.50 *-50 points (-100 to 100) *1.000 *0 *1 *0 *1 *inconclusive",
            "same *3 *1.00 *1.00 *0 points (-100 to 100) *- *0 *0 *3 *0 *inconclusive",
            "louder:!: a 1/1 -> 0/1",
            "louder:!: left out, as it does not apply or was not run: c",
            "*7 passed, 1 failed (under a variant)*",
        ]
    )
    # The unchanged case was asked once.
    asked = varied.calls
    assert len(asked) == len(set(asked)) == 5


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_variant_that_fits_no_selected_case_says_so(varied: Project, workers: Sequence[str]) -> None:
    names = ("--tooleval-variant=inject", "--tooleval-variant=same", "--tooleval-variant=louder:!")

    def said(*options: str) -> list[str]:
        lines = varied.run(*names, *options, *workers).outlines
        return [line for line in lines if line.startswith(("inject", "same:", "louder:!:"))]

    none = "inject: applies to none of the 3 selected cases"
    assert none in said("--tooleval-report=out.json")
    assert varied.document()["run"]["unapplied"] == ["inject"]
    # A variant that was left out by -k would apply.
    assert said("-k", "not same and not louder") == [none]
    only = "does not apply to the selected case"
    assert said("weather.tooleval.json::c[agent]") == [f"inject: {only}", f"louder:!: {only}"]


def test_the_record_has_the_variant_and_what_it_changed(varied: Project) -> None:
    varied.run("--tooleval-variant=louder:!", "--tooleval-report=out.json")
    document = varied.document()
    assert document["run"]["total"]["cases"] == document["run"]["selected"] == 3
    row = next(each for each in document["cases"] if each["variant"] and each["case"] == "a")
    assert row["nodeid"] == "weather.tooleval.json::a[agent, louder:!]"
    assert row["changes"] == [
        {
            "what": "message of the user",
            "old": "What is the weather in Paris? (a)",
            "new": "What is the weather in Paris? (a)!",
        }
    ]
    assert [(each["variant"], each["cases"]) for each in document["variants"]] == [("louder:!", 2)]
    # By its node id alone.
    result = varied.run("--tooleval-variant=louder:!", row["nodeid"])
    result.stdout.fnmatch_lines(["*1 failed (under a variant)*"])


def test_a_gate_names_a_variant(varied: Project) -> None:
    options = ("--tooleval-variant=louder:!", "--tooleval-variant=same")
    result = varied.run(*options, "--tooleval-fail-under=variant=louder:!:0.9")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["agent FAILED: 3 of 3 cases passed; pass_rate, variant louder:!: 0.50 < 0.90, over 2 cases"]
    )
    assert varied.run(*options, "--tooleval-fail-under=variant=same:0.9").ret == 0
    # Gates without a variant see the unchanged cases alone.
    assert varied.run(*options, "--tooleval-fail-under=0.9").ret == 0
    result = varied.run(*options, "--tooleval-fail-under=variant=loud:0.9")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert 'no collected case has the variant "' in result.stderr.str()


def test_an_unchanged_case_shares_its_answer_even_if_none_can_be_saved(project: Project) -> None:
    project.suite(right("a"))
    project.write("conftest.py", HOOK)
    project.write(".tooleval", "a file")
    project.run("--tooleval-variant=same").assert_outcomes(passed=2, warnings=1)
    assert project.calls == ["a"]


def test_answers_of_an_earlier_run_in_one_arm_rule_out_a_verdict(project: Project) -> None:
    project.suite(right("a"))
    options = ("--tooleval-cassette=tapes", "--tooleval-report=out.json")
    project.run(*options, "--tooleval-trials=1")
    (line,) = (project.path / "tapes" / "weather.jsonl").read_text().splitlines()
    day = json.loads(line)["answer"]["answered_at"][:10]
    project.write("tapes/weather.jsonl", line.replace(day, "2026-11-01"))
    project.run(*options, "--tooleval-trials=2", "--tooleval-variant=shuffle")
    (found,) = project.document()["variants"]
    assert (found["verdict"], found["p"]) == ("not judged", None)
    assert found["apart"].startswith("1 of 2 unchanged trials (2026-11-01) and 0 of 2 trials under shuf")


def test_an_estimate_counts_what_variants_ask(varied: Project) -> None:
    tape = ("--tooleval-cassette=tapes", "--tooleval-estimate")
    varied.run("--tooleval-cassette=tapes")
    # `same` asks nothing, `again` has no recorded answers.
    options = ("--tooleval-variant=same", "--tooleval-variant=again", "--tooleval-variant=louder:!")
    varied.run(*options, *tape).stdout.fnmatch_lines(["agent *8 *3 *5 *"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shufle", "--tooleval-variant: unknown variant shufle, did you mean shuffle?"),
        ("", "--tooleval-variant=: expected the name of a variant, got nothing"),
        # The same order three times is no series.
        ("shuffle:1,2,3", "--tooleval-variant=shuffle:1: shuffle takes no argument"),
        ("against", "--tooleval-variant=against: expected against:REV, such as against:main"),
        ("inject:none.json", "--tooleval-variant=inject:none.json: *none.json cannot be read: "),
    ],
)
def test_what_is_no_variant_is_a_usage_error(project: Project, name: str, message: str) -> None:
    project.suite(right("a"), tools=[WEATHER_TOOL])
    result = project.run(f"--tooleval-variant={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
