"""What the docs say of modes, metrics, failures and options is what the code says."""

from __future__ import annotations

import generated
import pytest

STALE = "run `python tests/generated.py`"


@pytest.mark.parametrize("file", generated.FILES)
def test_a_generated_file_is_fresh(file: str) -> None:
    published = (generated.ROOT / file).read_text(encoding="utf-8")
    assert published == generated.FILES[file](), STALE


@pytest.mark.parametrize(("file", "name"), generated.PARTS)
def test_a_generated_part_is_fresh(file: str, name: str) -> None:
    text = (generated.ROOT / file).read_text(encoding="utf-8")
    assert generated.part(text, name)[0] == generated.PARTS[file, name](), STALE
