"""One case with placeholders becomes several, one for each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import tool

from pytest_tooleval import Suite, SuiteError, load_suite
from pytest_tooleval.suite.fingerprints import fingerprint_of_case
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_document, parse_suite

CITIES = [{"city": "Paris", "days": 3}, {"city": "Rome", "days": 1}]
FORECAST = {
    "id": "forecast",
    "prompt": "How is the weather in {{city}} for {{days}} days?",
    "expected_tool": "get_weather",
    "expected_params": {"city": "{{city}}", "days": "{{days}}"},
    "parametrize": CITIES,
}


def suite(folder: Path, *cases: dict[str, Any], **fields: Any) -> Path:
    data = {"name": "s", "tools": [tool("get_weather")], "test_cases": cases, **fields}
    file = folder / "s.tooleval.json"
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return file


def made(folder: Path, **fields: Any) -> Suite:
    return load_suite(suite(folder, {**FORECAST, **fields}))


def problems(folder: Path, **fields: Any) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        made(folder, **fields)
    return [str(each).replace(f"{folder}/", "") for each in caught.value.problems]


def test_each_row_is_a_case(tmp_path: Path) -> None:
    found = made(tmp_path).test_cases
    assert [case.id for case in found] == ["forecast[Paris-3]", "forecast[Rome-1]"]
    assert [case.prompt for case in found] == [
        "How is the weather in Paris for 3 days?",
        "How is the weather in Rome for 1 days?",
    ]
    # A string that is only a placeholder takes the value with its type.
    assert [case.expected_params for case in found] == CITIES
    assert [case.cluster for case in found] == ["forecast", "forecast"]
    assert len({case.line for case in found}) == 1


def test_rows_from_files_beside_the_suite(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,city,days\nfirst,"Paris, France",01234\n\n,Rome,5\n')
    found = made(tmp_path, parametrize="a.csv").test_cases
    assert [case.id for case in found] == ["forecast[first]", "forecast[2]"]
    assert found[0].expected_params == {"city": "Paris, France", "days": "01234"}
    lines = [{"city": "Paris", "days": [1, {"a": None}]}, {"city": "R\u00f4me", "days": 5}]
    (tmp_path / "b.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = made(tmp_path, parametrize="b.jsonl").test_cases
    assert [case.expected_params for case in found] == lines
    assert found[1].id == "forecast[R\u00f4me-5]"


def test_names_of_rows_are_safe_and_different(tmp_path: Path) -> None:
    names = ["a::b[c]", "a b c", "x" * 300, "", "a b c", "\x1b[2J"]
    rows = [{"city": name} for name in names]
    fields = {"prompt": "{{city}}?", "expected_params": {}, "parametrize": rows}
    found = [case.id or "" for case in made(tmp_path, **fields).test_cases]
    assert found[:2] == ["forecast[a-b-c]", "forecast[a-b-c-2]"]
    assert found[3:] == ["forecast[4]", "forecast[a-b-c-3]", "forecast[2J]"]
    assert len(found[2]) < 80
    assert len({*found}) == len(found)


def test_a_row_may_have_the_name_that_another_gets_as_the_second_of_its_id(tmp_path: Path) -> None:
    rows = [{"id": each, "city": "Paris"} for each in ("a", "a", "a-2")]
    fields = {"prompt": "{{city}}?", "expected_params": {}, "parametrize": rows}
    found = [case.id for case in made(tmp_path, **fields).test_cases]
    assert found == ["forecast[a]", "forecast[a-2]", "forecast[a-2-2]"]


def test_placeholders_in_every_expectation_of_a_case(tmp_path: Path) -> None:
    calls = [{"tool": "get_weather"}]
    rows = [{"order": "strict"}, {"order": "any"}]
    case = {"prompt": "?", "expected_calls": calls, "call_order": "{{order}}", "parametrize": rows}
    found = load_suite(suite(tmp_path, case)).test_cases
    assert [case.call_order for case in found] == ["strict", "any"]


def test_placeholders_in_everything_that_asks_or_expects(tmp_path: Path) -> None:
    turns = [
        {
            "prompt": "Refund {{order}}",
            "expected_calls": [{"tool": "get_weather", "params": {"city": {"$any_of": ["{{order}}"]}}}],
            "expected_text": ["{{order}}"],
        }
    ]
    policies = [{"tool": "get_weather", "params": {"city": "{{order}}"}, "at_most": 1}]
    case = {
        "id": "talk",
        "turns": turns,
        "policies": policies,
        "mock_responses": {"get_weather": {"of": "{{order}}"}},
        "weight": "{{w}}",
        "cluster": "of-{{order}}",
        "parametrize": [{"order": "A1", "w": 2.5}],
    }
    (found,) = load_suite(suite(tmp_path, case)).test_cases
    assert found.turns is not None
    (turn,) = found.turns
    assert (turn.prompt, turn.expected_text) == ("Refund A1", ["A1"])
    ((_, call),) = turn.placed_calls
    assert call.params == {"city": {"$any_of": ["A1"]}}
    assert found.policies[0].params == {"city": "A1"}
    assert found.mock_responses == {"get_weather": {"of": "A1"}}
    assert (found.weight, found.cluster) == (2.5, "of-A1")


def test_a_value_is_never_expanded_again_and_four_braces_are_two(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"prompt": "{{{{city}} is {{ city }}", "expected_params": None}
    (found,) = made(tmp_path, **fields, parametrize=[{"city": "{{days}}"}]).test_cases
    assert found.prompt == "{{city}} is {{days}}"


def test_without_rows_braces_mean_nothing(tmp_path: Path) -> None:
    (found,) = made(tmp_path, parametrize=None).test_cases
    assert found.prompt == FORECAST["prompt"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt": "{{citi}} {{city}}"}, 'did you mean {{city}}?; for two braces'),
        ({"prompt": "{{now}} {{city}}"}, 'no date is set for {{now}}; add "now"'),
        ({"prompt": "Rome?", "expected_params": {"days": "{{days}}"}}, '"city": no placeholder uses'),
        ({"parametrize": []}, "no rows; write at least one"),
        ({"parametrize": [{"city": "Paris", "days": 1}, {"city": "Rome"}]}, "those of the first row"),
        ({"parametrize": [5]}, "expected an object of columns and values"),
        ({"parametrize": [{"city": 1, "days": 2, "now": 3}]}, "no column may have this name"),
        ({"parametrize": [{"city": 1, "days": 2, "{x": 3}]}, "has no braces"),
        ({"parametrize": 5}, "expected a list of rows"),
        ({"parametrize": "nope.csv"}, "cannot be read"),
        ({"parametrize": "rows.txt"}, "ends in .csv or .jsonl"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_once_at_its_place(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    assert message in problems(tmp_path, **fields)[0]
    assert problems(tmp_path, **fields)[0].startswith("s.tooleval.json:")
    assert len({*problems(tmp_path, **fields)}) == len(problems(tmp_path, **fields))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.csv", "city,day,days\nParis,1,2\n", 'a.csv:1:6: "day": no placeholder uses this column'),
        ("a.csv", "city,days\nParis,1,2\n", "a.csv:2:1: 3 cells, but 2 columns"),
        ("a.csv", "city,city\nParis,1\n", "each column needs a name of its own"),
        ("a.csv", 'city,days\n"Paris,1\n', "not CSV"),
        ("a.csv", "", "no rows"),
        ("a.jsonl", '{"city": 1, "days": 2}\n{"city": \n', "a.jsonl:2:"),
        ("a.jsonl", '{"city": 1, "day": 2, "days": 3}\n', 'a.jsonl:1:13: "day": no placeholder uses'),
        ("a.jsonl", '{"city": 1, "days": NaN}\n', "NaN is not a finite number"),
        ("a.jsonl", '{"city": 1, "days": [-1e400]}\n', "-1e400 is not a finite number"),
        ("a.jsonl", "[1]\n", "a.jsonl:1:1: expected an object"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said_with_its_line_and_column(
    tmp_path: Path, file: str, text: str, message: str
) -> None:
    (tmp_path / file).write_text(text)
    assert any(message in each for each in problems(tmp_path, parametrize=file))


def test_a_wrong_expectation_is_reported_once_for_all_rows(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, expected_tool="get_wether")
    assert "test_cases[0].expected_tool" in found


def test_only_a_changed_row_is_a_changed_case(tmp_path: Path) -> None:
    before = made(tmp_path)
    after = made(tmp_path, parametrize=[CITIES[0], {"city": "Rome", "days": 2}])
    same = [
        fingerprint_of_case(before, one) == fingerprint_of_case(after, two)
        for one, two in zip(before.test_cases, after.test_cases, strict=True)
    ]
    assert same == [True, False]
    by_hand: dict[str, Any] = {key: value for key, value in FORECAST.items() if key != "parametrize"}
    by_hand |= {"prompt": before.test_cases[0].prompt, "expected_params": CITIES[0], "id": "x"}
    alone = load_suite(suite(tmp_path, by_hand))
    assert fingerprint_of_case(alone, alone.test_cases[0]) == fingerprint_of_case(
        before, before.test_cases[0]
    )


def test_many_rows_of_one_case_get_a_note(tmp_path: Path) -> None:
    def warnings(rows: int, **fields: Any) -> list[str]:
        each = [{"city": f"Town{n}", "days": n} for n in range(rows)]
        loaded, document = load_document(suite(tmp_path, {**FORECAST, "parametrize": each, **fields}))
        found = [problem.message for problem in lint_suite(loaded, document)]
        return [message for message in found if "weigh" in message]

    assert warnings(49) == warnings(50, weight=0.02) == []
    (message,) = warnings(50)
    assert message.startswith("50 rows of one case weigh as much as 50 other cases in each mean")


def test_now_is_the_date_of_a_suite_or_case() -> None:
    def read(**fields: Any) -> Any:
        test = {
            "prompt": "It is {{now:%A, %d %B %Y}}. Tomorrow?",
            "expected_tool": "get_weather",
            "expected_params": {
                "day": {"$date": {"days": 1}},
                "at": {"$date": {"hours": -2}},
                "of": "{{now}}",
            },
            **fields.pop("case", {}),
        }
        data = {"name": "s", "tools": [tool("get_weather")], "test_cases": [test], **fields}
        return parse_suite(json.dumps(data)).test_cases[0]

    found = read(now="2026-03-01T01:00:00Z")
    assert found.prompt == "It is Sunday, 01 March 2026. Tomorrow?"
    assert found.expected_params == {
        "day": {"$date": "2026-03-02"},
        "at": {"$date": "2026-02-28T23:00:00+00:00"},
        "of": "2026-03-01T01:00:00Z",
    }
    assert read(now="2026-03-01", case={"now": "2025-12-31"}).expected_params["day"] == {
        "$date": "2026-01-01"
    }
    for wrong, message in {"tomorrow": "expected a date", "2026-13-01": "expected a date"}.items():
        with pytest.raises(SuiteError, match=message):
            read(now=wrong)
    with pytest.raises(SuiteError, match="where `now` is set"):
        read()
    with pytest.raises(SuiteError, match='"%x" is no format of a date'):
        read(now="2026-03-01", case={"prompt": "{{now:%x}}"})


def test_with_now_any_other_name_is_an_error() -> None:
    test = {"prompt": "It is {{now}} in {{city}}.", "expected_tool": "get_weather"}
    data = {"name": "s", "now": "2026-03-01", "tools": [tool("get_weather")], "test_cases": [test]}
    with pytest.raises(SuiteError) as caught:
        parse_suite(json.dumps(data, indent=1))
    (problem,) = caught.value.problems
    assert problem.field == "test_cases[0].prompt"
    assert problem.message.startswith('{{city}} has no value: the case has "now", but no "parametrize"')
    test["prompt"] = "It is {{now}} in {{{{city}}."
    assert parse_suite(json.dumps(data)).test_cases[0].prompt == "It is 2026-03-01 in {{city}}."
