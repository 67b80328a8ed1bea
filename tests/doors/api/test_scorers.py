"""Metrics of a project's own are known when a suite is shown, and nothing is imported for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from .suites import as_text, case, weather

pytestmark = pytest.mark.slow

FILE = "weather.tooleval.json"

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
    assert client.get(f"/api/suite?file={FILE}").json()["problems"] == []
    assert not suite.with_name("imported").exists()


def test_a_rate_and_other_mistakes_are_still_found(client: TestClient, suite: Path) -> None:
    thresholds = {"polite": 0.2, "attack_success": 0.5}
    wrong = weather(case("Paris", thresholds=thresholds, expected_tool="get_wether"))
    found = client.post(f"/api/suite/check?file={FILE}", json=as_text(wrong)).json()["problems"]
    assert {problem["field"] for problem in found} == {
        "test_cases[0].thresholds.attack_success",
        "test_cases[0].expected_tool",
    }


def test_conftest_files_above_the_root_folder_do_not_count(client: TestClient, suite: Path) -> None:
    suite.with_name("conftest.py").rename(suite.parent.parent / "conftest.py")
    assert client.get("/api/suites").json()[0]["problems"] == 1


def test_without_such_a_conftest_unknown_metrics_are_problems(client: TestClient, suite: Path) -> None:
    suite.with_name("conftest.py").unlink()
    assert client.get("/api/suites").json()[0]["problems"] == 1
