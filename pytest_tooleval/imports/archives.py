"""Inspect's `.eval` files: archives with a file for each sample."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from ..errors import Problem, SuiteError

_MOST_BYTES = 512 << 20


def read_archive(path: Path) -> dict[str, Any]:
    """The log in an archive, as the JSON of one. Raises SuiteError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES >> 20} MiB")
            names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
            header = next(
                name for name in ("header.json", "_journal/start.json") if name in archive.namelist()
            )
            log: dict[str, Any] = json.loads(archive.read(header))
            return {**log, "samples": [json.loads(archive.read(name)) for name in names]}
    except NotImplementedError:  # Zstandard, before Python 3.14
        message = "this Python cannot unpack it; convert it: inspect log convert --to json"
    except (OSError, ValueError, StopIteration, zipfile.BadZipFile) as error:
        message = f"no log of Inspect: {error or 'it has no header'}"
    raise SuiteError([Problem(str(path), 1, 1, "", message)])
