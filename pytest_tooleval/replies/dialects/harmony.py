"""Harmony: a message to a recipient, `to=functions.NAME`, in the channel `commentary` or `analysis`.

The recipient is in the channel or in the role. `commentary` without one is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS_NEXT, BadCall, Cursor, Dialect, RawCall
from .xml_calls import as_json

_END = re.compile(r"<\|(?:call|end|return|start|channel)\|>|\Z")
_TO = r"to=(?:functions\.)?"
_TYPE = r"\s*(?:<\|constrain\|>\s*)?(?:\w+\s*)?"
_BODY = r"(?:<\|message\|>|(?=\{))"


def _read(cursor: Cursor, opened: re.Match[str]) -> Iterator[RawCall]:
    name = opened["channel"] or opened["role"] or opened["bare"]
    end = _END.search(cursor.text, cursor.at)
    assert end is not None
    text, begin = cursor.text[cursor.at : end.start()], cursor.at
    if not isinstance(as_json(text), dict):
        raise BadCall("its arguments are not a JSON object, or are cut off", name)
    cursor.at = end.end() if end[0] in ("<|call|>", "<|end|>", "<|return|>") else max(begin, end.start())
    yield RawCall(name, text)


HARMONY = Dialect(
    name="Harmony",
    models="gpt-oss",
    opener=(
        # The recipient in the channel, in the role, or in what is left without the special tokens.
        rf"<\|channel\|>\s*\w+\s+{_TO}(?P<channel>[\w.:\-]+){_TYPE}{_BODY}"
        rf"|<\|start\|>\s*assistant\s+{_TO}(?P<role>[\w.:\-]+)\s*(?:<\|channel\|>\s*\w+)?{_TYPE}{_BODY}"
        rf"|\b(?:assistant)?(?:commentary|analysis)\s+to=functions\.(?P<bare>[\w.\-]+)\s*"
        rf"(?:<\|constrain\|>\s*)?(?:(?:json|code)\s*)?(?:<\|message\|>\s*)?{ARGUMENTS_NEXT}"
    ),
    read=_read,
    starts=r"<|assistantc|assistanta|commentary\s+to=|analysis\s+to=",
    vllm="openai",
    sglang="gpt-oss",
    ollama="harmony",
)
