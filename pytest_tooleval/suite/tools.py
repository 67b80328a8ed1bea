"""The tools of a suite, the choice among them, and tools in formats other than OpenAI's."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from ..explain import show
from ..record.names import full_name
from .fields import Expects, SuiteObject
from .overrides import ChoiceWord
from .types import Callers, Name, NamespaceName, Parameters, ToolName, ToolNames, WithComment

TOOL_EXAMPLE = '{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}'
CUSTOM_EXAMPLE = '{"type": "custom", "custom": {"name": ..., "description": ..., "format": ...}}'


def other_format(tool: dict[str, Any]) -> str:
    """Say how to fix a tool that is not in OpenAI's format; empty for one that is."""
    kinds = [kind for kind in ("function", "custom") if tool.get(kind) is not None]
    if kinds[1:]:
        return "has both function and custom; keep one of them"
    if tool.get("type") == "custom" and kinds != ["custom"]:
        return f"custom is missing; write it as {CUSTOM_EXAMPLE}"
    if kinds == ["custom"] and tool.get("type") != "custom":
        return f'expected the type "custom" beside custom: {CUSTOM_EXAMPLE}'
    if kinds:
        return ""
    for key, origin in (("input_schema", "Anthropic's"), ("inputSchema", "MCP's")):
        if key in tool:
            return f"a tool in {origin} format; write it as {_wrapped(tool, key)}"
    for key in ("function_declarations", "functionDeclarations"):
        if key in tool:
            return f"tools in Gemini's format; write each as {TOOL_EXAMPLE}"
    if "name" in tool:
        return f"the unwrapped function; write it as {_wrapped(tool, 'parameters')}"
    return f"function is missing; expected {TOOL_EXAMPLE}"


def _wrapped(tool: dict[str, Any], key: str) -> str:
    name = show(tool["name"]) if "name" in tool else "..."
    inside = f'"name": {name}, "description": ..., "parameters": <the value of {key}>'
    return f'{{"type": "function", "function": {{{inside}}}}}'


class Function(SuiteObject):
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
        None,
        description="Whether the model sees the tool only after a tool search has found it. The "
        "provider's default search is added, unless provider_tools lists one; a model that cannot "
        "search gets the whole list.",
    )
    allowed_callers: Callers | None = Field(
        None,
        description='Who may call it: the model itself, ["direct"] (the default), programs that the '
        'model writes, ["programmatic"], or both. Calls from programs are scored alike, and need mocks '
        "or a world.",
    )
    input_examples: Annotated[list[dict[str, Any]], Expects("a list of objects of arguments")] | None = (
        Field(None, description="Examples of its arguments, for the model.")
    )
    output_schema: (
        Annotated[dict[str, Any], Expects("a JSON Schema"), WithJsonSchema({"type": "object"})] | None
    ) = Field(None, description="A JSON Schema of its answers.")


class Custom(SuiteObject):
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


class Tool(WithComment):
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
        definition = self.custom if self.function is None else self.function
        assert definition is not None
        return definition

    @property
    def name(self) -> str:
        """The name that cases use, qualified by the namespace."""
        return full_name(self.definition.name, self.namespace)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments; {} if it has none."""
        return self.definition.parameters or {}

    @property
    def definition_wire(self) -> dict[str, Any]:
        """The function or the custom tool as sent to the chat API."""
        definition: dict[str, Any] = self.wire[self.type]
        return definition

    @cached_property
    def wire(self) -> dict[str, Any]:
        """The tool as sent to the chat API, with only the fields that the suite sets."""
        return self.model_dump(exclude_unset=True)


def named_tool(name: str) -> Tool:
    """Return a tool whose name is all that is known."""
    return Tool.model_construct(type="function", function=Function.model_construct(name=name))


Tools = Annotated[list[Tool], Expects(f"a list of tools, each {TOOL_EXAMPLE}")]


class OneTool(SuiteObject):
    """A tool that must be called."""

    EXPECTS = 'an object such as {"tool": "pay"}'

    tool: ToolName = Field(description="The tool that must be called.")

    def __str__(self) -> str:
        return f"tool {self.tool}"


class AllowedTools(SuiteObject):
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


class ProviderTools(SuiteObject):
    """Built-in tools that a provider runs itself."""

    EXPECTS = 'an object such as {"openai": [{"type": "tool_search"}]}'

    openai: _ProviderTools = Field(
        default_factory=list,
        description="For OpenAI's models, also on Azure, as its Responses API has it.",
    )
    anthropic: _ProviderTools = Field(
        default_factory=list, description="For Anthropic's models, as its Messages API has it."
    )

    @property
    def all_tools(self) -> list[dict[str, Any]]:
        """The tools of all providers."""
        return [*self.openai, *self.anthropic]
