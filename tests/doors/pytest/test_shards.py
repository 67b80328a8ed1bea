"""`--tooleval-shard`: a share of the selected cases, which is not judged by itself."""

from __future__ import annotations

from typing import Any

import pytest

from .project import Project, call, case, raising, right, wrong

BOTH = "agent,other"


def shard(project: Project, number: int, of: int, *options: str, **how: Any) -> dict[str, Any]:
    """The document of one shard, which passes."""
    file = f"shard{number}.json"
    result = project.run(
        f"--tooleval-shard={number}/{of}", f"--tooleval-report=json:{file}", *options, **how
    )
    assert result.ret == 0, result.stdout.str()
    return project.document(file)


def cases_of(document: dict[str, Any]) -> list[str]:
    return [f"{row['case']}[{row['model']}]" for row in document["cases"]]


def test_all_models_of_a_case_go_to_one_shard_and_each_case_to_exactly_one(project: Project) -> None:
    project.suite(*[right(f"c{i}", trials=1 + i % 3) for i in range(7)])
    project.suite(*[right(f"d{i}") for i in range(2)], file="more/other.tooleval.json")
    found = [cases_of(shard(project, number, 3, model=BOTH)) for number in (1, 2, 3)]
    everything = [case for cases in found for case in cases]
    assert len(everything) == len(set(everything)) == 18
    for cases in found:
        assert {case for case in cases if "agent" in case} == {
            case.replace("other", "agent") for case in cases if "other" in case
        }
    # Workers of xdist select the same, and their controller tells of it.
    alone = project.document("shard2.json")
    spread = shard(project, 2, 3, "-n", "2", model=BOTH)
    assert cases_of(spread) == cases_of(alone)
    assert spread["run"]["shard"] == alone["run"]["shard"]
    assert spread["run"]["selected"] == len(cases_of(alone))


def test_failures_and_errors_are_shown_and_left_to_the_merge(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"), wrong("d", xfail="known"))
    project.write("test_plain.py", "def test_plain(): pass")
    result = project.run("--tooleval-shard=1/1", "--tooleval-report=out.json", "-x")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "=* FAILURES (not judged yet) *",
            '*city: expected "Paris", got "London"*',
            "failed (not judged yet)  *::b?agent? - *",
            "error (not judged yet)   *::c?agent? - *",
            "shard 1/1: 4 of 4 cases, not judged: `tooleval merge` joins the shards",
            "*2 passed, 1 xfailed, *(not judged yet), *(not judged yet)*",
        ]
    )
    result.stdout.no_fnmatch_line("*tolerated*")
    assert not (project.path / ".tooleval" / "heads").exists()
    marks = {case: (row["counted"], row["tolerated"]) for case, row in project.rows().items()}
    assert marks == {
        "a[agent]": (False, False),
        "b[agent]": (True, False),
        "c[agent]": (True, False),
        "d[agent]": (False, True),  # xfail
    }
    # --lf runs again what failed, a part of it in each shard.
    again = shard(project, 1, 2, "-p", "cacheprovider", "--lf")
    assert again["run"]["shard"]["cases"] == 2


def test_a_forbidden_call_is_told_once_and_no_file_judges_a_shard(project: Project) -> None:
    wrong_call = case("a", {"calls": [call("get_time", city="Paris")]})
    project.suite(wrong_call, wrong("b"), forbidden_calls=["get_time"])
    options = ("--tooleval-report=out.json", "--tooleval-report=out.md", "--tooleval-github=always")
    result = project.run("--tooleval-shard=1/1", *options)
    told = [line for line in result.outlines if "called get_time, which is forbidden" in line]
    assert [line.split()[0] for line in told if "::a[agent] - " in line] == ["forbidden"]
    result.stdout.fnmatch_lines(["::warning *b?agent? failed%2C not judged yet::*"])
    summary = (project.path / "out.md").read_text()
    assert "## Tool calling: SHARD 1/1, not judged" in summary
    assert "2 failed, 2 of these not judged yet" in summary


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_more_shards_than_cases(project: Project, workers: tuple[str, ...]) -> None:
    project.suite(right("a"))
    document = shard(project, 1, 2, *workers)
    assert document["cases"] == []
    assert document["run"]["shard"]["cases"] == 1
    none = project.run("--tooleval-shard=1/2", "--tooleval-report=out.json", "-k", "nothing")
    assert none.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_limits_are_divided(project: Project) -> None:
    project.suite(*[right(f"c{i}", delay=0.05, together=2) for i in range(12)])
    document = shard(project, 3, 3, "--tooleval-concurrency=7")
    assert max(project.log("flight")) == 2
    assert document["run"]["options"]["concurrency"] == "7"


def test_the_money_is_divided(project: Project) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5}
    message = {"role": "assistant", "content": "Hi.", "usage": usage}
    project.suite(*(case(f"c{i}", {"returns": message}) for i in range(12)))
    options = ("--tooleval-max-cost=3", "--tooleval-concurrency=1")
    documents = [shard(project, number, 2, *options)["run"] for number in (1, 2)]
    assert [run["spent"]["agent"]["usd"] for run in documents] == [1.5, 1.5]
    assert {run["max_cost_usd"] for run in documents} == {3}
