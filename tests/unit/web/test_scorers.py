"""Scorers of a project's own: known when a suite is shown, imported only when it is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from .suites import case
from .suites import weather

FILE = "weather.tooleval.json"
Run = Callable[..., dict[str, Any]]

CONFTEST = """
from pathlib import Path
from pytest_tooleval import Score

Path(__file__).with_name("imported").touch()


class Polite:
    metrics = ("polite",)

    def score(self, case, transcript):
        return {"polite": Score(0.25)}


def pytest_tooleval_register_scorers(register):
    register(Polite())
"""


@pytest.fixture
def suite(folder: Path) -> Path:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / FILE).write_text(json.dumps(weather(case("Paris", thresholds={"polite": 0.2}))))
    return folder / FILE


def test_showing_a_suite_imports_nothing(client: TestClient, suite: Path) -> None:
    assert client.get("/api/suites").json()[0]["problems"] == 0
    assert client.get(f"/api/suites/{FILE}").json()["problems"] == []
    assert not suite.with_name("imported").exists()


def test_a_penalty_and_other_mistakes_are_still_found(client: TestClient, suite: Path) -> None:
    thresholds = {"polite": 0.2, "detour_penalty": 0.5}
    wrong = weather(case("Paris", thresholds=thresholds, expected_tool="get_wether"))
    found = client.post(f"/api/suites/{FILE}/check", json={"suite": wrong}).json()["problems"]
    assert {problem["field"] for problem in found} == {
        "test_cases[0].thresholds.detour_penalty",
        "test_cases[0].expected_tool",
    }


def test_a_run_is_scored_by_them(client: TestClient, suite: Path, run: Run) -> None:
    state = run(file=FILE)
    assert state["summary"][0]["metrics"]["polite"]["mean"] == 0.25
    assert state["counts"]["passed"] == 1


@pytest.mark.parametrize(
    "code",
    ["1 / 0", "import pytest; pytest.skip('x', allow_module_level=True)", "raise SystemExit", "x ="],
)
def test_a_conftest_that_cannot_be_imported(client: TestClient, suite: Path, code: str) -> None:
    suite.with_name("conftest.py").write_text(f"{code}\n# pytest_tooleval_register_scorers\n")
    answer = client.post("/api/tool-eval", json={"file": FILE, "models": ["baseline/lexical"]})
    assert answer.status_code == 422
    assert "conftest.py: " in answer.json()["error"]["message"]


def test_a_metric_that_nobody_scores_is_a_problem_of_the_run(client: TestClient, suite: Path) -> None:
    suite.write_text(json.dumps(weather(case("Paris", thresholds={"polit": 0.2}))))
    answer = client.post("/api/tool-eval", json={"file": FILE, "models": ["baseline/lexical"]})
    assert answer.status_code == 422
    assert "did you mean polite" in answer.json()["error"]["message"]
    suite.write_text(json.dumps(weather(case("Paris", thresholds={"zzzz": 0.2}))))
    answer = client.post("/api/tool-eval", json={"file": FILE, "models": ["baseline/lexical"]})
    assert answer.json()["error"]["message"].count('"overall"') == 1


def test_conftest_files_above_the_folder_count_within_its_repository(
    client: TestClient, suite: Path, run: Run
) -> None:
    project = suite.parent.parent
    suite.with_name("conftest.py").rename(project / "conftest.py")
    (outside,) = client.get("/api/suites").json()
    (project / ".git").mkdir()
    (inside,) = client.get("/api/suites").json()
    assert (outside["problems"], inside["problems"]) == (1, 0)
    assert run(file=FILE)["summary"][0]["metrics"]["polite"]["mean"] == 0.25


def test_without_such_a_conftest_unknown_metrics_are_problems(client: TestClient, suite: Path) -> None:
    suite.with_name("conftest.py").unlink()
    assert client.get("/api/suites").json()[0]["problems"] == 1
