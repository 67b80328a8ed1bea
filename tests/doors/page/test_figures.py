"""Figures that are easily shown wrong, read back from every view: equal after the one rounding."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders import result_of, trial_of
from click.testing import CliRunner
from unit.history.runs import kept, run_of

from pytest_tooleval.cli import main
from pytest_tooleval.figures import limit_text, score_text, seconds_text, usd_text
from pytest_tooleval.history import History, Place, place_of
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.encoding import document_json
from pytest_tooleval.record.results import CaseResult, Score
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.reports.csv import csv_text
from pytest_tooleval.reports.html import html_text
from pytest_tooleval.reports.junit import junit_xml, properties
from pytest_tooleval.reports.markdown import markdown_text
from pytest_tooleval.reports.pull_request import comment_text
from pytest_tooleval.reports.run_lines import score_lines
from pytest_tooleval.verdicts.gates import decide_gates
from pytest_tooleval.verdicts.rules import read_rule
from pytest_tooleval.verdicts.run import RunProblem
from pytest_tooleval.verdicts.summary import rows_document, whole_document

from .conftest import Opened

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    pass

# A model for each pass rate, price and duration, and a metric for each score, with its threshold.
RATES = {"almost-all": 299 / 300, "almost-none": 1 / 300, "two-thirds": 2 / 3}
PRICES = {"almost-all": 0.0000213, "almost-none": 0.00154, "two-thirds": None}
SECONDS = {"almost-all": 0.9996, "almost-none": 0.0414, "two-thirds": 125.4}
SCORES = {"below": (0.8974, 0.90), "above": (0.9967, 0.9966), "tie": (0.125, 0.1), "least": (1e-4, 0.0)}
TEXTS = {"below": "0.897", "above": "0.997", "tie": "0.13", "least": "0.0001"}
RATE_TEXTS = {"almost-all": "0.997", "almost-none": "0.003", "two-thirds": "0.67"}
PRICE_TEXTS = {"almost-all": "$0.000021", "almost-none": "$0.0015", "two-thirds": "unknown"}
SECOND_TEXTS = {"almost-all": "1.00 s", "almost-none": "41 ms", "two-thirds": "2 min 5 s"}


def half(price: float | None) -> float | None:
    """The price of one of a model's two trials."""
    return None if price is None else price / 2


def cases() -> list[CaseResult]:
    """Two cases for each model: one that passed, with the rate as its weight, and one that failed."""
    made = []
    scores = {name: value for name, (value, _) in SCORES.items()}
    for model, rate in RATES.items():
        for passed in (True, False):
            trial = trial_of(
                Transcript.from_calls([]),
                scores={name: Score(value, "", ()) for name, value in scores.items()},
                passed=passed,
                cost_usd=half(PRICES[model]),
                latency_s=SECONDS[model],
            )
            made.append(
                result_of(
                    case=f"c{passed}",
                    nodeid=f"s.tooleval.json::c{passed}[{model}]",
                    file="s.tooleval.json",
                    model=model,
                    outcome="passed" if passed else "failed",
                    reason="" if passed else "below 0.897 < 0.90",
                    weight=rate if passed else 1 - rate,
                    scores=scores,
                    thresholds={name: needed for name, (_, needed) in SCORES.items()},
                    trials=(trial,),
                    suite_cases=2,
                )
            )
    return made


@pytest.fixture(scope="module")
def document() -> Document:
    rules = [read_rule(f"{name}={needed}", over=False) for name, (_, needed) in SCORES.items()]
    made = cases()
    gates = decide_gates(made, rules, None)
    return whole_document(rows_document(run_of(duration_s=125.4), made, gates), made)


def expected(model: str) -> dict[str, str]:
    """The texts of a model's figures, by their headings."""
    return {"pass rate": RATE_TEXTS[model], **TEXTS, "latency": SECOND_TEXTS[model]}


def test_the_one_rounding() -> None:
    limits = [needed for _, needed in SCORES.values()]
    assert {name: score_text(value, limits) for name, (value, _) in SCORES.items()} == TEXTS
    assert {name: score_text(rate, limits) for name, rate in RATES.items()} == RATE_TEXTS
    assert {name: usd_text(price) for name, price in PRICES.items()} == PRICE_TEXTS
    assert {name: seconds_text(value) for name, value in SECONDS.items()} == SECOND_TEXTS
    assert usd_text(0.00154, is_least=True) == "at least $0.0015"
    assert limit_text(0.9966) == "0.9966"


