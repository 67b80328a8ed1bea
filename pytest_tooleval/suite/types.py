"""Field types: what pydantic checks, the words for messages, and the published schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from ..record.metrics import LIMITS
from ..record.status import CallStatus
from .fields import Apart, Expects, SuiteObject

# More is a typo: each trial of each case is kept in memory.
MAX_TRIALS = 10_000
MAX_ID_LENGTH = 200
SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/tooleval.schema.json"
)

EXAMPLE_THRESHOLDS: Any = {"overall": 0.8, "no_extra_calls": None, "max_calls": 3}


def definition_ref(name: str) -> WithJsonSchema:
    """Refer to a definition in the published schema that is not made from a model."""
    return WithJsonSchema({"$ref": f"{SCHEMA_ID}#/$defs/{name}"})


Name = Annotated[str, Field(min_length=1), Expects("a non-empty string")]
ToolName = Annotated[Name, Expects("the name of a tool")]
VariableName = Annotated[Name, Expects("the name of an environment variable")]
ToolNames = Annotated[list[ToolName], Expects("a list of tool names")]
LiveToolNames = Annotated[ToolNames, Expects('a list of tool names, or ["*"] for all read-only tools')]
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
WORLD_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
WorldName = Annotated[
    str,
    Field(pattern=WORLD_PATTERN),
    Expects('"module:Class" or "module:function" in a module next to the suite'),
]
WorldArgs = Annotated[dict[str, Any], Expects("an object of arguments for the world")]
PassRule = Annotated[
    str,
    Field(pattern=r"^(mean|all|any|[1-9][0-9]{0,5}/[1-9][0-9]{0,5})$"),
    Expects('"mean", "all", "any", or "K/N" such as "4/5"'),
]
ExpectedValue = Annotated[Any, definition_ref("ExpectedValue")]
Params = Annotated[
    dict[str, ExpectedValue],
    Expects("an object of argument names and expected values, or null when they are not scored"),
]
ExpectedText = Annotated[
    str | dict[str, Any],
    Expects('a text, or a matcher such as {"$regex": "..."}'),
    definition_ref("ExpectedText"),
]
STOPS = 'true, "guardrail", "limit", or a matcher on its message, such as {"$contains": "amount"}'
Stop = Annotated[
    Literal[True, "guardrail", "limit"] | dict[str, Any],
    WithJsonSchema(
        {"anyOf": [{"enum": [True, "guardrail", "limit"]}, {"$ref": f"{SCHEMA_ID}#/$defs/Matcher"}]}
    ),
]
Url = Annotated[Name, Expects("a URL")]
Now = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$"),
    Expects("a date or date-time in ISO 8601, such as 2026-03-02T10:00:00Z"),
]
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


class OfTools(SuiteObject):
    """An object about calls of a tool, or of any of several."""

    tool: OneOrMoreTools

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool,) if isinstance(self.tool, str) else tuple(self.tool)


class EndedCall(OfTools):
    """An object about calls of a tool that ended in some way."""

    status: Annotated[CallStatus | None, Expects('"ok", "error", "refused" or "waiting"')] = Field(
        None, description="How the call must end: ok, error, refused or waiting."
    )
    agent: Annotated[Name, Expects("the name of an agent")] | None = Field(
        None, description="The agent that must make the call, of several."
    )
    result: Annotated[Any, definition_ref("PolicyValue")] = Field(
        None,
        description="What the tool must answer: a value or a matcher. JSON in the answer is parsed; "
        "further keys of an object do not count.",
    )

    @property
    def has_result(self) -> bool:
        """Whether a result is asked for, which may be null."""
        return "result" in self.model_fields_set

    @property
    def has_end(self) -> bool:
        return self.status is not None or self.has_result


class WithComment(SuiteObject):
    comment: Annotated[Comment | None, Apart()] = Field(
        None, alias="$comment", exclude=True, description="For readers of the file; never sent."
    )
