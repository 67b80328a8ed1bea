"""Arguments as the objects that a method's annotations name, such as a datetime or a pydantic model."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Union, get_args, get_origin
from uuid import UUID

from ..errors import WorldError, error_text
from ..text import near

_AS_SUCH = (dt.date, dt.time, dt.timedelta, Decimal, Enum, UUID, PurePath)

# Makes each argument what its parameter is annotated with; only those that are more than JSON.
Parsers = Mapping[str, Callable[[Any], Any]]


def signature_of(method: Callable[..., Any]) -> inspect.Signature:
    """Return a method's signature with its annotations resolved, without that of its result.

    Raises WorldError for a name that only type checkers know.
    """
    signature = inspect.signature(method)
    names = _globals(method)
    parameters = [
        each.replace(annotation=_resolved(method, each, names)) for each in signature.parameters.values()
    ]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _globals(method: Callable[..., Any]) -> dict[str, Any]:
    names: dict[str, Any] = getattr(_inner(inspect.unwrap(method)), "__globals__", {})
    return names


def _inner(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _resolved(method: Callable[..., Any], parameter: inspect.Parameter, names: dict[str, Any]) -> Any:
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    try:
        return eval(parameter.annotation, names, {})
    except Exception as error:
        raise WorldError(
            f"{qualified_name(method)}: the annotation of {parameter.name} cannot be resolved: "
            f"{error_text(error)}; import it where Python runs it, not under TYPE_CHECKING"
        ) from None


def qualified_name(method: Callable[..., Any]) -> str:
    """Return a method's name with its class, such as `Desk.refund`."""
    function = _inner(method)
    return str(getattr(function, "__qualname__", function))


def parsers_of(method: Callable[..., Any], *, is_exact: bool) -> Parsers:
    """Return what makes the objects that the method's parameters ask for.

    An int for a `float` becomes one, and 2.0 for an `int`, unless `is_exact`. Raises WorldError if
    pydantic cannot make the objects.
    """
    from pydantic import TypeAdapter

    parsers: dict[str, Callable[[Any], Any]] = {}
    for name, parameter in signature_of(method).parameters.items():
        if not is_exact and (as_number := _number(parameter.annotation)):
            parsers[name] = as_number
        elif _is_object(parameter.annotation):
            try:
                parsers[name] = TypeAdapter(parameter.annotation).validate_python
            except Exception as error:
                raise WorldError(
                    f"{qualified_name(method)}: {name} cannot be made of JSON: {error_text(error)}"
                ) from None
    return parsers


def _number(annotation: Any) -> Callable[[Any], Any] | None:
    """Return what makes numbers of the one kind that an annotation names; None for both or neither."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    kinds = get_args(annotation) if is_union else (annotation,)
    if int in kinds and float in kinds:
        return None
    return _as_int if int in kinds else _as_float if float in kinds else None


def _as_float(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        return value


def _as_int(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_object(annotation: Any) -> bool:
    """Whether an annotation is, or contains, a class that JSON does not have."""
    if isinstance(annotation, type) and (
        issubclass(annotation, _AS_SUCH)
        or dataclasses.is_dataclass(annotation)
        or hasattr(annotation, "model_validate")  # of pydantic
    ):
        return True
    return any(map(_is_object, get_args(annotation)))


def parsed_arguments(parsers: Parsers, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as objects. Raises ValueError, which names the argument."""
    from pydantic import ValidationError

    values = dict(arguments)
    for name, parse in parsers.items():
        if name in values:
            try:
                values[name] = parse(values[name])
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                where = ".".join(map(str, (name, *first["loc"])))
                raise ValueError(f"{where}: {first['msg']}") from None
    return values


def misfit(method: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """Return why the arguments do not fit a method's signature; None if they do."""
    signature = inspect.signature(method)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    for name in () if takes_any else arguments:
        if name not in signature.parameters:
            return f"there is no parameter {name}{near(name, signature.parameters)}"
    try:
        signature.bind(**arguments)
    except TypeError as error:
        return str(error)
    return None
