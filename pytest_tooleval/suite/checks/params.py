"""Expected params that the schemas of their tools do not accept."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...explain import describe
from ...explain import field_path
from ...explain import listing
from ...explain import nearest
from ...explain import show
from ...findings import Finding
from ...findings import Findings
from ...findings import Loc
from ...jsonschemas.exact import KEYWORDS
from ...jsonschemas.plain import is_plainly_valid
from ...matchers.shape import ANY_OF
from ...matchers.shape import EXACT
from ...matchers.shape import OPTIONAL
from ...matchers.shape import UNORDERED
from ...matchers.shape import matcher_key
from ...record.names import same_tool
from ...text import printable
from ..mocks import WHEN
from ..model import ANY_TOOL
from ..model import Expectations
from ..model import ExpectedCall
from ..model import Tool
from .scope import Scope

_Expected = Iterator[tuple[Collection[str], dict[str, Any], Loc]]


def params_warnings(scope: Scope) -> Findings:
    """Of the calls that a case and its turns expect or forbid, and of the conditions of its mocks."""
    for part in scope.parts:
        for names, params, at in (*_expected(part.part, part.at), *_mocked(part)):
            yield from _params(names, params, at, scope.tools.tools)
    yield from forbidden_params_warnings(scope.case.forbidden_calls, scope.at, scope.tools.tools)


def forbidden_params_warnings(
    calls: Sequence[str | ExpectedCall] | None, at: Loc, tools: Sequence[Tool]
) -> Findings:
    """Of forbidden calls: without a tool that accepts the params, they forbid nothing."""
    for index, call in enumerate(calls or ()):
        if isinstance(call, ExpectedCall) and call.params:
            place = (*at, "forbidden_calls", index, "params")
            yield from _params(call.tools, call.params, place, tools)


def _expected(part: Expectations, at: Loc) -> _Expected:
    """Acceptable tools, the params expected of them, and the path of these."""
    if part.expected_params:
        yield part.expected_tools, part.expected_params, (*at, "expected_params")
    for index, call in enumerate(part.expected_calls or ()):
        if call.params:
            yield call.tools, call.params, (*at, "expected_calls", index, "params")


def _mocked(scope: Scope) -> _Expected:
    if scope.turn is not None:
        return
    for name, mock in scope.case.mock_responses.items():
        if isinstance(mock, dict) and WHEN in mock:
            at = (*scope.at, "mock_responses", name, WHEN)
            for index, entry in enumerate(mock[WHEN]):
                yield (name,), entry.get("params", {}), (*at, index, "params")


def _parameters(tool: Tool) -> dict[str, Any]:
    return tool.function.parameters or {}


def properties_of(tool: Tool) -> Mapping[str, Any]:
    """The parameters of a tool, by name."""
    properties: Mapping[str, Any] = _parameters(tool).get("properties", {})
    return properties


def _params(names: Collection[str], params: dict[str, Any], at: Loc, tools: Sequence[Tool]) -> Findings:
    """Params that none of the acceptable tools accepts with the expected value."""
    offered = [tool.name for tool in tools]
    acceptable = [
        tool
        for tool in tools
        if ANY_TOOL in names or any(same_tool(each, tool.name, offered) for each in names)
    ]
    known = {parameter: None for tool in acceptable for parameter in properties_of(tool)}
    for name, expected in params.items() if acceptable else ():
        taking = [tool for tool in acceptable if takes(tool, name)]
        if not taking:
            yield Finding((*at, name), _untaken(name, acceptable, known), at_key=True)
            continue
        values = _alternatives(expected)
        reasons = [_reason(tool, name, value) for value in values for tool in taking]
        if reasons and all(reasons):
            what = describe(values[0]) + (" (like all the other values)" if len(values) > 1 else "")
            message = f"{what} does not match the schema of {show(taking[0].name)}: {reasons[0]}"
            yield Finding((*at, name), message)


def _reason(tool: Tool, name: str, value: Any) -> str | None:
    """Why a value breaks the schema of a parameter; None if it does not, or if that is unknown."""
    schema = properties_of(tool).get(name)
    if not isinstance(schema, dict) or is_plainly_valid(schema, value):
        return None
    from jsonschema.exceptions import best_match
    from referencing import Registry

    # The registry is empty, so that nothing is fetched.
    validator = _validator_class()(_parameters(tool), registry=Registry())
    try:
        error = best_match(validator.descend(value, schema))
    except Exception:  # an unknown reference, or an endlessly recursive schema
        return None
    return None if error is None else _reason_text(error)


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    """A validator that ignores patterns, which may be slow."""
    from jsonschema import Draft202012Validator
    from jsonschema import validators

    extend: Any = validators.extend
    return extend(Draft202012Validator, {**KEYWORDS, "pattern": None, "patternProperties": None})


def _reason_text(error: Any) -> str:
    place = f"{field_path(error.path)}: " if error.path else ""
    if error.validator == "type":
        return f"{place}expected type {show(error.validator_value)}"
    if error.validator == "enum":
        return f"{place}expected one of {show(error.validator_value, 120)}"
    return f"{place}{printable(str(error.message)[:200])}"


def takes(tool: Tool, name: str) -> bool:
    """Whether a tool has a parameter of this name, or may have."""
    parameters = _parameters(tool)
    # These may define further parameters.
    if any(key in parameters for key in ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties")):
        return True
    return name in properties_of(tool) or parameters.get("additionalProperties", False) is not False


def _untaken(name: str, tools: list[Tool], known: Collection[str]) -> str:
    owner = show(tools[0].name) if len(tools) == 1 else "any of the expected tools"
    near = nearest(name, known)
    if near:
        return f"not a parameter of {owner}, did you mean {show(near)}?"
    rest = f"; its parameters are {listing(known)}" if known else ", which has no parameters"
    return f"not a parameter of {owner}{rest}"


def _alternatives(expected: Any) -> list[Any]:
    """All right values, if they can be listed."""
    key = matcher_key(expected)
    if key == OPTIONAL:
        return _alternatives(expected[OPTIONAL])
    if key == ANY_OF:
        members = [_alternatives(member) for member in expected[ANY_OF]]
        return [value for values in members for value in values] if all(members) else []
    literal, value = _literal(expected)
    return [value] if literal else []


def _literal(expected: Any) -> tuple[bool, Any]:
    """Whether an expected value accepts a single value, and that value; most matchers accept more."""
    key = matcher_key(expected)
    if key == EXACT:
        return True, expected[EXACT]
    if key in (OPTIONAL, UNORDERED):
        return _literal(expected[key])
    if key is not None:
        return False, None
    if isinstance(expected, list):
        members = [_literal(member) for member in expected]
        return all(literal for literal, _ in members), [value for _, value in members]
    if isinstance(expected, dict):
        literal, members = _literal([*expected.values()])
        return literal, dict(zip(expected, members or (), strict=False))
    return True, expected
