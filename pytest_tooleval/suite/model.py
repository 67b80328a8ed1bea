"""The suite file as pydantic models, and `resolve`, which applies a suite's defaults to a case.

The models check each value on its own. `suite.load`, which reads every file, also runs the checks that
compare values (duplicate ids, undefined tools).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct
from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from .. import secrets
from ..errors import ConfigError, ToolevalError
from ..explain import nearest
from ..keys import PublicTexts
from ..matchers.modes import DEFAULT_MODE, MODES, ParamScoring
from ..record.metrics import LIMITS, NEVER_DECISIVE, ROWS
from ..record.names import KnownTools, meant, qualified
from ..record.thresholds import needed_of
from ..record.variants import UNCHANGED, Arm
from ..worlds.memory import Memory
from ..worlds.world import WorldSpec
from .altered import AlteredAnswers
from .fields import Expects, Part
from .overrides import ChoiceWord, Overrides
from .tools import TOOL_EXAMPLE, other_format

Role = Literal["system", "developer", "user", "assistant", "tool"]
CallOrder = Literal["any", "strict"]
CaseKind = Literal["calls", "chain", "conversation"]
Match = Literal["exact", "contains", "within", "state"]

DEFAULT_THRESHOLDS = {row.name: row.default for row in ROWS if row.default is not None}
# BFCL judges only what `overall` judges. In a conversation, an invalid call does no harm if the model
# corrects it in its next reply.
ONLY_OVERALL = {"overall": DEFAULT_THRESHOLDS["overall"]}
DEFAULT_MAX_ROUNDS = 10
DEFAULT_STOP = "###STOP###"
DEFAULT_MAX_TURNS = 20
NOTHING_JUDGES = (
    'no active threshold, so wrong answers would pass; keep at least one, such as "overall": 0.8'
)
# More is a typo: each trial of each case is kept in memory.
MAX_TRIALS = 10_000
MAX_ID_LENGTH = 200
ANY_TOOL = "*"
# In the params of a forbidden call.
ANY_PARAMETER = "*"

SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/tooleval.schema.json"
)
_EXAMPLE_THRESHOLDS: Any = {"overall": 0.8, "no_extra_calls": None, "max_calls": 3}
_CALL = '{"tool": "get_weather", "params": {"city": "Paris"}}'
_TURN = '{"prompt": "...", "expected_calls": [...]}'


def _defined(name: str) -> WithJsonSchema:
    """Refer to a definition in the published schema that is not made from a model."""
    return WithJsonSchema({"$ref": f"{SCHEMA_ID}#/$defs/{name}"})


# Field types: what pydantic checks, the words for messages, and the schema for editors.
Name = Annotated[str, Field(min_length=1), Expects("a non-empty string")]
ToolName = Annotated[Name, Expects("the name of a tool")]
VariableName = Annotated[Name, Expects("the name of an environment variable")]
ToolNames = Annotated[list[ToolName], Expects("a list of tool names")]
LiveTools = Annotated[ToolNames, Expects('a list of tool names, or ["*"] for all read-only tools')]
OneOrMoreTools = ToolName | Annotated[list[ToolName], Field(min_length=1)]
Comment = Annotated[str | list[str], Expects("a string or a list of strings")]
Temperature = Annotated[float, Field(ge=0.0, le=2.0), Expects("a number from 0 to 2")]
Count = Annotated[int, Field(ge=1), Expects("a whole number of at least 1")]
Trials = Annotated[int, Field(ge=1, le=MAX_TRIALS), Expects(f"a whole number from 1 to {MAX_TRIALS}")]
Threshold = Annotated[float, Field(ge=0.0), Expects("a number from 0 to 1, or null for no threshold")]
Thresholds = Annotated[
    dict[str, Threshold | None],
    Expects('an object of metrics and their minimum scores, such as {"overall": 0.8}'),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"type": ["number", "null"], "minimum": 0, "description": f"Most {text}."}
                for name, text in LIMITS.items()
            },
            "additionalProperties": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        }
    ),
]
WorldName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"),
    Expects('"module:Class" or "module:function" in a module next to the suite'),
]
WorldArgs = Annotated[dict[str, Any], Expects("an object of arguments for the world")]
PassRule = Annotated[
    str,
    Field(pattern=r"^(mean|all|any|[1-9][0-9]{0,5}/[1-9][0-9]{0,5})$"),
    Expects('"mean", "all", "any", or "K/N" such as "4/5"'),
]
ExpectedValue = Annotated[Any, _defined("ExpectedValue")]
Params = Annotated[
    dict[str, ExpectedValue],
    Expects("an object of argument names and expected values, or null when they are not scored"),
]
ExpectedText = Annotated[
    str | dict[str, Any],
    Expects('a text, or a matcher such as {"$regex": "..."}'),
    _defined("ExpectedText"),
]
Url = Annotated[Name, Expects("a URL")]
ToolPrefix = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.:/-]{1,64}$"),
    Expects("the beginning of all tool names, such as mcp__shop__"),
]
NamespaceName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_-]{1,64}$"),
    Expects("a name of letters, digits, _ and -, such as crm"),
]
Callers = Annotated[
    list[Literal["direct", "programmatic"]],
    Field(min_length=1),
    Expects('a list of "direct" and "programmatic"'),
]
Tag = Annotated[str, Field(json_schema_extra={"pattern": r"^[^\s_.+\-][^\s\[\](),:]*$"})]
Parameters = Annotated[
    dict[str, Any],
    Expects("a JSON Schema of type object"),
    WithJsonSchema({"type": "object", "properties": {"type": {"const": "object"}}}),
]
ContentPart = Annotated[
    dict[str, Any], Expects('a content part such as {"type": "text", "text": "..."}')
]


class _Commented(Part):
    comment: Comment | None = Field(
        None, alias="$comment", exclude=True, description="For readers of the file; ignored."
    )


class Function(Part):
    """A tool's function, in OpenAI's schema."""

    EXPECTS = 'an object such as {"name": ..., "parameters": ...}'
    OTHER_NAMES: ClassVar[dict[str, str]] = {"parameters": "input_schema inputSchema schema"}
    ELSEWHERE: ClassVar[dict[str, str]] = {"$comment": "a field of the tool; move it out of function"}

    name: Name = Field(description="The name that the model calls.")
    description: str | None = Field(None, description="What the tool does, for the model.")
    parameters: Parameters | None = Field(
        None, description="A JSON Schema (draft 2020-12) of the arguments, of type object."
    )
    strict: bool | None = Field(None, description="OpenAI's strict mode, sent unchanged.")
    defer_loading: bool | None = Field(
        None, description="Whether the model sees the tool only after a search has found it."
    )
    allowed_callers: Callers | None = Field(
        None,
        description="Who may call it: the model itself (direct), or a program that the model writes "
        "(programmatic).",
    )
    input_examples: Annotated[list[dict[str, Any]], Expects("a list of objects of arguments")] | None = (
        Field(None, description="Examples of its arguments, for the model.")
    )
    output_schema: (
        Annotated[dict[str, Any], Expects("a JSON Schema"), WithJsonSchema({"type": "object"})] | None
    ) = Field(None, description="A JSON Schema of its answers.")


class Custom(Part):
    """A tool whose argument is plain text."""

    EXPECTS = 'an object such as {"name": ..., "description": ..., "format": ...}'
    OTHER_NAMES: ClassVar[dict[str, str]] = {"format": "grammar"}

    name: Name = Field(description="The name that the model calls.")
    description: str | None = Field(None, description="What the tool does, for the model.")
    format: (
        Annotated[
            dict[str, Any],
            Expects('{"type": "text"}, or a grammar: {"type": "grammar", "grammar": {...}}'),
        ]
        | None
    ) = Field(
        None,
        description='The form of the text: {"type": "text"}, or {"type": "grammar", "grammar": '
        '{"syntax": "lark" or "regex", "definition": "..."}}.',
    )
    defer_loading: bool | None = Field(
        None, description="Whether the model sees the tool only after a search has found it."
    )
    allowed_callers: Callers | None = Field(None, description="Who may call it, as of a function.")

    # Calls pass the text as this argument, for expected params and mocks.
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    }
    strict: ClassVar[None] = None
    input_examples: ClassVar[None] = None


class Tool(_Commented):
    """A tool, in OpenAI's function calling format."""

    EXPECTS = f"a tool, {TOOL_EXAMPLE}"

    type: Literal["function", "custom"] = Field(
        description="function, or custom: a tool whose argument is a text."
    )
    function: Function | SkipJsonSchema[None] = Field(
        None, description="The function that the model calls."
    )
    custom: Custom | SkipJsonSchema[None] = Field(
        None, description="With the type custom: a tool whose only argument, input, is plain text."
    )
    namespace: NamespaceName | None = Field(
        None, description="The namespace of the tool, described in the suite's namespaces."
    )

    @model_validator(mode="before")
    @classmethod
    def _check_format(cls, data: Any) -> Any:
        if isinstance(data, dict) and (reason := other_format(data)):
            raise PydanticCustomError("tool", "{reason}", {"reason": reason})
        return data

    @property
    def definition(self) -> Function | Custom:
        """The function, or the custom tool."""
        found = self.custom if self.function is None else self.function
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """The name that cases use, qualified by the namespace."""
        return qualified(self.definition.name, self.namespace)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments; {} if it has none."""
        return self.definition.parameters or {}

    @property
    def definition_wire(self) -> dict[str, Any]:
        """The function or the custom tool as sent to the chat API."""
        found: dict[str, Any] = self.wire[self.type]
        return found

    @cached_property
    def wire(self) -> dict[str, Any]:
        """The tool as sent to the chat API, with only the fields that the suite sets."""
        return self.model_dump(exclude_unset=True)


def named_tool(name: str) -> Tool:
    """Return a tool whose name is all that is known."""
    return Tool.model_construct(type="function", function=Function.model_construct(name=name))


def known_tools(case: ResolvedCase, tools: Iterable[Tool] | None = None) -> KnownTools:
    """Return the tools, by default all of the case, that calls may refer to."""
    given = case.tools if tools is None else tools
    return KnownTools.of(
        ((tool.definition.name, tool.namespace, tool.parameters) for tool in given),
        exact=MODES[case.param_scoring].exact_names,
        prefix=case.tool_prefix,
        in_text=case.tool_choice != "none",
    )


Tools = Annotated[list[Tool], Expects(f"a list of tools, each {TOOL_EXAMPLE}")]


class OneTool(Part):
    """A tool that must be called."""

    EXPECTS = 'an object such as {"tool": "pay"}'

    tool: ToolName = Field(description="The tool that must be called.")

    def __str__(self) -> str:
        return f"tool {self.tool}"


class AllowedTools(Part):
    """The subset of the offered tools that may be called."""

    EXPECTS = 'an object such as {"allowed_tools": ["pay", "refund"]}'

    allowed_tools: Annotated[ToolNames, Field(min_length=1)] = Field(
        description="The tools that may be called."
    )
    mode: Literal["auto", "required"] = Field("auto", description="Whether one of them must be called.")

    def __str__(self) -> str:
        return f"{self.mode} of {', '.join(self.allowed_tools)}"


Choice = ChoiceWord | OneTool | AllowedTools
ToolChoice = Annotated[
    Choice,
    Expects('"required", "auto", "none", {"tool": "pay"} or {"allowed_tools": ["pay", "refund"]}'),
]


def forces_call(choice: Choice | None) -> bool:
    """True if a `tool_choice` forces the model to make a call."""
    if isinstance(choice, AllowedTools):
        return choice.mode == "required"
    return choice == "required" or isinstance(choice, OneTool)


_ProviderTool = Annotated[
    dict[str, Any],
    WithJsonSchema({"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}),
    Expects('an object with a "type", such as {"type": "tool_search"}'),
]
_ProviderTools = Annotated[
    list[_ProviderTool], Expects('a list of tools such as [{"type": "tool_search"}]')
]


class ProviderTools(Part):
    """Built-in tools that a provider runs itself."""

    EXPECTS = 'an object such as {"openai": [{"type": "tool_search"}]}'

    openai: _ProviderTools = Field(
        default_factory=list,
        description="For OpenAI's models, also on Azure, as its Responses API has it.",
    )
    anthropic: _ProviderTools = Field(
        default_factory=list, description="For Anthropic's models, as its Messages API has it."
    )


class PromptMessage(Part):
    """A chat message in a prompt. Other fields are sent unchanged."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=True)
    EXPECTS = 'a chat message such as {"role": "user", "content": "..."}'

    role: Role = Field(description="Who speaks.")
    content: Annotated[
        str | list[ContentPart] | None, Expects("a string, a list of content parts, or null")
    ] = Field(None, description="The text, or a list of content parts.")


