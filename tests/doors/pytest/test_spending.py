"""Money: the cap, the estimate, and prices of one's own."""

from __future__ import annotations

from typing import Any

import pytest
from mock_server import MockServer

from pytest_tooleval.figures import usd_text

from .project import Project, case, right
from .test_resume import served_cases, with_server

pytestmark = pytest.mark.slow


def test_the_cap_stops_asking_and_says_so(project: Project) -> None:
    with MockServer() as server:
        with_server(project, server, input_price=1000, output_price=0)  # 0.05 USD an answer
        served_cases(project, 30)
        result = project.run(
            "--tooleval-max-cost=0.5",
            "--tooleval-concurrency=2",
            "--tooleval-report=out.json",
            model="served",
        )
        assert server.answered == 10
        result.assert_outcomes(passed=10, errors=20)
        result.stdout.fnmatch_lines(
            ["*not asked: the run has spent $0.5000 of the $0.5 allowed by --tooleval-max-cost*"]
        )
        assert project.document()["models"][0]["cost_usd"] == pytest.approx(0.05 * server.answered)


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_what_was_answered_is_counted_although_no_case_shows_it(
    project: Project, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    with MockServer() as server:
        with_server(project, server, input_price=1000, output_price=0)  # 0.05 USD an answer
        served_cases(project, 30)
        project.write(
            "test_first.py",
            """
            import time
            from pathlib import Path

            def lines(path):
                return path.read_bytes().count(b"\\n")

            def test_fails_when_all_answers_have_come():
                answers = Path(".tooleval/answers")
                while sum(map(lines, answers.rglob("*.jsonl"))) < 30:
                    time.sleep(0.02)
                assert False
            """,
        )
        result = project.run(
            "-x", "--tooleval-report=out.json", *workers, "test_first.py", ".", model="served"
        )
        paid = server.answered * 0.05
        assert server.answered == 30
        spent = project.document()["run"]["spent"]["served"]
        assert (spent["answers"], spent["usd"]) == (server.answered, pytest.approx(paid))
        if not workers:
            result.stdout.fnmatch_lines(
                [
                    f"served: spent {usd_text(paid)} in this run, "
                    f"{usd_text(paid)} of it for answers of unfinished cases"
                ]
            )


def test_an_answer_that_is_refused_is_paid_for(project: Project) -> None:
    """One of an agent that is nested too deeply to be kept, and the cap knows of it."""
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.125}
    message = {"role": "assistant", "content": "Hi.", "extra": [deep, deep], "usage": usage}
    project.suite(*(case(id, {"returns": message}) for id in "abc"))
    options = ("--tooleval-max-cost=0.25", "--tooleval-concurrency=1", "--tooleval-report=out.json")
    result = project.run(*options)
    result.assert_outcomes(errors=3)
    assert project.document()["run"]["spent"]["agent"] == {
        "answers": 2,
        "priced": 2,
        "usd": 0.25,
        "cancelled": 0,
    }
    spent = "agent: spent $0.2500 in this run, $0.2500 of it for answers of unfinished cases"
    result.stdout.fnmatch_lines([spent])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_with_max_tokens_the_cap_is_never_passed(project: Project, workers: tuple[str, ...]) -> None:
    """However many requests are sent at the same time; and little of it is left."""
    with MockServer(latency=0.05) as server:
        # 0.06 USD an answer, of which 0.01 are for output.
        with_server(project, server, input_price=1000, output_price=1000, max_tokens=10)
        served_cases(project, 40)
        result = project.run(*workers, "--tooleval-max-cost=1", model="served")
        assert 14 <= server.requests <= 16
        result.assert_outcomes(passed=server.answered, errors=40 - server.answered)
        result.stdout.fnmatch_lines(["*of the $1 allowed by --tooleval-max-cost, and this request may*"])
        result.stdout.no_fnmatch_line("*more than the $1 allowed*")


def test_requests_without_a_price_are_sent_together_and_may_pass_the_cap(project: Project) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.125}
    message = {"role": "assistant", "content": "Hi.", "usage": usage}
    project.suite(*(case(id, {"returns": message, "together": 4}) for id in "abcd"))
    result = project.run("--tooleval-max-cost=0.25")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        ["spent $0.5000, more than the $0.25 allowed by --tooleval-max-cost, because*"]
    )


def test_the_estimate_asks_nothing_and_counts_reasoning(project: Project) -> None:
    with MockServer() as server:
        project.write(
            "tooleval.toml",
            f"""
            [models.served]
            model = "openai/m"
            api_base = "{server.base_url}"
            input_price = 10
            output_price = 100
            [models.budget]
            model = "openai/unheard-of"
            thinking = {{type = "enabled", budget_tokens = 3000}}
            input_price = 0.001
            output_price = 100
            [models.capped]
            model = "openai/gpt-5"
            max_tokens = 600
            [models.high]
            model = "openai/gpt-5.1"
            reasoning_effort = "high"
            [models.unable]
            model = "openai/gpt-4o"
            reasoning_effort = "high"
            """,
        )
        served_cases(project, 2)
        listed = ("openai/gpt-5.1", "anthropic/claude-sonnet-4-6")
        models = ",".join(("served", "builtin/lexical", "budget", "capped", "high", "unable", *listed))
        result = project.run("--tooleval-estimate", model=models)
        assert server.requests == 0
    assert result.ret == 0
    result.stdout.re_match_lines(
        [
            r".*estimate, nothing was asked",
            r"model +cases +replayed +calls +prompt tokens +reasoning +cost",
            r"served +2 +0 +2 +\d+ +- +\$0\.0\d+ to \$0\.1\d+",
            r"builtin/lexical +2 +0 +2 +- +- +-",
            r"budget +2 +0 +2 +\d+ +up to 6,000 +\$0\.0040 to \$0\.7000",
            r"capped +2 +0 +2 +\d+ +up to 1,200 +\$0.* to \$0\.012",
            r"high +2 +0 +2 +\d+ +up to 8,192 .*",
            *(rf"{model} +2 +0 +2 +\d+ +- +\$0.*" for model in ("unable", *listed)),
            "prompt tokens: one for each 4 characters of the first question and its tools",
        ]
    )


def test_the_estimate_leaves_out_what_is_recorded(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.run("--tooleval-cassette=tapes", "-k", "a[agent]")
    result = project.run("--tooleval-cassette=tapes", "--tooleval-estimate")
    result.stdout.re_match_lines([r"agent +2 +1 +1 +- +price unknown", "give a model prices with .*"])
    table = '[models.agent]\ncallable = "my_agent:answer"\ninput_price = 1.0\noutput_price = 2.0\n'
    project.write("tooleval.toml", table)
    result = project.run("--tooleval-cassette=tapes", "--tooleval-estimate")
    result.stdout.re_match_lines([r"agent +2 +1 +1 +- +tokens unknown"])
    result.stdout.no_fnmatch_line("give a model prices with *")


@pytest.mark.parametrize("option", ["--tooleval-cassette=tapes", "--tooleval-resume"])
def test_what_is_replayed_costs_nothing_now(project: Project, option: str) -> None:
    with MockServer() as server:
        with_server(project, server, input_price=1000, output_price=0)
        served_cases(project, 2)
        before = option if "cassette" in option else "-q"
        project.run(before, model="served").assert_outcomes(passed=2)
        result = project.run(option, "--tooleval-report=out.json", model="served")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cost: $0.1000; spent in this run: $0"])
    assert project.document()["run"]["spent"] == {}
