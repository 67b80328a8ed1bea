"""Files written whole or not at all, and code read alike on every system."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes], check: Callable[[], object] = lambda: None) -> None:
    """Put these bytes in place of a file that was there. Raises OSError.

    `check` is called last, to see whether anybody was quicker: what it raises leaves all as it was.
    """
    target = path.resolve()  # a link stays one
    if target.exists() and not target.is_file():  # a pipe or a device is written to, and not replaced
        target.write_bytes(b"".join(parts))
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        check()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def code_of(file: Path) -> bytes:
    """The code of a module, whichever line ends git has given it on this system."""
    return file.read_bytes().replace(b"\r\n", b"\n")
