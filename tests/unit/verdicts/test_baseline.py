"""The baseline gate: what is compared, what fails it, and what it says."""

from __future__ import annotations

import copy
import json
import math
import random
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from builders import as_json
from hypothesis import given
from hypothesis import strategies as st
from nightly import at_night

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.record.run import Run
from pytest_tooleval.verdicts import baseline
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side
from pytest_tooleval.verdicts.statistics import permutation_test

Document = dict[str, Any]


def side(document: Document, name: str) -> Side:
    versions = dict.fromkeys(("pytest_tooleval", "pytest", "python"), "1")
    return Side(
        name,
        msgspec.convert({**versions, "scoring_version": 1, **document["run"]}, Run),
        msgspec.convert([{"nodeid": row["case"], **row} for row in document["cases"]], list[CaseRow]),
    )


def compare(
    old: Document,
    new: Document,
    *,
    names: tuple[str, str] = ("baseline", "this run"),
    models: Sequence[tuple[str, str]] = (),
    **options: Any,
) -> dict[str, Any]:
    """The comparison of two documents, as it stands in a document."""
    before = {**old, "run": {**old["run"], "id": "20261121-101530-000000"}}
    found: dict[str, Any] = as_json(
        baseline.compare_runs(
            side(before, names[0]), side(new, names[1]), ComparisonRules(**options), models
        )
    )
    return found


def row(number: int, passes: int, scored: int, model: str = "gpt-4o", **fields: Any) -> dict[str, Any]:
    """A case whose trials score 1 or 0."""
    value = passes / scored if scored else None
    return {
        "suite": "weather",
        "case": f"case-{number}",
        "model": model,
        "outcome": "passed" if scored and passes == scored else "failed",
        "scores": {"overall": value, "tool_selection": value},
        "weight": 1.0,
        "case_fingerprint": f"{number:016x}",
        "passes": passes,
        "answered": scored,
        **fields,
    }


def document(rows: Sequence[dict[str, Any]], **options: Any) -> Document:
    run = {"id": "20261122-101530-3fa9c1", "started": "2026-11-22T10:15:30+00:00", "git": None}
    return {"version": 1, "run": {**run, "options": options}, "cases": list(rows)}


def runs(passes: Sequence[int], scored: int, model: str = "gpt-4o") -> Document:
    return document([row(number, each, scored, model) for number, each in enumerate(passes)])


def metric(comparison: dict[str, Any], name: str, model: int = 0) -> dict[str, Any]:
    (found,) = (each for each in comparison["models"][model]["metrics"] if each["metric"] == name)
    return dict(found)


# What is compared


def test_two_equal_runs_differ_in_nothing() -> None:
    comparison = compare(runs([5, 4, 0], 5), runs([5, 4, 0], 5), max_drop=0.3)
    assert not comparison["failed"]
    assert (comparison["verdict"], comparison["margin"]) == ("passed", 0.3)
    assert comparison["message"] == (
        "no worse than baseline: drops above 0.18 ruled out; "
        "passing trials 0.60 -> 0.60, 0 points (-25.6 to 25.6)"
    )
    empty = ("added", "removed", "changed", "renamed", "incomparable")
    lists: dict[str, list[object]] = {name: [] for name in empty}
    assert comparison["cases"] == {"same": 3, "not_selected": 0, **lists}
    (model,) = comparison["models"]
    assert model["cases"] == 3
    assert model["worse"] == model["better"] == []
    for found in model["metrics"]:
        assert (found["drop"], found["p"], found["p_adjusted"]) == (0.0, 1.0, 1.0)
        assert found["largest_drop"] == pytest.approx(1.645**2 / 15, abs=1e-3)
        assert found["verdict"] == "passed"


def test_a_model_that_was_not_asked_alike_is_told() -> None:
    warm = [{"error": None, "passed": True, "fallbacks": {"temperature": None}}]
    old = document([row(n, 1, 1) for n in range(3)])
    new = document([row(n, 1, 1, trials=warm) for n in range(3)])
    message = "gpt-4o: fallbacks none in baseline, temperature left out, because this"
    assert message in compare(old, new)["message"]
    assert "fallbacks" not in compare(new, new)["message"]


