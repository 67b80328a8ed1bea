"""The record as JSON, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import ToolevalError, os_reason
from ..writing import read_whole
from .document import DOCUMENT_VERSION, Document

_T = TypeVar("_T")
# msgspec itself escapes control characters below the space.
_NOT_PLAIN = re.compile(r"[\x7f-\U0010ffff]")


class _Version(msgspec.Struct):
    version: Any = None


def to_json(value: Any) -> bytes:
    """Encode a value as compact JSON on one line; NaN and infinity become null."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a model may write half of a surrogate pair
        return msgspec.json.encode(without_surrogates(msgspec.to_builtins(value)))


def to_ascii_json(value: Any) -> str:
    """Encode a value as indented ASCII JSON, so that hostile text cannot affect a terminal."""
    return _indented(value) + "\n"


def document_json(document: Document) -> Iterator[str]:
    """Yield a document as `to_ascii_json` writes it, in parts to save memory."""
    opening = "{"
    for field in document.__struct_fields__:
        yield f'{opening}\n "{field}": '
        opening = ","
        if field == "cases":
            for number, case in enumerate(document.cases):
                yield ("," if number else "[") + "\n  " + _indented(case).replace("\n", "\n  ")
            yield "\n ]" if document.cases else "[]"
        else:
            yield _indented(getattr(document, field)).replace("\n", "\n ")
    yield "\n}\n"


def _indented(value: Any) -> str:
    text = msgspec.json.format(to_json(value), indent=1).decode()
    return _NOT_PLAIN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def without_surrogates(value: Any) -> Any:
    """Copy JSON values with `?` for each character that UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {without_surrogates(k): without_surrogates(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_surrogates(each) for each in value]
    return value


# Whoever names a file of Python tests wants more than its text.
PYTHON = "a file of Python code, which is not read as data"


def read_document(path: Path, type: type[_T]) -> _T:
    """Read a result document from a file, as a `Document` or a `RowsDocument`.

    Raises ToolevalError for any other file and any other version.
    """
    if path.suffix == ".py":
        raise ToolevalError(f"{path}: {PYTHON}; expected a JSON report")
    try:
        data = read_whole(path)
        version = msgspec.json.decode(data, type=_Version).version
        if version == DOCUMENT_VERSION:
            return msgspec.json.decode(data, type=type)
    except OSError as error:
        raise ToolevalError(f"{path}: cannot be read: {os_reason(error)}") from None
    except msgspec.DecodeError as error:
        raise ToolevalError(f"{path}: not a JSON report: {error}") from None
    if version is None:
        raise ToolevalError(f"{path}: not a JSON report: it has no version")
    raise ToolevalError(
        f"{path}: a result document of version {version!r}; this pytest-tooleval reads version "
        f"{DOCUMENT_VERSION}: run the cases again"
    )