_FROM_USER: Any = {"properties": {"role": {"const": "user"}}, "required": ["role"]}
Prompt = Annotated[
    Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
    | Annotated[list[PromptMessage], Field(min_length=1, json_schema_extra={"contains": _FROM_USER})],
    Expects("the user's message as a string, or a list of chat messages"),
]


class ExpectedCall(Part):
    """One of several expected calls, or a forbidden call."""

    EXPECTS = f"an object such as {_CALL}"
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "tool": "name expected_tool function",
        "params": "arguments args expected_params parameters",
    }

    tool: Annotated[
        OneOrMoreTools, Expects('the name of a tool, a list of names, or "*" for any tool')
    ] = Field(description='The tool to call; a list of acceptable tools; or "*" for any tool.')
    params: Params | None = Field(
        None, description="Expected arguments; null: not scored. Values may be matchers."
    )

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool,) if isinstance(self.tool, str) else tuple(self.tool)


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


class Expectations(_Commented):
    """The expectations for a turn, or for the whole case."""

    expected_tool: Annotated[
        OneOrMoreTools | None,
        Expects(
            'the name of a tool, a list of names, "*" for any tool, or null when nothing should be '
            "called"
        ),
    ] = Field(
        None,
        description="The tool to call; a list of acceptable tools; "
        '"*" for any tool; null when nothing should be called.',
    )
    expected_params: Params | None = Field(
        None, description="Expected arguments; null: not scored. Values may be matchers."
    )
    expected_calls: (
        Annotated[list[ExpectedCall], Expects(f"a list of calls such as [{_CALL}]")] | None
    ) = Field(
        None,
        description="Several expected calls; [] when nothing should be called. Excludes expected_tool.",
    )
    call_order: CallOrder = Field("any", description="Whether the order of expected_calls counts.")
    match: Match | None = Field(
        None,
        description=(
            "With turns, how calls compare with expected_calls: exact (the default), contains "
            "(extra calls are allowed), within (only these are allowed, each as often as listed), "
            "state (they lead to the same state of the world). In the case: the default for its turns."
        ),
    )
    results: bool | None = Field(
        None,
        description="With match state: whether the model must also get every answer that the expected "
        "calls give. In the case: the default for its turns.",
    )
    forbidden_calls: Forbidden | None = Field(
        None,
        description="Calls that fail the case, even if all else is right: tool names, "
        '{"tool": ..., "params": {...}} with matchers, in which "*" is any tool or any argument; or "*" '
        "for every tool that is not expected.",
    )
    expected_state: Annotated[
        dict[str, ExpectedValue] | None,
        Expects('an object of paths and values, such as {"orders.A1.refunded": 40}'),
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
        description="With turns: what a message of the assistant must contain: a text, "
        '{"$regex": ...}, {"$number": ...} or {"$not": ...}; or a rubric for a judge, {"$judge": ...}.',
    )

    may_change_nothing: bool = Field(
        False,
        description="With a world: whether an agent that makes no call may pass, as what it should do "
        "leaves the state as it is. Without it, such a case is an error.",
    )

    @property
    def gives_tool(self) -> bool:
        """True if `expected_tool` is given; null says that nothing should be called."""
        return self.expected_tool is not None or "expected_tool" in self.model_fields_set

    @property
    def expected_tools(self) -> tuple[str, ...]:
        """The acceptable tools in `expected_tool`; empty if it is null."""
        tool = self.expected_tool
        return (tool,) if isinstance(tool, str) else tuple(tool or ())

    @property
    def calls(self) -> list[ExpectedCall] | None:
        """The expected calls, including one from `expected_tool`; None if any calls are right."""
        if self.expected_calls is not None or not self.gives_tool:
            return self.expected_calls
        if self.expected_tool is None:
            return []
        return [ExpectedCall(tool=self.expected_tool, params=self.expected_params)]

    @property
    def rubrics(self) -> list[str]:
        """The rubrics for a judge."""
        texts = self.expected_text or ()
        return [text["$judge"] for text in texts if isinstance(text, dict) and "$judge" in text]


