"""What blame concludes from pass rates: only what chance does not explain."""

from __future__ import annotations

import json
import random

import pytest

from pytest_tooleval.record.identity import Identity
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.variants.blame import CaseRates, Edit, Rate, blame_lines, edits_of, part_text

FIND, SORT = "find.description", "sort.strict"


@pytest.mark.parametrize(
    ("today", "earlier", "find", "sort", "lines"),
    [
        (
            (0, 5),
            (5, 5),
            (5, 5),
            (1, 5),
            ["the new description of find breaks", "  paris: fails 5 of 5 trials, without it 0 of 5"],
        ),
        # Nothing is known of what got no answer.
        ((0, 0), (5, 5), (5, 5), (3, 5), ["paris: not answered today, so nothing is blamed"]),
        ((0, 5), (0, 0), (5, 5), (0, 5), ["paris: not answered before, so nothing is blamed"]),
        (
            (0, 5),
            (5, 5),
            (0, 0),
            (0, 5),
            [
                "paris: not answered without the new description of find, so neither blamed nor cleared "
                "(fails 5 of 5 trials today, 0 of 5 before)"
            ],
        ),
        (
            (0, 5),
            (5, 5),
            (0, 0),
            (4, 5),
            [
                "the new strict mode of sort breaks",
                "  paris: fails 5 of 5 trials, without it 1 of 5",
                "paris: not answered without the new description of find, so neither blamed nor cleared "
                "(fails 5 of 5 trials today, 0 of 5 before)",
            ],
        ),
        # Chance explains these: 3 of 5 against none has p = 0.083.
        (
            (2, 5),
            (5, 5),
            (5, 5),
            (5, 5),
            [
                "paris: may have failed by chance (fails 3 of 5 trials today, 0 of 5 before); "
                "more --trials can tell"
            ],
        ),
        (
            (0, 5),
            (5, 5),
            (3, 5),
            (2, 5),
            [
                "paris: no change or pair of changes explains it "
                "(fails 5 of 5 trials today, 0 of 5 before)"
            ],
        ),
        # Better by more than chance, but by less than half of the loss.
        (
            (0, 40),
            (40, 40),
            (10, 40),
            (40, 40),
            ["the new strict mode of sort breaks", "  paris: fails 40 of 40 trials, without it 0 of 40"],
        ),
    ],
)
def test_what_is_blamed(
    today: tuple[int, int],
    earlier: tuple[int, int],
    find: tuple[int, int],
    sort: tuple[int, int],
    lines: list[str],
) -> None:
    rates = CaseRates(Rate(*today), Rate(*earlier), {FIND: Rate(*find), SORT: Rate(*sort)})
    assert list(blame_lines({Identity("s", "paris", "s.json", "m"): rates})) == lines


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("find.output_schema", "the new output schema of find"),
        ("crm.find.parameters", "the new schema of crm.find"),
        ("crm.*", "the new description of namespace crm"),
        ("crm.find", "adding, removing or replacing crm.find"),
        ("system_prompt+find", "the new system prompt and adding, removing or replacing find"),
    ],
)
def test_changes_in_words(part: str, text: str) -> None:
    assert part_text(part) == text


@pytest.mark.parametrize(
    ("now", "edit"),
    [
        ({"a": {"type": "integer"}, "b": {}}, (".a.type", "string", "integer")),
        ({"a": {"enum": ["x"]}, "b": {}}, (".a", '{"type": "string"}', '{"enum": ["x"]}')),
        ({"b": {}}, ("", '{"a": {"type": "string"}, "b": {}}', '{"b": {}}')),
    ],
)
def test_an_edit_of_a_schema_is_shown_where_it_is(
    now: dict[str, object], edit: tuple[str, str, str]
) -> None:
    def suite(properties: dict[str, object]) -> Suite:
        function = {"name": "f", "parameters": {"type": "object", "properties": properties}}
        tools, case = [{"type": "function", "function": function}], {"prompt": "?", "expected_tool": "f"}
        return parse_suite(json.dumps({"name": "s", "tools": tools, "test_cases": [case]}), "s")

    path, old, new = edit
    [found] = edits_of(suite(now).test_cases[0], suite(now), suite({"a": {"type": "string"}, "b": {}}))
    assert found == Edit(f"the new schema of f at properties{path}", old, new)


@pytest.mark.parametrize("passing", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("trials", [3, 5, 10])
def test_flaky_cases_are_rarely_blamed_on_any_change(trials: int, passing: float) -> None:
    chance = random.Random(trials)
    rates = [Rate(sum(chance.random() < passing for _ in range(trials)), trials) for _ in range(9_000)]
    third = len(rates) // 3
    parts = zip(rates, rates[third:], rates[2 * third :], strict=False)
    cases = [CaseRates(today, earlier, {FIND: undone}) for today, earlier, undone in parts]
    assert sum(case.is_reproduced for case in cases) / len(cases) <= 0.05
    assert sum(case.explains(FIND) for case in cases if case.is_reproduced) / len(cases) <= 0.02


def test_changes_that_break_nothing_are_rarely_blamed_beside_the_one_that_does() -> None:
    chance = random.Random(1)

    def rate(passing: float) -> Rate:
        return Rate(sum(chance.random() < passing for _ in range(5)), 5)

    cases = [
        CaseRates(rate(0.2), rate(0.8), {FIND: rate(0.8), SORT: rate(0.2), "x": rate(0.2)})
        for _ in range(5_000)
    ]
    wrong = [case for case in cases if case.is_reproduced and {SORT, "x"} & {*case.causes}]
    assert len(wrong) / len(cases) <= 0.02
