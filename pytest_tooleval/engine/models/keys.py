"""The keys of models, from variables of the environment."""

from __future__ import annotations

import os

from ...errors import ModelError
from .known import INSTALL, has_litellm
from .spec import ModelSpec


def key_from(spec: ModelSpec) -> str | None:
    """The API key of a model, if its variable is known. Raises ModelError if that is empty."""
    variable = spec.key_variable
    return None if variable is None else _value_of(variable, "the API key", spec)


def require_client(spec: ModelSpec) -> None:
    """Raise ModelError if the model's client is not installed."""
    if spec.needs_litellm and not has_litellm():
        raise ModelError(
            f"{spec.model}: needs litellm; {INSTALL} ({spec.place})", kind="bad_request", fatal=True
        )


def headers_from(spec: ModelSpec) -> dict[str, str]:
    """The headers of an agent at an address. Raises ModelError if a variable is empty."""
    return {
        name: _value_of(value, f"the value of the header {name}", spec)
        for name, value in spec.headers.items()
    }


def _value_of(variable: str, what: str, spec: ModelSpec) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(
            f"the environment variable {variable} is not set; set it to {what} for model "
            f"{spec.label!r} ({spec.place})",
            kind="credentials",
            fatal=True,
        )
    return value


def missing_key(spec: ModelSpec) -> str | None:
    """The message about a model's missing key or client; None if neither is known to be missing."""
    try:
        require_client(spec)
        key_from(spec)
        headers_from(spec)
    except ModelError as error:
        return error.message
    return None