class Turn(Expectations):
    """A message from the user, and what is expected until the model replies without a call."""

    EXPECTS = f"an object such as {_TURN}"

    prompt: Prompt = Field(description="The user's message, or a list of chat messages.")
    new_tools: ToolNames = Field(
        default_factory=list, description="Tools that are first offered in this turn."
    )
    max_calls: Annotated[int, Field(ge=0), Expects("a whole number of at least 0")] | None = Field(
        None, description="The most tool calls in this turn; for the whole case, see thresholds."
    )


class User(Part):
    """A model that plays the user: each of its messages begins a turn."""

    EXPECTS = 'an object such as {"goal": "You want your money back for order A1."}'

    goal: Annotated[Name, Expects("a text that says who the user is and what they want")] = Field(
        description="Who the user is and what they want; the model's only instructions."
    )
    model: Annotated[Name, Expects("the name of a model, as for --tooleval-model")] | None = Field(
        None, description="The model that plays the user; default: --tooleval-user."
    )
    stop: Annotated[Name, Expects("a text such as ###STOP###")] = Field(
        DEFAULT_STOP, description="What the user says when the goal is reached."
    )
    max_turns: Count = Field(
        DEFAULT_MAX_TURNS,
        description="The most messages from the user; a conversation that needs more is an error.",
    )


