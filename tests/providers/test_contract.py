"""Every model of every provider does what it must, over litellm and over our own clients."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from .contract import CHECKS
from .contract import TARGETS
from .contract import Check
from .contract import Contract
from .contract import Target

_REFUSE_ZERO = "*/claude-opus-4-7* */claude-sonnet-5 */claude-haiku-5-5 */claude-opus-5-5 */gpt-5 */o4-mini */gpt-5.6"
# What is not there yet: why, which models, which checks. Whoever brings it takes the entry away.
UNMET = [
    ("a temperature that is refused is left out", _REFUSE_ZERO, "*"),
    ("a temperature that is refused beside reasoning is left out", "*", "reasoning*"),
    ("an answer that was cut off is no answer", "*", "cut off*"),
    ("a refusal is no answer", "*", "refused"),
    ("an answer that was filtered is no answer", "*", "filtered"),
    ("who is overloaded is waited for", "*", "overloaded"),
]


def _cells() -> Iterator[object]:
    for target in TARGETS:
        for check in CHECKS:
            if target.reasons or not check.reasoning:
                marks = [pytest.mark.xfail(reason=why, strict=True) for why in _unmet(target, check)]
                yield pytest.param(target, check, id=f"{target.label}: {check.name}", marks=marks)


def _unmet(target: Target, check: Check) -> list[str]:
    return [
        why
        for why, models, checks in UNMET
        if any(fnmatch(target.model, model) for model in models.split()) and fnmatch(check.name, checks)
    ]


@pytest.mark.parametrize(("target", "check"), list(_cells()))
def test_the_contract(contract: Contract, target: Target, check: Check) -> None:
    assert contract.problem(target, check) is None
