"""Models that would answer without the form that a case asks for are not asked."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import ModelError
from ..exchange.chat import RESPONSE_FORMAT, ChatRequest
from ..models.spec import LEXICAL, ModelSpec


def require_form(request: ChatRequest, spec: ModelSpec, set_by: Mapping[str, str]) -> None:
    """Raise ModelError if the model is known to drop the request's `response_format`."""
    if RESPONSE_FORMAT not in request.sampling:
        return
    if spec.model == LEXICAL:
        why = f"{LEXICAL} writes none"
    elif spec.url:
        why = f"an agent with a url gets only what its request in {spec.place} holds"
    elif RESPONSE_FORMAT in spec.omit:
        why = f"it is under omit in {spec.place}"
    else:
        return
    place = set_by.get(RESPONSE_FORMAT, "the case")
    raise ModelError(
        f"{RESPONSE_FORMAT} is set by {place}, and would not be sent: {why}; remove one of the two",
        kind="bad_request",
    )