class XFail(Part):
    """An expected failure; the fields are those of pytest's mark."""

    reason: str = Field("", description="Why the case is expected to fail.")
    strict: bool | None = Field(None, description="Whether an unexpected pass is a failure.")


class TestCase(Expectations):
    """One test case: a prompt or several turns, and the calls that the model should make."""

    __test__ = False  # not a test class for pytest

    EXPECTS = 'an object such as {"prompt": "...", "expected_tool": "..."}'
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "id": "name title",
        "prompt": "messages input question query",
        "expected_tool": "tool expected_tools expected_function",
        "expected_params": "params arguments expected_arguments expected_args",
        "expected_calls": "calls tool_calls",
        "tags": "markers",
        "mock_responses": "mocks",
    }
    ELSEWHERE: ClassVar[dict[str, str]] = {
        "system_prompt": "a field of the suite; for one case, make prompt a list that begins with "
        '{"role": "system", "content": "..."}',
        "max_calls": 'for the whole case, write "thresholds": {"max_calls": ...}; for a turn, move it '
        "into the turn",
        "description": "a field of the suite; for a note on a case, write $comment",
    }
    # Changing these does not change the case; all other fields are in its fingerprint.
    APART: ClassVar[frozenset[str]] = frozenset(
        "comment id tools live_tools tool_choice temperature max_tokens thresholds trials pass_rule "
        "tags skip xfail weight cluster metadata may_change_nothing".split()
    )

    id: (
        Annotated[
            str,
            Field(
                json_schema_extra={
                    "minLength": 1,
                    "maxLength": MAX_ID_LENGTH,
                    "not": {"pattern": r"::|[\[\]]|^\s|\s$"},
                }
            ),
        ]
        | None
    ) = Field(None, description="A stable name for the node id; default: a slug of the prompt.")
    prompt: Prompt | SkipJsonSchema[None] = Field(
        None, description="The user's message, or a list of chat messages."
    )
    param_scoring: ParamScoring | None = Field(None, description="How plain values compare.")
    exact_state: bool | None = Field(
        None, description="Whether states and results compare exactly, as in the suite."
    )
    tools: Tools | None = Field(
        None, description="Replaces the suite's tools for this case; [] is none."
    )
    tool_choice: ToolChoice | None = Field(
        None, description="Whether the model must call a tool, and which ones it may call."
    )
    temperature: Temperature | None = Field(None, description="The sampling temperature of this case.")
    max_tokens: Count | None = Field(None, description="The most tokens in an answer to this case.")
    thresholds: Thresholds | None = Field(
        None,
        description=("Minimum scores by metric, and limits such as max_calls; null removes one."),
        examples=[_EXAMPLE_THRESHOLDS],
    )
    trials: Trials | None = Field(None, description="How many times the model is asked.")
    pass_rule: PassRule | None = Field(
        None,
        alias="pass",
        description="How several trials make one verdict: mean (of the scores, against the thresholds), "
        'all, any, or K/N such as "4/5": at least K of N trials pass.',
    )
    tags: Annotated[list[Tag], Expects("a list of strings")] = Field(
        default_factory=list,
        description="Keywords for -k and -m.",
        json_schema_extra={"uniqueItems": True},
    )
    skip: Annotated[bool | str, Expects("true, false, or the reason as a string")] = Field(
        False, description="true, or the reason."
    )
    xfail: Annotated[
        bool | str | XFail,
        Expects('true, false, the reason as a string, or {"reason": "...", "strict": true}'),
    ] = Field(False, description="true, the reason, or an object.")
    weight: Annotated[float, Field(gt=0.0, le=1e6), Expects("a number above 0, at most 1000000")] = (
        Field(1.0, description="Weight in means.")
    )
    cluster: Name | None = Field(
        None,
        description=(
            "A name shared by cases that ask the same thing in different words; intervals and "
            "significance tests count them as one."
        ),
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Yours; never sent.")

    turns: (
        Annotated[list[Turn], Field(min_length=1), Expects(f"a list of turns such as [{_TURN}]")] | None
    ) = Field(
        None,
        description="Instead of prompt: a conversation, in which the model calls until it is done.",
    )
    user: User | None = Field(
        None, description="Instead of turns: a model that plays the user until the goal is reached."
    )
    world: WorldName | None = Field(None, description="The world of this case, as in the suite.")
    world_args: WorldArgs | None = Field(
        None, description="Arguments for the world; replace the suite's."
    )
    answers: Annotated[Literal["world", "recorded"], Expects('"world" or "recorded"')] = Field(
        "world",
        description="With a world: what holds where a transcript has other answers than the world "
        "gives. world: an error; recorded: the calls ran as recorded, and the difference is shown.",
    )
    play_failed_calls: bool = Field(
        False,
        description="With a world: whether calls that a transcript or an agent answers with an "
        "error did run; by default only those on which the world fails, too.",
    )

    multi_turn: bool = Field(
        False,
        description="Whether this is a chain: one message from the user, and several replies until the "
        "expected call. For several messages, write turns.",
    )
    max_rounds: Count | None = Field(None, description="The most replies in a chain, or in a turn.")
    optimal_hops: Count | None = Field(None, description="The number of calls in the shortest chain.")
    valid_prerequisites: ToolNames = Field(
        default_factory=list, description="Tools that may be called along the way."
    )
    mock_responses: Annotated[
        dict[str, Annotated[Any, _defined("MockResponse")]],
        Expects("an object that maps the name of a tool to its answer"),
    ] = Field(
        default_factory=dict,
        description="Tool to the answer of its mock: any JSON value, "
        '{"$sequence": [...]} or {"$when": [{"params": {...}, "answer": ...}]}.',
    )
    approvals: Annotated[
        dict[Name, Literal["approve", "reject"]],
        Expects('an object that maps the name of a tool to "approve" or "reject"'),
    ] = Field(
        default_factory=dict,
        description="What a person answers when an agent asks for the approval of a tool: tool to "
        "approve or reject. A request for any other tool is rejected.",
    )
    live_tools: LiveTools | None = Field(
        None,
        description="Tools that this chain calls for real, on the server of the suite's tools_from, if "
        '--tooleval-allow-tools allows them: names, or "*" for all read-only tools.',
    )

    _line: int = PrivateAttr(default=0)

    @property
    def line(self) -> int:
        """The line of the file on which the case begins, from 1; 0 for a case from no file."""
        return self._line

    @cached_property
    def kind(self) -> CaseKind:
        """One message and one reply, a chain of replies, or a conversation."""
        if self.turns is not None or self.user is not None:
            return "conversation"
        return "chain" if self.multi_turn else "calls"

    @property
    def expects_nothing(self) -> bool:
        """True if the right answer is to call no tool."""
        if self.kind == "conversation":
            return False
        if self.expected_calls is not None:
            return not self.expected_calls
        return self.expected_tool is None


class McpSource(Part):
    """How to reach an MCP server: exactly one of `stdio`, `http` and `sse`."""

    EXPECTS = 'an object such as {"stdio": "uvx mcp-server-time"} or {"http": "https://..."}'

    stdio: Annotated[
        Name | Annotated[list[Annotated[Name, Expects("a string")]], Field(min_length=1)] | None,
        Expects("a command as a string, or as a list of arguments"),
    ] = Field(None, description='The command that starts the server, such as "uvx mcp-server-time".')
    http: Url | None = Field(None, description="The URL of a server over streamable HTTP.")
    sse: Url | None = Field(None, description="The URL of an older server over SSE.")
    headers: Annotated[
        dict[str, VariableName],
        Expects('headers and names of environment variables, such as {"Authorization": "MY_TOKEN"}'),
    ] = Field(
        default_factory=dict, description="HTTP headers; each value names an environment variable."
    )
    env: Annotated[list[VariableName], Expects("a list of names of environment variables")] = Field(
        default_factory=list, description="Environment variables to pass to the command."
    )
    timeout: Annotated[float, Field(gt=0.0), Expects("a number of seconds above 0")] | None = Field(
        None, description="Seconds for connecting and for each request; default 30."
    )

    @model_validator(mode="after")
    def _check_transport(self) -> McpSource:
        named = [name for name in ("stdio", "http", "sse") if getattr(self, name) is not None]
        if len(named) != 1:
            got = {"got": " and ".join(named) or "none"}
            raise PydanticCustomError("source", "expected one of stdio, http and sse, got {got}", got)
        return self


class ToolsFrom(Part):
    """A server that provides the suite's tools when the suite runs."""

    EXPECTS = 'an object such as {"mcp": {"stdio": "uvx mcp-server-time"}}'

    mcp: McpSource = Field(description="The MCP server.")
    pin: (
        Annotated[str, Field(pattern=r"^[0-9a-f]{16}$"), Expects("a fingerprint of 16 hex digits")]
        | None
    ) = Field(None, description="The fingerprint of the tools that the cases were written for.")
    on_drift: Literal["error", "warn"] = Field(
        "error", description="What to do if the server's tools are not the pinned ones."
    )


# Validation context for data already free of key values; searching a whole file is faster.
SEARCHED = object()


def without_key_values(suite: Any) -> Any:
    """Replace the values of key variables in a suite's data, but keep its server's address."""
    if not isinstance(suite, dict):
        return suite
    source = {name: value for name, value in suite.items() if name == "tools_from"}
    return {**secrets.without_key_values(suite), **source}


class Suite(_Commented):
    """A collection of tools and test cases."""

    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "test_cases": "cases tests",
        "tools": "functions",
        "name": "title",
    }

    schema_: str | None = Field(None, alias="$schema", description="For editors; ignored.")
    name: Name = Field(description="The name of the suite, shown in reports.")
    description: str = Field("", description="What the suite is about.")
    tools: Tools = Field(
        default_factory=list,
        description="The tools offered to the model, in OpenAI's function calling format.",
    )
    namespaces: Annotated[
        dict[NamespaceName, str], Expects('names and descriptions, such as {"crm": "Customers."}')
    ] = Field(default_factory=dict, description="The namespaces of tools, each with its description.")
    provider_tools: ProviderTools = Field(
        default_factory=ProviderTools,
        description="A provider's own tools, sent to that provider only. What acts on the world runs "
        "only with --tooleval-allow-tools; secrets are named by their environment variables.",
    )
    tools_from: ToolsFrom | None = Field(
        None, description="Instead of tools: a server to read them from when the suite runs."
    )
    live_tools: LiveTools | None = Field(
        None, description="Tools that chains call for real, on the server of tools_from, if allowed."
    )
    test_cases: Annotated[list[TestCase], Expects("a list of cases")] = Field(
        description="The test cases."
    )
    world: WorldName | None = Field(
        None,
        description='What cases with turns act on: "module:name" of a class, or of a function that '
        "returns objects, in a module next to the suite. Public methods are the tools, public "
        "attributes the state.",
    )
    world_args: WorldArgs | None = Field(None, description="Arguments for the world.")
    system_prompt: str | None = Field(None, description="Put before every prompt.")
    tool_choice: ToolChoice | None = Field(
        None,
        description="Whether the model must call a tool; default: required, or auto for a case where "
        "nothing should be called.",
    )
    tool_prefix: ToolPrefix | None = Field(
        None,
        description="What the tools' names begin with in requests and answers; cases leave it out.",
    )
    temperature: Temperature | None = Field(
        None, description="The sampling temperature of every case; default 0."
    )
    max_tokens: Count | None = Field(None, description="The most tokens in an answer.")
    param_scoring: ParamScoring | None = Field(
        None, description="How plain expected values compare; default: exact."
    )
    exact_state: bool | None = Field(
        None,
        description="With a world: whether states and results compare exactly, as some benchmarks do: "
        "40.0 in an answer is not 40, and each turn begins where the expected calls lead. By default, "
        "numbers compare by value, times by instant, and after a turn that is not judged by state, the "
        "next one begins where the model's own calls have led.",
    )
    thresholds: Thresholds | None = Field(
        None,
        description="The lowest passing score by metric, and limits such as max_calls; "
        "null removes one. Default: overall, arguments_valid and no_extra_calls at 1.0; with bfcl only "
        "overall.",
        examples=[_EXAMPLE_THRESHOLDS],
    )
    forbidden_calls: Forbidden | None = Field(
        None, description="Calls that fail every case, as in a case."
    )
    trials: Trials | None = Field(
        None, description="How many times the model is asked each case; default 1."
    )
    pass_rule: PassRule | None = Field(
        None, alias="pass", description="How several trials of a case make one verdict; default: mean."
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Yours; never sent.")

    _folder: Path = PrivateAttr(default=Path())
    _memory: Memory = PrivateAttr(default_factory=Memory)
    # The path of each value of a key variable in the file, with the name of the variable.
    _key_places: tuple[tuple[tuple[str | int, ...], str], ...] = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _search(cls, data: Any, info: ValidationInfo) -> Any:
        return data if info.context is SEARCHED else without_key_values(data)

    @cached_property
    def public(self) -> PublicTexts:
        """The texts of the suite and its worlds' modules, none of which is secret."""
        return PublicTexts(self._texts)

    def _texts(self) -> list[Any]:
        worlds = (world_of(self, case) for case in self.test_cases)
        files = {world.file for world in worlds if world is not None and world.file.is_file()}
        return [self.model_dump(), *(file.read_text("utf-8", "replace") for file in files)]

    def case(self, id: str) -> TestCase:
        """The case with this id. Raises ToolevalError if there is none."""
        for case in self.test_cases:
            if case.id == id:
                return case
        near = nearest(id, [case.id or "" for case in self.test_cases])
        hint = f", did you mean {near!r}?" if near else ""
        raise ToolevalError(f"the suite {self.name!r} has no case {id!r}{hint}")


class ResolvedTurn(Struct, frozen=True):
    """A turn with its prompt as messages, and the tools offered in it.

    If a model plays the user, a single one without a prompt represents every turn.
    """

    turn: Turn
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Tool, ...]


