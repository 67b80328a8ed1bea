"""Where cases stand: in which file and suite, at which node id, and with what fingerprints."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct

from ..errors import ToolevalError
from ..suite.case import ResolvedCase
from ..suite.fingerprints import ToolsContent, content_of_bytes
from ..suite.model import Suite
from ..suite.overrides import Overrides
from ..suite.resolved import resolve
from ..verdicts.sides import FindSuite
from .nodeids import split_nodeid


class CasePlace(Struct, frozen=True):
    """A case on the model with this label, and its place.

    The position counts from 0, and the fingerprints are those of `suite.fingerprints`.
    """

    case: ResolvedCase
    model: str
    nodeid: str
    file: str = ""
    position: int = 0
    content: str = ""
    suite_content: str = ""
    suite_cases: int = 0
    tools_content: str = ""


class Origin:
    """What the cases of one file share: their suite, and the fingerprint of the file (`content`)."""

    def __init__(self, suite: Suite, path: Path) -> None:
        self.suite = suite
        self.content = content_of_bytes(path.read_bytes())
        self._tools = ToolsContent(suite)

    def place(self, nodeid: str, case: ResolvedCase, model: str, position: int) -> CasePlace:
        return CasePlace(
            case=case,
            model=model,
            nodeid=nodeid,
            file=nodeid.partition("::")[0],
            position=position,
            content=case.content,
            suite_content=self.content,
            suite_cases=len(self.suite.test_cases),
            tools_content=self._tools.of(case),
        )


class Places:
    """Finds places by node id, which is all that the controller of xdist knows of cases."""

    def __init__(self, root: Path, suites: FindSuite, overrides: Overrides) -> None:
        self._overrides = overrides

        @cache
        def origin(file: str) -> tuple[Origin, dict[str | None, int]]:
            suite = suites(file)
            positions = {case.id: number for number, case in enumerate(suite.test_cases)}
            return Origin(suite, root / file), positions

        self._origin = origin

    def of(self, nodeid: str) -> CasePlace:
        """The place of a case; of a variant, that of the case it changes.

        Raises ToolevalError if the suite can no longer be read or has no such case.
        """
        file, id, model, _ = split_nodeid(nodeid)
        origin, positions = self._origin(file)
        if id not in positions:
            raise ToolevalError(f"{file}: there is no case {id}")
        case = resolve(origin.suite, origin.suite.test_cases[positions[id]], self._overrides)
        return origin.place(nodeid, case, model, positions[id])
