"""Servers that provide the tools of a suite."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .fields import Expects, SuiteObject
from .types import Name, Url, VariableName


class McpSource(SuiteObject):
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

    answers: Literal["content", "structured"] = Field(
        "content",
        description="What of a tool's answer models get, if it has both: content (the default), or its "
        "structuredContent as JSON.",
    )

    @model_validator(mode="after")
    def _check_transport(self) -> McpSource:
        named = [name for name in ("stdio", "http", "sse") if getattr(self, name) is not None]
        if len(named) != 1:
            got = {"got": " and ".join(named) or "none"}
            raise PydanticCustomError("source", "expected one of stdio, http and sse, got {got}", got)
        return self


class ToolsFrom(SuiteObject):
    """A server that provides the suite's tools when the suite runs."""

    EXPECTS = 'an object such as {"mcp": {"stdio": "uvx mcp-server-time"}}'

    mcp: McpSource = Field(description="The MCP server.")
    pin: (
        Annotated[str, Field(pattern=r"^[0-9a-f]{16}$"), Expects("a fingerprint of 16 hex digits")]
        | None
    ) = Field(
        None,
        description="A fingerprint of the tools' names, descriptions, schemas and annotations. Without "
        "one, any tools are accepted.",
    )
    on_drift: Literal["error", "warn"] = Field(
        "error",
        description="error or warn: what to do if the tools do not match pin. The message has the new "
        "fingerprint.",
    )
