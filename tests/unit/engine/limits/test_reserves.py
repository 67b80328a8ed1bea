from __future__ import annotations

import pytest
from builders import picture

from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.limits.reserves import reserve_for
from pytest_tooleval.engine.models.spec import HttpModel

SPEC = HttpModel("m", model="openai/m", input_price=1.0, output_price=1.0)


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_picture_costs_no_more_than_pictures_cost(role: str) -> None:
    """Its tokens do not grow with its bytes."""
    message = {"role": role, "content": [picture("A" * 4_000_000)]}
    dollars = reserve_for(SPEC, ChatRequest([message]), None)
    assert 1_500 < dollars * 1_000_000 < 5_000
