"""DeepSeek: sections with a name and JSON (V3, R1, V3.1), and the XML of DSML (V3.2, V4).

Servers write the tokens' bars and blanks in several ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import NAME, Broken, Cursor, Dialect, Written
from .xml_calls import Tags


def _token(words: str) -> str:
    return rf"<[｜|]{words.replace(' ', '[▁_ ]')}[｜|]>"


_CALLS, _CALLS_END = _token("tool calls begin"), re.compile(_token("tool calls end"))
_CALL, _CALL_END = _token("tool call begin"), re.compile(_token("tool call end"))
_SEP = _token("tool sep")
_FENCE_END = re.compile(r"```")


def _read(cursor: Cursor, opened: re.Match[str]) -> Iterator[Written]:
    name = (opened["fenced"] or opened["plain"]).strip()
    value = cursor.arguments(name)
    if opened["fenced"]:
        cursor.match(_FENCE_END)
    if not cursor.match(_CALL_END) and cursor.rest:
        raise Broken("its end is missing", name)
    cursor.match(_CALLS_END)
    yield Written(name, value)


DEEPSEEK = Dialect(
    name="DeepSeek",
    models="DeepSeek V3, R1 and V3.1",
    opener=(
        rf"(?:{_CALLS}\s*)?{_CALL}\s*"
        rf"(?:function{_SEP}(?P<fenced>{NAME})\s*```(?:json)?\s*|(?P<plain>{NAME}){_SEP}\s*)"
    ),
    read=_read,
    vllm="deepseek_v31",
    sglang="deepseekv31",
    ollama="deepseek3",
)

_DSML = r"[｜|]{1,2}\s*DSML\s*[｜|]{1,2}\s*"
_TAGS = Tags(
    call=re.compile(rf"<{_DSML}invoke\s+name=\"(?P<name>[^\"\n]{{1,200}})\"\s*>"),
    parameter=re.compile(
        rf"<{_DSML}parameter\s+name=\"(?P<key>[^\"\n]{{1,200}})\"(?:\s+string=\"(?P<string>true|false)\")?\s*>"
    ),
    parameter_end=re.compile(rf"</{_DSML}parameter>"),
    call_end=re.compile(rf"</{_DSML}invoke>"),
    end=re.compile(rf"</{_DSML}(?:function_calls|tool_calls)>"),
)
DSML = Dialect(
    name="DSML",
    models="DeepSeek V3.2 and V4",
    opener=rf"(?:<{_DSML}(?:function_calls|tool_calls)>\s*)?(?=<{_DSML}invoke\s+name=\")",
    read=_TAGS.read,
    vllm="deepseek_v32",
    sglang="deepseekv32",
)
