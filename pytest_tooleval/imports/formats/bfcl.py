"""The public files of the Berkeley Function Calling Leaderboard (BFCL, v3 and v4) as test cases.

A category has a file of questions and a file of possible answers, both JSON lines. The leaderboard's
checker (`bfcl_eval/eval_checker/ast_eval/ast_checker.py`, Python categories) judges a call by the types
in the tool's schema and a list of allowed values. With `param_scoring: "bfcl"`, the cases accept the
same calls, except for Python's `True == 1` inside objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from ...errors import SuiteError
from ...explain import describe, show
from ...record.untrusted import as_list, as_mapping, as_text
from ...suite.made_cases import case_problem
from ...suite.tool_names import provider_name
from ..format import Format, Source
from ..items import Item, WholeSuite
from ..openai_tools import as_type
from ..records import UnusableError, read_records
from ..tool_dialects import as_json_schema

_CATEGORY = re.compile(r"(?:live_)?([a-z]+(?:_[a-z]+)*)_\d")
_FILE = re.compile(r"BFCL_(v\d+)_(\w+)\.jsonl?")
_NEVER: dict[str, Any] = {"$any_of": []}
_LANGUAGE = "its answers are judged as {} source code, which a suite cannot express"
_AGENT = "its answers need BFCL's own simulated environment; use mocks for such chains"
_EXECUTED = "its calls are judged by running them, which a suite cannot express"
_REFUSED = {
    "javascript": _LANGUAGE.format("JavaScript"),
    "simple_javascript": _LANGUAGE.format("JavaScript"),
    "java": _LANGUAGE.format("Java"),
    "simple_java": _LANGUAGE.format("Java"),
    "memory": _AGENT,
    "web_search": _AGENT,
    "rest": _EXECUTED,
    "sql": "its answers are judged by people",
    "chatable": "it has no tools",
    "format_sensitivity": "it only lists questions of other categories; convert those",
}
_FAMILIES = {"exec_": _EXECUTED, "multi_turn_": _AGENT}
_WITHOUT_ANSWERS = ("irrelevance", "relevance")


def _id(entry: Any) -> str | None:
    name = as_mapping(entry).get("id")
    return name if isinstance(name, str) else None


def _case(questions: Path, entry: Any, truths: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A case for a question. UnusableError if a suite cannot express its category, or has no answer."""
    name, match = _id(entry), _FILE.fullmatch(questions.name)
    category = match[2] if match and name is None else _category(name or "")
    family = next((why for begin, why in _FAMILIES.items() if f"{category}_".startswith(begin)), None)
    reason = _REFUSED.get(category, family)
    if reason is not None:
        raise UnusableError(f"the category {category} cannot be converted: {reason}")
    if name is None:
        raise UnusableError(f'expected an object with an "id", got {describe(entry)}')
    if name not in truths and category not in _WITHOUT_ANSWERS:
        raise UnusableError(f"no answer{where}")
    functions = entry.get("function")
    if not isinstance(functions, list):
        raise UnusableError(f'"function": expected a list of functions, got {describe(functions)}')
    names = _tool_names(functions)
    tools = [_tool(function, names) for function in functions]
    case = {"id": name, "prompt": _prompt(entry.get("question")), "tools": tools}
    if category == "irrelevance":
        return {**case, "expected_calls": []}
    if category == "relevance":
        return {**case, "expected_tool": "*", "param_scoring": "bfcl"}
    by_name = {function["name"]: function for function in functions}
    return {**case, "expected_calls": _calls(truths[name], by_name, names), "param_scoring": "bfcl"}


def _category(name: str) -> str:
    match = _CATEGORY.match(name)
    return match[1] if match else ""


def _prompt(question: Any) -> Any:
    """The one turn of a question."""
    if not isinstance(question, list) or not all(isinstance(turn, list) for turn in question):
        raise UnusableError(f'"question": expected a list of turns, got {describe(question)}')
    if len(question) != 1:
        raise UnusableError(f'"question": expected one turn, got {len(question)}')
    messages = question[0]
    if len(messages) == 1 and as_mapping(messages[0]).get("role") == "user":
        return messages[0].get("content")
    return messages