def test_another_model_under_the_same_label_is_told() -> None:
    def answered_by(name: str | None) -> Document:
        trials = [{"error": None, "passed": True, "served_model": name}]
        return document([row(n, 1, 1, trials=trials) for n in range(3)])

    message = compare(answered_by("gpt-4o-2024-08-06"), answered_by("gpt-4o-2024-11-20"))["message"]
    assert "gpt-4o: served model gpt-4o-2024-08-06 in baseline, gpt-4o-2024-11-20 in this run" in message
    assert "served" not in compare(answered_by("a"), answered_by("a"))["message"]
    assert "served" not in compare(answered_by(None), answered_by("a"))["message"]


def test_the_comparison_is_what_a_document_holds() -> None:
    comparison = compare(runs([5] * 20, 5), runs([1] * 20, 5), names=("main", "this run"))
    assert json.loads(json.dumps(comparison, allow_nan=False)) == comparison
    assert comparison["old"] == {
        "name": "main",
        "id": "20261121-101530-000000",
        "started": "2026-11-22T10:15:30+00:00",
        "git": None,
        "scoring_version": 1,
        "gates": [],
    }
    assert list(comparison["models"][0]) == [
        *("old", "new", "cases", "verdict", "metrics"),
        *("newly_broken_p", "newly_broken_p_adjusted", "newly_broken_failed", "newly_broken_clusters"),
        *("worse", "better", "message"),
    ]
    assert set(metric(comparison, "overall")) == {
        "low",
        "high",
        *("metric", "suite", "old", "new", "drop", "n", "p", "p_adjusted", "test"),
        *("largest_drop", "verdict"),
    }


def test_the_inputs_stay_as_they_are() -> None:
    old, new = runs([5, 3], 5), runs([1, 3], 5)
    before = copy.deepcopy((old, new))
    compare(old, new)
    assert (old, new) == before


def in_two_suites(first: int, second: int, cases: int = 10) -> Document:
    """Two suites whose cases all have so many passes of one."""
    passes = {"Terse": first, "Long": second}
    rows = [
        row(
            number,
            passed,
            1,
            suite=suite,
            file=f"{suite}.tooleval.json",
            case_fingerprint=f"{suite}{number}",
        )
        for suite, passed in passes.items()
        for number in range(cases)
    ]
    return document(rows)


def test_a_gain_in_one_suite_hides_no_loss_in_another() -> None:
    comparison = compare(in_two_suites(0, 1), in_two_suites(1, 0))
    (model,) = comparison["models"]
    found = {each["suite"]: (each["drop"], each["n"], each["verdict"]) for each in model["metrics"]}
    assert found == {
        None: (0.0, 20, "inconclusive"),
        "Terse": (-1.0, 10, "passed"),
        "Long": (1.0, 10, "failed"),
    }
    assert comparison["failed"]
    assert "newly broken, overall in Long 1.00 -> 0.00 (p = 0.003); passing" in comparison["message"]


def test_a_suite_in_which_alone_something_changed_is_no_further_test() -> None:
    (model,) = compare(in_two_suites(1, 1), in_two_suites(1, 0))["models"]
    whole, (terse, long) = model["metrics"][0], model["metrics"][-2:]
    assert (terse["suite"], long["suite"]) == ("Terse", "Long")
    assert whole["p_adjusted"] == long["p_adjusted"] == long["p"] == 0.5**10


def test_a_large_drop_fails_and_says_so() -> None:
    comparison = compare(runs([5] * 50, 5), runs([4] * 50, 5))
    assert comparison["failed"]
    assert comparison["message"] == (
        "worse than baseline: 50 cases worse, overall 1.00 -> 0.80 (p < 0.001), 2 more metrics worse; "
        "passing trials 1.00 -> 0.80, -20 points (-26.4 to -14.5)"
    )
    found = metric(comparison, "pass")
    assert (found["old"], found["new"], found["n"], found["test"]) == (1.0, 0.8, 50, "permutation")
    assert found["p"] == 0.5**50


