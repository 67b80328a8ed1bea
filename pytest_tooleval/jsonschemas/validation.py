"""Validate values against JSON Schemas (draft 2020-12); both are untrusted.

Validation is jsonschema's, with five differences: numbers are exact decimals, patterns have a time
limit, a `$ref` never leads out of the schema, a validation has a time limit, and older keywords are
obeyed. CannotCompare is raised for unusable schemas.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from ..errors import CannotCompare
from ..explain import field_path, show
from ..record.calls import is_nested_deeper
from ..text import printable
from . import patterns
from .exact import KEYWORDS, Keyword
from .older import TODAY, modern
from .subschemas import change_all
from .well_formed import TYPES

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_MAX_CACHED = 4096
_DEEP = 60

_clock = threading.local()
# Validators by the `id()` of their source, which is kept so that its id is not reused.
_validators: dict[int, tuple[Any, Any]] = {}


def _validator(source: Any) -> Any:
    kept = _validators.get(id(source))
    if kept is None:
        from referencing import Registry

        if len(_validators) >= _MAX_CACHED:
            _validators.clear()
        # An empty registry: a remote $ref must not become a request.
        validator = _validator_class()(_prepared(source), registry=Registry())
        kept = _validators[id(source)] = (source, validator)
    return kept[1]


def is_valid(schema: Any, value: Any) -> bool:
    """True if the value is valid. Raises CannotCompare if the schema is unusable."""
    return is_plainly_valid(schema, value) or next(_errors(schema, value), None) is None


def errors(schema: Any, value: Any, limit: int = 3) -> list[str]:
    """Return why a value is not valid: up to `limit` lines such as `city: 5 is not of type 'string'`."""
    return [text for _, text in islice(violations(schema, value), limit)]


def violations(schema: Any, value: Any) -> Iterator[tuple[str | None, str]]:
    """Yield the lines of `errors`, each with the member of the object that it concerns."""
    return ((_member(error), _line(error, _message(error))) for error in _errors(schema, value))


def parameter_problem(parameters: Mapping[str, Any], name: str, value: Any) -> str | None:
    """Return why a tool's parameter cannot have this value; None if it can or is not a property."""
    properties = parameters.get("properties", {})
    if name not in properties or is_plainly_valid(properties[name], value):
        return None
    from jsonschema.exceptions import best_match

    error = best_match(_errors(parameters, value, name))
    return None if error is None else _reason(error)


def rejected_texts(schema: Any, value: Any) -> Iterator[tuple[Sequence[Any], str, set[str]]]:
    """Yield the texts in a value for which a schema takes only other types, with path and types."""
    waiting = [] if is_plainly_valid(schema, value) else [*_errors(schema, value)]
    for error in waiting:
        waiting += error.context or ()
        path, operand = [*error.absolute_path], cast("Any", error.validator_value)
        if path and isinstance(error.instance, str):
            if error.validator == "type":
                yield path, error.instance, {operand} if isinstance(operand, str) else {*operand}
            elif error.validator in ("enum", "const"):
                listed = operand if error.validator == "enum" else [operand]
                yield path, error.instance, {kind for each in listed for kind in types_of(each)}


def types_of(value: Any) -> set[str]:
    """Return the types that a value has in JSON Schema."""
    from jsonschema import Draft202012Validator

    return {kind for kind in TYPES if Draft202012Validator.TYPE_CHECKER.is_type(value, kind)}


def _errors(schema: Any, value: Any, name: str | None = None) -> Iterator[ValidationError]:
    """Yield why a value, or with `name`, a property's value, is not valid. Raises CannotCompare."""
    from jsonschema.exceptions import UnknownType, ValidationError
    from referencing.exceptions import Unresolvable

    try:
        validator = _validator(schema)
        _clock.end = time.thread_time() + patterns.MATCH_TIMEOUT_S
        if name is None:
            yield from validator.iter_errors(value)
        else:
            yield from validator.descend(value, validator.schema["properties"][name])
    except Unresolvable as error:
        raise CannotCompare(
            f"the JSON Schema does not contain the target of a $ref ({error}); put it into $defs"
        ) from None
    except UnknownType as error:
        first = str(error).strip().splitlines()[0]
        raise CannotCompare(f"the JSON Schema is not valid: {first}") from None
    except RecursionError:
        if not is_nested_deeper(value, _DEEP):
            raise CannotCompare("the JSON Schema refers to itself endlessly") from None
        yield ValidationError(f"nested deeper than {_DEEP} levels")
    except OverflowError as error:
        yield ValidationError(f"a number is too large: {error}")
    except (TypeError, AttributeError, KeyError, ValueError, ZeroDivisionError) as error:
        # A keyword has a value of the wrong type, in a schema that was not checked when loading a suite.
        raise CannotCompare(f"the JSON Schema is not valid: {error!r}") from None


