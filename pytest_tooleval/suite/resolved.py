"""A case with the suite's defaults and the command line's values applied."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import ConfigError
from ..matchers.modes import DEFAULT_MODE, MODES, Mode
from ..record.calls import ToolCall
from ..record.metrics import LIMITS, METRICS, NEVER_DECISIVE
from ..record.names import KnownTools, meaning, same_tool
from ..record.thresholds import needed_of
from .case import AsWritten, PromptMessage, ResolvedCase, ResolvedTurn, TestCase, Turn
from .expectations import ANY_TOOL, Expectations, ExpectedCall
from .fingerprints import fingerprint_of_case
from .model import Suite, world_of
from .name_patterns import with_fitting
from .overrides import ChoiceWord, Overrides
from .tools import Choice, Tool

_DEFAULTS = {row.name: row.default for row in METRICS if row.default is not None}
# They judge a chain in place of `overall`: another allowed prerequisite is less efficient, not wrong.
_OF_CHAINS = frozenset(("text", *(row.name for row in METRICS if row.kinds == ("chain",))))
# BFCL judges only what `overall` judges. Policies hold everywhere.
_ONLY_OVERALL = ("overall", "policies")
NOTHING_JUDGES = (
    'no active threshold, so wrong answers would pass; keep at least one, such as "overall": 0.8'
)


def known_tools(case: ResolvedCase, tools: Iterable[Tool] | None = None) -> KnownTools:
    """Return the tools, by default all of the case, that calls may refer to."""
    offered = case.tools if tools is None else tools
    return KnownTools.of(
        ((tool.definition.name, tool.namespace, tool.parameters) for tool in offered),
        is_exact=MODES[case.param_scoring].exact_names,
        prefix=case.tool_prefix,
        in_text=case.tool_choice != "none",
    )


def same_name(expected: str, called: str, case: ResolvedCase) -> bool:
    """True if a called name is the expected one."""
    if expected == called:
        return True
    if MODES[case.param_scoring].exact_names:
        return expected.replace(".", "_") == called
    return same_tool(expected, called, (tool.name for tool in case.tools))


def accepts(tools: Sequence[str], called: str, case: ResolvedCase) -> bool:
    """True if a called name is one of the expected ones, or fits a pattern; `"*"` accepts any."""
    if called in tools or ANY_TOOL in tools:
        return True
    # A pattern may fit the name as the model wrote it, or the offered tool that it means.
    named = with_fitting(tools, (called, *(tool.name for tool in case.tools)))
    return any(same_name(tool, called, case) for tool in named)


def is_expected(name: str, case: ResolvedCase) -> bool:
    """True if the case expects a call to this tool, not counting prerequisites."""
    return is_among(name, case.expected.calls or (), case)


def is_among(name: str, expected: Iterable[ExpectedCall], case: ResolvedCase) -> bool:
    """True if one of these calls is to this tool."""
    return any(accepts(each.tools, name, case) for each in expected)


def find_tool(case: ResolvedCase, name: str) -> Tool | None:
    """Return the offered tool with this name; None if there is none."""
    for tool in case.tools:
        if tool.name == name:
            return tool
    for tool in case.tools:
        if same_name(tool.name, name, case):
            return tool
    return None


def offers(case: ResolvedCase, names: Sequence[str]) -> bool:
    """True if the case offers one of these tools; `"*"` is any tool."""
    named = with_fitting(names, (tool.name for tool in case.tools))
    return any(bool(case.tools) if name == ANY_TOOL else find_tool(case, name) for name in named)


def is_unknown(case: ResolvedCase, call: ToolCall) -> bool:
    """True if a call is to a tool that was not offered, and that no provider runs itself."""
    return not call.hosted and find_tool(case, call.name) is None


def resolve(suite: Suite, case: TestCase, overrides: Overrides | None = None) -> ResolvedCase:
    """Apply defaults: the command line overrides the case, and the case overrides the suite.

    Thresholds merge metric by metric over the defaults; null removes one. Raises ConfigError if none is
    left that `judges`.
    """
    over = overrides or Overrides()
    param_scoring = case.param_scoring or suite.param_scoring or DEFAULT_MODE
    layers = (suite.thresholds, case.thresholds, over.thresholds)
    merged = merged_thresholds(case, MODES[param_scoring], *layers)
    policies = (*suite.policies, *case.policies)
    apart = {*LIMITS, *(() if policies else ("policies",))}
    thresholds = {name: value for name, value in merged.items() if name not in apart}
    if not judges(merged):
        raise ConfigError(NOTHING_JUDGES)
    forbidden = _first(case.forbidden_calls, suite.forbidden_calls) or ()
    own_trials = _first(case.trials, suite.trials)
    trials, rule = planned_trials(over, own_trials, _first(case.pass_rule, suite.pass_rule))
    awaits_call = case.kind != "conversation" and not case.allows_no_call
    default_choice: ChoiceWord = "required" if awaits_call else "auto"
    tools = tuple(suite.tools if case.tools is None else case.tools)
    turns = turns_of(case, tools)
    response_format = _first(case.response_format, suite.response_format)
    return ResolvedCase(
        **{name: getattr(case, name) for name in AsWritten.__struct_fields__},
        kind=case.kind,
        id=case.id or "",
        line=case.line,
        suite=suite.name,
        fingerprint=fingerprint_of_case(suite, case),
        expected=_expectations_of(case),
        messages=messages_of(suite, case),
        tools=tools,
        turns=turns,
        world=world_of(suite, case),
        exact_state=bool(_first(case.exact_state, suite.exact_state)),
        public_texts=suite.public_texts,
        namespaces=suite.namespaces,
        provider_tools=suite.provider_tools,
        tool_prefix=suite.tool_prefix or "",
        tool_choice=over.tool_choice or case.tool_choice or suite_choice(suite, case) or default_choice,
        temperature=_first(over.temperature, case.temperature, suite.temperature),
        max_tokens=_first(over.max_tokens, case.max_tokens, suite.max_tokens),
        response_format=response_format.chat_parameter if response_format else None,
        param_scoring=param_scoring,
        thresholds=thresholds,
        limits={name: value for name, value in merged.items() if name in LIMITS},
        forbidden_calls=tuple(forbidden),
        policies=policies,
        trials=trials,
        pass_rule=rule,
        live_tools=tuple(_first(case.live_tools, suite.live_tools) or ()),
        set_by=_set_by(suite, case, over),
    )


def _expectations_of(case: TestCase) -> Expectations:
    """Return the expectations of a case without the rest of it."""
    values = {name: getattr(case, name) for name in Expectations.model_fields if name != "comment"}
    return Expectations.model_construct(case.model_fields_set & values.keys(), **values)


def turns_of(case: TestCase, tools: tuple[Tool, ...]) -> tuple[ResolvedTurn, ...]:
    """Return the turns of a case, withholding each new tool until its turn."""
    if case.kind == "conversation" and case.turns is None:
        return (ResolvedTurn(Turn(prompt=""), (), tools),)
    turns, names = case.turns or (), [tool.name for tool in tools]
    resolved = []
    for number, turn in enumerate(turns, 1):
        withheld = {meaning(name, names) for later in turns[number:] for name in later.new_tools}
        offered = tuple(tool for tool in tools if tool.name not in withheld)
        resolved.append(ResolvedTurn(turn, prompt_messages(turn.prompt), offered))
    return tuple(resolved)


def merged_thresholds(
    case: TestCase, mode: Mode, *layers: Mapping[str, float | None] | None
) -> dict[str, float]:
    """Return thresholds and limits, each from the last layer that sets it, or else the defaults.

    `completion`, the penalties and expected texts judge a chain, unless a layer sets `overall`, even to
    None.
    """
    if mode.only_overall:
        names: Collection[str] = _ONLY_OVERALL
    elif case.kind == "conversation":
        names = (*_ONLY_OVERALL, "arguments_valid")
    elif case.kind == "chain" and not any("overall" in (layer or ()) for layer in layers):
        names = _DEFAULTS.keys() - {"overall", *(() if case.expected_text else ("text",))}
    else:
        names = _DEFAULTS.keys() - _OF_CHAINS
    merged: dict[str, float | None] = {name: _DEFAULTS[name] for name in _DEFAULTS if name in names}
    for layer in layers:
        merged.update(layer or {})
    return {name: value for name, value in merged.items() if value is not None}


def judges(names: Iterable[str]) -> bool:
    """True if thresholds on these metrics can tell a right answer from a wrong one."""
    return any(name not in NEVER_DECISIVE and name not in LIMITS for name in names)


def suite_choice(suite: Suite, case: TestCase) -> Choice | None:
    """Return the suite's `tool_choice` for a case. Conversations do not take over `required`."""
    is_dropped = case.kind == "conversation" and suite.tool_choice == "required"
    return None if is_dropped else suite.tool_choice


