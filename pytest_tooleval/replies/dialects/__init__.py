"""The dialects in which models write calls as text, a module for each form or family.

The facts are from the models' chat templates. `recovery` says where in a text a call counts.
"""

from __future__ import annotations

from .harmony import HARMONY
from .json_calls import COHERE, GRANITE, GRANITE_20B, HERMES, INTERNLM, MINIMAX_M1, NEMOTRON, PHI
from .named_json import DEEPSEEK, KIMI, LLAMA_FUNCTION, MISTRAL
from .pythonic import FUNCTION_GEMMA, GEMMA, LFM2, LLAMA, OLMO
from .xml_calls import CLINE, DSML, GLM, MINIMAX_M2, QWEN3_CODER

# Several open with `<tool_call>` or `<function=`; what must follow tells them apart.
DIALECTS = (
    HERMES, QWEN3_CODER, GLM, HARMONY, DEEPSEEK, DSML, KIMI, MINIMAX_M1, MINIMAX_M2, MISTRAL, LLAMA,
    LLAMA_FUNCTION, PHI, GRANITE, GRANITE_20B, FUNCTION_GEMMA, GEMMA, LFM2, OLMO, COHERE, NEMOTRON,
    INTERNLM, CLINE,
)  # fmt: skip
_OF_NAME = {dialect.name: dialect for dialect in DIALECTS}


def options_for(name: str) -> str:
    """Return the options of the servers that parse a dialect; for bare JSON, that of the model's own."""
    dialect = _OF_NAME.get(name)
    return dialect.options if dialect else "the server's parser for this model"


__all__ = ["DIALECTS", "options_for"]