def _member(error: ValidationError) -> str | None:
    """Return the member of the outermost object that an error concerns, if it is a single one."""
    if error.path:
        return str(error.path[0])
    # Each missing or invented member has its own error, and only the message names it.
    named: Any = {"required": error.validator_value, "additionalProperties": error.instance}
    names = named.get(error.validator, ())
    return next((name for name in names if error.message.startswith(repr(name))), None)


def _message(error: ValidationError) -> str:
    value, listed = error.instance, cast("Any", error.validator_value)
    if error.validator == "enum" and isinstance(value, str):
        folded = (each.casefold() for each in listed if isinstance(each, str))
        if value.casefold() in folded:
            return f"{error.message}: the schema's enum keeps case"
    return str(error.message)


def _line(error: ValidationError, message: str) -> str:
    return f"{field_path(error.path)}: {message}" if error.path else message


def _reason(error: ValidationError) -> str:
    """Return the line for an error, worded as for suites."""
    if error.validator == "type":
        return _line(error, f"expected type {show(error.validator_value)}")
    if error.validator == "enum":
        return _line(error, f"expected one of {show(error.validator_value, 120)}")
    return _line(error, printable(error.message[:200]))


def _prepared(schema: Any) -> Any:
    text = json.dumps(schema)
    if '"unevaluatedProperties"' in text and '"patternProperties"' in text:
        # jsonschema collects evaluated properties with `re`, which has no time limit.
        raise CannotCompare("unevaluatedProperties together with patternProperties is not supported")
    if any(f'"{key}"' in text for key in TODAY):
        schema = change_all(schema, modern)
    return _without_dialect(schema) if '"$schema"' in text else schema


def _without_dialect(schema: Any) -> Any:
    """Remove `$schema`, which would make jsonschema switch to a class without our limits."""
    if isinstance(schema, dict):
        return {
            key: value if key in ("enum", "const", "default", "examples") else _without_dialect(value)
            for key, value in schema.items()
            if not (key == "$schema" and isinstance(value, str))
        }
    return [_without_dialect(member) for member in schema] if isinstance(schema, list) else schema


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators

    overrides: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    keywords = {**Draft202012Validator.VALIDATORS, **KEYWORDS, **overrides}
    timed = {name: _timed(keyword) for name, keyword in keywords.items()}
    extend: Any = validators.extend
    return extend(Draft202012Validator, timed)


def _timed(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if time.thread_time() > _clock.end:
            raise CannotCompare(
                f"validation against the JSON Schema took longer than {patterns.MATCH_TIMEOUT_S:g} s; "
                "make the schema simpler (nested anyOf, oneOf or $ref multiply the work)"
            )
        return keyword(validator, value, instance, schema)

    return check


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not patterns.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, schemas: dict[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in schemas.items():
        for name, member in instance.items():
            if patterns.search(pattern, name):
                yield from validator.descend(member, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    properties = schema.get("properties", {})
    others = schema.get("patternProperties", {})
    for name, member in instance.items():
        if name in properties or any(patterns.search(pattern, name) for pattern in others):
            continue
        if allowed is False:
            yield ValidationError(f"{name!r} is not one of the properties of the schema")
        else:
            yield from validator.descend(member, allowed, path=name)


_TYPES = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_MARKS = {"title", "description", "default", "examples"}
_PLAIN = {"type", "enum", "items", "properties", "required", "additionalProperties"} | _MARKS


def is_plainly_valid(schema: Any, value: Any) -> bool:
    """True if a value is certainly valid; if False, jsonschema must decide.

    This is enough for most calls, and saves importing jsonschema, which takes longer than scoring.
    """
    if not isinstance(schema, dict) or not _PLAIN.issuperset(schema):
        return False
    if "type" in schema:
        kind = schema["type"]
        if not isinstance(kind, str) or type(value) not in _TYPES.get(kind, ()):
            return False
    if "enum" in schema:
        listed = schema["enum"]
        return isinstance(value, str) and isinstance(listed, list) and value in listed
    if isinstance(value, list):
        return "items" not in schema or all(is_plainly_valid(schema["items"], each) for each in value)
    if not isinstance(value, dict):
        return True
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    more = schema.get("additionalProperties", True) is True
    return all(isinstance(name, str) and name in value for name in required) and all(
        is_plainly_valid(properties[name], member) if name in properties else more
        for name, member in value.items()
    )
