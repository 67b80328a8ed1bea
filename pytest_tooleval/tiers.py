"""How soon readers meet a field, an option, a command or a matcher; each names its tier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar, get_args

# `everyday` is what most suites and runs need, `agents` what conversations, chains and worlds add.
Tier = Literal["everyday", "agents", "advanced"]
TIERS: tuple[Tier, ...] = get_args(Tier)

_T = TypeVar("_T")


def in_tiers(items: Iterable[tuple[Tier, _T]]) -> Mapping[Tier, list[_T]]:
    """The items of each tier, in the order in which readers meet them."""
    by_tier: dict[Tier, list[_T]] = {tier: [] for tier in TIERS}
    for tier, item in items:
        by_tier[tier].append(item)
    return by_tier