def test_single_right_or_wrong_trials_are_mcnemars() -> None:
    old, new = [1] * 8 + [0] * 2 + [1] * 30, [0] * 8 + [1] * 2 + [1] * 30
    comparison = compare(runs(old, 1), runs(new, 1))
    found = metric(comparison, "pass")
    assert found["test"] == "McNemar"
    assert found["p"] == pytest.approx(permutation_test([1.0] * 8 + [-1.0] * 2))
    assert comparison["models"][0]["newly_broken_p"] is None


def test_the_number_of_trials_may_differ() -> None:
    comparison = compare(runs([5] * 20, 5), runs([0] * 20, 1))
    found = metric(comparison, "pass")
    assert (found["test"], found["verdict"]) == ("permutation", "failed")


def test_paraphrases_of_one_intent_are_one_test() -> None:
    old, new = runs([1] * 12, 1), runs([0] * 12, 1)
    assert metric(compare(old, new), "pass")["p"] == 0.5**12
    for number, each in enumerate(new["cases"]):
        each["cluster"] = f"intent {number // 4}"
    found = metric(compare(old, new), "pass")
    assert (found["p"], found["test"], found["n"]) == (0.5**3, "permutation", 12)


def test_weights_count_in_means_and_tests() -> None:
    new = runs([0, 5], 5)
    new["cases"][0]["weight"] = 3.0
    found = metric(compare(runs([5, 5], 5), new), "pass")
    assert (found["old"], found["new"]) == (1.0, 0.25)
    one_each = metric(compare(runs([1, 1], 1), runs([0, 1], 1)), "pass")
    weighted = runs([0, 1], 1)
    weighted["cases"][0]["weight"] = 3.0
    assert one_each["test"] == "McNemar"
    assert metric(compare(runs([1, 1], 1), weighted), "pass")["test"] == "permutation"


def test_metrics_are_those_that_both_have_numbers_for() -> None:
    old, new = runs([5, 5, 5], 5), runs([5, 5, 5], 5)
    old["cases"][0]["scores"] = {"overall": 1.0, "old": 1.0, "politeness": 0.5, "detour_penalty": 0.1}
    new["cases"][0]["scores"] = {"overall": 1.0, "new": 1.0, "politeness": 0.7, "detour_penalty": 0.4}
    new["cases"][1]["scores"]["overall"] = None
    (model,) = compare(old, new)["models"]
    assert [(each["metric"], each["n"]) for each in model["metrics"]] == [
        ("pass", 3),
        ("overall", 2),
        ("tool_selection", 2),
        ("politeness", 1),
    ]


def test_errors_and_skipped_cases_are_left_out_and_counted() -> None:
    old, new = runs([5, 5, 5, 5], 5), runs([5, 0, 0, 5], 5)
    new["cases"][1]["outcome"] = "error"
    old["cases"][2]["outcome"] = "skipped"
    comparison = compare(old, new)
    assert comparison["models"][0]["cases"] == 2
    assert comparison["models"][0]["worse"] == []
    assert "not compared: 1 case without an answer, 1 case skipped (" in comparison["message"]


def test_changes_of_the_suite_are_told() -> None:
    old, new = runs([5] * 10, 5), runs([5] * 10, 5)
    new["cases"][0]["case_fingerprint"] = "f" * 16
    new["cases"][1]["case"] = "renamed"
    new["cases"].append(row(77, 5, 5))
    del old["cases"][5]
    del new["cases"][6]
    comparison = compare(old, new)
    found = comparison["cases"]
    names = {
        kind: [(each["suite"], each["case"]) for each in found[kind]]
        for kind in ("added", "removed", "changed", "renamed", "incomparable")
    }
    assert names == {
        "added": [("weather", "case-5"), ("weather", "case-77")],
        "removed": [("weather", "case-6")],
        "changed": [("weather", "case-0")],
        "renamed": [("weather", "renamed")],
        "incomparable": [],
    }
    assert (found["same"], found["not_selected"]) == (7, 0)
    assert (found["renamed"][0]["old_suite"], found["renamed"][0]["old_case"]) == ("weather", "case-1")
    assert comparison["message"].endswith("not compared: 1 case changed, 2 cases added, 1 case removed")


