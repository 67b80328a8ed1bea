"""Result documents by name: a file that `--tooleval-json` wrote, or a run of the history."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import cast

from ..errors import ToolevalError
from ..reports.document import VERSION
from .store import open_history

_ROW = {"suite": str, "case": str, "model": str, "outcome": str, "scores": dict, "trials": list}
# Those that may be missing or null.
_RUN = {"id": str, "started": str, "git": dict, "options": dict}
_COUNTS = {"passes": int, "scored": int}
_JSON = {str: "a string", dict: "an object", list: "an array", int: "a whole number"}


_LOOSE = {"content": str, "thresholds": dict, "pass_rule": str, "file": str}


def load_document(
    name: str, folder: Path, *, bulk: bool = False, holding: Collection[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The result document in the file `name` if there is one, else that of the run of this name.

    `folder` is the `.tooleval` of the project, `holding` as for `History.find`. Raises ToolevalError
    for a file that is no result document and for a name that no run has.
    """
    if os.path.isfile(name):
        return read_document(Path(name))
    if name.endswith(".json"):
        raise ToolevalError(f"{name}: there is no such file")
    history = open_history(folder)
    return history.document(history.find(name, holding), bulk=bulk, intervals=bulk)


def read_document(path: Path) -> dict[str, Any]:
    """A file of `--tooleval-json`, checked as far as comparing needs it. Raises ToolevalError."""
    try:
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise ToolevalError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ToolevalError(f"{path}: is not JSON: {error}") from None
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION or not isinstance(document.get("run"), dict):
        raise ToolevalError(f"{path}: is not a result document of --tooleval-json, version {VERSION}")
    wrong = next(_wrong_fields(document), None)
    if wrong is not None:
        raise ToolevalError(f"{path}: {wrong}")
    return cast("dict[str, Any]", document)


def _wrong_fields(document: Mapping[str, Any]) -> Iterator[str]:
    run, cases = document["run"], document.get("cases")
    yield from _wrong_types("run", run, _RUN, optional=True)
    if not isinstance(cases, list):
        yield "cases: expected an array"
        return
    for number, row in enumerate(cases):
        place = f"cases[{number}]"
        if not isinstance(row, dict):
            yield f"{place}: expected an object"
            continue
        yield from _wrong_types(place, row, _ROW)
        yield from _wrong_types(place, row, _COUNTS, optional=True)
        yield from _wrong_types(place, row, _LOOSE, optional=True)
        for trial in row["trials"]:
            if not isinstance(trial, dict) or not {"error", "passed"} <= trial.keys():
                yield f"{place}.trials: one is not a trial's result"


def _wrong_types(
    place: str, found: Mapping[str, Any], types: Mapping[str, type], *, optional: bool = False
) -> Iterator[str]:
    for field, type_ in types.items():
        value = found.get(field)
        if not isinstance(value, type_) and not (optional and value is None):
            yield f"{place}.{field}: expected {_JSON[type_]}"
