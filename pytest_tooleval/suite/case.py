"""A test case: as it is written, and as it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct, structs
from pydantic import ConfigDict, Field, PrivateAttr
from pydantic.json_schema import SkipJsonSchema

from ..keys import PublicTexts
from ..matchers.modes import ParamScoring
from ..record.variants import UNCHANGED, CaseVariant
from ..tiers import Tier
from ..worlds.world import WorldSpec
from .altered import AlteredAnswers
from .expectations import Expectations, ExpectedCall
from .fields import Apart, Expects, OnlyFor, SuiteObject
from .policies import Policies, Policy
from .response_format import EXAMPLE, ResponseFormat
from .tools import Choice, ProviderTools, Tool, ToolChoice, Tools
from .types import (
    EXAMPLE_THRESHOLDS,
    MAX_ID_LENGTH,
    STOPS,
    ContentPart,
    Count,
    LiveToolNames,
    Name,
    Now,
    PassRule,
    Stop,
    Tag,
    Temperature,
    Thresholds,
    ToolNames,
    Trials,
    WorldArgs,
    WorldName,
    definition_ref,
)

MessageRole = Literal["system", "developer", "user", "assistant", "tool"]
CaseKind = Literal["calls", "chain", "conversation"]
DEFAULT_STOP = "###STOP###"
DEFAULT_MAX_TURNS = 20
DEFAULT_MAX_ROUNDS = 10
# Each of them makes a case a conversation.
_WORLD = (
    '"module:Class" or "module:function" in a module next to the suite, or true for the suite\'s world'
)
_LEADERS = ("turns", "user", "world")
_TURN = '{"prompt": "...", "expected_calls": [...]}'


class PromptMessage(SuiteObject):
    """A chat message in a prompt. Other fields are sent unchanged."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=True)
    EXPECTS = 'a chat message such as {"role": "user", "content": "..."}'

    role: MessageRole = Field(description="Who speaks.")
    content: Annotated[
        str | list[ContentPart] | None, Expects("a string, a list of content parts, or null")
    ] = Field(None, description="The text, or a list of content parts.")


_FROM_USER: Any = {"properties": {"role": {"const": "user"}}, "required": ["role"]}
CasePrompt = Annotated[
    Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
    | Annotated[list[PromptMessage], Field(min_length=1, json_schema_extra={"contains": _FROM_USER})],
    Expects("the user's message as a string, or a list of chat messages"),
]


class Turn(Expectations):
    """A message from the user, and what is expected until the model replies without a call."""

    EXPECTS = f"an object such as {_TURN}"
    TIERS: ClassVar[Mapping[Tier, str]] = {
        "everyday": "prompt expected_tool expected_params expected_calls expected_text forbidden_calls",
        "agents": "parallel match results expected_state may_change_nothing new_tools max_calls",
    }

    prompt: CasePrompt = Field(description="The user's message, or a list of chat messages.")
    new_tools: ToolNames = Field(
        default_factory=list, description="Tools that are first offered in this turn."
    )
    max_calls: Annotated[int, Field(ge=0), Expects("a whole number of at least 0")] | None = Field(
        None, description="The most tool calls in this turn; for the whole case, see thresholds."
    )


class User(SuiteObject):
    """A model that plays the user: each of its messages begins a turn."""

    EXPECTS = 'an object such as {"goal": "You want your money back for order A1."}'

    goal: Annotated[Name, Expects("a text that says who the user is and what they want")] = Field(
        description="Who the user is and what they want; the model's only instructions."
    )
    model: Annotated[Name, Expects("the name of a model, as for --tooleval-model")] | None = Field(
        None, description="The model that plays the user; default: --tooleval-user."
    )
    stop: Annotated[Name, Expects("a text such as ###STOP###")] = Field(
        DEFAULT_STOP,
        description=f"The user's word when the goal is reached, unseen by the model; default: "
        f"{DEFAULT_STOP}.",
    )
    max_turns: Count = Field(
        DEFAULT_MAX_TURNS,
        description=f"The most messages from the user; a conversation that needs more is an error. "
        f"Default: {DEFAULT_MAX_TURNS}.",
    )


class XFail(SuiteObject):
    """An expected failure; the fields are those of pytest's mark."""

    reason: str = Field("", description="Why the case is expected to fail.")
    strict: bool | None = Field(None, description="Whether an unexpected pass is a failure.")


