"""A format of files: how it is recognised, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import Problem
from .items import Item
from .records import Record, UnusableError

Clean = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Source:
    """A file and its records, and their `place` in the file if that had to be searched for.

    `clean` removes secrets from values of other files that belong to it. `is_cut` if it may have more
    records.
    """

    path: Path
    records: Sequence[Record]
    clean: Clean = lambda values: values
    place: str = ""
    is_cut: bool = False

    def beside(self, path: Path, records: Sequence[Record]) -> Source:
        """Another file that belongs to this one, without secrets."""
        values = self.clean([record.value for record in records])
        pairs = zip(records, values, strict=True)
        return Source(path, [replace(each, value=value) for each, value in pairs], self.clean)


ReadSources = Callable[[Sequence[Source]], Iterator[Item]]


@dataclass(frozen=True)
class Format:
    """One format, which a module of `formats` defines as its FORMAT.

    `title` names it in messages. `holds` recognises a record of a file, and `read` reads all files of
    the format together. It is a special case of those in `over`: a file that both recognise is in it.
    If it `is_strict`, a record that it does not recognise is refused. The texts are for the docs.
    """

    title: str
    recognised: str
    holds: Callable[[Any], bool]
    read: ReadSources
    tools: str = "recorded"
    calls: str = ""
    expectations: str = ""
    example: str = "log.jsonl"
    over: tuple[str, ...] = ()
    is_strict: bool = False

    def items(self, sources: Sequence[Source]) -> list[Item]:
        """What the files hold, and the problems with them."""
        readable: list[Source] = []
        strange: list[Record] = []
        for source in sources:
            records: list[Record] = []
            for record in source.records:
                if self.is_strict and not self.holds(record.value):
                    strange.append(record)
                else:
                    records.append(record)
            readable += [replace(source, records=records)] if records else []
        items = list(self.read(readable))
        if not items and not strange:
            strange = [record for source in sources for record in source.records][:1]
        return [*map(self._refused, strange), *items]

    def _refused(self, record: Record) -> Problem:
        return record.problem(f"read as {self.title}: expected {self.recognised}")


@dataclass(frozen=True)
class EachRecord:
    """A format's `read` for records that are read one by one, and with `split` each in parts.

    Unusable ones become problems.
    """

    read: Callable[[Record], Iterable[Item]]
    split: Callable[[Record], Iterable[Record]] = lambda record: [record]

    def __call__(self, sources: Sequence[Source]) -> Iterator[Item]:
        for record in (each for source in sources for each in source.records):
            yield from _read(record, partial(self.split, record), self.read)


@dataclass(frozen=True)
class EachFile:
    """A format's `read` for files that are read one by one, each in parts made of all its records."""

    read: Callable[[Record], Iterable[Item]]
    split: Callable[[list[Record]], Iterable[Record]] = lambda records: [
        replace(records[0], value=records)
    ]

    def __call__(self, sources: Sequence[Source]) -> Iterator[Item]:
        for source in sources:
            yield from _read(source.records[0], partial(self.split, [*source.records]), self.read)


def _read(
    whole: Record, split: Callable[[], Iterable[Record]], read: Callable[[Record], Iterable[Item]]
) -> Iterator[Item]:
    try:
        parts = list(split())
    except UnusableError as error:
        yield whole.problem(str(error))
        return
    for part in parts:
        try:
            yield from list(read(part))
        except UnusableError as error:
            yield part.problem(str(error))
