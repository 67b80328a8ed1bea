"""Names of tools: those in a suite, and names that OpenAI, Anthropic and Gemini all accept."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from ..record.names import full_name

MAX_NAME = 64
_HASH_LENGTH = 6
_LONGEST_READ = 1000
_ACCEPTED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_RUN = re.compile(r"[a-zA-Z0-9_-]+")


def definition_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The function of a suite's tool, or its custom tool."""
    definition: Mapping[str, Any] = tool.get("function") or tool["custom"]
    return definition


def name_in_suite(tool: Mapping[str, Any]) -> str:
    """The name by which cases know a suite's tool."""
    return full_name(str(definition_of(tool)["name"]), tool.get("namespace"))


def provider_name(name: str, taken: Collection[str] = ()) -> str:
    """A name of at most 64 letters, digits, `_` and `-` that begins with a letter or `_`.

    Accepted names are kept; `files/read.all` becomes `files_read_all`. A name that is too long, or equal
    to one in `taken` (ignoring case, as scoring does), ends in six digits of a checksum of the original,
    so that it does not depend on the other names.
    """
    return _free_name(name, {other.casefold() for other in taken})


def _free_name(name: str, used: Set[str]) -> str:
    preferred = name if _ACCEPTED.fullmatch(name) else _spelled(name[:_LONGEST_READ])
    if preferred and len(preferred) <= MAX_NAME and preferred.casefold() not in used:
        return preferred
    checksum = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in range(_HASH_LENGTH, len(checksum)):
        kept = preferred[: MAX_NAME - length - 1].rstrip("_-") or "tool"
        candidate = f"{kept}_{checksum[:length]}"
        if candidate.casefold() not in used:
            return candidate
    raise ValueError(f"no free name is left for {name!r}")


def provider_names(names: Iterable[str], mcp_names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Maps each original name to an accepted one; the names do not depend on the order.

    `mcp_names`, from a suite's metadata, maps accepted names of an earlier import to their originals:
    these are reused. Originals that are accepted themselves have precedence.
    """
    originals = dict.fromkeys(names)
    earlier = {original: accepted for accepted, original in (mcp_names or {}).items()}
    accepted = {name: earlier[name] for name in originals if name in earlier}
    rest = (name for name in originals if name not in accepted)
    used = {name.casefold() for name in accepted.values()}
    for name in sorted(rest, key=lambda name: (_ACCEPTED.fullmatch(name) is None, name)):
        accepted[name] = _free_name(name, used)
        used.add(accepted[name].casefold())
    return {name: accepted[name] for name in originals}


def _spelled(name: str) -> str:
    """The name with `_` for characters that are not accepted; empty if it has no others."""
    decomposed = unicodedata.normalize("NFKD", name)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    spelled = "_".join(_RUN.findall(plain))
    if not any(char.isalnum() for char in spelled):
        return ""
    return spelled if spelled[0].isalpha() or spelled[0] == "_" else f"_{spelled}"
