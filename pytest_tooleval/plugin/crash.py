"""The result of a case whose worker died. Read from the suite file: the controller collects nothing."""

from __future__ import annotations

import pytest
from msgspec import structs

from ..errors import ToolevalError
from ..record.results import CaseResult
from ..run.scored import unscored
from ..suite.fingerprints import ToolsContent, content_of_bytes
from ..suite.load import load_suite
from ..suite.overrides import Overrides
from ..suite.resolved import resolve
from .items import Origin
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
        origin = Origin(suite, content_of_bytes(path.read_bytes()), ToolsContent(suite))
        place = origin.place(nodeid, case, position)
        result = unscored(case, model, place, "error", _REASON)
    return structs.replace(result, variant=variant, tolerated=bool(variant))
