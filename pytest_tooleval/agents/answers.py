"""What an agent's run came to, as a chat message."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_jsonable_python

Message = dict[str, Any]


def answer_of(output: object, input_tokens: int, output_tokens: int) -> Message:
    """The message for an output, a text or what a library made of it, with the tokens of the run."""
    text = output if isinstance(output, str) else json.dumps(to_jsonable_python(output, fallback=str))
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return {"role": "assistant", "content": text, "usage": usage}
