"""Write files atomically, and read them whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes], check: Callable[[], object] = lambda: None) -> None:
    """Write a file atomically. Raises OSError.

    `check` is called just before the file is replaced; if it raises, nothing changes.
    """
    target = path.resolve()  # so that a symbolic link stays
    if target.exists() and not target.is_file():  # a pipe or a device
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


def read_whole(path: Path) -> bytes:
    """Return what is in a file. Raises OSError, and for a device, which may never end."""
    if path.is_char_device() or path.is_block_device():
        raise OSError("it is a device")
    return path.read_bytes()


def code_of(file: Path) -> bytes:
    """Return a module's code, independent of git's line endings on this system."""
    return file.read_bytes().replace(b"\r\n", b"\n")
