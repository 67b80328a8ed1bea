"""The result of a case whose worker died. Read from the suite file: the controller collects nothing."""

from __future__ import annotations

import pytest
from msgspec import structs

from ..errors import ToolevalError
from ..record.results import CaseResult
from ..run.scored import CasePlace, unscored
from ..suite.fingerprints import ToolsContent, content_of_bytes
from ..suite.load import load_suite
from ..suite.overrides import Overrides
from ..suite.resolved import resolve
from .nodeids import split_nodeid

_REASON = (
    "the worker process died while it ran this case and requested others ahead; any of "
    "them may be the cause"
)


def crashed(config: pytest.Config, overrides: Overrides, nodeid: str) -> CaseResult:
    """Return an error in place of the missing result, with all that gates and `merge` read of a case."""
    file, name, model, variant = split_nodeid(nodeid)
    path = config.rootpath / file
    try:
        # Only workers know the scorers' metrics.
        suite = load_suite(path, metrics=None)
        position = [case.id for case in suite.test_cases].index(name)
        case = resolve(suite, suite.test_cases[position], overrides)
    except (ToolevalError, ValueError):  # the file has changed since it was collected
        result = CaseResult(
            nodeid=nodeid, suite=file, case=name, model=model, outcome="error", reason=_REASON, file=file
        )
    else:
        place = CasePlace(
            nodeid=nodeid,
            file=file,
            position=position,
            content=case.content,
            suite_content=content_of_bytes(path.read_bytes()),
            suite_cases=len(suite.test_cases),
            tools_content=ToolsContent(suite).of(case),
        )
        result = unscored(case, model, place, "error", _REASON)
    return structs.replace(result, variant=variant, tolerated=bool(variant))
