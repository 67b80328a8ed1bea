"""Reads files of other programs, whatever their format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError, Problem, SuiteError, each_reason_once
from ..suite.discovery import SUITE_ENDING
from ..text import near, plural
from .foreign import SKILL_FILE, foreign_file, foreign_record, what_is
from .format import Clean, Format, Source
from .formats import all_formats
from .items import Item
from .message_lists import answer_beside, at_place, conversation_at, is_list, is_message, lists_in
from .records import Record, UnusableError, read_records, read_yaml

_ENDINGS = (".json", ".jsonl", ".eval")
_YAML = (".yaml", ".yml")
# In folders, other files of YAML are not searched for, as most are something else, but for cassettes.
_CONFIGS = ("promptfooconfig.yaml", "promptfooconfig.yml")
_CASSETTE = re.compile(rb"(?:(?:#.*|---[ \t\r]*|version:.*|[ \t\r]*)\n)*interactions:\s*\n")
_HEAD = 4096
_MOST_BYTES = 512 << 20
_LOOKED_AT = 500  # records
_SUITE = "it is a suite already, which pytest runs; there is nothing to import"
_NO_MESSAGES = "no list of chat messages"
_SEVERAL = (
    "several lists of chat messages: {}; choose with tooleval import --messages {}, or keep only one"
)
_BESIDE = "the messages at {0} end before an answer, and {1} beside them is no answer that is known here"
_LISTS = ("data", "batch", "observations", "runs", "interactions")
_OF_RECORDS = {"messages", "choices", "input", "request"}  # what has one of these is a record


class Batch(NamedTuple):
    """The files of one format, how many records they have, and what these hold.

    With `is_cut` not all lines of a file were read, and with `is_part` not all files of a folder.
    """

    format: Format
    files: Sequence[tuple[Path, str]]
    size: int
    items: Sequence[Item]
    is_cut: bool = False
    is_part: bool = False

    @property
    def line(self) -> str:
        """`log.jsonl: 214 records as Anthropic messages`."""
        first, *more = (str(path) for path, _ in self.files)
        files = f"{first} and {plural(len(more), 'more file')}" if more else first
        places = ", ".join(dict.fromkeys(place for _, place in self.files if place))
        where = f", the messages at {places}" if places else ""
        size = plural(self.size, "record")
        size = f"the first {size}" if self.is_cut else size
        return f"{files}: {size} as {self.format.title}{where}"


def read_files(
    paths: Sequence[Path],
    named: str | None = None,
    *,
    place: str | None = None,
    clean: Clean = lambda values: values,
    most: int | None = None,
) -> list[Batch]:
    """The contents of these files and folders, by format, in the order of the files.

    With `most`, only so many lines of JSON Lines, and the first files of a folder that have so many.

    The format is the `named` one, else the one that recognises a file, else that of the only list of
    messages in each record. `place` says where they are. `clean` removes secrets from all values. Raises
    SuiteError for files that cannot be read, ConfigError for an unknown name.
    """
    if named is not None:
        _require_known(named)
    sources: dict[str, list[Source]] = {}
    problems: list[Problem] = []
    is_part = False
    size = 0
    for path, is_inside in {each.resolve(): (each, inner) for each, inner in _files(paths)}.values():
        if most is not None and is_inside and size >= most:
            is_part = True
            continue
        if path.name.endswith(SUITE_ENDING):
            problems.append(Problem(str(path), 1, 1, "", _SUITE))
            continue
        source, broken = _source(path, clean, place, most)
        problems += broken
        if not source.records:
            problems += [] if broken else [Problem(str(path), 1, 1, "", "nothing to import")]
            continue
        for part in _parts(source, named, place):
            if isinstance(part, Problem):
                problems.append(part)
            else:
                sources.setdefault(part[0], []).append(part[1])
                size += len(part[1].records)
    formats = all_formats()
    read: list[Batch] = []
    for name in [*sources]:
        parts = sources.pop(name)
        files = [(source.path, source.place) for source in parts]
        is_cut = any(source.is_cut for source in parts)
        items = formats[name].items(parts)
        count = sum(len(source.records) for source in parts)
        read.append(Batch(formats[name], files, count, items, is_cut, is_part))
    if problems and not read:
        raise SuiteError(each_reason_once(problems))
    if problems:
        read[0] = read[0]._replace(items=[*problems, *read[0].items])
    return read


def _require_known(name: str) -> None:
    formats = all_formats()
    if name not in formats:
        raise ConfigError(
            f"there is no format {name}{near(name, formats)}; formats: {', '.join(formats)}"
        )


def _files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """The files, and whether each is in one of the folders."""
    for path in paths:
        if not path.is_dir():
            yield path, False
            continue
        paths_in = sorted(path.rglob("*"))
        names = (each for each in paths_in if each.suffix in _ENDINGS or _is_yaml(each))
        files = [each for each in names if each.is_file() and not each.name.endswith(SUITE_ENDING)]
        files = files or [each for each in paths_in if each.name == SKILL_FILE]
        if not files:
            raise SuiteError([Problem(str(path), 1, 1, "", "no *.json or *.jsonl in this folder")])
        yield from ((each, True) for each in files)


def _is_yaml(path: Path) -> bool:
    """Whether a file in a folder is a config or a cassette of VCR, which may have no ending."""
    return path.name in _CONFIGS or (path.suffix in ("", *_YAML) and _is_cassette(path))


def _is_cassette(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return _CASSETTE.match(head) is not None


def _source(
    path: Path, clean: Clean, place: str | None, most: int | None
) -> tuple[Source, list[Problem]]:
    message = ""
    if path.exists() and not path.is_file():
        message = "not a regular file; write what it gives to one first"
    elif path.exists() and path.stat().st_size > _MOST_BYTES:
        message = f"more than {_MOST_BYTES >> 20} MiB; split the file"
    else:
        message = foreign_file(path) or ""
    if message:
        raise SuiteError([Problem(str(path), 1, 1, "", message)])
    if path.suffix in _YAML or _is_cassette(path):
        records, problems = [Record(path, 1, clean([read_yaml(path)])[0])], list[Problem]()
    else:
        records, problems = read_records(path, clean, most)
    is_cut = len(records) + len(problems) == most
    if len(records) == 1 and place is None:
        records = _unwrapped(records[0])
    elif records and _is_conversation([record.value for record in records]):
        if is_cut:
            return _source(path, clean, place, None)
        records = [records[0].inside({"messages": [record.value for record in records]}, "")]
    return Source(path, records, clean, is_cut=is_cut), problems


def _unwrapped(record: Record) -> list[Record]:
    """The records in the single object of an API's or an export's file."""
    value = record.value
    if isinstance(value, dict) and not _OF_RECORDS & {*value}:
        for key in _LISTS:
            if isinstance(value.get(key), list):
                return [record.inside(each, f"{key}[{n}]") for n, each in enumerate(value[key])]
    return [record]


def _is_conversation(values: list[Any]) -> bool:
    return all(map(is_message, values)) or is_list(values)


def _at_messages(source: Source, place: str | None) -> tuple[Source, list[Problem]]:
    """The records at the given place, or at the one place of messages in each, and the problems."""
    records: list[Record] = []
    problems: list[Problem] = []
    unknown: list[Record] = []
    places: dict[str, None] = {}
    for record in source.records:
        try:
            lists = lists_in(record.value) if place is None else at_place(record.value, place)
        except UnusableError as error:
            problems.append(record.problem(str(error)))
            continue
        here = dict.fromkeys(each.place for each in lists)
        if place is None and (lost := next(filter(None, map(answer_beside, lists)), None)):
            problems.append(record.problem(_BESIDE.format(lists[0].place, lost)))
            continue
        if len(here) > 1:
            problems.append(record.problem(_SEVERAL.format(", ".join(here), next(iter(here)))))
            continue
        unknown += [] if lists else [record]
        places |= here
        records += (conversation_at(record, each) for each in lists)
    if unknown and not records and not problems:
        problems.append(unknown[0].problem(what_is(unknown[0].value)))
    elif unknown:
        problems += (each.problem(_NO_MESSAGES) for each in unknown)
    return replace(source, records=records, place=", ".join(places)), problems


def _recognising(source: Source) -> list[str]:
    """The formats that recognise a file, but for those of which another one is a special case."""
    values = [record.value for record in source.records[:_LOOKED_AT]]
    formats = {name: each for name, each in all_formats().items() if _holds(each, values)}
    general = {name for each in formats.values() for name in each.over}
    return [name for name in formats if name not in general]


def _holds(format: Format, values: Sequence[Any]) -> bool:
    for value in values:
        with suppress(UnusableError):
            if format.holds(value):
                return True
    return False


def _without_foreign(source: Source) -> tuple[Source, list[Problem]]:
    """The file without the records of programs that are not read, and what to do about these."""
    reasons = [foreign_record(record.value) for record in source.records]
    pairs = [*zip(source.records, reasons, strict=True)]
    records = [record for record, why in pairs if why is None]
    return replace(source, records=records), [record.problem(why) for record, why in pairs if why]


def _parts(
    source: Source, named: str | None, place: str | None
) -> Iterator[tuple[str, Source] | Problem]:
    """The parts of a file by format, as a cassette may have answers of several APIs; and problems."""
    if not named and not place:
        source, strange = _without_foreign(source)
        yield from strange if source.records else strange[:1]
        if not source.records:
            return
    names = [named] if named else [] if place else _recognising(source)
    if not names or place:
        source, broken = _at_messages(source, place)
        yield from broken
        if not source.records:
            return
        names = [named] if named else _recognising(source)
    if len(names) == 1:
        yield names[0], source
        return
    parts: dict[str | None, list[Record]] = {}
    if names and all(all_formats()[name].calls for name in names):
        for record in source.records:
            formats = _recognising(replace(source, records=[record]))
            parts.setdefault(formats[0] if len(formats) == 1 else None, []).append(record)
    if not parts or None in parts:
        several = f"read as {' and as '.join(names)}: name one with --format"
        yield source.records[0].problem(several if names else what_is(source.records[0].value))
        return
    yield from ((str(name), replace(source, records=records)) for name, records in parts.items())
