"""`--tooleval-preset`: sets options that neither the command line nor the ini file sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from ..verdicts.presets import PRESETS
from ..verdicts.presets import Setting
from ..verdicts.presets import options_text
from .options import OPTIONS


class AppliedPreset(NamedTuple):
    """What a preset has set, if there is one."""

    name: str
    sets: Mapping[str, Setting]
    by_ini: bool

    @property
    def text(self) -> str:
        return f"--tooleval-preset={self.name} sets {options_text(self.sets)}"


def apply_preset(config: pytest.Config) -> AppliedPreset:
    given: str | None = config.getoption("tooleval_preset")
    name = given or str(config.getini("tooleval_preset"))
    if not name:
        return AppliedPreset("", {}, by_ini=False)
    if name not in PRESETS:
        raise pytest.UsageError(f"tooleval_preset: expected {', '.join(PRESETS)}, got {name}")
    sets = {option: value for option, value in PRESETS[name].sets.items() if not _is_set(config, option)}
    for option, value in sets.items():
        setattr(config.option, f"tooleval_{option}", value)
    return AppliedPreset(name, sets, by_ini=given is None)


def _is_set(config: pytest.Config, option: str) -> bool:
    if config.getoption(f"tooleval_{option}") not in (None, False):
        return True
    # Recording needs a cassette.
    if option == "record" and not _is_set(config, "cassette"):
        return True
    return bool(OPTIONS[option].ini and config.getini(f"tooleval_{option}"))