def test_cases_are_listed_by_how_far_they_moved() -> None:
    (model,) = compare(runs([5, 5, 2, 3], 5), runs([4, 1, 5, 3], 5))["models"]
    assert [(each["case"], each["old_passes"], each["new_passes"]) for each in model["worse"]] == [
        ("case-1", "5/5", "1/5"),
        ("case-0", "5/5", "4/5"),
    ]
    assert [(each["case"], each["old"], each["new"]) for each in model["better"]] == [
        ("case-2", 0.4, 1.0)
    ]


def test_a_case_without_overall_moves_by_its_passes() -> None:
    old, new = runs([5], 5), runs([1], 5)
    old["cases"][0]["scores"] = new["cases"][0]["scores"] = {"overall": None}
    (model,) = compare(old, new)["models"]
    assert model["worse"][0]["old"] is None
    assert model["worse"][0]["new_passes"] == "1/5"


# Newly broken cases


def test_a_sure_case_that_always_fails_now_fails_the_gate() -> None:
    comparison = compare(runs([10] * 30, 10), runs([0] + [10] * 29, 10))
    (model,) = comparison["models"]
    (broken,) = (each for each in model["worse"] if each["newly_broken"])
    assert (broken["case"], broken["old_passes"], broken["new_passes"]) == ("case-0", "10/10", "0/10")
    assert model["newly_broken_p"] == pytest.approx(1 / math.comb(20, 10))
    assert model["newly_broken_failed"]
    assert comparison["failed"]
    assert not any(each["verdict"] == "failed" for each in model["metrics"])
    assert comparison["message"].startswith("worse than baseline: case-0 newly broken (p < 0.001); ")


def test_one_trial_is_too_few_to_call_a_case_broken() -> None:
    comparison = compare(runs([1] * 30, 1), runs([0] + [1] * 29, 1))
    assert not comparison["failed"]
    assert comparison["models"][0]["worse"][0]["newly_broken"]
    assert comparison["message"] == (
        "perhaps worse than baseline: case-0 newly broken; drops up to 0.15 not ruled out; more trials "
        "or cases may decide; passing trials 1.00 -> 0.97, -3.3 "
        "points (-18.9 to 0) (not fatal; --tooleval-fail-inconclusive makes it so)"
    )
    decided = [compare(runs([1] * 30, 1), runs([0] + [n] * 29, n))["verdict"] for n in (4, 5)]
    assert decided == ["inconclusive", "passed"]
    decided = [compare(runs([n] * 30, n), runs([0] + [n] * 29, n))["verdict"] for n in (3, 4)]
    assert decided == ["inconclusive", "failed"]


# What fails


def test_a_drop_up_to_max_drop_is_allowed() -> None:
    old, new = runs([5] * 50, 5), runs([4] * 50, 5)
    comparison = compare(old, new, max_drop=0.2)
    found = metric(comparison, "overall")
    assert found["p_adjusted"] < 0.001
    assert comparison["verdict"] == "inconclusive"
    assert not comparison["failed"]
    assert comparison["message"] == (
        "perhaps worse than baseline: 50 cases worse; drops up to 0.25 not ruled out; more trials or "
        "cases may decide; passing trials 1.00 -> 0.80, -20 points (-26.4 to -14.5) (not fatal; "
        "--tooleval-fail-inconclusive makes it so)"
    )
    assert compare(old, new, max_drop=0.19)["failed"]
    assert compare(old, new, max_drop=0.3)["verdict"] == "passed"


def test_a_run_is_compared_with_itself_only_across_models() -> None:
    run = two_models([5] * 9, [0] * 9)
    same = side(run, "latest")
    with pytest.raises(ConfigError, match="latest and latest are the same run, 2026"):
        baseline.compare_runs(same, same, ComparisonRules())
    found = baseline.compare_runs(same, same, ComparisonRules(), [("a", "b")])
    assert found.message.startswith("worse than a: 9 cases newly broken")
    assert len(found.models) == 1


