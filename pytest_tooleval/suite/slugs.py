"""Ids for cases without one: a slug of the prompt, which is stable when cases are added."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable
from typing import Any

from ..record.transcript import text_of

MAX_SLUG = 50
_HASH_LENGTH = 6
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_APOSTROPHES = str.maketrans("", "", "'’")


def slug(prompt: str) -> str:
    """Return the words of a prompt in lower case, joined by hyphens; empty if there are none.

    A long prompt is cut at a word and gets six digits of a checksum of the whole prompt, so ids of
    prompts with the same beginning do not depend on each other or on their order.
    """
    words = _words(prompt.lower().translate(_APOSTROPHES))
    whole = "-".join(words)
    if len(whole) <= MAX_SLUG:
        return whole
    room = MAX_SLUG - _HASH_LENGTH - 1
    kept = whole[: room + 1].rpartition("-")[0] or whole[:room]
    checksum = zlib.crc32(prompt.encode("utf-8", "replace")) & 0xFFFFFF
    return f"{kept}-{checksum:06x}"


def assign_ids(prompts: Iterable[tuple[int, str]], taken: Collection[str]) -> list[str]:
    """Return an id for each case, all different and none in `taken`.

    Each case is given as its position in the file, from 1, and its prompt. A prompt without letters and
    digits gets `case-POSITION`.
    """
    return all_different((slug(prompt) or f"case-{position}" for position, prompt in prompts), taken)


def all_different(names: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """Return the names, the second of the same with the suffix `-2`, the third with `-3`."""
    used = set(taken)
    unique = []
    counts: dict[str, int] = {}
    for base in names:
        name, count = base, counts.get(base, 1)
        while name in used:
            count += 1
            name = f"{base}-{count}"
        counts[base] = count
        used.add(name)
        unique.append(name)
    return unique


def with_ids(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with a slug of the prompt as the id of every case without one."""
    cases = data.get("test_cases")
    if not isinstance(cases, list):
        return data
    taken = set()
    nameless: list[int] = []
    prompts: list[tuple[int, str]] = []
    for index, case in enumerate(cases):
        if not isinstance(case, dict):
            continue
        if isinstance(case.get("id"), str):
            taken.add(case["id"])
        elif case.get("id") is None:
            nameless.append(index)
            prompts.append((index + 1, prompt_text(_first_prompt(case))))
    named = list(cases)
    for index, name in zip(nameless, assign_ids(prompts, taken), strict=True):
        named[index] = {**cases[index], "id": name}
    return {**data, "test_cases": named}


def _first_prompt(case: dict[str, Any]) -> Any:
    turns, user = case.get("turns"), case.get("user")
    if isinstance(user, dict):
        return user.get("goal")
    first = turns[0] if isinstance(turns, list) and turns else case
    return first.get("prompt") if isinstance(first, dict) else None


def prompt_text(prompt: Any) -> str:
    """Return a prompt string, or the text of the last user message."""
    if isinstance(prompt, str):
        return prompt
    for message in reversed(prompt if isinstance(prompt, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_of(message)
    return ""


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    # Combining marks belong to the letter before them; `\w` would split Hindi and Thai words.
    kept = (
        char if unicodedata.category(char)[0] in "LNM" else " "
        for char in unicodedata.normalize("NFC", text)
    )
    return "".join(kept).split()
