"""Which wrong answers a case lets pass, and whether the line to add has them noticed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval.mutation.answers import right_answers, score
from pytest_tooleval.mutation.mutants import mutants
from pytest_tooleval.mutation.results import CaseMutation, SuiteMutation, Survivor
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "units": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "default": 1},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def named(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [WEATHER, named("search"), named("delete_all")]


def mutated(tools: list[dict[str, Any]] | None = None, /, **case: Any) -> CaseMutation:
    test = {"id": "one", "prompt": "?", **case}
    suite = {"name": "s", "tools": TOOLS if tools is None else tools, "test_cases": [test]}
    (found,) = mutate_suite(Suite.model_validate(suite)).cases
    return found


def passing(found: CaseMutation) -> dict[str, list[Survivor]]:
    kinds: dict[str, list[Survivor]] = {}
    for survivor in found.survivors:
        kinds.setdefault(survivor.kind, []).append(survivor)
    return kinds


def test_a_case_that_names_everything_notices_everything() -> None:
    absent = {"$absent": True}
    found = mutated(
        expected_calls=[
            {"tool": "get_weather", "params": {"city": "Paris", "units": absent, "days": absent}}
        ]
    )

    assert found.mutants > 10
    assert found.score == 1.0
    assert found.calls is not None
    assert found.calls[0].arguments == {"city": "Paris"}


def test_what_the_case_itself_accepts_is_no_mutant() -> None:
    plain = mutated(expected_tool="get_weather", expected_params={"city": "Paris"})
    either = mutated(
        expected_tool=["get_weather", "search"],
        expected_params={"city": {"$optional": {"$schema": {"type": "string"}}}},
    )

    assert plain.legal == 1, "PARIS, as `exact` ignores case"
    assert either.legal == 5, "each other city, none, and the other tool"
    assert not {"wrong_value", "dropped_argument", "another_tool"} & passing(either).keys()


def test_arguments_that_the_case_does_not_name() -> None:
    found = mutated(expected_tool="get_weather", expected_params={"city": "Paris"})

    invented = ("invented_argument", "argument_not_named", "expected_params")
    assert [(one.kind, one.gap, one.to, one.add) for one in found.survivors] == [
        (*invented, f'"{name}": {{"$absent": true}}') for name in ("units", "days")
    ]
    assert found.survivors[1].calls[0].arguments == {"city": "Paris", "days": 9}, "not the default"


def test_parameters_that_are_not_scored() -> None:
    found = mutated(expected_tool="get_weather")
    several = mutated(expected_calls=[{"tool": "get_weather"}])

    (wrong,) = passing(found)["wrong_value"]
    assert (wrong.gap, wrong.add) == ("params_not_scored", '"expected_params": {"city": ...}')
    (wrong,) = passing(several)["wrong_value"]
    assert (wrong.add, wrong.to) == ('"params": {"city": ...}', "expected_calls[0]")
    assert not mutated(expected_tool="*").survivors[1:], "any call is any call"


def test_a_threshold_below_what_the_right_answer_scores() -> None:
    found = mutated(
        expected_tool="get_weather",
        expected_params={"city": "Paris", "units": "celsius"},
        thresholds={"overall": 0.8},
    )

    (wrong,) = passing(found)["enum_neighbour"]
    assert (wrong.gap, wrong.to, wrong.add) == (
        "threshold",
        "the case",
        '"thresholds": {"overall": 1.0}',
    )


SQL = {"type": "custom", "custom": {"name": "sql"}}
SELECTS = {"input": {"$contains": "SELECT"}}


def test_the_text_of_a_custom_tool_is_broken_like_an_argument() -> None:
    tools = [SQL, *TOOLS]
    named = mutated(tools, expected_tool="sql", expected_params=SELECTS)
    unnamed = mutated(tools, expected_tool="sql")

    assert (named.mutants, named.score) == (13, 1.0)
    assert passing(unnamed)["wrong_value"][0].add == '"expected_params": {"input": ...}'


@pytest.mark.parametrize(
    "fields",
    [
        {"expected_tool": "get_weather", "expected_params": {"city": "Paris"}},
        {"expected_tool": "get_weather", "forbidden_calls": ["delete_all"]},
        {"expected_calls": [{"tool": "get_weather"}, {"tool": "sql", "params": SELECTS}]},
        {"turns": [{"prompt": "?", "expected_calls": [{"tool": "search"}]}], "prompt": None},
    ],
)
def test_a_broken_call_inside_a_program_is_noticed_like_any_other(fields: dict[str, Any]) -> None:
    programs = [
        {**tool, "function": {**tool["function"], "allowed_callers": ["programmatic"]}} for tool in TOOLS
    ]
    plain, inside = (mutated([*tools, SQL], **{"prompt": "?", **fields}) for tools in (TOOLS, programs))
    assert inside == plain

    test = {"id": "one", "prompt": "?", **fields}
    suite = Suite.model_validate({"name": "s", "tools": [*programs, SQL], "test_cases": [test]})
    case = resolve(suite, suite.test_cases[0])
    caller = {"type": "program", "caller_id": "p1"}
    for _, answer in mutants(case, right_answers(case)[0]):
        called = [
            turn._replace(
                replies=tuple(
                    tuple(structs.replace(call, caller=caller) for call in calls)
                    for calls in turn.replies
                )
            )
            for turn in answer
        ]
        assert score(case, called).passed == score(case, answer).passed


def test_calls_more_than_expected() -> None:
    loose = {"overall": 1.0, "no_extra_calls": None}
    found = mutated(expected_tool="search", expected_params={}, thresholds=loose)
    any_call = mutated(expected_tool="*")
    forbidden = mutated(expected_tool="*", forbidden_calls=["delete_all"])

    kinds = passing(found)
    (destructive,) = kinds["destructive_call"]
    assert (destructive.gap, destructive.add) == ("threshold", '"forbidden_calls": ["delete_all"]')
    assert kinds["further_call"][0].add == '"thresholds": {"no_extra_calls": 1.0}'
    assert [(one.kind, one.gap) for one in any_call.survivors] == [("destructive_call", "any_calls")]
    assert forbidden.score == 1.0


def test_a_chain_that_calls_its_tool_once_more() -> None:
    chain = {"expected_tool": "get_weather", "expected_params": {"city": "Paris"}, "multi_turn": True}
    loose = {"no_extra_calls": None}
    passes = passing(mutated(**chain, thresholds=loose))["further_call"]

    right, other = {"city": "Paris"}, {"city": "something else"}
    assert [[call.arguments for call in one.calls] for one in passes] == [
        [right, other],  # in the last reply
        [right, right],  # in a later one
        [right, other],
    ]
    assert {one.add for one in passes} == {'"thresholds": {"no_extra_calls": 1.0}'}
    assert "further_call" not in passing(mutated(**chain))


def test_limits_of_what_only_a_model_takes_are_left_out() -> None:
    found = mutated(expected_tool=None, thresholds={"max_cost_usd": 0.1, "max_calls": 0})

    assert found.score == 1.0


def test_equal_calls_are_met_by_one_call_made_twice() -> None:
    either = {"tool": "get_weather", "params": {"city": {"$any_of": ["Oslo", "Rome"]}}}
    found = mutated(expected_calls=[either, either])

    assert found.calls is not None
    assert [call.arguments["city"] for call in found.calls] == ["Oslo", "Rome"]
    first, second = passing(found)["repeated_call"]
    assert (first.gap, first.to) == ("equal_calls", "expected_calls[0].params")
    assert (first.add, second.add) == ('"city": "Oslo"', '"city": "Rome"')


def test_calls_that_differ_in_what_the_mode_ignores() -> None:
    tool = named("frequency", genotype={"type": "string"})
    calls = [{"tool": "frequency", "params": {"genotype": name}} for name in ("AA", "Aa")]
    found = mutated([tool], expected_calls=calls)

    first, _ = passing(found)["repeated_call"]
    assert [call.arguments["genotype"] for call in first.calls] == ["Aa", "Aa"]
    assert (first.to, first.add) == ("expected_calls[0].params", '"genotype": {"$exact": "AA"}')


def test_a_tool_that_declares_nothing_takes_anything() -> None:
    tool = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
    found = mutated([tool], expected_tool="search", expected_params={"query": "x"})

    (wrong,) = found.survivors
    assert (wrong.kind, wrong.gap) == ("invented_argument", "undeclared_arguments")
    assert wrong.to == "the parameters of search"
    assert wrong.add == '"properties": {"query": {}}, "additionalProperties": false'


def test_a_chain_is_made_of_its_prerequisites_and_mocks() -> None:
    chain = {
        "expected_tool": "book",
        "expected_params": {"flight": "BA1"},
        "multi_turn": True,
        "optimal_hops": 3,
        "valid_prerequisites": ["find"],
        "mock_responses": {"find": {"$sequence": ["busy", "BA1"]}},
    }
    tools = [named("find", to={"type": "string"}), named("book", flight={"type": "string"})]
    strict = mutated([*tools, named("cancel_all")], thresholds={"overall": 0.9}, **chain)
    loose = mutated(tools, **{**chain, "mock_responses": {}, "optimal_hops": None})

    assert strict.calls is not None
    assert [call.name for call in strict.calls] == ["find", "find", "book"]
    assert strict.score == 1.0
    assert loose.calls is not None
    assert [call.name for call in loose.calls] == ["book"]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            {"expected_tool": "get_weather", "expected_params": {"city": {"$any_of": []}}},
            'no value is known that city accepts: {"$any_of": []}',
        ),
        (
            {"expected_tool": "get_time", "expected_params": {"city": "Rome"}},
            'get_time(city="Rome") fails: arguments_valid 0.00 < 1.00',
        ),
    ],
)
def test_no_right_answer_is_known(case: dict[str, Any], why: str) -> None:
    found = mutated(**case)

    assert found.calls is None
    assert found.score is None
    assert found.unknown.startswith(why)


def test_skipped_cases_and_metrics_of_others_are_left_out() -> None:
    cases = [
        {"id": "a", "prompt": "?", "expected_tool": None, "skip": True},
        {"id": "b", "prompt": "?", "expected_tool": None, "thresholds": {"grounded": 1}},
    ]
    found = mutate_suite(Suite.model_validate({"name": "s", "tools": TOOLS, "test_cases": cases}))

    assert (found.skipped, [case.id for case in found.cases]) == (1, ["b"])
    assert found.score == 1.0
    assert found.mutants == 3


def kinds_of(*tools: dict[str, Any], **case: Any) -> dict[str, list[Any]]:
    """The raw or parsed arguments of the last call in each mutant, by kind."""
    test = {"id": "one", "prompt": "?", **case}
    suite = Suite.model_validate({"name": "s", "tools": list(tools), "test_cases": [test]})
    resolved = resolve(suite, suite.test_cases[0])
    found: dict[str, list[Any]] = {}
    for mutant, answer in mutants(resolved, right_answers(resolved)[0]):
        call = next(reversed([c for turn in answer for calls in turn.replies for c in calls]), None)
        given = call and (call.raw_arguments if call.arguments is None else call.arguments)
        found.setdefault(mutant.kind, []).append(given)
    return found


def test_malformed_arguments() -> None:
    given = {"city": "Paris"}
    weather = kinds_of(WEATHER, expected_tool="get_weather", expected_params=given)
    assert weather["malformed_arguments"] == ['{"city": "Paris"', '[{"city": "Paris"}]', ""]
    assert kinds_of(named("now"), expected_tool="now")["malformed_arguments"] == ["{", "[{}]"]
    assert "malformed_arguments" not in kinds_of(SQL, expected_tool="sql", expected_params=SELECTS)
    lenient = {"overall": 0.1, "arguments_valid": None, "no_extra_calls": None}
    found = mutated(expected_tool="get_weather", thresholds=lenient)
    assert "malformed_arguments" not in passing(found)


def test_a_key_that_is_invented_at_depth() -> None:
    def invented(expected: Any, **schema: Any) -> list[Any]:
        place = {"type": "object", "properties": {"city": {"type": "string"}}, **schema}
        tool = named("look", where=place, each={"type": "array", "items": place})
        return kinds_of(tool, expected_tool="look", expected_params=expected)["invented_argument"]

    rome = {"city": "Rome"}
    more = {"city": "Rome", "made_up": 1}
    assert {"where": more} in invented({"where": rome})
    assert {"each": [more]} in invented({"each": [rome]})
    assert {"where": more} not in invented({"where": rome}, additionalProperties=True)


def test_a_chain_that_wanders_through_its_prerequisites() -> None:
    chain = {"expected_tool": "delete_all", "multi_turn": True}
    tools = [*TOOLS, named("find", x={"type": "string"})]
    free = mutated(tools, **chain, valid_prerequisites=["search", "get_weather"])
    (wrong,) = passing(free)["wandering_chain"]
    assert [call.name for call in wrong.calls] == ["search", "get_weather"] * 3 + ["delete_all"]
    assert (wrong.gap, wrong.add) == ("any_length", '"optimal_hops": 1')
    (wrong,) = passing(mutated(tools, **chain, valid_prerequisites=["get_weather"]))["wandering_chain"]
    assert [call.name for call in wrong.calls] == ["get_weather"] * 6 + ["delete_all"]

    bound = {**chain, "optimal_hops": 3, "valid_prerequisites": ["search", "get_weather"]}
    assert "wandering_chain" not in passing(mutated(tools, **bound))
    assert "wandering_chain" not in kinds_of(*tools, **chain)


def test_policies_that_no_case_would_notice_are_named() -> None:
    policies = [
        {"tool": "delete_all", "only_after": "search"},
        {"tool": "get_weather", "at_most": 1},
        {"tool": "get_weather", "never_after": {"tool": "search"}},
        {"tool": "get_weather", "expected_params": {"units": "celsius"}},
        {"tool": "get_*", "never_after": "sea*"},
    ]
    single = {"id": "single", "prompt": "?", "expected_tool": "search"}
    turns = [{"prompt": "?", "expected_calls": [{"tool": "search"}, {"tool": "delete_all"}]}]
    talk = {"id": "talk", "turns": turns, "policies": [{"tool": "delete_all", "at_least": 1}]}
    elsewhere = {**single, "id": "elsewhere", "tools": [named("other")], "expected_tool": "other"}

    def noticed(*cases: dict[str, Any], **fields: Any) -> list[str]:
        suite = {"name": "s", "tools": TOOLS, "policies": policies, "test_cases": [*cases], **fields}
        found = mutate_suite(Suite.model_validate(suite))
        assert not [case.unknown for case in found.cases if case.unknown]
        return [text.partition(": ")[0] for text in found.unnoticed]

    assert noticed(talk, single) == []
    assert noticed(single) == ["policies[0]"]  # nothing is answered in a single reply
    assert noticed(elsewhere) == [f"policies[{index}]" for index in range(5)]
    off = {"thresholds": {"policies": None}}
    assert noticed(talk, **off)[-1] == "talk"


def test_calls_that_end_otherwise_and_policies_about_it_are_noticed() -> None:
    expected = [{"tool": "search", "status": "ok", "result": {"found": {"$gt": 1}}}]
    after = {"tool": "search", "params": {"query": {"$regex": "x"}}, "result": {"found": {"$gt": 1}}}
    policies = [
        {"tool": "delete_all", "only_after": after},
        {"tool": "delete_all", "only_after": {"user": "delete"}},
        {"tool": "delete_all", "sum": "/n", "at_most": 10_000},
        {"tool": "*", "at_most": 3},
    ]
    turns = [{"prompt": "find it"}, {"prompt": "?", "expected_calls": expected}]
    talk: dict[str, Any] = {"id": "talk", "turns": turns, "policies": policies}

    def mutated_talk(**fields: Any) -> SuiteMutation:
        suite = {"name": "s", "tools": TOOLS, "test_cases": [{**talk, **fields}]}
        return mutate_suite(Suite.model_validate(suite))

    found = mutated_talk()
    assert (found.unnoticed, found.cases[0].unknown) == ((), "")
    assert not [each for each in found.cases[0].survivors if each.kind == "wrong_end"]
    lenient = mutated_talk(thresholds={"overall": 0.5, "policies": None})
    ended = [each for each in lenient.cases[0].survivors if each.kind == "wrong_end"]
    assert [(each.gap, each.add) for each in ended] == [
        ("threshold", '"thresholds": {"overall": 1.0}')
    ] * 2
    assert len(lenient.unnoticed) == 4


def test_an_agent_that_does_not_wait_for_an_approval_is_noticed() -> None:
    approved = {"tool": "delete_all", "after_approval": True}
    turns = [{"prompt": "?", "expected_calls": [{"tool": "delete_all"}]}]
    talk = {"id": "talk", "turns": turns, "policies": [approved]}

    def unnoticed(**fields: Any) -> list[str]:
        suite = {"name": "s", "tools": TOOLS, "test_cases": [{**talk, **fields}]}
        found = mutate_suite(Suite.model_validate(suite))
        assert not [case.unknown for case in found.cases if case.unknown]
        return list(found.unnoticed)

    assert unnoticed() == []
    assert unnoticed(thresholds={"policies": 0}) == ["talk: policies[0]: delete_all only after approval"]


@pytest.mark.parametrize("looks", ["get_weather", "get_*"])
def test_the_right_answer_makes_the_calls_that_a_policy_needs(looks: str) -> None:
    lookup = {"tool": looks, "params": {"city": {"$same": "/order"}}}
    expected = [{"tool": "refund", "params": {"order": "A1"}}]
    turn = {"prompt": "?", "expected_calls": expected, "match": "contains"}
    suite = {
        "name": "s",
        "tools": [*TOOLS, named("refund", order={"type": "string"})],
        "policies": [{"tool": "refund", "only_after": lookup}],
        "test_cases": [{"id": "talk", "turns": [turn]}],
    }
    (found,) = mutate_suite(Suite.model_validate(suite)).cases
    assert [(call.name, call.arguments) for call in found.calls or ()] == [
        ("get_weather", {"city": "A1"}),
        ("refund", {"order": "A1"}),
    ]
