"""The presets of `--tooleval-preset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Setting = str | bool | list[str]


class Preset(NamedTuple):
    """A preset's meaning, and the options that it sets unless the user does."""

    meaning: str
    sets: Mapping[str, Setting]


PRESETS = {
    "strict": Preset(
        "every trial of every case must pass, and inconclusive verdicts fail",
        {"pass": "all", "fail_inconclusive": True},
    ),
    "pr": Preset(
        "most cases pass, and no significant drop from the last good run",
        {"fail_under": ["0.9"], "baseline": "good"},
    ),
    "nightly": Preset(
        "every case asked anew five times, judged by the interval, and no significant drop from the "
        "last good run",
        {
            "trials": "5",
            "record": "all",
            "fail_under": ["0.85"],
            "confidence": "0.95",
            "fail_over": ["errors=2%"],
            "baseline": "good",
        },
    ),
}


def options_text(sets: Mapping[str, Setting]) -> str:
    """Options as they are written on the command line."""
    typed = []
    for name, value in sets.items():
        option = f"--tooleval-{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        typed += [option if each is True else f"{option}={each}" for each in values]
    return " ".join(typed)
