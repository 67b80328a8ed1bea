"""`fault:KIND[:TOOL]`: the first answer of each tool, or of one tool, is a failure."""

from __future__ import annotations

from msgspec import structs

from ..errors import ConfigError
from ..record.names import meant
from ..suite.altered import FAULTS, AlteredAnswers
from ..suite.case import ResolvedCase
from ..text import near
from .tools import all_tools
from .variant import Condition


def fault(case: ResolvedCase, condition: Condition) -> ResolvedCase | None:
    """Return the case with a failure as the first answer of each tool, or of one tool.

    It applies to conversations with an expected state or text, which a correct recovery still reaches.
    """
    text, _, named = condition.argument.partition(":")
    kind = next((each for each in FAULTS if each == text), None)
    if kind is None:
        hint = near(text, FAULTS) or f"; expected KIND[:TOOL] with one of {', '.join(FAULTS)}"
        raise ConfigError(f"unknown fault {text!r}{hint}")
    tool = meant(named, [tool.name for tool in case.tools]) if named else ""
    if tool is None:
        _require_tool(named, condition)
    if tool is None or not _reaches_more(case) or not gets_answers(case):
        return None
    altered = AlteredAnswers(kind, tool)
    faults = sum(altered.is_about(each.name) for each in case.tools)
    # Retries take more replies.
    return structs.replace(case, max_rounds=case.round_limit + faults, altered=altered)


def _require_tool(name: str, condition: Condition) -> None:
    names = set(all_tools(condition.suite))
    if meant(name, names) is None:
        names.update(*map(all_tools, condition.collected()))
        if meant(name, names) is None:
            raise ConfigError(f"no suite has the tool {name!r}{near(name, names)}")


def _reaches_more(case: ResolvedCase) -> bool:
    """True if the case expects a state or a text."""
    return any(part.expected_state or part.expected_text for part in case.parts)


def gets_answers(case: ResolvedCase) -> bool:
    """True if the model gets answers to its calls and is queried again."""
    if not case.has_tool_rounds or not case.tools:
        return False
    return case.world is not None or bool(case.mock_responses or case.live_tools)