def test_metrics_that_move_alike_are_one_test_and_others_are_their_own() -> None:
    old, new = runs([5] * 20, 5), runs([5] * 14 + [4] * 6, 5)
    assert metric(compare(old, new), "pass")["p_adjusted"] == pytest.approx(1 / 64)
    old["cases"][0]["scores"]["overall"] = 0.9
    comparison = compare(old, new)
    assert metric(comparison, "pass")["p"] == metric(comparison, "overall")["p"] == 1 / 64
    assert metric(comparison, "pass")["p_adjusted"] == pytest.approx(2 / 64)
    assert metric(comparison, "overall")["p_adjusted"] == pytest.approx(2 / 64)


def test_proportional_metrics_whose_p_differ_are_their_own_tests() -> None:
    # Wrong answers score 0.6. As there are more new trials than old ones, p depends on more than signs.
    old, new = runs([1] * 20 + [0] * 3, 1), runs([1] * 8 + [3] * 12 + [0] * 3, 3)
    for each in (*old["cases"], *new["cases"]):
        each["scores"] = {"overall": 0.6 + 0.4 * each["scores"]["overall"]}
    (model,) = compare(old, new)["models"]
    passes, overall = model["metrics"]
    assert passes["p"] != overall["p"]
    for found in (passes, overall):
        assert found["p"] <= found["p_adjusted"] <= 3 * found["p"]


# Models


def two_models(first: Sequence[int], second: Sequence[int]) -> Document:
    return document(runs(first, 5, "a")["cases"] + runs(second, 5, "b")["cases"])


def test_each_model_is_compared_with_itself() -> None:
    comparison = compare(two_models([5] * 20, [5] * 20), two_models([5] * 20, [3] * 20))
    assert [(each["old"], each["new"]) for each in comparison["models"]] == [("a", "a"), ("b", "b")]
    assert comparison["message"].startswith("a: no worse than baseline: ")
    assert "; b: worse than baseline: 20 cases worse, overall 1.00 -> 0.60" in comparison["message"]
    assert comparison["cases"]["same"] == 20


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"c": "a"}, "model c is not in baseline, which has a, b"),
        ({"a": "c"}, "model c is not in this run, which has a, b"),
    ],
)
def test_a_label_that_a_run_does_not_have_is_an_error(models: dict[str, str], message: str) -> None:
    runs_ = two_models([5], [5])
    with pytest.raises(ConfigError, match=message):
        compare(runs_, runs_, models=list(models.items()))


@pytest.mark.parametrize(("alpha", "max_drop"), [(math.nan, 0.0), (0.05, math.nan)])
def test_what_is_no_number_is_an_error(alpha: float, max_drop: float) -> None:
    with pytest.raises(ConfigError, match="expected numbers from 0 to 1, got nan"):
        compare(runs([5], 5), runs([5], 5), alpha=alpha, max_drop=max_drop)


def test_a_model_that_the_baseline_does_not_have_is_told() -> None:
    comparison = compare(runs([5] * 9, 5, "a"), two_models([5] * 9, [0] * 9))
    assert not comparison["failed"]
    assert comparison["message"] == (
        "no worse than baseline: drops above 0.06 ruled out; passing trials 1.00 -> 1.00, 0 "
        "points (-8.5 to 0); not compared: b (no such model in the other run)"
    )


# A gate must not pass by accident


def test_no_common_model_fails() -> None:
    comparison = compare(runs([5], 5, "old"), runs([5], 5, "new"))
    assert comparison["failed"]
    assert comparison["message"] == (
        "nothing to compare, no model is in both runs: baseline has old, this run has new; "
        "pair them as OLD=NEW"
    )


def test_an_empty_run_fails() -> None:
    assert compare(runs([5], 5), document([]))["failed"]
    assert compare(document([]), runs([5], 5))["failed"]
    skipped = document([row(0, 0, 0, "", outcome="skipped")])
    assert "this run has no model" in compare(runs([5], 5), skipped)["message"]


def test_no_common_case_fails_for_each_model() -> None:
    old, new = two_models([5] * 9, [5] * 9), two_models([5] * 9, [5] * 9)
    for case in new["cases"][9:]:
        case["outcome"] = "error"
    comparison = compare(old, new)
    assert comparison["failed"]
    assert comparison["message"].startswith(
        "nothing to compare, no case of b is the same in both runs: 9 skipped or without an answer in "
        "one of the runs; no worse than baseline: "
    )


