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

# What is not there yet: why, which models, which checks. Whoever brings it takes the entry away.
UNMET = [
    ("litellm loses a refusal over Responses", "*/gpt-5.[46]*litellm*", "refused"),
]


def _cells() -> Iterator[object]:
    for target in TARGETS:
        for check in CHECKS:
            if target.takes(check):
                marks = [pytest.mark.xfail(reason=why, strict=True) for why in _unmet(target, check)]
                yield pytest.param(target, check, id=f"{target.label}: {check.name}", marks=marks)


def _unmet(target: Target, check: Check) -> list[str]:
    return [
        why
        for why, models, checks in UNMET
        if any(fnmatch(target.label, model) for model in models.split()) and fnmatch(check.name, checks)
    ]


@pytest.mark.parametrize(("target", "check"), list(_cells()))
def test_the_contract(contract: Contract, target: Target, check: Check) -> None:
    assert contract.problem(target, check) is None


@pytest.mark.parametrize("target", [one for one in TARGETS if one.reasons], ids=lambda one: one.label)
def test_a_result_can_be_a_prompt(contract: Contract, target: Target) -> None:
    """Whoever copies a conversation into a suite copies the thoughts, and they must go back, too."""
    assert contract.continued(target) is None
