"""A run without a model skips its cases, unless something requires a model."""

from __future__ import annotations

import pytest

from ..suite.discovery import SUITE_ENDING
from ..text import printable
from .settings import Settings
from .settings import config_tables


def no_model(config: pytest.Config, needs: str = "") -> str:
    """The message that no model is set, and how to set one of the configured ones."""
    names = ", ".join(map(printable, config_tables(config).tables))
    defined = f"your config defines {names}; " if names else ""
    return (
        f"no model is set{needs}: use --tooleval-model=NAME, or set tooleval_model in the ini file "
        f"({defined}builtin/lexical needs no key and no network)"
    )


def missing_model(config: pytest.Config, settings: Settings) -> str:
    """Why a run with cases but no model is a usage error; empty if the cases are skipped."""
    if settings.models or settings.transcripts is not None:
        return ""
    needs = next(filter(None, _needs(config, settings)), "")
    return no_model(config, f", and {needs} needs one") if needs else ""


def _needs(config: pytest.Config, settings: Settings) -> list[str]:
    paths = (name.partition("::")[0] for name in config.getoption("file_or_dir"))
    return [
        f"the preset {settings.preset}" if settings.preset else "",
        "--tooleval-estimate" if settings.estimate else "",
        "a gate" if settings.gates or settings.judging.keys() - {"history"} else "",
        "the baseline" if config.getoption("tooleval_baseline") is not None else "",
        *(path for path in paths if path.endswith(SUITE_ENDING)),
    ]
