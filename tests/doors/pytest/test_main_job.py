"""The job that people run all day, as whole processes: each ends in time with one process's results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from mock_server import MockServer

from .project import Project, call, case, comparable

pytestmark = pytest.mark.slow

pytest.importorskip("xdist")

# A run takes a few seconds. With workers, the built-in model once took minutes. A machine on which one
# process takes long gets longer.
_BOUND_S = 30
_QUESTIONS = 9  # that a model gets
_MODELS = [f"--tooleval-model={name}" for name in ("builtin/lexical", "agent", "served")]
_TAPES = "--tooleval-cassette=tapes"


def town(name: str, expected: str = "", id: str = "") -> dict[str, Any]:
    """A case that all models answer with the town in its prompt."""
    return case(
        id or name.lower(),
        {"calls": [call(city=name)]},
        prompt=f"What is the weather in {name}?",
        expected_params={"city": expected or name},
    )


def write(project: Project, server: MockServer) -> None:
    same = town("Lima", id="same question")
    project.suite(town("Paris"), town("Lima"), same, town("Oslo"), town("Rome", "Bern"))
    more = map(town, ("Tokyo", "Cairo", "Quito", "Delhi", "Accra"))
    project.suite(*more, file="more.tooleval.json", name="More")
    project.write(
        "tooleval.toml",
        f"""
        [models.agent]
        callable = "my_agent:answer"

        [models.served]
        model = "openai/tiny"
        api_base = "{server.base_url}"
        """,
    )


def results(project: Project, name: str) -> tuple[Any, dict[str, Any]]:
    """The sums and the rows of a document, without times."""
    document = project.document(name)
    return comparable([document["models"], document["suites"]]), comparable(project.rows(name))


# Each two of its values meet.
@pytest.mark.parametrize(
    ("args", "source", "history"),
    [
        ((), "live", "on"),
        ((), "replay", "off"),
        pytest.param(("-n2",), "live", "off", marks=pytest.mark.slow),
        (("-n2",), "replay", "on"),
        (("-n2", "--dist=loadfile"), "live", "on"),
        (("-n2", "--dist=loadfile"), "replay", "off"),
        (("-n2", "-x"), "live", "off"),
        pytest.param(("-n2", "-x"), "replay", "on", marks=pytest.mark.slow),
    ],
)
def test_results_are_those_of_one_process(
    project: Project, args: Sequence[str], source: str, history: str
) -> None:
    chosen = [*args, *([_TAPES, "--tooleval-record=none"] if source == "replay" else [])]
    chosen += [] if history == "on" else ["--tooleval-history=off"]
    with MockServer() as server:
        write(project, server)
        begin = time.monotonic()
        project.run(*_MODELS, _TAPES, "--tooleval-report=alone.json", model=None)
        bound_s = max(_BOUND_S, 30 * (time.monotonic() - begin))
        before = server.requests + len(project.calls)
        assert before == 2 * _QUESTIONS
        result = project.run_subprocess(
            *_MODELS, *chosen, "--tooleval-report=out.json", model=None, timeout=bound_s
        )
        sent = server.requests + len(project.calls) - before
    (sums, rows), (sums_alone, rows_alone) = results(project, "out.json"), results(project, "alone.json")
    assert ("saved as " in result.stdout.str()) == (history == "on")
    if "-x" in args:
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert rows.items() <= rows_alone.items()
        assert "failed" in {row["outcome"] for row in rows.values()}
    else:
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert (sums, rows) == (sums_alone, rows_alone)
        assert sent == (before if source == "live" else 0)
