from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.apply import ImportOutcome, apply
from pytest_tooleval.imports.files import import_files
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_suite, read_model
from pytest_tooleval.suite.made_cases import new_ids

SYSTEM = {"role": "system", "content": "Be brief."}
KEY = "sk-" + "a1B2" * 10


def tool(name: str = "weather", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {"city": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": "It.", "parameters": schema}}


def called(*cities: object, name: str = "weather") -> dict[str, Any]:
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"city": c})},
        }
        for n, c in enumerate(cities)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def record(prompt: str, answer: dict[str, Any], **fields: Any) -> dict[str, Any]:
    messages = [*fields.pop("before", []), {"role": "user", "content": prompt}]
    request = {"model": "m", "messages": messages, "tools": [tool()], **fields}
    return {"request": request, "response": {"choices": [{"message": answer}]}}


def text(words: str = "Hello.") -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def imported(tmp_path: Path, values: list[Any], existing: dict[str, Any] | None = None) -> ImportOutcome:
    file = tmp_path / "log.jsonl"
    lines = (value if isinstance(value, str) else json.dumps(value) for value in values)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = apply(import_files([file], None, has_tools=bool(existing))[0], "log", existing)
    parse_suite(json.dumps(made.suite))
    return made


def reasons(made: ImportOutcome) -> list[tuple[int, str]]:
    return [(problem.line, problem.message) for problem in made.left_out]


def refused(tmp_path: Path, values: list[Any]) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        imported(tmp_path, values)
    return [str(problem).removeprefix(f"{tmp_path / 'log.jsonl'}:") for problem in caught.value.problems]


def test_one_call_several_and_none(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        [
            record("Paris?", called("Paris")),
            record("Paris and Rome?", called("Paris", "Rome")),
            record("Hi", text()),
        ],
    )
    assert made.suite == {
        "name": "log",
        "tools": [tool()],
        "tool_choice": "auto",
        "test_cases": [
            {
                "id": "paris",
                "prompt": "Paris?",
                "expected_tool": "weather",
                "expected_params": {"city": "Paris"},
            },
            {
                "id": "paris-and-rome",
                "prompt": "Paris and Rome?",
                "expected_calls": [
                    {"tool": "weather", "params": {"city": "Paris"}},
                    {"tool": "weather", "params": {"city": "Rome"}},
                ],
            },
            {"id": "hi", "prompt": "Hi", "expected_tool": None},
        ],
    }
    assert lint_suite(parse_suite(json.dumps(made.suite))) == []


def test_what_all_requests_share_stands_once(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"before": [SYSTEM], "tool_choice": "auto"}
    made = imported(
        tmp_path,
        [record("Paris?", called("Paris"), **fields), record("Hi", text(), **fields)],
    )
    assert made.suite["system_prompt"] == "Be brief."
    assert made.suite["tool_choice"] == "auto"
    assert [case["prompt"] for case in made.suite["test_cases"]] == ["Paris?", "Hi"]
    assert all("tool_choice" not in case for case in made.suite["test_cases"])