class TestCase(Expectations):
    """One test case: a prompt or several turns, and the calls that the model should make."""

    __test__ = False  # not a test class for pytest

    EXPECTS = 'an object such as {"prompt": "...", "expected_tool": "..."}'
    TIERS: ClassVar[Mapping[Tier, str]] = {
        "everyday": "id prompt expected_tool expected_params expected_calls expected_text "
        "forbidden_calls tool_choice turns thresholds trials pass tags skip parametrize",
        "agents": "world world_args parallel match results expected_state may_change_nothing "
        "exact_state user policies multi_turn max_rounds optimal_hops valid_prerequisites "
        "mock_responses live_tools expected_stop approvals answers play_failed_calls",
    }
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "id": "name title",
        "prompt": "messages input question query",
        "expected_tool": "tool expected_tools expected_function",
        "expected_params": "params arguments expected_arguments expected_args",
        "expected_calls": "calls tool_calls",
        "tags": "markers",
        "mock_responses": "mocks",
        "response_format": "response_schema output_schema output_format",
    }
    ELSEWHERE: ClassVar[dict[str, str]] = {
        "system_prompt": "a field of the suite; for one case, make prompt a list that begins with "
        '{"role": "system", "content": "..."}',
        "max_calls": 'for the whole case, write "thresholds": {"max_calls": ...}; for a turn, move it '
        "into the turn",
        "description": "a field of the suite; for a note on a case, write $comment",
    }

    id: Annotated[
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
        | None,
        Apart(),
    ] = Field(
        None,
        description="A stable name for the node id, without brackets and ::; default: a slug of the "
        "prompt.",
    )
    prompt: CasePrompt | SkipJsonSchema[None] = Field(
        None,
        description="The user's message, or a list of chat messages. Required, unless there are turns "
        "or a user.",
    )
    parametrize: Annotated[
        list[dict[str, Any]] | Name | None,
        Expects('a list of rows such as [{"city": "Paris"}], or the name of a CSV or JSONL file'),
    ] = Field(
        None,
        description="Makes one case of each row: {{city}} in the prompt and the expectations is the "
        "value of the row's column city. A list of objects, or a CSV or JSONL file beside the suite.",
    )
    now: Annotated[Now | None, Apart()] = Field(
        None, description="The instant of this case, as in the suite."
    )
    policies: Policies = Field(
        default_factory=list,
        description="What must hold over all calls of the case, in addition to the suite's policies.",
    )
    param_scoring: ParamScoring | None = Field(None, description="How plain values compare.")
    exact_state: bool | None = Field(
        None, description="Whether states and results compare exactly, as in the suite."
    )
    tools: Annotated[Tools | None, Apart()] = Field(
        None, description="Replaces the suite's tools for this case; [] is none."
    )
    tool_choice: Annotated[ToolChoice | None, Apart()] = Field(
        None,
        description="Whether the model must call a tool: required (the default), auto (the default in "
        'conversations and where making no call is right), none, {"tool": NAME}, or {"allowed_tools": '
        "[NAMES]} with the mode auto (the default) or required.",
    )
    temperature: Annotated[Temperature | None, Apart()] = Field(
        None, description="The sampling temperature of this case."
    )
    max_tokens: Annotated[Count | None, Apart()] = Field(
        None, description="The most tokens in an answer to this case."
    )
    response_format: Annotated[ResponseFormat | None, Apart()] = Field(
        None,
        description="The form that the provider is asked to give the answers, as in OpenAI's chat API: "
        f"{EXAMPLE}. A model that cannot take it is an error. To judge the answer, expect $json.",
    )
    thresholds: Annotated[Thresholds | None, Apart()] = Field(
        None,
        description=("Minimum scores by metric, and limits such as max_calls; null removes one."),
        examples=[EXAMPLE_THRESHOLDS],
    )
    trials: Annotated[Trials | None, Apart()] = Field(None, description="The number of trials.")
    pass_rule: Annotated[PassRule | None, Apart()] = Field(
        None,
        alias="pass",
        description="How several trials make one verdict: mean (of the scores, against the thresholds), "
        'all, any, or K/N such as "4/5": at least K of N trials pass, and N sets the trials.',
    )
    tags: Annotated[list[Tag], Expects("a list of strings"), Apart()] = Field(
        default_factory=list,
        description="Keywords for -k and -m.",
        json_schema_extra={"uniqueItems": True},
    )
    skip: Annotated[bool | str, Expects("true, false, or the reason as a string"), Apart()] = Field(
        False, description="true, or the reason."
    )
    xfail: Annotated[
        bool | str | XFail,
        Expects('true, false, the reason as a string, or {"reason": "...", "strict": true}'),
        Apart(),
    ] = Field(
        False,
        description='true, the reason, or {"reason": ..., "strict": true}. Excuses neither errors, '
        "forbidden calls nor broken policies.",
    )
    weight: Annotated[
        float, Field(gt=0.0, le=1e6), Expects("a number above 0, at most 1000000"), Apart()
    ] = Field(1.0, description="The weight in means; default 1.")
    cluster: Annotated[Name | None, Apart()] = Field(
        None,
        description=(
            "A name shared by cases that ask the same thing in different words; intervals and "
            "significance tests count them as one."
        ),
    )
    metadata: Annotated[dict[str, Any], Apart()] = Field(
        default_factory=dict, description="Your own data; never sent."
    )

    turns: (
        Annotated[list[Turn], Field(min_length=1), Expects(f"a list of turns such as [{_TURN}]")] | None
    ) = Field(
        None, description="Instead of prompt: a conversation, in which the model calls until it is done."
    )
    user: User | None = Field(
        None, description="Instead of turns: a model that plays the user until the goal is reached."
    )
    world: Annotated[Literal[True] | WorldName, Expects(_WORLD)] | None = Field(
        None,
        description="The world of this case, as in the suite, or true for the suite's. A prompt with a "
        "world is a conversation of one turn, which ends with a reply without calls.",
    )
    world_args: Annotated[WorldArgs | None, OnlyFor("conversation")] = Field(
        None, description="Arguments for the world; replace the suite's."
    )
    answers: Annotated[Literal["world", "recorded"], Expects('"world" or "recorded"')] = Field(
        "world",
        description="With a world: what holds where a transcript has other answers than the world "
        "gives. world: an error; recorded: the calls ran as recorded, and the difference is shown.",
    )
    play_failed_calls: Annotated[bool, OnlyFor("conversation")] = Field(
        False,
        description="With a world: whether calls that a transcript or an agent answers with an "
        "error did run; by default only those on which the world also fails.",
    )

    multi_turn: bool = Field(
        False,
        description="Whether this is a chain: one message from the user, and several replies until the "
        "expected call. For several messages, write turns.",
    )
    max_rounds: Annotated[Count | None, OnlyFor("chain")] = Field(
        None,
        description="The most replies in a chain, or in a turn; default 10. One that the provider "
        "pauses for its own tools does not count.",
    )
    optimal_hops: Annotated[Count | None, OnlyFor("chain")] = Field(
        None, description="The number of calls in the shortest chain, for the metric efficiency."
    )
    valid_prerequisites: Annotated[ToolNames, OnlyFor("chain")] = Field(
        default_factory=list,
        description="Tools that may be called along the way; every other one is a detour.",
    )
    mock_responses: Annotated[
        dict[str, Annotated[Any, definition_ref("MockResponse")]],
        Expects("an object that maps the name of a tool to its answer"),
        OnlyFor("chain"),
    ] = Field(
        default_factory=dict,
        description="Tool to the answer of its mock: any JSON value, content parts with images, "
        '{"$sequence": [...]} or {"$when": [{"params": {...}, "answer": ...}]}.',
    )
    expected_stop: Annotated[Stop, Expects(STOPS)] | None = Field(
        None,
        description="Whether an agent must itself end its run: true, at a guardrail, at its limit, or "
        "with a message that matches. Models that are not agents skip the case.",
    )
    approvals: Annotated[
        dict[Name, Literal["approve", "reject"]],
        Expects('an object that maps the name of a tool to "approve" or "reject"'),
    ] = Field(
        default_factory=dict,
        description="What a person answers when an agent asks for the approval of a tool: tool to "
        "approve or reject. A request for any other tool is rejected.",
    )
    live_tools: Annotated[LiveToolNames | None, Apart()] = Field(
        None,
        description="Tools that this chain calls for real, on the server of the suite's tools_from, if "
        '--tooleval-allow-tools allows them: names, or "*" for all read-only tools.',
    )

    _line: int = PrivateAttr(default=0)
    # For a case made by `parametrize`, the id in the file.
    _base: str | None = PrivateAttr(default=None)

    @property
    def line(self) -> int:
        """The line of the file on which the case begins, from 1; 0 for a case from no file."""
        return self._line

    @cached_property
    def kind(self) -> CaseKind:
        """One message and one reply, a chain of replies, or a conversation."""
        if self.leader is not None:
            return "conversation"
        return "chain" if self.multi_turn else "calls"

    @property
    def leader(self) -> str | None:
        """The field that makes this case a conversation; None if it is none."""
        return next((name for name in _LEADERS if getattr(self, name) is not None), None)

    @property
    def expects_nothing(self) -> bool:
        """True if the right answer is to call no tool."""
        return self.kind != "conversation" and not self.calls


