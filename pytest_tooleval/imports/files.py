"""What files hold, as what an import found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from ..errors import ConfigError, Problem, SuiteError, each_reason_once
from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from ..replies.outside_transcript import OutsideTranscript
from ..secrets import redact
from ..text import canonical, plural
from .apply import ImportResult, Tick, count_changed
from .chats import RecordedAnswer, answers_in, expected_in, usable
from .format import EachFile, EachRecord
from .items import Exercise, Item, ToolList, ToolUse, WholeSuite
from .openai_tools import tool_definitions
from .reading import Batch, read_files
from .records import UnusableError, decode_text
from .seen_tools import tools_seen

T = TypeVar("T")
_SEED = 1
_MOST_RECORDS = 100_000
_SAMPLED = f"a random sample of at most {{}}, with the seed {_SEED}: another import has the same cases"


def import_files(
    paths: Sequence[Path],
    named: str | None,
    *,
    has_tools: bool,
    place: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    tick: Tick = lambda text: None,
) -> tuple[ImportResult, list[str]]:
    """The contents of files and folders, at most the first `limit` cases, or `sample` random ones, and a
    line for each format.

    `has_tools` if there is a suite with tools, which then serve where none are recorded. `place` says
    where each record has its messages. `tick` is called with what has been done so far. Raises
    SuiteError for what cannot be read, ConfigError for files that do not go together.
    """
    secrets = count = 0

    def clean(values: list[Any]) -> list[Any]:
        nonlocal secrets, count
        count += len(values)
        tick(f"{plural(count, 'record')} read")
        cleaned: list[Any] = redact(values)
        secrets += count_changed(values, cleaned)
        return cleaned

    def read(most: int | None) -> list[Batch]:
        nonlocal secrets, count
        secrets = count = 0
        return read_files(paths, named, place=place, clean=clean, most=most)

    batches = read(None) if limit is None else _first(limit, read, has_tools=has_tools)
    items = [each for batch in batches for each in batch.items]
    suites = [each for each in items if isinstance(each, WholeSuite)]
    lists = [each for each in items if isinstance(each, ToolList)]
    problems = [each for each in items if isinstance(each, Problem)]
    first = paths[0].resolve()
    name = first.name if first.is_dir() else first.stem
    if problems and (suites or len(problems) == len(items)):
        # With gaps, a benchmark would be a different one.
        raise SuiteError(each_reason_once(sorted(problems, key=lambda each: (each.path, each.line))))
    if suites:
        if len(items) > 1:
            raise ConfigError("a whole suite cannot be joined with other files: import it alone")
        suite = suites[0].suite
        cases = _chosen(suite["test_cases"], limit, sample)
        result = ImportResult(name, suite={**suite, "test_cases": cases})
    else:
        listing = _joined(lists)
        left_out = [*problems, *(listing.left_out if listing else ())]
        if listing and len(lists) + len(problems) == len(items):
            said = [line for each in lists for line in each.remarks]
            result = ImportResult(name, listing, left_out=left_out, remarks=said)
        else:
            answers = _answers(items, listing and listing.tools, has_tools=has_tools, tick=tick)
            result = ImportResult(name, answers=_chosen(answers, limit, sample), left_out=left_out)
    if sample is not None:
        result = result._replace(remarks=[*result.remarks, _SAMPLED.format(sample)])
    return result._replace(secrets=secrets), [batch.line for batch in batches]


def _first(limit: int, read: Callable[[int | None], list[Batch]], *, has_tools: bool) -> list[Batch]:
    """What the first lines and files hold that have more cases than the limit.

    That is everything where lines belong together, or where tools may be in another file.
    """
    most = limit + 1
    while most < _MOST_RECORDS:
        try:
            batches = read(most)
        except SuiteError:
            break
        is_cut, is_part = any(each.is_cut for each in batches), any(each.is_part for each in batches)
        if not is_part and not is_cut:
            return batches
        kinds = {type(each.format.read) for each in batches}
        if not kinds <= {EachRecord, EachFile}:
            break
        items = [each for batch in batches for each in batch.items]
        answers = _answers(items, None, has_tools=has_tools, tick=lambda text: None)
        usable = [each for each in answers if isinstance(each, RecordedAnswer)]
        is_known = not is_part or all(each.offered and not each.made_tools for each in usable)
        if len(usable) > limit and is_known and not (is_cut and EachFile in kinds):
            return batches
        most *= 8
    return read(None)


def _chosen(values: Sequence[T], limit: int | None, sample: int | None) -> list[T]:
    """The first values or random ones, in order; problems do not count and stay, up to the last."""
    places = [n for n, each in enumerate(values) if not isinstance(each, Problem)]
    if sample is not None and sample < len(places):
        chosen = {*Random(_SEED).sample(places, sample)}
    else:
        chosen = {*places[:limit]}
    end = max(chosen, default=0) if len(chosen) < len(places) else len(values)
    return [
        item for n, item in enumerate(values) if n in chosen or (n < end and isinstance(item, Problem))
    ]


def _joined(lists: Sequence[ToolList]) -> ToolList | None:
    """The tools of all lists. SuiteError if they do not go together."""
    if not lists:
        return None
    try:
        tools = tool_definitions([tool for each in lists for tool in each.tools])
    except UnusableError as error:
        raise SuiteError([lists[0].at.problem(str(error))]) from None
    left_out = [problem for each in lists for problem in each.left_out]
    return lists[0]._replace(tools=tools, left_out=left_out)


def tool_lists(path: Path) -> list[list[dict[str, Any]]]:
    """The different lists of tools in a file. SuiteError if it has none, or cannot be read."""
    lists: dict[str, list[dict[str, Any]]] = {}
    problems: list[Problem] = []
    for item in (each for batch in read_files([path], clean=redact) for each in batch.items):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        listed = as_list(item.suite.get("tools")) if isinstance(item, WholeSuite) else item.tools
        try:
            tools = tool_definitions(list(listed or ()))
        except UnusableError as error:
            problems.append(item.at.problem(str(error)))
        else:
            lists |= {canonical(tools): tools} if tools else {}
    if not lists:
        raise SuiteError(problems or [Problem(str(path), 1, 1, "", "no tools are recorded")])
    return [*lists.values()]


def _answers(
    items: Sequence[Item], tool_list: Sequence[dict[str, Any]] | None, *, has_tools: bool, tick: Tick
) -> list[RecordedAnswer | Problem]:
    """The answers and expectations, with these tools where none are recorded."""
    conversations = [each for each in items if isinstance(each, (OutsideTranscript, Exercise))]
    tools: Sequence[Any] | None = tool_list
    if tool_list is None and not has_tools:
        without = [each for each in conversations if each.tools is None]
        tools = tools_seen(call for each in without for call in _calls_in(each)) or None
    answers: list[RecordedAnswer | Problem] = []
    for number, item in enumerate(conversations):
        tick(f"{number} of {plural(len(conversations), 'answer')} read")
        offered = item._replace(tools=tools if item.tools is None else item.tools)
        if isinstance(offered, OutsideTranscript):
            of_item = [*answers_in(offered)]
        else:
            of_item = [usable(offered.at, partial(expected_in, offered))]
        if item.tools is None and tools and tools is not tool_list:
            of_item = [a if isinstance(a, Problem) else replace(a, made_tools=tools) for a in of_item]
        answers += of_item
    return answers


def _calls_in(item: OutsideTranscript | Exercise) -> Iterator[ToolUse]:
    """The calls in an item."""
    if isinstance(item, Exercise):
        yield from ((name, arguments or {}) for name, arguments in item.calls)
        return
    for call in (each for message in item.messages for each in objects_in(message.get("tool_calls"))):
        function = as_mapping(call.get("function"))
        arguments = decode_text(function.get("arguments"))
        if "custom" in call:
            yield as_text(as_mapping(call["custom"]).get("name")), None
        elif not call.get("hosted"):
            yield as_text(function.get("name")), arguments if isinstance(arguments, dict) else {}