def test_what_they_do_not_share_stays_with_the_case(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        [
            record("Paris?", called("Paris"), before=[SYSTEM]),
            record("Rome?", called("Rome"), tool_choice="auto"),
            record("News?", called("x", name="news"), tools=[tool("news")], tool_choice="required"),
            record("Hi", text()),
        ],
    )
    paris, rome, news, hi = made.suite["test_cases"]
    assert "system_prompt" not in made.suite
    assert paris["prompt"][0] == SYSTEM
    assert "tool_choice" not in made.suite
    assert [case.get("tool_choice") for case in (paris, rome, news)] == ["auto", "auto", "required"]
    assert "tool_choice" not in hi  # auto is the default where nothing should be called
    assert made.suite["tools"] == [tool()]
    assert news["tools"] == [tool("news")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"city": 5}, "5 is not of type"),
        ({"city": "Rome", "when": "now"}, "when"),
        ({}, "city"),
    ],
)
def test_arguments_that_break_the_schema_are_left_out(
    tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
    wrong = called("Rome")
    wrong["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments)
    made = imported(
        tmp_path, [record("A?", called("Oslo"), tools=tools), record("B?", wrong, tools=tools)]
    )
    assert [case["prompt"] for case in made.suite["test_cases"]] == ["A?"]
    [(line, message)] = reasons(made)
    assert line == 2
    assert message.startswith("the arguments of weather break the tool's schema: ")
    assert reason in message


def test_a_choice_that_the_answer_did_not_follow_is_no_part_of_the_case(tmp_path: Path) -> None:
    made = imported(tmp_path, [record("Hi", text(), tool_choice="required")])
    assert parse_suite(json.dumps(made.suite)).test_cases[0].tool_choice == "auto"


def test_a_request_that_forbids_calls_tests_nothing(tmp_path: Path) -> None:
    values = [
        record("Hi", text(), tool_choice="none"),
        record("Ho", text(), tools=[]),
        record("Hu", text(), tools=[{"type": "web_search"}]),
        {"messages": [{"role": "user", "content": "He"}, {"role": "assistant", "content": "Hm."}]},
    ]
    causes = [
        "the request forbids calls",
        "the request offers no tools",
        "the request offers only tools that the provider runs itself",
        "no tools are recorded and the answer calls none",
    ]
    found = [f"{n}:1: {cause}, so there is nothing to test" for n, cause in enumerate(causes, 1)]
    assert refused(tmp_path, values) == found


def test_a_reason_is_said_once(tmp_path: Path) -> None:
    first, second = refused(tmp_path, [*[record("Ho", text(), tools=[])] * 5, "{"])
    assert "there is nothing to test (5 times; the first at lines 1, 2, 3)" in first
    assert second.startswith("6:1: invalid JSON")


def test_the_same_answers_are_folded(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        [
            record("Paris?", called("Paris")),
            record("Paris?", called("Paris")),
            record("Paris?", called("paris, France")),
        ],
    )
    assert made.counts == ["2 cases added", "1 identical ones merged"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (record("Ho?", called("Oslo")), record("Ho?", called("Rome")), ["ho, ho-2"]),
        (record("Ho?", called("Oslo")), record("Ho?", text()), ["ho, ho-2"]),
        (record("Ho?", called("Oslo")), record("Hi?", called("Rome")), []),
        (record("Ho?", called("Oslo")), record("Ho?", text(), tools=[tool(unit={})]), []),
    ],
)
def test_cases_that_contradict_each_other_are_named(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], expected: list[str]
) -> None:
    made = imported(tmp_path, [first, second])
    assert len(made.suite["test_cases"]) == 2
    said = [line.rpartition(": ")[2] for line in made.remarks if "contradict" in line]
    assert said == expected


def test_a_limit_stops_reading_lines_and_folders(tmp_path: Path) -> None:
    lines = [json.dumps(record(f"{n}?", called("Oslo"))) for n in range(9)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("\n\n".join([*lines, "{"]), "utf-8")
    (tmp_path / "c.json").write_text("{", "utf-8")
    for path, size in ((tmp_path / "a.jsonl", 4), (tmp_path, 4)):
        found, (line,) = import_files([path], None, has_tools=False, limit=3)
        assert not found.left_out
        assert f"the first {size} records" in line
        assert [case["prompt"] for case in apply(found, "s").suite["test_cases"]] == ["0?", "1?", "2?"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_limit_finds_the_first_cases_of_all(tmp_path: Path, limit: int) -> None:
    """Even where the tools stand in another file, or where lines belong together."""
    folder, talk = tmp_path / "logs", tmp_path / "talk.jsonl"
    folder.mkdir()
    bare = [{"messages": [{"role": "user", "content": f"{n}?"}, called("Oslo")]} for n in range(9)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, bare)), "utf-8")
    (folder / "tools.json").write_text(json.dumps([tool()]), "utf-8")
    steps = [step for n in range(9) for step in ({"role": "user", "content": f"{n}?"}, called("Rome"))]
    talk.write_text("\n".join(map(json.dumps, steps)), "utf-8")
    for path in (folder, talk):
        whole, some = (
            apply(import_files([path], None, has_tools=False, limit=most)[0], "s").suite
            for most in (None, limit)
        )
        assert some == {**whole, "test_cases": whole["test_cases"][:limit]}


