"""MiniMax M1's JSON between `<tool_calls>`, and the `<invoke>` of MiniMax M2 and Claude's text form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS_NEXT, CALL, LIST_NEXT, Cursor, Dialect, Written
from .json_calls import in_tags
from .xml_calls import Tags, read_calls

MINIMAX_M1 = Dialect(
    name="MiniMax M1",
    models="MiniMax M1, Hunyuan A13B, Jamba",
    opener=rf"<tool_calls>\s*{LIST_NEXT}",
    read=in_tags("</tool_calls>"),
    right=(f"<tool_calls>\n{CALL}\n</tool_calls>", f"I look. <tool_calls>[{CALL}]</tool_calls>"),
    broken=('<tool_calls>\n{"name": "get_weather", "argu',),
    mentions=("Calls stand between <tool_calls> tags.",),
    vllm="minimax",
    sglang="hunyuan",
)

# Claude's own tags have a namespace.
_NAMESPACE = "(?:antml:)?"
_NAMED = r"\s+name=[\"']?(?P<{}>[^\"'>\n]{{1,200}})[\"']?\s*>"
_TAGS = Tags(
    call=re.compile("<" + _NAMESPACE + "invoke" + _NAMED.format("name")),
    parameter=re.compile("<" + _NAMESPACE + "parameter" + _NAMED.format("key")),
    parameter_end=re.compile(f"</{_NAMESPACE}parameter>"),
    call_end=re.compile(f"</{_NAMESPACE}invoke>"),
)
_END = re.compile(rf"</(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>")
_INVOKED = (
    '<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
    '<parameter name="days">3</parameter>\n'
)


def _read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    yield from read_calls(cursor, _TAGS)
    cursor.match(_END)


MINIMAX_M2 = Dialect(
    name="MiniMax M2",
    models="MiniMax M2",
    opener=(
        rf"(?:<(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>\s*)?"
        rf"(?=<{_NAMESPACE}invoke\s+name=[\"']?[^\"'>\n]{{1,200}}[\"']?\s*>"
        rf"\s*(?:<{_NAMESPACE}parameter\s|</{_NAMESPACE}invoke>|{ARGUMENTS_NEXT}))"
    ),
    read=_read,
    right=(
        f"<minimax:tool_call>\n{_INVOKED}</invoke>\n</minimax:tool_call>",
        f"I look.\n<function_calls>\n{_INVOKED}</invoke>\n</function_calls>",
        f"{_INVOKED}</invoke>",
        f"<function_calls>\n{_INVOKED}</invoke>\n</function_calls>".replace("<", "<antml:").replace(
            "<antml:/", "</antml:"
        ),
    ),
    broken=('<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Par',),
    mentions=("M2 writes <minimax:tool_call> and <invoke name=...>.",),
    vllm="minimax_m2",
    sglang="minimax-m2",
)
