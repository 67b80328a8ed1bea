from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_data import bfcl_suite, bfcl_suite_file

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.formats.bfcl import allowed_values
from pytest_tooleval.imports.tool_dialects import as_json_schema
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.load import parse_suite

SUITES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "irrelevance")


def write(folder: Path, name: str, *lines: object) -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return file


def question(name: str, properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema = {"type": "dict", "properties": properties, "required": required or []}
    function = {"name": "geo.area", "description": "An area.", "parameters": schema}
    return {"id": name, "question": [[{"role": "user", "content": "Go"}]], "function": [function]}


def answer(name: str, *params: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "ground_truth": [{"geo.area": param} for param in params]}


def convert(tmp_path: Path, entry: object, *answers: object) -> dict[str, Any]:
    file = write(tmp_path, "q.json", entry)
    given = [write(tmp_path, "a.json", *answers)] if answers else []
    (case,) = bfcl_suite(file, *given)["test_cases"]
    return dict(case)


def problems(questions: Path, *answers: Path) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        bfcl_suite(questions, *answers)
    return [str(problem).removeprefix(f"{questions}:") for problem in caught.value.problems]


@pytest.mark.parametrize("category", SUITES)
def test_converted_suites_turned_back_and_imported_are_the_same(category: str, tmp_path: Path) -> None:
    cases = json.loads(bfcl_suite_file(category).read_text("utf-8"))["test_cases"]
    questions = write(tmp_path, "q.json", *[_question_of(case) for case in cases])
    answers = write(tmp_path, "a.json", *[_answer_of(case) for case in cases])
    made = bfcl_suite(questions, answers)["test_cases"]
    assert [json.dumps(case) for case in made] == [json.dumps(case) for case in cases]


def _question_of(case: dict[str, Any]) -> dict[str, Any]:
    prompt = case["prompt"]
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    functions = []
    for tool in case["tools"]:
        function = tool["function"]
        parameters = _bfcl_schema(function["parameters"])
        functions.append({**function, "parameters": parameters})
    return {"id": case["id"], "question": [messages], "function": functions}


def _bfcl_schema(schema: dict[str, Any]) -> dict[str, Any]:
    types = {"object": "dict", "number": "float"}
    made: dict[str, Any] = {} if "type" in schema else {"type": "any"}
    for key, value in schema.items():
        if key == "type":
            made[key] = types.get(value, value)
        elif key == "properties":
            made[key] = {name: _bfcl_schema(member) for name, member in value.items()}
        else:
            made[key] = _bfcl_schema(value) if key == "items" else value
    return made


def _answer_of(case: dict[str, Any]) -> dict[str, Any]:
    truth = [
        {call["tool"]: {name: _allowed(value) for name, value in call["params"].items()}}
        for call in case["expected_calls"]
    ]
    return {"id": case["id"], "ground_truth": truth}


def _allowed(expected: Any) -> list[Any]:
    """The list of allowed values that an expected value stands for."""
    if isinstance(expected, dict) and "$optional" in expected:
        return [*_allowed(expected["$optional"]), ""]
    if isinstance(expected, dict) and "$any_of" in expected:
        return [_plain(value) for value in expected["$any_of"]]
    return [_plain(expected)]


def _plain(expected: Any) -> Any:
    if isinstance(expected, list):
        return [_item(member) for member in expected]
    if isinstance(expected, dict):
        if "$exact" in expected:
            return expected["$exact"]
        return {key: _allowed(member) for key, member in expected.items()}
    return expected


def _item(expected: Any) -> Any:
    is_whole = isinstance(expected, float) and expected.is_integer()
    return int(expected) if is_whole else _plain(expected)


def test_types_and_names_are_mapped() -> None:
    schema = {
        "type": "dict",
        "properties": {
            "type": {"type": "float", "optional": True},
            "optional": {"type": "tuple", "items": {"type": "any", "description": "x"}},
        },
        "required": ["type"],
        "optional": [],
    }
    assert as_json_schema(schema) == {
        "type": "object",
        "properties": {
            "type": {"type": "number"},
            "optional": {"type": "array", "items": {"description": "x"}},
        },
        "required": ["type"],
    }


@pytest.mark.parametrize(
    ("schema", "allowed", "expected"),
    [
        ({"type": "string"}, ["a", ""], ["a", ""]),
        ({"type": "string"}, ["", None], [{"$exact": ""}, None]),
        ({"type": "integer"}, [5, ""], [5]),
        ({"type": "integer"}, [5.0], [5.0]),
        ({"type": "float"}, [5], [5.0]),
        ({"type": "float"}, ["x"], [{"$exact": "x"}]),
        ({"type": "boolean"}, ["", True], [True]),
        ({"type": "array", "items": {"type": "string"}}, [["a", "B"], ""], [["a", "B"], []]),
        ({"type": "array", "items": {"type": "float"}}, [[1.0]], [[{"$exact": 1.0}]]),
        ({"type": "array", "items": {"type": "float"}}, [[1, 2]], [[1.0, 2.0]]),
        ({"type": "array", "items": {"type": "integer"}}, [["a"]], [["a"]]),
        ({"type": "array", "items": {"type": "array"}}, [[["A", 1]]], [[[{"$exact": "A"}, 1.0]]]),
        ({"type": "tuple", "items": {"type": "float"}}, ["point"], [{"$exact": "point"}]),
        (
            {"type": "dict"},
            [{"a": [1, ""], "b": ["X"]}, ""],
            [{"a": {"$optional": {"$any_of": [1.0, ""]}}, "b": "X"}],
        ),
        ({"type": "array", "items": {"type": "dict"}}, [[{"a": ["x"]}]], [[{"a": "x"}]]),
        (None, ["a"], []),
    ],
)
def test_allowed_values_follow_the_checker(schema: Any, allowed: list[Any], expected: list[Any]) -> None:
    assert repr(allowed_values(allowed, schema)) == repr(expected)


def test_what_may_be_absent_and_what_can_never_be_right(tmp_path: Path) -> None:
    properties = {name: {"type": "string"} for name in ("a", "b", "c", "d")}
    entry = question("simple_0", properties, ["c", "d"])
    truth = {"a": ["x", ""], "b": ["x", "x"], "c": ["x", ""], "unknown": ["", "y"], "lost": ["z"]}
    (call,) = convert(tmp_path, entry, answer("simple_0", truth))["expected_calls"]
    assert call == {
        "tool": "geo_area",
        "params": {
            "a": {"$optional": {"$any_of": ["x", ""]}},
            "b": "x",
            "c": {"$any_of": ["x", ""]},
            "lost": {"$any_of": []},
            "d": {"$any_of": []},
        },
    }


def test_a_parallel_answer_passes_in_any_order(tmp_path: Path) -> None:
    entry = question("parallel_0", {"r": {"type": "float"}}, ["r"])
    case = convert(tmp_path, entry, answer("parallel_0", {"r": [1.5]}, {"r": [2]}))
    suite = parse_suite(json.dumps({"name": "s", "test_cases": [case]}))
    calls: list[dict[str, Any]] = [{"name": "geo_area", "arguments": {"r": r}} for r in (2, 1.5)]
    assert score_calls(suite, suite.test_cases[0], calls).passed
    assert not score_calls(suite, suite.test_cases[0], calls[:1]).passed


def test_categories_without_answers(tmp_path: Path) -> None:
    lines = [
        question(name, {})
        for name in ("irrelevance_0", "live_irrelevance_1-0-1", "live_relevance_2-2-0")
    ]
    none, live, relevant = bfcl_suite(write(tmp_path, "q.json", *lines))["test_cases"]
    assert none["expected_calls"] == live["expected_calls"] == []
    assert (relevant["expected_tool"], relevant["param_scoring"]) == ("*", "bfcl")


def test_messages_stay_messages(tmp_path: Path) -> None:
    entry = question("irrelevance_0", {})
    entry["question"][0].insert(0, {"role": "system", "content": "Be brief."})
    assert [m["role"] for m in convert(tmp_path, entry)["prompt"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("simple_java_0", "Java source code"),
        ("javascript_3", "JavaScript source code"),
        ("memory_0-customer-0", "simulated environment"),
        ("exec_simple_1", "judged by running them"),
        ("multi_turn_long_context_7", "simulated environment; use mocks"),
    ],
)
def test_categories_that_no_suite_can_express_are_refused(
    tmp_path: Path, name: str, reason: str
) -> None:
    (problem,) = problems(write(tmp_path, "q.json", {"id": name, "question": []}))
    assert problem.startswith("1:1: the category")
    assert reason in problem


def test_a_file_without_questions_is_refused_by_its_name(tmp_path: Path) -> None:
    file = write(tmp_path, "BFCL_v4_format_sensitivity.json", {"simple_python": ["simple_python_58"]})
    (problem,) = problems(file)
    assert problem.startswith("1:1: the category format_sensitivity cannot be converted: it only lists")


def test_a_category_of_ones_own_is_judged_by_its_answers(tmp_path: Path) -> None:
    entry = question("rest_api_0", {"r": {"type": "integer"}})
    case = convert(tmp_path, entry, answer("rest_api_0", {"r": [1]}))
    assert case["expected_calls"] == [{"tool": "geo_area", "params": {"r": 1}}]


def test_names_that_would_be_the_same_stay_apart(tmp_path: Path) -> None:
    entry = question("irrelevance_0", {})
    entry["function"].append({**entry["function"][0], "name": "geo_area"})
    first, second = (tool["function"]["name"] for tool in convert(tmp_path, entry)["tools"])
    assert first == "geo_area"
    assert second.startswith("geo_area_")


def test_every_line_that_cannot_be_used_is_named_and_nothing_is_imported(tmp_path: Path) -> None:
    bad_type = question("irrelevance_4", {"a": {"type": "strnig"}})
    file = write(
        tmp_path,
        "q.json",
        question("irrelevance_0", {}),
        '{"id": "irrelevance_1", ',
        [1],
        {"id": "irrelevance_2", "question": "x", "function": []},
        question("irrelevance_0", {}),
        bad_type,
        {"id": "irrelevance_5", "question": [[], []], "function": []},
    )
    assert problems(file) == [
        "2:1: invalid JSON: Input data was truncated",
        '3:1: expected an object with an "id", got the list [1]',
        '4:1: "question": expected a list of turns, got the string "x"',
        '5:1: the id "irrelevance_0" is already used on line 1',
        "6:1: tools[0].function.parameters.properties.a.type: not a valid JSON Schema: expected one of "
        '"array", "boolean", "integer", "null", "number", "object", "string", or a list of them, '
        'got the string "strnig"; did you mean "string"?',
        '7:1: "question": expected one turn, got 2',
    ]


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        (None, "ground_truth: expected array, got null"),
        ([], "ground_truth: expected array of length >= 1"),
        (["f(1)"], "ground_truth[0]: expected object, got str"),
        ([{"other": {}}], 'the answer calls "other", which is not among the functions'),
        ([{"geo.area": []}], "expected object, got array"),
        ([{"geo.area": {"a": "x"}}], "expected array, got str"),
        ([{"geo.area": {"o": [{"k": "x"}]}}], "expected a list of allowed values"),
    ],
)
def test_answers_in_another_form(tmp_path: Path, truth: object, reason: str) -> None:
    entry = question("simple_0", {"a": {"type": "string"}, "o": {"type": "dict"}})
    questions = write(tmp_path, "q.json", entry)
    answers = write(tmp_path, "a.json", {"id": "simple_0", "ground_truth": truth})
    (problem,) = problems(questions, answers)
    assert reason in problem


def test_missing_answers_are_one_problem(tmp_path: Path) -> None:
    questions = write(tmp_path, "q.json", *[question(f"simple_{n}", {}) for n in range(9)])
    (problem,) = problems(questions)
    assert problem == (
        "1:1: no answer; also name the file of answers (9 times; the first at lines 1, 2, 3)"
    )
    (problem,) = problems(questions, write(tmp_path, "a.json", {"id": "x", "ground_truth": []}))
    assert problem.startswith(f"1:1: no answer in {tmp_path / 'a.json'} (9 times")


def test_the_answers_beside_the_questions(tmp_path: Path) -> None:
    questions = write(tmp_path, "q.json", question("simple_0", {}))
    assert len(problems(questions)) == 1
    write(tmp_path / "possible_answer", "q.json", answer("simple_0", {}))
    assert len(bfcl_suite(questions)["test_cases"]) == 1
