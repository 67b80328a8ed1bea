"""Agent skills (agentskills.io) as tools: which one fires for which request?

A skill is a folder with a file `SKILL.md`, which begins with YAML between two lines `---`. An agent
chooses by `name` and `description` alone, so a suite needs only these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Problem, SuiteError, os_reason
from ...explain import show
from ...suite.drafts import EDIT, draft_case
from ...suite.source import decode_bytes
from ..conversation import Item, ToolList
from ..format import Format, Source

if TYPE_CHECKING:
    from yaml.nodes import Node

SKILL_FILE = "SKILL.md"
_NOT_SEARCHED = {".git", "node_modules"}
FIRES, DOES_NOT_FIRE = "fires", "does_not_fire"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1024
_FENCE = "---"


@dataclass(frozen=True)
class _Text:
    """A text in the front matter, and its line."""

    text: str
    line: int


def _read(sources: Sequence[Source]) -> Iterator[Item]:
    """A tool for each skill.

    Each new skill gets two drafts: one request that it should fire for, and one that it should not.
    Skills that cannot be read are left out. Raises SuiteError with all problems if none can.
    """
    problems: list[Problem] = []
    tools: dict[str, dict[str, Any]] = {}
    places: dict[str, Path] = {}
    for path in (source.path for source in sources):
        try:
            tool, line = _tool(path)
        except SuiteError as error:
            problems += error.problems
            continue
        key = tool["function"]["name"]
        if tools.setdefault(key, tool) != tool:
            other = show(str(places[key]), 200)
            fix = "rename one, or import them into two suites"
            message = f"the name {show(key)} is also used by {other}; {fix}"
            problems.append(Problem(str(path), line, 1, "name", message))
        places.setdefault(key, path)
    if not tools:
        raise SuiteError(problems)
    # The model may also call no tool.
    settings = {"tool_choice": "auto"}
    yield ToolList(
        sources[0].records[0].problem(), [*tools.values()], problems, settings, "skill", _drafts
    )


def skill_files(folder: Path) -> Iterator[Path]:
    """The files of skills in the order of their paths. The folder of a skill is not searched further."""
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if SKILL_FILE in files and real not in seen:
            yield Path(place) / SKILL_FILE
        if SKILL_FILE in files or real in seen:
            folders.clear()
        seen.add(real)
        folders[:] = sorted(set(folders) - _NOT_SEARCHED)


def _tool(path: Path) -> tuple[dict[str, Any], int]:
    """The tool of a skill, and the line of its name."""
    try:
        text = decode_bytes(path.read_bytes(), str(path))
    except OSError as error:
        message = f"the file cannot be read: {os_reason(error)}"
        raise SuiteError([Problem(str(path), 1, 1, "", message)]) from None
    fields = _front_matter(text, path)
    problems = [
        Problem(str(path), found.line if found else 1, 1, field, message)
        for field, found, message in _complaints(fields)
    ]
    if problems:
        raise SuiteError(problems)
    function = {key: fields[key].text for key in ("name", "description")}
    return {"type": "function", "function": function}, fields["name"].line


def _complaints(fields: Mapping[str, _Text]) -> Iterator[tuple[str, _Text | None, str]]:
    name, description = fields.get("name"), fields.get("description")
    if name is None:
        yield "name", None, f'missing; write "name: my-skill" between the lines {_FENCE}'
    elif not _NAME.fullmatch(name.text) or len(name.text) > _LONGEST_NAME:
        what = f"at most {_LONGEST_NAME} lower-case letters, digits and single hyphens"
        yield "name", name, f"expected {what}, such as pdf-forms, got {show(name.text)}"
    if description is None:
        yield "description", None, "missing; say what the skill does and when to use it"
    elif len(description.text) > _LONGEST_DESCRIPTION:
        message = f"expected at most {_LONGEST_DESCRIPTION} characters, got {len(description.text)}"
        yield "description", description, message


def _front_matter(text: str, path: Path) -> dict[str, _Text]:
    """The non-empty texts between the two lines `---`."""
    import yaml

    lines = text.splitlines()
    ends = [number for number, line in enumerate(lines) if line.rstrip() == _FENCE]
    if len(ends) < 2 or ends[0] != 0:
        message = f'expected "name" and "description" between two lines {_FENCE} at the beginning'
        raise SuiteError([Problem(str(path), 1, 1, "", message)])
    try:
        node = yaml.compose("\n".join(lines[: ends[1]]), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = f"invalid YAML: {error.problem}; put a text with a colon in quotes"
        raise SuiteError([Problem(str(path), line, column, "", message)]) from None
    if not isinstance(node, yaml.MappingNode):
        raise SuiteError([Problem(str(path), 2, 1, "", "expected lines such as name: my-skill")])
    pairs = ((key.value, _text(value)) for key, value in node.value)
    return {key: found for key, found in pairs if found is not None}


def _text(node: Node) -> _Text | None:
    import yaml

    if not isinstance(node, yaml.ScalarNode) or not node.value.strip() or node.tag.endswith(":null"):
        return None
    return _Text(node.value.strip(), node.start_mark.line + 1)


def _drafts(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    fires = {key: value for key, value in draft_case(tool).items() if key != "expected_params"}
    name = tool["function"]["name"]
    quiet = {
        **fires,
        "id": f"not-{fires['id']}",
        "prompt": fires["prompt"].replace(EDIT, f"[edit: what sounds like {name}, but is not]"),
        "expected_tool": None,
    }
    return [{**fires, "tags": [FIRES]}, {**quiet, "tags": [DOES_NOT_FIRE]}]


FORMAT = Format(
    title="agent skills",
    recognised=f"files `{SKILL_FILE}` in a folder or below",
    tools="one for each skill, without parameters",
    example="skills/",
    holds=lambda value: isinstance(value, dict) and SKILL_FILE in value,
    read=_read,
    is_of_skills=True,
)