def test_too_few_answers_are_inconclusive() -> None:
    old, new = runs([1] * 6, 1), runs([1] + [0] * 5, 1)
    for number, each in enumerate(new["cases"]):
        each["scores"]["overall"] = 1 - number / 10  # another test
    comparison = compare(old, new)
    assert (comparison["verdict"], comparison["failed"]) == ("inconclusive", False)
    assert comparison["message"].startswith(
        "perhaps worse than baseline: 5 cases newly broken; no drop ruled out; "
        "more trials or cases may decide; passing trials 1.00 -> 0.17, "
    )
    assert compare(old, runs([2] + [0] * 5, 2))["verdict"] == "failed"
    strict = compare(old, new, strict=True)
    assert (strict["verdict"], strict["failed"]) == ("inconclusive", True)
    assert strict["message"].endswith(" (fatal, because of --tooleval-fail-inconclusive)")


@pytest.mark.parametrize("trials", [(1, 10), *map(at_night, [(3, 10), (10, 1)])])
def test_runs_of_different_numbers_of_trials_seldom_fail(trials: tuple[int, int]) -> None:
    # Nearly sure cases: ten trials of most are just below the single one that passed.
    chance = random.Random(8)
    alarms = 0
    for _ in range(200):
        rates = [0.97 + 0.03 * chance.random() for _ in range(100)]
        old, new = (
            runs([sum(chance.random() < rate for _ in range(n)) for rate in rates], n) for n in trials
        )
        alarms += compare(old, new)["failed"]
    assert alarms / 200 <= 0.05


# Hostile text, size, chance


def test_the_message_is_one_printable_line() -> None:
    evil = "\x1b[31m\nname\u202e" + "x" * 500
    old, new = runs([10] * 30, 10, evil), runs([0] * 3 + [10] * 27, 10, evil)
    for each in (*old["cases"], *new["cases"]):
        each["case"] += evil
        each["scores"][evil] = each["scores"]["overall"]
    for comparison in (
        compare(old, new),
        compare(old, runs([5], 5, "other" + evil), names=(evil, evil)),
        compare(runs([10] * 9, 10), runs([0] + [10] * 8, 10)),
    ):
        assert comparison["failed"]
        assert comparison["message"].isprintable()
        assert len(comparison["message"]) < 1000


cases = st.integers(0, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.lists(st.tuples(cases, cases, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=9))
def test_any_two_runs_can_be_compared(
    found: list[tuple[tuple[int, int], tuple[int, int], float]],
) -> None:
    old = document([row(number, *counts) for number, (counts, _, _) in enumerate(found)])
    new = document([row(number, *counts, weight=w) for number, (_, counts, w) in enumerate(found)])
    comparison = compare(old, new)
    json.dumps(comparison, allow_nan=False)
    (model,) = comparison["models"]
    for each in model["metrics"]:
        assert 0 < each["p"] <= each["p_adjusted"] <= 1
        assert each["drop"] == pytest.approx(each["old"] - each["new"])
        assert each["verdict"] != "failed" or each["p_adjusted"] < 0.05
        assert each["largest_drop"] >= each["drop"] - 1e-9
    back = compare(new, old)
    broken = {each["case"] for each in back["models"][0]["worse"] if each["newly_broken"]}
    assert broken == {
        f"case-{number}"
        for number, ((c, n), (d, m), _) in enumerate(found)
        if n and m and d == m and not c
    }


def test_thousands_of_cases_are_compared_quickly() -> None:
    chance = random.Random(1)
    old, new = (runs([chance.randint(0, 5) for _ in range(3000)], 5) for _ in range(2))
    start = time.process_time()
    compare(old, new)
    assert time.process_time() - start < 5


def test_two_runs_of_the_same_model_seldom_fail() -> None:
    chance = random.Random(8)
    alarms = 0
    for _ in range(200):
        rates = [chance.choice([0.02, 0.98, 0.98, chance.random()]) for _ in range(50)]
        old, new = (
            runs([sum(chance.random() < rate for _ in range(3)) for rate in rates], 3) for _ in "ab"
        )
        alarms += compare(old, new)["failed"]
    assert alarms / 200 <= 0.05