def test_the_terminal(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.text for line in score_lines(document, whole=True)]
    for model in RATES:
        (row,) = (line for line in lines if line.startswith(model) and RATE_TEXTS[model] in line)
        for text in (*expected(model).values(), PRICE_TEXTS[model]):
            assert f" {text}" in row
    assert any("cost: at least $0.0016" in line for line in lines)


def test_markdown_and_the_comment(document: Document) -> None:
    text = markdown_text(document)
    head, _, *rows = text.partition("All figures</summary>\n\n")[2].splitlines()[:5]
    titles = [cell.strip(" `") for cell in head.strip("|").split("|")]
    for row in rows:
        cells = [cell.strip(" `") for cell in row.strip("|").split("|")]
        found = dict(zip(titles, cells, strict=True))
        wanted = {**expected(found["model"]), "cost": PRICE_TEXTS[found["model"]]}
        assert {name: found[name].partition(" (")[0] for name in wanted} == wanted
    comment = comment_text(document)
    for model, rate in RATE_TEXTS.items():
        assert f"`{model}`" in comment
        assert rate in comment
    for figure in ("0.00 ", "1.00 ", "$0.00 "):
        assert figure not in comment


def test_json_and_csv_have_the_numbers_themselves(document: Document) -> None:
    models = json.loads("".join(document_json(document)))["models"]
    assert {row["model"]: row["pass_rate"]["mean"] for row in models} == pytest.approx(RATES)
    for row in csv.DictReader(io.StringIO(csv_text(document))):
        for name, (value, _) in SCORES.items():
            assert float(row[f"score.{name}"]) == value
        price = half(PRICES[row["model"]])
        assert row["cost_usd"] == ("" if price is None else str(price))


def test_junit(document: Document) -> None:
    for case in document.cases:
        found = dict(properties(case))
        assert {name: found[f"tooleval.score.{name}"] for name in SCORES} == case.scores
        assert found["tooleval.outcome"] == case.outcome
    findings = [RunProblem(gate.name, gate.message, gate.failed) for gate in document.gates]
    root = ET.fromstring(junit_xml(document, findings))
    messages = [node.get("message", "") for node in root.iter("failure")]
    assert any("0.897 < 0.90" in message for message in messages)
    passed = [gate.message for gate in document.gates if gate.metric == "above"]
    assert all("0.997 >= 0.9966" in message for message in passed)


def test_the_history_and_the_trend(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place: Place = place_of(".tooleval", tmp_path)
    writer = History(tmp_path / ".tooleval", place).begin(document.run)
    writer.add(kept(*document.cases))
    writer.finish(document.run, document.gates)

    def output(*arguments: str) -> str:
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        return done.output

    for model, rate in RATE_TEXTS.items():
        assert f" {rate} " in output("history", f"--model={model}")
        assert f" {rate}" in output("show", "latest", f"--model={model}")
    trend = output("trend", document.cases[0].suite)
    for rate in RATE_TEXTS.values():
        assert f" {rate}" in trend


def figures_in(opened: Opened, place: int) -> dict[str, dict[str, str]]:
    """The texts of a table of scores, by model and heading."""
    table = opened.page.locator("table.scores").nth(place)
    titles = [text.strip().lower() for text in table.locator("thead th").all_inner_texts()]
    read: dict[str, dict[str, str]] = {}
    for row in table.locator("tbody tr").all():
        cells = [text.strip().split("\n")[0] for text in row.locator("th, td").all_inner_texts()]
        read[cells[0]] = dict(zip(titles, cells, strict=True))
    return read


def test_the_page(document: Document, tmp_path: Path, open_page: Callable[..., Opened]) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_text(document), encoding="utf-8")
    opened = open_page(path, width=1600)
    opened.page.get_by_text("All figures").click()
    read = figures_in(opened, 1)
    for model in RATES:
        wanted = {**expected(model), "cost": PRICE_TEXTS[model]}
        assert {name: read[model][name] for name in wanted} == wanted
    few = figures_in(opened, 0)
    assert set(few["almost-all"]) == {"model", "pass rate", "passed", "overall", *SCORES} - {"overall"}
    facts = opened.page.locator(".verdict").inner_text()
    assert "2 min 5 s" in facts
    opened.assert_clean()
