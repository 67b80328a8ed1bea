"""What a tool's answer becomes for a model."""

from __future__ import annotations

from typing import Any

import pytest
from builders import PNG, picture

from pytest_tooleval.mcp.connect import content_of

TEXT = {"type": "text", "text": "S7"}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/x-unknown"}
SVG = {"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
SVG_TEXT = '{"type": "image", "mimeType": "image/svg+xml"}'
AUDIO_TEXT = '{"type": "audio", "mimeType": "audio/wav"}'


@pytest.mark.parametrize(
    ("blocks", "structured", "content"),
    [
        ([], None, ""),
        ([], {"n": 7}, '{"n": 7}'),
        ([TEXT, AUDIO], {"n": 7}, f"S7\n{AUDIO_TEXT}"),
        ([TEXT, SVG], None, f"S7\n{SVG_TEXT}"),
        ([{"type": "image"}], None, '{"type": "image"}'),
        ([TEXT, IMAGE, SVG], None, [TEXT, picture(), {"type": "text", "text": SVG_TEXT}]),
    ],
)
def test_the_content_of_an_answer(
    blocks: list[dict[str, Any]], structured: Any, content: object
) -> None:
    assert content_of(blocks, structured) == content