def test_broken_records_are_named_and_the_others_imported(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        [
            record("Paris?", called("Paris")),
            '{"request": ',
            {"request": {"messages": [{"role": "user", "content": "Hi"}]}, "response": {"error": "x"}},
            record("Rome?", called("Rome", name="unknown")),
            record("Oslo?", called("Oslo"), tools=[tool(city={"type": "strnig"})]),
            record("", called("Oslo")),
        ],
    )
    assert made.counts == ["1 case added", "5 left out"]
    (cut, error, unknown, schema, empty) = reasons(made)
    assert cut == (2, "invalid JSON: Input data was truncated")
    assert error == (3, "the answer is an error from the provider")
    assert unknown[0] == 4
    assert 'the tool "unknown" is not defined' in unknown[1]
    assert schema[0] == 5
    assert 'did you mean "string"?' in schema[1]
    assert empty == (6, "prompt: an empty prompt; write what the user says")


def test_tools_that_cannot_be_used_do_not_become_those_of_the_suite(tmp_path: Path) -> None:
    bad = tool(city={"type": "strnig"})
    bad_values = [record(prompt, called("Oslo"), tools=[bad]) for prompt in ("a", "b", "c")]
    made = imported(tmp_path, [*bad_values, record("Paris?", called("Paris"))])
    assert made.suite["tools"] == [tool()]
    assert [line for line, _ in reasons(made)] == [1, 2, 3]


def test_nothing_of_use_is_an_error_that_says_why(tmp_path: Path) -> None:
    assert refused(tmp_path, ["[]"]) == ["1:1: nothing to import"]
    (why,) = refused(tmp_path, [{"a": 1}, {"b": 2}])
    assert why.startswith("1:1: This is an object with the keys a, in which no list of chat messages")


def test_a_list_from_an_api_is_unwrapped(tmp_path: Path) -> None:
    stored = {"object": "chat.completion", "tools": [tool()], "choices": [{"message": called("Paris")}]}
    messages = [{"role": "user", "content": "Paris?"}]
    made = imported(tmp_path, [{"object": "list", "data": [{**stored, "messages": messages}, stored]}])
    assert made.counts == ["1 case added", "1 left out"]
    (problem,) = made.left_out
    assert problem.field == "data[1]"


def test_a_secret_never_lands_in_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "hush-hush-hush")
    described = tool()
    described["function"]["description"] = "Authorization: Bearer abcdefghijklmnopqrstuvwxyz"
    value = record(
        f"My key is {KEY}",
        called(f"hush-hush-hush and {KEY}"),
        tools=[described],
        extra_headers={"authorization": "Bearer visible"},
        metadata={"note": "visible"},
    )
    value["headers"] = {"x-api-key": "visible"}
    made = imported(tmp_path, [value])
    written = json.dumps(made.suite)
    assert "visible" not in written
    assert KEY not in written
    assert "hush" not in written
    assert "abcdefghijklm" not in written
    assert made.remarks == ["3 texts contained a key, now a stand-in such as sk-xxxxxxxx"]
    expected = {"city": "xxxxxxxxxxxxxx and sk-" + "x" * (len(KEY) - 3)}
    assert made.suite["test_cases"][0]["expected_params"] == expected


def test_a_key_is_not_shown_with_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "hush.0-hush.1-hush.2-hush.3-hush.4-hush.5-hush.6-hush.7-hush.8")
    function = {"name": "weather", "arguments": f"{KEY} " + os.environ["DEPLOY_KEY"]}
    broken = {"role": "assistant", "tool_calls": [{"function": function}]}
    made = imported(tmp_path, [record("Paris?", called("Paris")), record("Lyon?", broken)])
    (message,) = [message for _, message in reasons(made)]
    assert "weather" in message
    assert "hush" not in message
    assert KEY[3:20] not in message


