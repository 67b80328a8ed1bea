"""The metrics of a result document in an order that does not change from run to run."""

from __future__ import annotations

from collections.abc import Iterable


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Each name once: the built-in metrics as the documentation lists them, then others by name."""
    from ..suite.model import METRICS
    from ..suite.model import PENALTIES

    known = {name: place for place, name in enumerate((*METRICS, *PENALTIES))}
    return sorted(set(names), key=lambda name: (known.get(name, len(known)), name))
