"""The `<invoke>` of MiniMax M2 and Claude's text form."""

from __future__ import annotations

import re

from .dialect import ARGUMENTS_NEXT, Dialect
from .xml_calls import Tags

# Claude's own tags have a namespace.
_NAMESPACE = "(?:antml:)?"
_NAMED = r"\s+name=[\"']?(?P<{}>[^\"'>\n]{{1,200}})[\"']?\s*>"
_TAGS = Tags(
    call=re.compile("<" + _NAMESPACE + "invoke" + _NAMED.format("name")),
    parameter=re.compile("<" + _NAMESPACE + "parameter" + _NAMED.format("key")),
    parameter_end=re.compile(f"</{_NAMESPACE}parameter>"),
    call_end=re.compile(f"</{_NAMESPACE}invoke>"),
    end=re.compile(rf"</(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>"),
)

MINIMAX_M2 = Dialect(
    name="MiniMax M2",
    models="MiniMax M2",
    opener=(
        rf"(?:<(?:minimax:tool_call|{_NAMESPACE}function_calls|tool_calls?)>\s*)?"
        rf"(?=<{_NAMESPACE}invoke\s+name=[\"']?[^\"'>\n]{{1,200}}[\"']?\s*>"
        rf"\s*(?:<{_NAMESPACE}parameter\s|</{_NAMESPACE}invoke>|{ARGUMENTS_NEXT}))"
    ),
    read=_TAGS.read,
    vllm="minimax_m2",
    sglang="minimax-m2",
)