class ResolvedCase(Struct, frozen=True):
    """A case with the suite's defaults applied: what the engine runs and scorers read.

    `messages` come before the first reply. `temperature` and `max_tokens` are None if neither the
    command line, the case nor the suite sets them. `pass_rule` is `mean`, `all`, `any` or `K/N` with N
    trials. `live_tools` are the tools to call for real, if the command line allows them. `set_by` says
    which parameters the user has set, and where; `public` holds the texts of the suite. `arm` is the
    variant that this case belongs to. Trials are numbered from `first_trial`, so that repeated trials
    of the same question count as different answers. `altered` says how a variant alters tool answers.
    """

    case: TestCase
    kind: CaseKind
    id: str
    line: int
    suite: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Tool, ...]
    tool_choice: Choice
    temperature: float | None
    max_tokens: int | None
    param_scoring: ParamScoring
    thresholds: Mapping[str, float]
    trials: int
    tool_prefix: str = ""
    pass_rule: str = "mean"
    limits: Mapping[str, float] = {}
    forbidden_calls: tuple[str | ExpectedCall, ...] = ()
    live_tools: tuple[str, ...] = ()
    set_by: Mapping[str, str] = {}
    turns: tuple[ResolvedTurn, ...] = ()
    world: WorldSpec | None = None
    exact_state: bool = False
    public: PublicTexts | None = None
    arm: Arm = UNCHANGED
    first_trial: int = 0
    namespaces: Mapping[str, str] = {}
    provider_tools: ProviderTools = ProviderTools()
    altered: AlteredAnswers | None = None

    @property
    def max_rounds(self) -> int:
        """The most replies in a chain or a turn; 1 for a single-turn case."""
        return (self.case.max_rounds or DEFAULT_MAX_ROUNDS) if self.has_tool_rounds else 1

    @property
    def has_tool_rounds(self) -> bool:
        """True if the model gets answers to its calls: in a chain or a conversation."""
        return self.kind != "calls"

    @property
    def forbids(self) -> bool:
        """True if the case, one of its turns, or its variant forbids a call."""
        of_turns = any(each.turn.forbidden_calls for each in self.turns)
        return bool(self.forbidden_calls) or of_turns or bool(self.altered and self.altered.secret)

    @property
    def parts(self) -> tuple[Expectations, ...]:
        """Everything with expectations: the turns, and the case."""
        return (*(each.turn for each in self.turns), self.case)

    @property
    def rubrics(self) -> list[str]:
        """The rubrics for a judge from the turns and the case."""
        return [rubric for part in self.parts for rubric in part.rubrics]

    @property
    def metadata(self) -> dict[str, Any]:
        return self.case.metadata


