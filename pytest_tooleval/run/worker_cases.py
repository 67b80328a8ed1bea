"""The cases that xdist's workers leave for the controller, which knows only node ids.

If a worker dies, the controller takes the row of the test that ran from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from ..files.appending import Appender
from ..record.encoding import to_json
from ..record.results import CaseResult
from .process import Process


class SelectedCase(Struct, frozen=True):
    """A selected case: its result if its worker dies while it runs, and the number of planned trials.

    That is 0 if the case is skipped, and for a Python test, which may send no request.
    """

    if_crashed: CaseResult
    trials: int = 0


_DECODER = msgspec.json.Decoder(SelectedCase)


def write_for_controller(process: Process, by: object, cases: Iterable[SelectedCase]) -> None:
    """Leave cases for the controller, unless that is on another machine."""
    file = process.cases_path(by) if process.is_worker and not process.is_remote else None
    if file is not None:
        appender = Appender()
        appender.append(file, b"".join(to_json(each) + b"\n" for each in cases))
        appender.close()


def read_from_worker(process: Process, by: object) -> Mapping[str, SelectedCase]:
    """The cases that were left, by node id."""
    file = process.cases_path(by)
    lines = file.read_bytes().splitlines() if file is not None and file.is_file() else []
    return {each.if_crashed.nodeid: each for each in map(_DECODER.decode, lines)}
