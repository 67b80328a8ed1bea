"""The database file: connections, transactions, and errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..errors import ToolevalError, error_text, os_reason
from ..text import printable
from .schema import make_tables

PATIENCE_S = 10.0
_RETRY_S = 0.02
# What SQLite says of a damaged file, also of one whose tables have lost their names.
_DAMAGE = ("malformed", "not a database", "no such", "decode")


class Database:
    """A SQLite file, opened for each transaction.

    So threads and forked processes share nothing, and between transactions the file is complete: the
    last connection to close merges the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent view of the store; without a file, of an empty one.

        Raises ToolevalError when the file cannot be read or is not a history, and for any error in the
        block, so decode values there: damage can turn them into anything.
        """
        with self._explained(), _ending(self._connect_to_read()) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction. Makes folder and file if needed.

        Raises ToolevalError when the file cannot be written or is not a history.
        """
        self._make_folder()
        with self._explained(), _ending(self._connect(self._address, "BEGIN IMMEDIATE")) as connection:
            yield connection

    def shrink(self) -> None:
        """Give unused space back to the disk, unless another process uses the file."""
        with self._explained(), closing(self._connect(self._address)) as connection:
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if not _is_busy(error):
                    raise

    @property
    def _address(self) -> str:
        return self.path.absolute().as_uri()

    def _connect_to_read(self) -> sqlite3.Connection:
        if not os.path.exists(self.path):
            return self._connect("file::memory:", "BEGIN")
        try:
            return self._connect(self._address, "BEGIN")
        except sqlite3.OperationalError as error:
            log = self.path.with_name(self.path.name + "-wal")
            if not _is_barred(error) or log.exists():
                raise
            # Without write access SQLite cannot make its side files, and reads only what is immutable.
            return self._connect(f"{self._address}?immutable=1", "BEGIN")

    def _connect(self, address: str, begin: str = "") -> sqlite3.Connection:
        """A connection to a store with its tables, in a transaction if `begin` begins one."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            connection = sqlite3.connect(address, timeout=PATIENCE_S, isolation_level=None, uri=True)
            try:
                make_tables(connection, str(self.path))
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA synchronous = NORMAL")
                if begin:
                    connection.execute(begin)
                    connection.execute("SELECT 1 FROM runs").fetchone()
                return connection
            except BaseException as error:
                connection.close()
                # SQLite's own time-out does not cover the moments when another process switches the
                # file to WAL, or is the last to close it.
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_S)

    def _make_folder(self) -> None:
        ignore = self.path.with_name(".gitignore")
        with self._explained():
            ignore.parent.mkdir(parents=True, exist_ok=True)
            if not ignore.exists():
                ignore.write_text("*\n", encoding="ascii")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = f"cannot be written: {os_reason(error)}"
            raise ToolevalError(f"{self.path.parent}: {text}") from error
        except sqlite3.Error as error:
            raise ToolevalError(f"{self.path}: {_explain(error)}") from error
        except UnicodeEncodeError as error:
            raise ToolevalError(f"{printable(error.object)}: expected text in UTF-8") from error
        except ToolevalError:
            raise
        except Exception as error:  # damage can turn any value into any other
            raise ToolevalError(f"{self.path}: {_damaged(error_text(error))}") from error


@contextmanager
def _ending(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit at the end. Closing without a commit rolls back."""
    with closing(connection):
        yield connection
        connection.execute("COMMIT")


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _is_barred(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, sqlite3.OperationalError) and (
        "readonly" in text or "unable to open" in text
    )


def _explain(error: sqlite3.Error) -> str:
    if _is_busy(error):
        return f"another process has kept it locked for more than {PATIENCE_S:.0f} s"
    text = printable(str(error))
    if not isinstance(error, sqlite3.OperationalError) or any(word in text for word in _DAMAGE):
        return _damaged(text)
    if _is_barred(error):
        return f"cannot be opened or written ({text}); check the permissions of file and folder"
    return text


def _damaged(text: str) -> str:
    return f"not a history, or a damaged one ({printable(text)}); move it away, and a new one is made"
