"""The result document as plain data, for those who do not carry its types yet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from typing import Any

import msgspec

from ..record.comparison import Comparison
from ..record.document import RowsDocument
from ..record.encoding import to_ascii_json
from ..record.encoding import to_json
from ..record.gates import Gate
from ..record.results import CaseRow
from ..record.run import Run
from ..verdicts.summary import rows_document


def build_document(
    run: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    gates: Sequence[Mapping[str, Any]] = (),
    baseline: Mapping[str, Any] | None = None,
    *,
    intervals: bool = False,
) -> dict[str, Any]:
    cases = list(rows)
    made: RowsDocument = rows_document(
        msgspec.convert({"id": "", "started": "", **run}, Run),
        msgspec.convert(cases, list[CaseRow]),
        msgspec.convert(gates, list[Gate]),
        msgspec.convert(baseline, Comparison | None),
        intervals=intervals,
    )
    found: dict[str, Any] = msgspec.json.decode(to_json(made))
    return {**found, "cases": cases}


def write_json(path: Path, document: object) -> None:
    with replacing(path) as file:
        file.write(json_of(document))


def json_of(document: object) -> str:
    return to_ascii_json(document)


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A UTF-8 file that takes the place of `path` only when it has been written as a whole."""
    path = path.resolve()  # of a link, what it leads to
    if path.exists() and not path.is_file():  # a pipe or a device is written to, and not replaced
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:50], suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
