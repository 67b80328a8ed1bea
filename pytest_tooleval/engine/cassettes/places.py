"""Places of lines in a cassette, which may be larger than memory."""

from __future__ import annotations

from io import BufferedReader
from typing import NamedTuple


class Place(NamedTuple):
    """The bytes of a line."""

    start: int
    length: int


def line_at(file: BufferedReader, place: Place) -> bytes:
    file.seek(place.start)
    return file.read(place.length)
