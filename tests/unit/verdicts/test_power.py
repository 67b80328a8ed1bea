"""Forecasts of gates hold for every way in which cases may fail."""

from __future__ import annotations

import re

from builders import result_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.verdicts.gating import Gates, Gating
from pytest_tooleval.verdicts.rules import read_rule
from pytest_tooleval.verdicts.run import gate_reach, judge_gates

CASE = st.tuples(st.booleans(), st.sampled_from([1.0, 3.0]), st.sampled_from(["", "", "a", "b"]))
ALIKE = st.tuples(st.booleans(), st.just(1.0), st.just(""))
SCORED = st.tuples(st.sampled_from([0.0, 0.5, 0.96, 1.0]), st.sampled_from([1.0, 3.0]), st.just(""))
BOUNDS = re.compile(r"(?:under (?P<fails>[0-9.]+) fails)?(?:.*over (?P<passes>[0-9.]+) passes)?")


def suites(number: int) -> st.SearchStrategy[tuple[str, list[tuple[float, float, str]]]]:
    """A metric, and cases as value, weight and cluster."""
    return st.one_of(
        st.tuples(st.just("pass_rate"), st.lists(CASE, min_size=1, max_size=number)),
        st.tuples(st.just("pass_rate"), st.lists(ALIKE, min_size=1, max_size=10 * number)),
        st.tuples(st.just("overall"), st.lists(SCORED, min_size=1, max_size=number)),
    )


@settings(max_examples=150)
@given(suites(24), st.sampled_from([0.3, 0.6, 0.85]), st.sampled_from([0.6, 0.95]))
def test_forecasts_and_verdicts_agree(
    suite: tuple[str, list[tuple[float, float, str]]], needed: float, confidence: float
) -> None:
    metric, cases = suite
    rows: list[CaseRow] = [
        result_of(
            case=f"c{place}",
            outcome="passed" if value == 1 else "failed",
            scores={"overall": float(value)},
            weight=weight,
            cluster=cluster,
            answered=1,
        )
        for place, (value, weight, cluster) in enumerate(cases)
    ]
    gates = Gates((read_rule(f"{metric}={needed}", over=False),), confidence)
    line = gate_reach(rows, Gating(gates))[0]
    gate = judge_gates(rows, Gating(gates))[0]
    bounds = BOUNDS.match(line.partition("answered: ")[2])
    assert bounds is not None
    assert gate.value is not None
    if bounds["fails"] and gate.value < float(bounds["fails"]):
        assert gate.verdict == "failed", line
    elif bounds["passes"] and gate.value > float(bounds["passes"]):
        assert gate.verdict == "passed", line
    elif "is inconclusive" in line:
        assert gate.verdict == "inconclusive", line
    if takes := re.search("passing takes ([0-9]+)", line):
        assert len(rows) < int(takes[1])
        assert gate.verdict != "passed", line