APART = {name for name, field in TestCase.model_fields.items() if Apart() in field.metadata}
DEFAULTS = {
    name: field.get_default(call_default_factory=True) for name, field in TestCase.model_fields.items()
}


class ResolvedTurn(Struct, frozen=True):
    """A turn with its prompt as messages, and the tools offered in it.

    Without `turns`, a single one without a prompt stands for the only turn, or for each one of a model
    that plays the user.
    """

    turn: Turn
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Tool, ...]


class AsWritten(Struct, frozen=True):
    """What a resolved case has as the file has it."""

    expected_stop: Literal[True, "guardrail", "limit"] | Mapping[str, Any] | None = None
    max_rounds: int | None = None
    user: User | None = None
    optimal_hops: int | None = None
    valid_prerequisites: Sequence[str] = ()
    mock_responses: Mapping[str, Any] = {}
    approvals: Mapping[str, Literal["approve", "reject"]] = {}
    answers: Literal["world", "recorded"] = "world"
    play_failed_calls: bool = False
    tags: Sequence[str] = ()
    skip: bool | str = False
    xfail: bool | str | XFail = False
    weight: float = 1.0
    cluster: str | None = None
    metadata: Mapping[str, Any] = {}


class ResolvedCase(AsWritten, frozen=True, kw_only=True):
    """A case with the suite's defaults applied: what the engine runs and scorers read.

    `fingerprint` covers its prompt and expectations; `expected` holds those for the whole case.
    `messages` come before the first reply. `temperature` and `max_tokens` are None if neither the
    command line, the case nor the suite sets them. `pass_rule` is `mean`, `all`, `any` or `K/N` with N
    trials. `live_tools` are the tools to call for real, if the command line allows them. `set_by` says
    which parameters the user has set, and where; `public_texts` holds the texts of the suite. `variant`
    is the variant that this case belongs to. Trials are numbered from `first_trial`, so that repeated
    trials of the same question count as different answers. `altered` says how a variant alters tool
    answers. `by_test` means that the body of a Python test judges it. `response_format` is as in chat.
    """

    kind: CaseKind
    id: str
    line: int
    suite: str
    fingerprint: str
    expected: Expectations
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Tool, ...]
    tool_choice: Choice
    temperature: float | None
    max_tokens: int | None
    param_scoring: ParamScoring
    thresholds: Mapping[str, float]
    trials: int
    response_format: Mapping[str, Any] | None = None
    tool_prefix: str = ""
    pass_rule: str = "mean"
    limits: Mapping[str, float] = {}
    forbidden_calls: tuple[str | ExpectedCall, ...] = ()
    policies: tuple[Policy, ...] = ()
    live_tools: tuple[str, ...] = ()
    set_by: Mapping[str, str] = {}
    turns: tuple[ResolvedTurn, ...] = ()
    world: WorldSpec | None = None
    exact_state: bool = False
    public_texts: PublicTexts | None = None
    variant: CaseVariant = UNCHANGED
    first_trial: int = 0
    namespaces: Mapping[str, str] = {}
    provider_tools: ProviderTools = ProviderTools()
    altered: AlteredAnswers | None = None
    by_test: bool = False

    @property
    def round_limit(self) -> int:
        """The most replies in a chain or a turn; 1 for a single-turn case."""
        return (self.max_rounds or DEFAULT_MAX_ROUNDS) if self.has_tool_rounds else 1

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
    def expectations(self) -> tuple[Expectations, ...]:
        """Everything with expectations: the turns, and the case."""
        return (*(each.turn for each in self.turns), self.expected)

    @property
    def variations(self) -> list[ResolvedCase]:
        """The case with a single list of calls in each part; together, these have all that are right."""
        expected, turns = self.expected.alternatives, [each.turn.alternatives for each in self.turns]
        most = max([len(expected), *map(len, turns)])
        if most == 1:
            return [self]
        cases = []
        for number in range(most):
            nth = [each[min(number, len(each) - 1)] for each in turns]
            pairs = zip(self.turns, nth, strict=True)
            of_turns = tuple(structs.replace(turn, turn=each) for turn, each in pairs)
            of_case = expected[min(number, len(expected) - 1)]
            cases.append(structs.replace(self, expected=of_case, turns=of_turns))
        return cases

    @property
    def rubrics(self) -> list[str]:
        """The rubrics for a judge from the turns and the case."""
        return [rubric for part in self.expectations for rubric in part.rubrics]