def _tool_names(functions: Sequence[Any]) -> dict[str, str]:
    names: dict[str, str] = {}
    for function in functions:
        name = as_text(as_mapping(function).get("name"))
        if not name:
            raise UnusableError(f'expected a function with a "name", got {describe(function)}')
        if name in names:
            raise UnusableError(f"the function {show(name)} appears twice")
        names[name] = provider_name(name.replace(".", "_"), names.values())
    return names


def _tool(function: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    definition = {**function, "name": names[function["name"]]}
    if "parameters" in function:
        definition["parameters"] = as_json_schema(function["parameters"])
    return {"type": "function", "function": definition}


def _calls(
    truth: Any, functions: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    calls = []
    for call in as_type(truth, _GroundTruth, "the answer's ground_truth"):
        ((name, allowed),) = call.items()
        if name not in functions:
            raise UnusableError(f"the answer calls {show(name)}, which is not among the functions")
        schema = functions[name].get("parameters")
        calls.append({"tool": names[name], "params": _params(allowed, schema)})
    return calls


def _params(allowed: Mapping[str, list[Any]], schema: Any) -> dict[str, Any]:
    schema = as_mapping(schema)
    properties, required = as_mapping(schema.get("properties")), as_list(schema.get("required"))
    params: dict[str, Any] = {}
    for name, values in allowed.items():
        alternatives = _distinct(allowed_values(values, properties.get(name)))
        if "" not in values or name in required:
            params[name] = _any_of(alternatives)
        elif alternatives:
            params[name] = {"$optional": _any_of(alternatives)}
        # else no value is right, so the parameter is unexpected
    for name in required:
        if name not in allowed:
            params[name] = _NEVER
    return params


def _any_of(alternatives: list[Any]) -> Any:
    return alternatives[0] if len(alternatives) == 1 else {"$any_of": alternatives}


def _distinct(values: Iterable[Any]) -> list[Any]:
    """The values without duplicates; 1, 1.0 and true are different."""
    return list({repr(value): value for value in values}.values())


def allowed_values(values: list[Any], schema: Any) -> list[Any]:
    """Expected values that accept what BFCL accepts for a parameter with this schema.

    The checker accepts values of the schema's type, and of the type of the first allowed value that is
    not "" (it calls these variables, and compares them unchanged).
    """
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    first = next((type(value) for value in values if value != ""), None)
    if kind in ("string", "any"):
        if first in (None, str):
            return [value for value in values if isinstance(value, str)]
        return _raw(values, {str, first})
    if kind in ("array", "tuple"):
        if first in (None, list):
            return _lists(values, schema.get("items"))
        return _raw(values, {list, first})
    if kind == "dict":
        if first in (None, dict):
            return [_object(value) for value in values if isinstance(value, dict)]
        return _raw(values, {dict, first})
    if kind not in _SIMPLE_TYPES:
        raise UnusableError(f"a parameter of the type {show(kind)}, which BFCL does not have")
    return _raw(values, {*_SIMPLE_TYPES[kind], first})


# Each call is a function and its parameters, each with its allowed values.
_TrueCall = Annotated[dict[str, dict[str, list[Any]]], Meta(min_length=1, max_length=1)]
_GroundTruth = Annotated[list[_TrueCall], Meta(min_length=1)]
_ANY_TYPE: set[Any] = {str, bool, int, float, list, dict, type(None)}
_SIMPLE_TYPES: dict[Any, tuple[type, ...]] = {
    "integer": (int,),
    "float": (int, float),  # at the top level an integer will do
    "boolean": (bool,),
}
_ITEM_TYPES: dict[Any, type] = {
    "string": str,
    "any": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
}


def _raw(values: Iterable[Any], types: set[Any]) -> list[Any]:
    """Values that BFCL compares by Python's equality with one of these types."""
    return [expected for value in values for expected in _raw_value(value, types)]


def _raw_value(value: Any, types: set[Any]) -> list[Any]:
    """The expected value, or nothing if no value of the types can be equal to it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, types)
    if type(value) not in types:
        return []
    if isinstance(value, str):
        return [{"$exact": value}]
    if isinstance(value, list):
        return [[_raw_inside(member) for member in value]]
    if isinstance(value, dict):
        return [{key: _raw_inside(member) for key, member in value.items()}]
    return [value]


def _raw_inside(value: Any) -> Any:
    return _raw_value(value, _ANY_TYPE)[0]


def _number(value: int | float, types: set[Any]) -> list[Any]:
    """In the `bfcl` mode, 5 matches only 5, and 5.0 also matches 5."""
    if float in types:
        number = float(value)
        return [number] if int in types else [{"$exact": number}]
    whole = isinstance(value, int) or value.is_integer()
    return [int(value)] if whole and int in types else []


def _lists(values: Iterable[Any], items: Any) -> list[Any]:
    item_type = _ITEM_TYPES.get(as_mapping(items).get("type"))
    lists: list[Any] = []
    for value in values:
        if value == "":
            lists.append([])  # the checker walks over the characters of "" and finds none
        elif isinstance(value, list) and item_type is dict:
            lists.append([_object(member) for member in value])
        elif isinstance(value, list):
            first = next((type(member) for member in value if member != ""), None)
            lists.append([_item(member, {item_type, first}) for member in value])
    return lists


def _item(value: Any, types: set[Any]) -> Any:
    if isinstance(value, str) and str in types:
        return value
    if isinstance(value, (list, dict)):
        return _raw_inside(value)
    return next(iter(_raw_value(value, types)), _NEVER)


def _object(value: Any) -> Any:
    """An object whose keys have lists of allowed values."""
    if not isinstance(value, dict):
        raise UnusableError(f"expected an object of allowed values, got {describe(value)}")
    return {key: _member(allowed) for key, allowed in value.items()}


def _member(allowed: Any) -> Any:
    if not isinstance(allowed, list):
        raise UnusableError(f"expected a list of allowed values, got {describe(allowed)}")
    alternatives = [value if isinstance(value, str) else _raw_inside(value) for value in allowed]
    expected = _any_of(_distinct(alternatives))
    return {"$optional": expected} if "" in allowed else expected


def _holds(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and bool({"question", "ground_truth"} & {*value})


def _read(sources: Sequence[Source]) -> Iterator[Item]:
    """The suite of each file of questions. Files of answers may be among the sources.

    All categories but irrelevance and relevance need answers.
    """
    answers = [each for each in sources if "ground_truth" in as_mapping(each.records[0].value)]
    for source in (each for each in sources if each not in answers):
        named = [each for each in answers if each.path.name == source.path.name]
        try:
            beside = next(iter(named or answers), None) or _beside(source)
        except SuiteError as error:
            yield from error.problems
            continue
        where = f" in {beside.path}" if beside else "; also name the file of answers"
        values = [as_mapping(record.value) for record in (beside.records if beside else ())]
        truths = {str(_id(each)): each.get("ground_truth") for each in values}
        cases: list[dict[str, Any]] = []
        lines: dict[str, int] = {}
        for record in source.records:
            try:
                case = _case(source.path, record.value, truths, where)
                if first := lines.get(case["id"]):
                    raise UnusableError(f"the id {show(case['id'])} is already used on line {first}")
                if problem := case_problem(case):
                    raise UnusableError(problem)
                lines[case["id"]] = record.line
                cases.append(case)
            except UnusableError as error:
                yield record.problem(str(error))
        yield WholeSuite(source.records[0].location, _suite(source.path, cases))


def _suite(questions: Path, cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    match = _FILE.fullmatch(questions.name)
    return {
        "name": f"BFCL {match[1]} {match[2]}" if match else questions.stem,
        "description": f"Converted from {questions.name} of the Berkeley Function Calling Leaderboard "
        "(Apache-2.0, https://github.com/ShishirPatil/gorilla). Changed: tool schemas made valid JSON "
        "Schema, '.' in tool names replaced by '_', ground truth rewritten as expected calls.",
        "tools": [],
        "test_cases": cases,
    }


def _beside(questions: Source) -> Source | None:
    """The answers to a question file, where the public data has them; None if there are none."""
    path = questions.path.parent / "possible_answer" / questions.path.name
    if not path.is_file():
        return None
    records, problems = read_records(path)
    if problems:
        raise SuiteError(problems)
    return questions.beside(path, records)


FORMAT = Format(
    title="questions of BFCL",
    recognised="`id` and `question`, of BFCL v3 and v4; the answers are found beside it",
    expectations="calls, or none",
    example="BFCL_v4_live_multiple.json",
    holds=_holds,
    read=_read,
)
