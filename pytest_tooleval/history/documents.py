"""Result documents by name: a file that `--tooleval-json` wrote, or a run of the history."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..record.encoding import read_document
from .store import open_history


def load_document(name: str, folder: Path, *, holding: Collection[tuple[str, str]] = ()) -> RowsDocument:
    """The result document in the file `name` if there is one, else that of the run of this name.

    `folder` is the `.tooleval` of the project, `holding` as for `History.find`. Raises ToolevalError
    for a file that is no result document and for a name that no run has.
    """
    if os.path.isfile(name):
        return read_document(Path(name), RowsDocument)
    if name.endswith(".json"):
        raise ToolevalError(f"{name}: there is no such file")
    history = open_history(folder)
    return msgspec.convert(history.document(history.find(name, holding)), RowsDocument)