def resolve(suite: Suite, case: TestCase, overrides: Overrides | None = None) -> ResolvedCase:
    """Apply defaults: the command line overrides the case, and the case overrides the suite.

    Thresholds merge metric by metric over the defaults; null removes one. Raises ConfigError if none is
    left that `judges`.
    """
    over = overrides or Overrides()
    param_scoring = case.param_scoring or suite.param_scoring or DEFAULT_MODE
    merged = merged_thresholds(
        MODES[param_scoring].only_overall or case.kind == "conversation",
        suite.thresholds,
        case.thresholds,
        over.thresholds,
    )
    thresholds = {name: value for name, value in merged.items() if name not in LIMITS}
    if not judges(merged):
        raise ConfigError(NOTHING_JUDGES)
    forbidden = _first(case.forbidden_calls, suite.forbidden_calls) or ()
    rule = _first(over.pass_rule, case.pass_rule, suite.pass_rule) or "mean"
    awaits_call = case.kind != "conversation" and not case.expects_nothing
    default_choice: ChoiceWord = "required" if awaits_call else "auto"
    tools = tuple(suite.tools if case.tools is None else case.tools)
    turns = turns_of(case, tools)
    return ResolvedCase(
        case=case,
        kind=case.kind,
        id=case.id or "",
        line=case.line,
        suite=suite.name,
        messages=messages_of(suite, case),
        tools=tools,
        turns=turns,
        world=world_of(suite, case),
        exact_state=bool(_first(case.exact_state, suite.exact_state)),
        public=suite.public,
        namespaces=suite.namespaces,
        provider_tools=suite.provider_tools,
        tool_prefix=suite.tool_prefix or "",
        tool_choice=over.tool_choice or case.tool_choice or suite.tool_choice or default_choice,
        temperature=_first(over.temperature, case.temperature, suite.temperature),
        max_tokens=_first(over.max_tokens, case.max_tokens, suite.max_tokens),
        param_scoring=param_scoring,
        thresholds=thresholds,
        limits={name: value for name, value in merged.items() if name in LIMITS},
        forbidden_calls=tuple(forbidden),
        trials=_trials(rule, over, case, suite),
        pass_rule=rule,
        live_tools=tuple(_first(case.live_tools, suite.live_tools) or ()),
        set_by=_set_by(suite, case, over),
    )


