"""What a case or a turn expects of the model."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field, PrivateAttr

from ..findings import Loc
from .fields import Apart, Expects, OnlyFor, SuiteObject
from .types import (
    EndedCall,
    ExpectedText,
    ExpectedValue,
    Name,
    OneOrMoreTools,
    Params,
    ToolName,
    WithComment,
)

CallOrder = Literal["any", "strict"]
Match = Literal["exact", "contains", "within", "state"]
ANY_TOOL = "*"
# In the params of a forbidden call.
ANY_PARAMETER = "*"
_CALL = '{"tool": "get_weather", "params": {"city": "Paris"}}'


_E = TypeVar("_E", bound="Expectations")


class ExpectedCall(EndedCall):
    """One of several expected calls, or a forbidden call."""

    EXPECTS = f"an object such as {_CALL}"
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "tool": "name expected_tool function",
        "params": "arguments args expected_params parameters",
        "result": "answer returns",
    }

    tool: Annotated[
        OneOrMoreTools, Expects('the name of a tool, a list of names, or "*" for any tool')
    ] = Field(
        description='The tool to call; a list of acceptable tools; or "*" for any tool; in '
        "expected_calls, for any number of calls."
    )
    params: Params | None = Field(
        None, description="Expected arguments; null: not scored. Values may be matchers."
    )
    result: ExpectedValue = Field(
        None,
        description="What the tool must answer: a value or a matcher. JSON in the answer is parsed; "
        "further keys of an object do not count.",
    )
    optional: bool = Field(
        False, description="In expected_calls: whether the call may be missing. Made, it must be right."
    )


ExpectedCalls = Annotated[list[ExpectedCall], Expects(f"a list of calls such as [{_CALL}]")]


class AnyOfCalls(SuiteObject):
    """Several lists of calls, any of which is right."""

    EXPECTS = 'a list of calls, or an object such as {"$any_of": [[...], [...]]}'

    lists: Annotated[list[ExpectedCalls], Field(min_length=1), Expects("one or more lists of calls")] = (
        Field(alias="$any_of", description="Lists of calls; the best one counts. One of them may be [].")
    )


Forbidden = Annotated[
    Literal["*"]
    | list[
        Annotated[
            Name | ExpectedCall,
            Expects('the name of a tool, or an object such as {"tool": "pay", "params": {...}}'),
        ]
    ],
    Expects(
        'a list of tool names and calls, such as [{"tool": "pay", "params": {"amount": 0}}], or "*" '
        "for every tool that is not expected"
    ),
]


class Expectations(WithComment):
    """The expectations for a turn, or for the whole case."""

    expected_tool: Annotated[
        ToolName | Annotated[list[ToolName | None], Field(min_length=1)] | None,
        Expects(
            'the name of a tool, a list of names, "*" for any tool, or null when nothing should be '
            "called"
        ),
    ] = Field(
        None,
        description="The tool to call; a list of acceptable tools, with null if no call is also right; "
        '"*" for any tool; null when nothing should be called. Required, unless there are '
        "expected_calls.",
    )
    expected_params: Params | None = Field(
        None,
        description="Expected arguments; null: not scored. Values may be matchers. With {}, any "
        "declared arguments are right.",
    )
    expected_calls: (
        Annotated[ExpectedCalls | AnyOfCalls, Expects(f"a list of calls such as [{_CALL}]")] | None
    ) = Field(
        None,
        description='Several expected calls: [{"tool": ..., "params": {...}}], each may have '
        '"optional": true; [] when nothing should be called; {"$any_of": [[...], [...]]} when any of '
        "several lists is right. Excludes expected_tool.",
    )
    call_order: CallOrder = Field(
        "any", description="Whether the order of expected_calls counts: any (the default) or strict."
    )
    parallel: bool | None = Field(
        None,
        description="Whether all expected_calls must be in one reply (true), or each in its own "
        "(false). Calls of an agent with its own loop are in one if they began before the others were "
        "answered.",
    )
    match: Annotated[Match | None, OnlyFor("conversation")] = Field(
        None,
        description=(
            "In a conversation, how calls compare with expected_calls: exact (the default), contains "
            "(extra calls are allowed), within (only these are allowed, each as often as listed), "
            "state (they lead to the same state of the world). In the case: the default for its turns."
        ),
    )
    results: Annotated[bool | None, OnlyFor("conversation")] = Field(
        None,
        description="With match state: whether the model must also get every answer that the expected "
        "calls give. In the case: the default for its turns.",
    )
    forbidden_calls: Forbidden | None = Field(
        None,
        description="Calls that fail the case, even if all else is right: tool names, or a pattern "
        'with one *, as in "delete_*"; {"tool": ..., "params": {...}} with matchers, in which "*" is '
        'any tool or any argument; or "*" for every tool that is neither expected nor a valid '
        "prerequisite. Unreadable arguments also fail the case.",
    )
    expected_state: Annotated[
        dict[str, ExpectedValue] | None,
        Expects('an object of paths and values, such as {"orders.A1.refunded": 40}'),
        OnlyFor("conversation"),
    ] = Field(
        None,
        description=(
            "With a world: expected values or matchers by their path in its state, such as "
            "orders.A1.refunded; after the turn, or at the end of the case."
        ),
    )
    expected_text: Annotated[
        list[ExpectedText] | None,
        Expects('a list of texts and matchers, such as ["refunded", {"$number": 40}]'),
    ] = Field(
        None,
        description="Texts that a message of the assistant must contain: a text, "
        '{"$regex": ...}, {"$number": ...} or {"$not": ...}; {"$json": ...}, the JSON that is its whole '
        'text; or a rubric for a judge, {"$judge": ...}.',
    )

    may_change_nothing: Annotated[bool, Apart()] = Field(
        False,
        description="In a conversation: whether an agent that makes no call may pass, as with a state "
        "that has to stay as it is. Without it, such a case is an error.",
    )

    # The number of the list in `$any_of` that these have instead of all.
    _number: int | None = PrivateAttr(default=None)

    @property
    def gives_tool(self) -> bool:
        """True if `expected_tool` is given; null says that nothing should be called."""
        return self.expected_tool is not None or "expected_tool" in self.model_fields_set

    @property
    def expected_tools(self) -> tuple[str, ...]:
        """The acceptable tools in `expected_tool`; empty if it is null."""
        tool = self.expected_tool
        return (tool,) if isinstance(tool, str) else tuple(filter(None, tool or ()))

    @property
    def placed_calls(self) -> list[tuple[Loc, ExpectedCall]]:
        """Every call of `expected_calls` with its path, of all alternatives."""
        if isinstance(self.expected_calls, AnyOfCalls):
            return [placed for each in self.alternatives for placed in each.placed_calls]
        path = self.list_path
        return [((*path, index), call) for index, call in enumerate(self.expected_calls or ())]

    @property
    def list_path(self) -> Loc:
        """The path of `expected_calls`, or of one of its lists."""
        return ("expected_calls", *(() if self._number is None else ("$any_of", self._number)))

    @property
    def calls(self) -> list[ExpectedCall] | None:
        """The expected calls of all alternatives, with that of `expected_tool`; None: any are right."""
        if self.expected_calls is not None:
            return [call for _, call in self.placed_calls]
        if not self.gives_tool:
            return None
        tools = self.expected_tools
        tool = tools[0] if len(tools) == 1 else list(tools)
        return [ExpectedCall(tool=tool, params=self.expected_params)] if tools else []

    @property
    def takes_any(self) -> bool:
        """True if any number of calls to any tool is right."""
        if self.expected_calls is None:
            return ANY_TOOL in self.expected_tools
        return any(ANY_TOOL in call.tools for _, call in self.placed_calls)

    @property
    def alternatives(self: _E) -> list[_E]:
        """These expectations once for each list of calls that is right, with that list alone."""
        if isinstance(self.expected_calls, AnyOfCalls):
            copies = []
            for number, calls in enumerate(self.expected_calls.lists):
                copies.append(self.model_copy(update={"expected_calls": calls}))
                copies[-1]._number = number
            return copies
        if isinstance(self.expected_tool, list) and None in self.expected_tool:
            nothing = self.model_copy(update={"expected_tool": None, "expected_params": None})
            if not self.expected_tools:
                return [nothing]
            return [self.model_copy(update={"expected_tool": list(self.expected_tools)}), nothing]
        return [self]

    @property
    def allows_no_call(self) -> bool:
        """True if there are expected calls, and to make none of them is right."""
        lists = [each.calls for each in self.alternatives]
        return any(calls is not None and all(call.optional for call in calls) for calls in lists)

    @property
    def has_choices(self) -> bool:
        """True if some of the expected calls may be missing, or others are also right."""
        return len(self.alternatives) > 1 or any(call.optional for _, call in self.placed_calls)

    @property
    def rubrics(self) -> list[str]:
        """The rubrics for a judge."""
        texts = self.expected_text or ()
        return [text["$judge"] for text in texts if isinstance(text, dict) and "$judge" in text]
