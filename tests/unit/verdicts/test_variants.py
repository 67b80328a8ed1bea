"""Variants against unchanged cases: points, interval, p, and when there is no verdict."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from builders import result_of

from pytest_tooleval.record.results import CaseResult, TrialError, TrialResult
from pytest_tooleval.reports.variants import curves_of, variant_remarks
from pytest_tooleval.verdicts.variants import compare_variants

STARTED = "2026-11-25T13:02:11+00:00"
EARLIER, NOW = "2026-11-01T08:00:00.123+00:00", "2026-11-25T13:02:11.456+00:00"


def row(
    number: int,
    passed: bool,
    variant: str = "",
    answered: Sequence[str | None] = (NOW,),
    **fields: object,
) -> CaseResult:
    """A case with a trial for each time of an answer; replayed ones are cached."""
    trials = tuple(TrialResult(passed=passed, cached=time != NOW, answered_at=time) for time in answered)
    outcome = "passed" if passed else "failed"
    return result_of(case=f"c{number}", variant=variant, outcome=outcome, trials=trials, **fields)


def rows(won: int, lost: int, n: int) -> list[CaseResult]:
    old = [row(i, not i < won) for i in range(n)]
    return [*old, *(row(i, not won <= i < won + lost, "new") for i in range(n))]


@pytest.mark.parametrize(
    ("won", "lost", "n", "message"),
    [
        (6, 1, 100, "+5 points (-0.1 to 10.1, n = 100), inconclusive: 6 better, 1 worse"),
        (0, 9, 40, "-22.5 points (-35.4 to -9.6, n = 40), worse: 0 better, 9 worse"),
        (0, 0, 4, "0 points (-96 to 96, n = 4), inconclusive: 0 better, 0 worse"),
    ],
)
def test_points_interval_and_verdict(won: int, lost: int, n: int, message: str) -> None:
    (found,) = compare_variants(rows(won, lost, n), STARTED)
    assert found.message == message


def test_holm_covers_all_variants_and_models() -> None:
    found = compare_variants(
        [
            *(row(i, True, model=model) for i in range(8) for model in "mn"),
            *(row(i, i > 6, variant, model=m) for i in range(8) for variant in "ab" for m in "mn"),
            # Not a test.
            *(row(i, True, "c", model="m", is_same=True) for i in range(8)),
        ],
        STARTED,
    )
    assert [each.p_adjusted for each in found] == [*[pytest.approx(4 * 2 / 2**7)] * 4, None]
    assert {each.verdict for each in found} == {"inconclusive"}


def test_cases_without_a_partner_or_an_answer_are_told_and_not_counted() -> None:
    failed = TrialError("rate_limit", "slow down")
    error = result_of(case="c1", variant="new", outcome="error", trials=(TrialResult(error=failed),))
    (found,) = compare_variants([*(row(i, True) for i in range(3)), row(0, True, "new"), error], STARTED)
    assert (found.cases, found.errors, [case.case for case in found.left_out]) == (1, 1, ["c2"])
    assert found.message.endswith("; 1 case without an answer; 1 case left out")


def test_a_recorded_arm_is_not_compared_with_one_that_was_asked() -> None:
    times = [f"2026-11-{i + 1:02}T08:00:00+00:00" for i in range(20)]
    old = [row(i, True, answered=[time]) for i, time in enumerate(times)]
    new = [row(i, False, "new") for i in range(20)]
    (found,) = compare_variants([*old, *new], STARTED)
    assert (found.verdict, found.p, found.difference) == ("not judged", None, -1.0)
    assert found.message.endswith(
        "; 20 of 20 unchanged trials (2026-11-01 to 2026-11-20) and 0 of 20 trials under new were "
        "answered before this run; --tooleval-record=all queries both arms"
    )
    assert "new: not judged: 20 of 20 unchanged" in "".join(variant_remarks([found]))
    # Cases that the variant leaves as they are share their answers.
    same = [row(i, True, "new", is_same=True) for i in range(20)]
    (found,) = compare_variants([*old, *same], STARTED)
    assert (found.verdict, found.same) == ("inconclusive", 20)


SHARED = "2026-11-25T13:02:12.000+00:00"  # cached, and of this run


@pytest.mark.parametrize(
    ("old", "new", "is_judged"),
    [
        ([NOW, NOW], [NOW, NOW], True),
        # Another case, or a worker, has asked the same in this run.
        ([NOW, NOW], [SHARED, NOW], True),
        ([SHARED, SHARED], [NOW, NOW], True),
        ([EARLIER, NOW], [NOW, NOW], False),
        ([EARLIER, NOW], [EARLIER, NOW], True),
        ([EARLIER, EARLIER], [EARLIER, SHARED], False),
        # The time is unknown in cassettes of earlier versions.
        ([None, NOW], [NOW, NOW], False),
        ([None, NOW], [EARLIER, NOW], True),
        # Both arms are replayed, and one has fewer trials.
        ([EARLIER, EARLIER], [EARLIER], True),
    ],
)
def test_pairs_have_as_many_answers_from_before_the_run(
    old: list[str | None], new: list[str | None], is_judged: bool
) -> None:
    pairs = [row(i, not variant, variant, [NOW] * 2) for i in range(9) for variant in ("", "new")]
    (found,) = compare_variants([*pairs, row(9, True, "", old), row(9, False, "new", new)], STARTED)
    assert found.verdict == ("worse" if is_judged else "not judged")
    assert bool(found.apart) is not is_judged


def test_a_series_is_drawn_with_the_interval_of_its_difference() -> None:
    cases = [*(row(i, True) for i in range(40))]
    cases += [row(i, True, "distractors:0", is_same=True) for i in range(40)]
    cases += [row(i, i >= 20, "distractors:9") for i in range(40)]
    ((about, lines),) = curves_of(compare_variants(cases, STARTED))
    assert about == "distractors:N on m, with 95% intervals"
    assert [line.rstrip() for line in lines] == [
        "N  pass rate  0                                                 1",
        "0       1.00                                               -----o",
        "9       0.50                   --------o--------",
    ]


def test_a_series_is_in_the_order_of_its_numbers() -> None:
    cases = [row(0, True), *(row(0, True, f"distractors:{n}") for n in (100, 20, 3))]
    names = [each.variant for each in compare_variants(cases, STARTED)]
    assert names == ["distractors:3", "distractors:20", "distractors:100"]


@pytest.mark.parametrize(("old", "new"), [(1, 1), (10, 1), (1, 10)])
def test_without_a_difference_at_most_5_in_100_are_alarms(old: int, new: int) -> None:
    """Also where one arm has fewer trials, as after errors."""
    chance = random.Random(0)
    alarms = 0
    for _ in range(400):
        rates = [chance.random() if old == new else 0.95 for _ in range(60)]
        arms = [
            result_of(
                case=f"c{i}", variant=v, answered=n, passes=sum(chance.random() < p for _ in range(n))
            )
            for v, n in (("", old), ("new", new))
            for i, p in enumerate(rates)
        ]
        alarms += compare_variants(arms, STARTED)[0].verdict in ("worse", "better")
    assert alarms <= 400 * 0.05