KEYS = st.text(max_size=5) | st.sampled_from(["$regex", "$gt", "$any_of"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_the_recorded_call_passes_its_case(
    tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any]
) -> None:
    function = {"name": "weather", "arguments": json.dumps(arguments)}
    schemaless = {"type": "function", "function": {"name": "weather"}}
    answer = {"role": "assistant", "tool_calls": [{"function": function}]}
    made = imported(tmp_path_factory.mktemp("log"), [record("Go", answer, tools=[schemaless])])
    suite = parse_suite(json.dumps(made.suite))
    call = {"name": "weather", "arguments": arguments}
    assert score_calls(suite, suite.test_cases[0], [call]).passed


def test_tools_become_a_suite_with_drafts(tmp_path: Path) -> None:
    flat = {"type": "function", **tool("news")["function"]}
    made = imported(tmp_path, [[tool(), flat, {"type": "web_search"}]])
    assert made.counts == ["2 tools", "2 drafts to edit", "1 left out"]
    assert [case["skip"] for case in made.suite["test_cases"]] == ["draft", "draft"]
    assert [message for _, message in reasons(made)] == [
        'a tool of the type "web_search", which only its provider can run'
    ]


def test_only_tools_that_the_provider_runs(tmp_path: Path) -> None:
    values = [[{"type": "web_search"}, {"type": "file_search", "vector_store_ids": ["vs_1"]}]]
    assert refused(tmp_path, values) == [
        f'1:1: a tool of the type "{kind}", which only its provider can run'
        for kind in ("web_search", "file_search")
    ]


@pytest.mark.parametrize("choice", ["required", "auto", "none"])
def test_the_choice_of_a_suite_that_is_there_is_not_that_of_the_record(
    tmp_path: Path, choice: str
) -> None:
    existing = {"name": "s", "tools": [tool()], "tool_choice": choice, "test_cases": []}
    made = imported(tmp_path, [record("Paris?", called("Paris")), record("Hi", text())], existing)
    own = None if choice == "auto" else "auto"
    assert [case.get("tool_choice") for case in made.suite["test_cases"]] == [own, own]


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_tools_inside_an_object(tmp_path: Path, key: str) -> None:
    made = imported(tmp_path, [{key: [tool()["function"]]}])
    assert made.suite["tools"] == [tool()]


def test_a_tool_that_cannot_be_used_refuses_all(tmp_path: Path) -> None:
    bad = tool("bad", city={"type": "strnig"})
    (schema,) = refused(tmp_path, [[tool(), bad]])
    assert schema.startswith("1:")
    assert "function.parameters.properties.city.type: not a valid JSON Schema" in schema
    (twice,) = refused(tmp_path, [[tool(), tool(days={"type": "integer"})]])
    assert 'two different tools named "weather"' in twice


def test_an_existing_suite_gets_the_tools_and_keeps_its_cases(tmp_path: Path) -> None:
    own = {"prompt": "Paris?", "expected_tool": "weather", "expected_params": {"city": "Paris"}}
    existing = {"name": "mine", "tools": [tool(), tool("old")], "test_cases": [own]}
    made = imported(tmp_path, [[tool(), tool("news")]], existing)
    assert made.suite["name"] == "mine"
    assert [each["function"]["name"] for each in made.suite["tools"]] == ["weather", "news"]
    assert made.suite["test_cases"][0] == own
    assert made.remarks == ['added: "news"', 'removed: "old"']


def test_an_existing_suite_gets_the_cases_that_it_does_not_have(tmp_path: Path) -> None:
    own = {
        "prompt": "Paris?",
        "expected_tool": "weather",
        "expected_params": {"city": {"$contains": "par"}},
    }
    existing = {"name": "mine", "tools": [tool(), tool("own")], "test_cases": [own]}
    values = [record("Paris?", called("Paris")), record("Rome?", called("Rome"))]
    made = imported(tmp_path, values, existing)
    assert made.counts == ["1 case added", "1 skipped: prompt already in suite"]
    assert made.suite["tools"] == existing["tools"]
    assert made.suite["test_cases"][0] == own
    assert made.suite["test_cases"][1]["tools"] == [tool()]
    again = imported(tmp_path, values, made.suite)
    assert again.counts == ["0 cases added", "2 skipped: prompt already in suite"]
    assert again.suite == made.suite


def test_answers_without_tools_take_those_of_the_suite(tmp_path: Path) -> None:
    value = record("Paris?", called("Paris"))
    del value["request"]["tools"]
    alone = imported(tmp_path, [value])
    assert alone.remarks[0].startswith("the tools are not recorded: made 1 tool of the calls")
    made = imported(tmp_path, [value], {"name": "mine", "tools": [tool()], "test_cases": []})
    assert "tools" not in made.suite["test_cases"][0]


def test_the_system_prompt_of_an_existing_suite(tmp_path: Path) -> None:
    existing = {"name": "s", "system_prompt": "Be brief.", "tools": [tool()], "test_cases": []}
    values = [record("Paris?", called("Paris"), before=[SYSTEM]), record("Rome?", called("Rome"))]
    made = imported(tmp_path, values, existing)
    assert [case["prompt"] for case in made.suite["test_cases"]] == ["Paris?"]
    assert [line for line, _ in reasons(made)] == [2]


def test_new_ids_leave_those_that_cases_have_and_would_get() -> None:
    cases = [{"id": "rome", "prompt": "x"}, {"prompt": "Paris?"}]
    existing = read_model({"name": "s", "test_cases": cases})
    assert new_ids(existing, ["Paris?", "Rome?", "!"]) == ["paris-2", "rome-2", "case-5"]


def test_tools_that_are_no_plain_functions_are_imported(tmp_path: Path) -> None:
    flat = {
        "type": "function",
        **tool("find")["function"],
        "defer_loading": True,
    }
    grammar = {"type": "grammar", "syntax": "regex", "definition": ".+"}
    mcp = {"type": "mcp", "server_label": "shop", "authorization": "Bearer secret-of-the-shop"}
    tools = [
        tool(),
        {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [flat]},
        {"type": "custom", "name": "sql", "format": grammar},
        {"type": "tool_search"},
        mcp,
    ]
    in_crm = called("Rome", name="find")
    in_crm["tool_calls"][0]["namespace"] = "crm"
    sql = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    answers = [in_crm, {"role": "assistant", "tool_calls": [sql]}]
    made = imported(tmp_path, [record(f"Go {n}", each, tools=tools) for n, each in enumerate(answers)])
    assert [each["expected_tool"] for each in made.suite["test_cases"]] == ["crm.find", "sql"]
    assert made.suite["test_cases"][1]["expected_params"] == {"input": "SELECT 1"}
    assert made.suite["namespaces"] == {"crm": "Customers."}
    assert made.suite["tools"][2]["custom"]["format"]["grammar"]["syntax"] == "regex"
    hosted = made.suite["provider_tools"]["openai"]
    assert hosted == [{"type": "tool_search"}, {**mcp, "authorization": "SHOP_TOKEN"}]


def test_calls_that_the_provider_ran_itself_are_no_answers_and_no_prompt(tmp_path: Path) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "Rome"}}
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"city": "Rome"}',
    }
    text = {"role": "assistant", "content": [{"type": "output_text", "text": "It is in Italy."}]}
    user = {"role": "user", "content": "Where is Rome?"}
    later = {"role": "user", "content": "And its weather?"}
    logs = [([user], [search, call]), ([user, search, text, later], [search, call])]
    tools = [tool(), {"type": "web_search"}]
    made = imported(
        tmp_path,
        [
            {"input": prompt, "tools": tools, "response": {"object": "response", "output": output}}
            for prompt, output in logs
        ],
    )
    first, second = made.suite["test_cases"]
    assert first["expected_tool"] == second["expected_tool"] == "weather"
    answered = {"role": "assistant", "content": "It is in Italy."}
    assert second["prompt"] == [user, answered, later]


@pytest.mark.parametrize("field", ["conversations", "completion", "response", "contents"])
def test_a_conversation_with_tools_is_no_list_of_tools(tmp_path: Path, field: str) -> None:
    (reason,) = refused(tmp_path, [{"query": "Hi", field: ["x"], "tools": [tool()]}])
    assert "tool" not in reason.partition("keys")[0]
