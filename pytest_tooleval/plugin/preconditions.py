"""Missing preconditions of a run: a model, or every key."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from ..run.nodeids import is_case
from ..settings.settings import Settings
from ..suite.discovery import SUITE_ENDING
from ..text import printable
from .processes import process_of
from .settings import config_tables


def no_model(config: pytest.Config, needs: str = "") -> str:
    """The message that no model is set, and how to set one of the configured ones."""
    names = ", ".join(map(printable, config_tables(config).tables))
    defined = f"your config defines {names}; " if names else ""
    return (
        f"no model is set{needs}: use --tooleval-model=NAME, or set tooleval_model in the ini file "
        f"({defined}builtin/lexical needs no key and no network)"
    )


def missing_model(config: pytest.Config, settings: Settings, path: str) -> str:
    """Why a run with cases but no model is a usage error; empty if the cases are skipped.

    `path` is one from `path_of_cases`.
    """
    if settings.asking.models or settings.asking.transcripts is not None:
        return ""
    reasons = (
        settings.gating.cases_needed_by,
        "--tooleval-estimate" if settings.only_estimates else "",
        "a gate" if settings.gating.gates or settings.left_to_merge.keys() - {"history"} else "",
        path if path.endswith(SUITE_ENDING) or not path else f"{path} (all tests in it are test cases)",
    )
    needs = next(filter(None, reasons), "")
    return no_model(config, f", and {needs} needs one") if needs else ""


def missing_keys(settings: Settings) -> str:
    """Why no model can be asked, if each lacks its key; empty if answers may be recorded."""
    asking = settings.asking
    if settings.gating.excuses_unasked:
        return ""
    if asking.cassette_path is not None or asking.transcripts is not None or asking.resume:
        return ""
    problems = [spec.missing for spec in asking.models]
    return "\n".join(filter(None, problems)) if all(problems) else ""


def path_of_cases(config: pytest.Config, items: Sequence[pytest.Item]) -> str:
    """The first path on the command line with test cases and no other tests; empty if there is none.

    It names suites, just as a suite's own path does. `items` are all that were collected, before any
    selection. With --lf, pytest leaves out files without earlier failures, but then also these cases:
    without a model, they have other ids.
    """
    cases = {item.path for item in items if is_case(item.nodeid)}
    others = {item.path for item in items if not is_case(item.nodeid)}
    for argument in config.args if process_of(config).has_paths else ():
        path = argument.partition("::")[0]
        folder = Path(os.path.abspath(config.invocation_params.dir / path))
        if _any_in(folder, cases) and not _any_in(folder, others):
            return path
    return ""


def _any_in(folder: Path, files: Iterable[Path]) -> bool:
    return any(file.is_relative_to(folder) for file in files)
