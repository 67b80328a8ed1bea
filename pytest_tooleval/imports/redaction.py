"""Removes keys and tokens from recordings before they are written."""

from __future__ import annotations

import re
from typing import Any

from ..secrets import PLACEHOLDER
from ..secrets import scrub_json
from ..secrets import sent_values

_SECRET = re.compile(
    r"\b(?:sk-[\w-]{20,}|[rps]k_(?:live|test)_\w{16,}|gsk_\w{20,}|hf_\w{20,}|gh[opsu]_\w{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{5,}|Bearer\s+[\w.~+/=-]{20,})"
)


def without_secrets(value: Any) -> tuple[Any, int]:
    """A JSON value with placeholders for secrets in its texts, and the number of these texts."""
    values = sent_values(None)
    count = 0

    def clean(value: Any) -> Any:
        nonlocal count
        if isinstance(value, str):
            if value.startswith("data:") and ";base64," in value[:100]:  # a picture
                return value
            made = _SECRET.sub(PLACEHOLDER, scrub_json(value, values))
            count += made != value
            return made
        if isinstance(value, list):
            return [clean(member) for member in value]
        if isinstance(value, dict):
            return {key: clean(member) for key, member in value.items()}
        return value

    return clean(value), count
