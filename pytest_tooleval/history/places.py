"""Where the documents of runs are: a folder, or a bucket that fsspec can access.

A file is written once, under its own name, and never renamed or changed. So several machines can write
at the same time, and no file needs to be read twice.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import ConfigError, ToolevalError, error_text, os_reason
from ..secrets import scrub, secret_values
from ..text import printable
from ..writing import write_whole


class _HistoryPlace:
    """A place by its name in messages. Every method of a place raises ToolevalError."""

    name: str

    @contextlib.contextmanager
    def _trying(self, what: str) -> Iterator[None]:
        """Name the place in an error of the system, or of a protocol's library, which can be any."""
        try:
            yield
        except FileExistsError:
            raise
        except Exception as error:
            is_system = isinstance(error, OSError) and error.errno is not None
            reason = os_reason(error) if is_system else error_text(error)
            why = printable(scrub(reason, secret_values()))
            raise ToolevalError(f"{self.name}: cannot be {what}: {why}") from error


class Folder(_HistoryPlace):
    """A folder on this machine or a network share."""

    is_near = True  # looking into it takes no time

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def files(self, folder: str) -> dict[str, int | None]:
        """The files, such as `runs/20261122-101530-3fa9c1.json.gz`, with sizes if they cost nothing."""
        names = []
        with self._trying("read"), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self._path / folder)
        return dict.fromkeys(f"{folder}/{name}" for name in names)

    def size(self, name: str) -> int:
        """The size of a file, 0 without it."""
        with self._trying("read"), contextlib.suppress(FileNotFoundError):
            return (self._path / name).stat().st_size
        return 0

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        """A file, or `size` bytes of it."""
        with self._trying(f"read ({name})"), (self._path / name).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def put(self, name: str, data: bytes) -> None:
        """Write a new file. Raises FileExistsError."""
        path = self._path / name
        with self._trying("written"):
            if path.exists():
                raise FileExistsError(path)
            write_whole(path, [data])

    def delete(self, name: str) -> None:
        with self._trying("written"):
            (self._path / name).unlink(missing_ok=True)


class Bucket(_HistoryPlace):
    """A folder with a URL, such as `s3://bucket/folder`."""

    is_near = False

    def __init__(self, url: str) -> None:
        """Raises ConfigError if its packages are missing."""
        self.name = url
        try:
            import fsspec
        except ImportError:
            raise ConfigError(f"{url}: needs an extra: pip install 'pytest-tooleval[shared]'") from None
        # Listings must show files that other processes wrote.
        options = {"use_listings_cache": False, "skip_instance_cache": True}
        try:
            with self._trying("used"):
                self._files, self._root = fsspec.core.url_to_fs(url, **options)
        except ToolevalError as error:
            missing = error.__cause__
            why = f"{url}: {printable(str(missing))}" if isinstance(missing, ImportError) else str(error)
            raise ConfigError(why) from None
        # In a bucket, making folders would need permission to create buckets.
        protocols = self._files.protocol
        names = (protocols,) if isinstance(protocols, str) else protocols
        self._has_folders = bool({"file", "memory"} & set(names))

    def files(self, folder: str) -> dict[str, int | None]:
        entries = []
        with self._trying("read"), contextlib.suppress(FileNotFoundError):
            self._files.invalidate_cache()
            entries = self._files.ls(f"{self._root}/{folder}", detail=True)
        sizes = {each["name"].rstrip("/").rpartition("/")[2]: each["size"] or 0 for each in entries}
        return {f"{folder}/{name}": size for name, size in sizes.items() if name}

    def size(self, name: str) -> int:
        with self._trying("read"), contextlib.suppress(FileNotFoundError):
            return int(self._files.size(f"{self._root}/{name}") or 0)
        return 0

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        end = None if size is None else start + size
        with self._trying(f"read ({name})"):
            data: bytes = self._files.cat_file(f"{self._root}/{name}", start=start, end=end)
        return data

    def put(self, name: str, data: bytes) -> None:
        with self._trying("written"):
            if self._has_folders:
                self._files.makedirs(f"{self._root}/{name.rpartition('/')[0]}", exist_ok=True)
            self._files.pipe_file(f"{self._root}/{name}", data, mode="create")

    def delete(self, name: str) -> None:
        with self._trying("written"), contextlib.suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")


Place = Folder | Bucket


def place_of(text: str, base: Path) -> Place:
    """The place that --tooleval-history names; a folder is relative to `base`."""
    return Bucket(text) if "://" in text else Folder(Path(os.path.abspath(base / text)))
