"""What can go wrong with a request, beside other errors of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ModelError
from ..models.spec import ModelSpec
from .chat import RESPONSE_FORMAT


class ParameterRefused(ModelError):
    """The provider, or litellm on its behalf, refused a parameter of the request."""

    def __init__(self, message: str, parameter: str, value: object) -> None:
        super().__init__(f"the provider refused the request: {message}", kind="bad_request")
        self.parameter = parameter
        self.value = value

    def user_error(self, place: str, spec: ModelSpec) -> ModelError:
        """The error for a parameter that the user has set in `place`, with ways to fix it."""
        way = "leave it out" if place.startswith("--") else "remove it there"
        is_needed = self.parameter in ("tool_choice", RESPONSE_FORMAT)
        if spec.source and place != spec.source and not is_needed:
            way += f', or set omit = ["{self.parameter}"] in {spec.source}'
        text = f"{self.message} ({self.parameter} is set by {place}: {way})"
        return ModelError(text, kind="bad_request")


class NotRecorded(ModelError):
    """The answer to `asked` is not on the cassette, and may not be requested."""

    def __init__(self, question: Mapping[str, Any], message: str = "") -> None:
        super().__init__(message, kind="replay")
        self.asked = question
