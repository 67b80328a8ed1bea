"""A format of files: how it is recognised, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import Problem
from .conversation import Item
from .records import Record, UnusableError

Clean = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Source:
    """A file and its records. `clean` removes secrets from values of other files that belong to it."""

    path: Path
    records: Sequence[Record]
    clean: Clean = lambda values: values

    def beside(self, path: Path, records: Sequence[Record]) -> Source:
        """Another file that belongs to this one, without secrets."""
        values = self.clean([record.value for record in records])
        pairs = zip(records, values, strict=True)
        return Source(path, [replace(each, value=value) for each, value in pairs], self.clean)


@dataclass(frozen=True)
class Format:
    """One format, which a module of `formats` defines as its FORMAT.

    `title` names it in messages. `holds` recognises a record of a file, and `read` reads all files of
    the format together. It is a special case of those in `over`: a file that both recognise is in it.
    `is_part` tells the files in a folder that others read, `is_of_skills` that SKILL.md is read there.
    The texts are for the docs.
    """

    title: str
    recognised: str
    holds: Callable[[Any], bool]
    read: Callable[[Sequence[Source]], Iterator[Item]]
    tools: str = "recorded"
    calls: str = ""
    expectations: str = ""
    example: str = "log.jsonl"
    over: tuple[str, ...] = ()
    is_part: Callable[[Path], bool] = lambda path: False
    is_of_skills: bool = False


def each_record(
    read: Callable[[Path, Record], Iterator[Item]],
) -> Callable[[Sequence[Source]], Iterator[Item]]:
    """A format's `read` for records that are read one by one. Unusable ones become problems."""

    def read_all(sources: Sequence[Source]) -> Iterator[Item]:
        for source in sources:
            for record in source.records:
                try:
                    yield from list(read(source.path, record))
                except UnusableError as error:
                    yield record.problem(source.path, str(error))

    return read_all


def each_file(
    read: Callable[[Path, list[Record]], Iterator[Item]],
) -> Callable[[Sequence[Source]], Iterator[Item]]:
    """A format's `read` for files that are read one by one."""

    def read_all(sources: Sequence[Source]) -> Iterator[Item]:
        for source in sources:
            try:
                yield from list(read(source.path, list(source.records)))
            except UnusableError as error:
                yield Problem(str(source.path), 1, 1, "", str(error))

    return read_all
