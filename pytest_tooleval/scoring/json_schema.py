"""JSON Schema (draft 2020-12) for schemas and values that nobody has vetted.

Validation is jsonschema's, with three differences: patterns run with a time limit, a `$ref` is
never followed out of the schema, and the whole takes `TIMEOUT_S` seconds at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING
from typing import Any

from . import quick_schema
from . import regexes
from .problems import CannotCompare

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

TIMEOUT_S = 2.0
_MAX_CACHED = 4096
_DEEP = 60

_clock = threading.local()


class _Schema:
    """A schema made ready: a quick check if it is plain enough, else a jsonschema validator."""

    __slots__ = ("_validator", "quick", "source")

    def __init__(self, source: Any) -> None:
        self.source = source  # held, so that its id stays its own in the cache
        self.quick = quick_schema.compile_schema(source)
        self._validator: Any = None

    @property
    def validator(self) -> Any:
        if self._validator is None:
            from referencing import Registry

            # An empty registry: a remote $ref must not become a request.
            self._validator = _validator_class()(_prepared(self.source), registry=Registry())
        return self._validator


_schemas: dict[int, _Schema] = {}


def _ready(source: Any) -> _Schema:
    schema = _schemas.get(id(source))
    if schema is None or schema.source is not source:
        if len(_schemas) >= _MAX_CACHED:
            _schemas.clear()
        schema = _schemas[id(source)] = _Schema(source)
    return schema


def is_valid(schema: Any, value: Any) -> bool:
    """Whether the value is valid. Raises CannotCompare when the schema cannot be used."""
    ready = _ready(schema)
    return ready.quick(value) if ready.quick is not None else not errors(schema, value, limit=1)


def errors(schema: Any, value: Any, limit: int = 3) -> list[str]:
    """Why the value is not valid: at most `limit` lines such as `city: 5 is not of type 'string'`."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    _clock.end = time.monotonic() + TIMEOUT_S
    try:
        return [_line(error) for error in islice(_ready(schema).validator.iter_errors(value), limit)]
    except Unresolvable as error:
        raise CannotCompare(
            f"the JSON Schema has a $ref that leads nowhere in it ({error}); put its target into $defs"
        ) from None
    except (SchemaError, UnknownType) as error:
        first = str(error).strip().splitlines()[0]
        raise CannotCompare(f"the JSON Schema is not valid: {first}") from None
    except RecursionError:
        if _deep(value):
            return [f"nested deeper than {_DEEP} levels"]
        raise CannotCompare("the JSON Schema refers to itself without end") from None
    except OverflowError as error:
        return [f"a number is too large: {error}"]
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        # A keyword with a value of the wrong type; suites from files are checked when loaded.
        raise CannotCompare(f"the JSON Schema is not valid: {error!r}") from None


def _line(error: ValidationError) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
    return f"{place.lstrip('.')}: {error.message}" if place else error.message


def _prepared(schema: Any) -> Any:
    if _has_key(schema, "unevaluatedProperties") and _has_key(schema, "patternProperties"):
        # jsonschema collects evaluated properties with `re`, which has no time limit.
        raise CannotCompare("unevaluatedProperties together with patternProperties is not supported")
    return _without_dialect(schema)


def _has_key(schema: Any, key: str) -> bool:
    if isinstance(schema, dict):
        return key in schema or any(_has_key(value, key) for value in schema.values())
    return isinstance(schema, list) and any(_has_key(member, key) for member in schema)


def _without_dialect(schema: Any) -> Any:
    """The schema without `$schema`, on which jsonschema would change to a class without our limits."""
    if isinstance(schema, dict):
        return {
            key: value if key in ("enum", "const", "default", "examples") else _without_dialect(value)
            for key, value in schema.items()
            if not (key == "$schema" and isinstance(value, str))
        }
    return [_without_dialect(member) for member in schema] if isinstance(schema, list) else schema


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEP):
        level = [
            member
            for inner in level
            if isinstance(inner, (dict, list))
            for member in (inner.values() if isinstance(inner, dict) else inner)
        ]
    return bool(level)


Keyword = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema import validators

    own: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    keywords = {**Draft202012Validator.VALIDATORS, **own}
    timed = {name: _timed(keyword) for name, keyword in keywords.items()}
    extend: Any = validators.extend
    return extend(Draft202012Validator, timed)


def _timed(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if time.monotonic() > _clock.end:
            raise CannotCompare(
                f"validation against the JSON Schema took longer than {TIMEOUT_S:g} s; "
                "make the schema simpler (nested anyOf, oneOf or $ref multiply the work)"
            )
        return keyword(validator, value, instance, schema)

    return check


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not regexes.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, member in instance.items():
            if regexes.search(pattern, name):
                yield from validator.descend(member, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name, member in instance.items():
        if name in known or any(regexes.search(pattern, name) for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError(f"{name!r} is not one of the properties of the schema")
        else:
            yield from validator.descend(member, allowed, path=name)


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if unique and isinstance(instance, list) and len({_frozen(v) for v in instance}) < len(instance):
        yield ValidationError("the members of the list are not unique")


def _frozen(value: Any) -> Any:
    """A hashable stand-in that is equal exactly for values which are equal in JSON."""
    if isinstance(value, dict):
        return "object", frozenset((key, _frozen(member)) for key, member in value.items())
    if isinstance(value, list):
        return "list", tuple(_frozen(member) for member in value)
    return ("boolean", value) if isinstance(value, bool) else ("value", value)
