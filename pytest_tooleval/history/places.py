"""Where the documents of runs are: a folder, or a bucket that fsspec can access.

A file is written once, under its own name, and never renamed or changed. So several machines can write
at the same time, and no file needs to be read twice.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from ..errors import ConfigError, ToolevalError, error_text, os_reason
from ..secrets import scrub, secret_values
from ..text import printable


class Folder:
    """A folder on this machine or a network share. Every method raises ToolevalError."""

    is_near = True  # looking into it takes no time

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def sizes(self, folder: str) -> dict[str, int]:
        """The sizes of the files in a folder, by names such as `runs/20261122-101530-3fa9c1.json.gz`."""
        try:
            sizes = {}
            with os.scandir(self._path / folder) as found:
                for each in found:
                    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                        sizes[f"{folder}/{each.name}"] = each.stat().st_size
            return sizes
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise self._failed("read", error) from error

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        """A file, or `size` bytes of it."""
        try:
            with (self._path / name).open("rb") as file:
                file.seek(start)
                return file.read(size)
        except OSError as error:
            raise self._failed(f"read ({name})", error) from error

    def put(self, name: str, data: bytes) -> None:
        """Write a new file. Raises FileExistsError."""
        path = self._path / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            raise
        except OSError as error:
            raise self._failed("written", error) from error

    def delete(self, name: str) -> None:
        try:
            (self._path / name).unlink(missing_ok=True)
        except OSError as error:
            raise self._failed("written", error) from error

    def _failed(self, what: str, error: OSError) -> ToolevalError:
        return ToolevalError(f"{self.name}: cannot be {what}: {os_reason(error)}")


class Bucket:
    """The same with a URL, such as `s3://bucket/folder`."""

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
            self._files, self._root = fsspec.core.url_to_fs(url, **options)
        except ImportError as error:
            raise ConfigError(f"{url}: {printable(str(error))}") from None
        except Exception as error:  # anything that the protocol's library raises
            raise ConfigError(str(self._failed("used", error))) from None
        # In a bucket, making folders would need permission to create buckets.
        self._has_folders = bool({"file", "memory"} & set(_protocols(self._files.protocol)))

    def sizes(self, folder: str) -> dict[str, int]:
        try:
            self._files.invalidate_cache()
            found = self._files.ls(f"{self._root}/{folder}", detail=True)
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise self._failed("read", error) from error
        sizes = {each["name"].rstrip("/").rpartition("/")[2]: each["size"] or 0 for each in found}
        return {f"{folder}/{name}": size for name, size in sizes.items() if name}

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        end = None if size is None else start + size
        try:
            data: bytes = self._files.cat_file(f"{self._root}/{name}", start=start, end=end)
        except Exception as error:
            raise self._failed(f"read ({name})", error) from error
        return data

    def put(self, name: str, data: bytes) -> None:
        try:
            if self._has_folders:
                self._files.makedirs(f"{self._root}/{name.rpartition('/')[0]}", exist_ok=True)
            self._files.pipe_file(f"{self._root}/{name}", data, mode="create")
        except FileExistsError:
            raise
        except Exception as error:
            raise self._failed("written", error) from error

    def delete(self, name: str) -> None:
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._failed("written", error) from error

    def _failed(self, what: str, error: Any) -> ToolevalError:
        reason = printable(scrub(error_text(error), secret_values()))
        return ToolevalError(f"{self.name}: cannot be {what}: {reason}")


Place = Folder | Bucket


def _protocols(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def place_of(text: str, base: Path) -> Place:
    """The place that --tooleval-history names; a folder is relative to `base`."""
    return Bucket(text) if "://" in text else Folder(Path(os.path.abspath(base / text)))
