"""The shape of mock responses: plain answers, `$sequence`, `$when` and `$exact`.

A mock is any JSON value, which answers every call. `{"$sequence": [...]}` lists the answers in call
order. `{"$when": [{"params": {...}, "answer": ...}]}` answers with the first entry whose params match;
the last entry may omit params, and each answer may be a `$sequence`. `{"$exact": ...}` is the value
itself. A list of content parts with an image, as in a chat message, is sent as such.
"""

from __future__ import annotations

from typing import Any

from ..explain import describe, nearest
from ..findings import Finding, Findings, Loc
from ..matchers.combined import Exact
from ..matchers.matcher import matcher_findings
from ..record.images import has_images, image_problem, is_image

SEQUENCE = "$sequence"
EXACT = Exact.key
WHEN = "$when"

# The answer to a call that is scored, but not run. After it, a model is not queried again, but an agent
# continues, and would retry after an error.
SCORED_ONLY = '{"status": "accepted; the tool is not run in this test"}'

_MOCK = f'{{"{SEQUENCE}": [...]}} or {{"{WHEN}": [...]}}'
_IN_MCP = {"type", "data", "mimeType"}
_PARTS = (
    'a part such as {"type": "text", "text": "..."} or '
    '{"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}'
)
_LIST_HINT = f'for a list that is only data, write {{"{EXACT}": [...]}}'
_EXACT_HINT = f'for an answer that looks like this, write {{"{EXACT}": {{...}}}}'


def mock_findings(answer: Any, at: Loc) -> Findings:
    """Yield what is wrong with the mock at `at`."""
    if isinstance(answer, list):
        yield from _image_findings(answer, at)
    if not isinstance(answer, dict):
        return
    special = [key for key in answer if key in (SEQUENCE, WHEN, EXACT)]
    if special and len(answer) > 1:
        yield Finding(at, f'"{special[0]}" must be the only key of the object; {_EXACT_HINT}')
    elif SEQUENCE in answer:
        if not isinstance(answer[SEQUENCE], list) or not answer[SEQUENCE]:
            message = f"expected a non-empty list of answers, got {describe(answer[SEQUENCE])}"
            yield Finding((*at, SEQUENCE), message)
            return
        for index, item in enumerate(answer[SEQUENCE]):
            if isinstance(item, list):
                yield from _image_findings(item, (*at, SEQUENCE, index))
    elif WHEN in answer:
        yield from _when(answer[WHEN], (*at, WHEN))
    elif len(answer) == 1 and EXACT not in answer:
        (key,) = answer
        if key.startswith("$"):
            near = nearest(key, (SEQUENCE, WHEN, EXACT))
            hint = f', did you mean "{near}"?' if near else f"; a mock is a plain answer, {_MOCK}"
            yield Finding((*at, key), f"unknown{hint}; {_EXACT_HINT}", at_key=True)


def _image_findings(parts: list[Any], at: Loc) -> Findings:
    """Yield what is wrong with parts of which one is an image, as in a chat message or in MCP."""
    in_mcp = any(isinstance(part, dict) and part.keys() >= _IN_MCP for part in parts)
    for index, part in enumerate(parts if in_mcp or has_images(parts) else ()):
        is_text = isinstance(part, dict) and isinstance(part.get("text"), str)
        if is_image(part):
            if problem := image_problem(part):
                yield Finding((*at, index, "image_url"), f"{problem}; {_LIST_HINT}")
        elif not is_text or part.get("type") != "text":
            yield Finding((*at, index), f"expected {_PARTS}, got {describe(part)}; {_LIST_HINT}")


def _when(entries: Any, at: Loc) -> Findings:
    example = '{"params": {"city": "Paris"}, "answer": ...}'
    if not isinstance(entries, list) or not entries:
        message = f"expected a non-empty list of entries such as {example}, got {describe(entries)}"
        yield Finding(at, message)
        return
    for index, entry in enumerate(entries):
        here = (*at, index)
        if not isinstance(entry, dict):
            yield Finding(here, f"expected an object such as {example}, got {describe(entry)}")
            continue
        for key in entry:
            if key not in ("params", "answer"):
                yield Finding((*here, key), "unknown field; expected params or answer", at_key=True)
        if "answer" not in entry:
            yield Finding((*here, "answer"), "missing; expected the tool's answer, any JSON value")
        elif isinstance(answer := entry["answer"], dict) and WHEN in answer:
            message = f"an entry cannot contain another {WHEN}; put all entries into one list"
            yield Finding((*here, "answer", WHEN), message, at_key=True)
        else:
            yield from mock_findings(answer, (*here, "answer"))
        if "params" not in entry:
            if index < len(entries) - 1:
                message = "an entry without params answers every call, so it must be the last"
                yield Finding(here, message)
        elif isinstance(params := entry["params"], dict):
            yield from matcher_findings(params, (*here, "params"))
        else:
            message = f"expected an object of argument names and values, got {describe(params)}"
            yield Finding((*here, "params"), message)
