"""Images in tools' answers, for models that refuse them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import structs

from ...errors import ModelError
from ...record.images import in_words
from ..exchange.chat import ChatRequest

# Some take only strings, or no message of the user's after a tool's.
_REFUSAL = re.compile(r"image|vision|multi-?modal|\bstring\b|\broles?\b", re.IGNORECASE)
AS_TEXT: Mapping[str, str] = {
    "images": "texts such as [image: image/png, 12 kB], because this model takes none from tools"
}


def images_as_text(request: ChatRequest, refusal: ModelError) -> ChatRequest | None:
    """The request without images in tools' answers; None if these cannot be why it was refused."""
    if refusal.kind not in ("bad_request", "server") or not _REFUSAL.search(refusal.message):
        return None
    plain = [*map(in_words, request.messages)]
    return None if plain == [*request.messages] else structs.replace(request, messages=plain)
