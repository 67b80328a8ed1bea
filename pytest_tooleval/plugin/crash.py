"""The result of a case whose worker died. Read from the suite file: the controller collects nothing."""

from __future__ import annotations

import pytest

from ..errors import SuiteError
from ..record.results import CaseResult
from ..suite.load import load_suite
from ..suite.model import Suite
from .nodeids import split_nodeid


def crashed(config: pytest.Config, nodeid: str) -> CaseResult:
    """Return an error in place of the missing result."""
    file, case, model, variant = split_nodeid(nodeid)
    try:
        # Only workers know the scorers' metrics.
        suite: Suite | None = load_suite(config.rootpath / file, metrics=None)
    except SuiteError:
        suite = None
    position = next((i for i, c in enumerate(suite.test_cases) if c.id == case), 0) if suite else 0
    return CaseResult(
        nodeid=nodeid,
        suite=suite.name if suite else file,
        case=case,
        model=model,
        variant=variant,
        tolerated=bool(variant),
        outcome="error",
        reason=(
            "the worker process died while it ran this case and requested others ahead; any of "
            "them may be the cause"
        ),
        file=file,
        line=suite.test_cases[position].line if suite else 0,
        position=position,
    )
