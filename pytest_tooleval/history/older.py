"""Reads the index of an older version once: runs that it alone has become logs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import msgspec

from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.gates import Gate
from ..record.results import CaseRow, KeptCase
from ..record.run import Run
from ..text import printable
from .log import ENDING, RunWriter, is_locked

_VERSION = 12
_RUNS = "SELECT number, id, run, gates, baseline, finished FROM runs WHERE NOT stored"
_ROW = msgspec.json.Decoder(CaseRow)


def adopt(path: Path, logs: Path) -> list[str]:
    """Make logs of the killed and unsent runs in this file, and delete it.

    It stays while one of its runs is running, and if it cannot be read, which the line returned says.
    """
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(path.absolute().as_uri(), uri=True)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                raise ValueError(f"it has format {version}")
            rows = connection.execute(_RUNS).fetchall()
            if any(is_locked(path.parent / "running" / id) for _, id, *_ in rows):
                return []
            for number, id, *columns in rows:
                if not (logs / f"{id}{ENDING}").exists():
                    _write_log(connection, number, logs / f"{id}{ENDING}", columns)
    except (ToolevalError, sqlite3.Error, msgspec.DecodeError, zlib.error, ValueError) as error:
        why = printable(str(error))
        return [f"{path}: the runs that only this older index has cannot be read ({why}); delete it"]
    for old in (*(path.parent / "running" / id for _, id, *_ in rows), path):
        with contextlib.suppress(OSError):
            os.unlink(old)
    return []


def _write_log(connection: sqlite3.Connection, number: int, path: Path, columns: list[bytes]) -> None:
    data, gates, baseline, finished = columns
    run = msgspec.json.decode(data, type=Run)
    query = "SELECT cases FROM blocks WHERE run = ? ORDER BY id"
    blocks = connection.execute(query, (number,)).fetchall()
    texts = [text for (block,) in blocks for text in zlib.decompress(block).split(b"\n")]
    writer = RunWriter(path, run)
    try:
        writer.add(KeptCase(_ROW.decode(text), text) for text in texts)
        if finished:
            read_gates = msgspec.json.decode(gates, type=list[Gate])
            writer.finish(run, read_gates, msgspec.json.decode(baseline, type=Comparison | None))
    except BaseException:
        path.unlink()
        raise
    finally:
        writer.close()