def _set_by(suite: Suite, case: TestCase, over: Overrides) -> dict[str, str]:
    """Return where each parameter that the user has set is set."""
    places: dict[str, str] = {}
    if case.response_format or suite.response_format:
        places["response_format"] = "the case" if case.response_format else "the suite"
    of_suite = {
        "tool_choice": suite_choice(suite, case),
        "temperature": suite.temperature,
        "max_tokens": suite.max_tokens,
    }
    for name, value in of_suite.items():
        if getattr(over, name) is not None:
            places[name] = f"--tooleval-{name.replace('_', '-')}"
        elif getattr(case, name) is not None:
            places[name] = "the case"
        elif value is not None:
            places[name] = "the suite"
    return places


def planned_trials(over: Overrides, trials: int | None, own_rule: str | None) -> tuple[int, str]:
    """Return the number of trials, and the rule from trials to verdict.

    The number is N of a rule `K/N`, even one that a word on the command line overrides.
    """
    rule = over.pass_rule or own_rule or "mean"
    needed = needed_of(rule) or (needed_of(own_rule or "") if over.trials is None else None)
    return needed[1] if needed else over.trials or trials or 1, rule


def messages_of(suite: Suite, case: TestCase) -> tuple[dict[str, Any], ...]:
    """Return the messages before the first reply."""
    system = [] if suite.system_prompt is None else [{"role": "system", "content": suite.system_prompt}]
    if case.user is not None:
        return tuple(system)
    first = case.prompt if case.turns is None else case.turns[0].prompt
    return (*system, *prompt_messages(first))


def prompt_messages(prompt: str | list[PromptMessage] | None) -> tuple[dict[str, Any], ...]:
    """Return a prompt as chat messages."""
    if prompt is None or isinstance(prompt, str):
        return ({"role": "user", "content": prompt or ""},)
    return tuple(message.model_dump(exclude_unset=True) for message in prompt)


_Value = TypeVar("_Value")


def _first(*values: _Value | None) -> _Value | None:
    for value in values:
        if value is not None:
            return value
    return None