def world_of(suite: Suite, case: TestCase) -> WorldSpec | None:
    """The world of a conversation, if it has one."""
    target = case.world or suite.world
    if target is None or case.kind != "conversation":
        return None
    args = suite.world_args if case.world_args is None else case.world_args
    return WorldSpec(target, suite._folder, args or {}, suite._memory)


def turns_of(case: TestCase, tools: tuple[Tool, ...]) -> tuple[ResolvedTurn, ...]:
    """Return the turns of a case, withholding each new tool until its turn."""
    if case.user is not None:
        return (ResolvedTurn(Turn(prompt=""), (), tools),)
    turns, names = case.turns or (), [tool.name for tool in tools]
    resolved = []
    for number, turn in enumerate(turns, 1):
        withheld = {meant(name, names) for later in turns[number:] for name in later.new_tools}
        offered = tuple(tool for tool in tools if tool.name not in withheld)
        resolved.append(ResolvedTurn(turn, prompt_messages(turn.prompt), offered))
    return tuple(resolved)


def merged_thresholds(
    only_overall: bool, *layers: Mapping[str, float | None] | None
) -> dict[str, float]:
    """Return thresholds and limits, each from the last layer that sets it."""
    merged: dict[str, float | None] = {}
    for layer in (ONLY_OVERALL if only_overall else DEFAULT_THRESHOLDS, *layers):
        merged.update(layer or {})
    return {name: value for name, value in merged.items() if value is not None}


def judges(names: Iterable[str]) -> bool:
    """True if thresholds on these metrics can tell a right answer from a wrong one."""
    return any(name not in NEVER_DECISIVE and name not in LIMITS for name in names)


def _set_by(suite: Suite, case: TestCase, over: Overrides) -> dict[str, str]:
    """Return where each parameter that the user has set is set."""
    found: dict[str, str] = {}
    for name in ("tool_choice", "temperature", "max_tokens"):
        if getattr(over, name) is not None:
            found[name] = f"--tooleval-{name.replace('_', '-')}"
        elif getattr(case, name) is not None:
            found[name] = "the case"
        elif getattr(suite, name) is not None:
            found[name] = "the suite"
    return found


def _trials(rule: str, over: Overrides, case: TestCase, suite: Suite) -> int:
    """Return the number of trials: N of a rule `K/N`, even one that a word on the CLI overrides."""
    own = _first(case.pass_rule, suite.pass_rule) or ""
    needed = needed_of(rule) or (needed_of(own) if over.trials is None else None)
    return needed[1] if needed else _first(over.trials, case.trials, suite.trials) or 1


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


def _first(*values: Any) -> Any:
    for value in values:
        if value is not None:
            return value
    return None
