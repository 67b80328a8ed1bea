"""The tools that a provider runs itself, which a suite lists under `provider_tools`.

Searches, programs, and code without network access affect nothing but the answer. All other tools run
only if the command line allows them. Secrets are given as names of environment variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ...errors import ModelError
from ...suite.case import ResolvedCase
from ..models.spec import HttpModel, ModelSpec
from .source import allowing

_HARMLESS = re.compile(
    r"tool_search(_tool_[a-z0-9]+_[0-9]{8})?|programmatic_tool_calling|code_interpreter"
    r"|code_execution_[0-9]{8}"
)


def host_of(spec: ModelSpec) -> Literal["openai", "anthropic"] | None:
    """The provider whose own tools a model can use; None if it runs elsewhere or through litellm."""
    if not isinstance(spec, HttpModel) or spec.protocol is None or spec.is_elsewhere:
        return None
    name = spec.provider.name
    if name in ("openai", "azure"):
        return "openai"
    return "anthropic" if name == "anthropic" else None


def hosted_tools(case: ResolvedCase, spec: ModelSpec) -> Sequence[Mapping[str, Any]]:
    """The provider's own tools for a model, with variable names in place of secrets."""
    host = host_of(spec)
    return getattr(case.provider_tools, host) if host else ()


def refusal(case: ResolvedCase, spec: ModelSpec, allowed: Sequence[str]) -> str:
    """The message about tools with outside effects that the command line must allow; empty if none."""
    missing = [
        names[0]
        for tool in hosted_tools(case, spec)
        if not _is_harmless(tool) and not {*(names := _names(tool))} & {*allowed}
    ]
    if not missing:
        return ""
    what = ", ".join(missing)
    return f"provider_tools: {what} acts at the provider, and runs only with {allowing(*missing)}"


def with_secrets(tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The tools with the values of their variables filled in. Raises ModelError if one is not set."""
    return list(map(_with_secrets, tools))


def _with_secrets(tool: Mapping[str, Any]) -> dict[str, Any]:
    sent = dict(tool)
    if "authorization" in tool:
        sent["authorization"] = _value(tool["authorization"])
    if "headers" in tool:
        sent["headers"] = {name: _value(variable) for name, variable in tool["headers"].items()}
    return sent


def _value(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(
            f"the environment variable {variable}, which provider_tools names, is not set",
            kind="credentials",
        )
    return value


def _is_harmless(tool: Mapping[str, Any]) -> bool:
    container = tool.get("container") or {}
    if isinstance(container, str):  # the id of an existing one, which may have a network
        return False
    policy = container.get("network_policy") or {}
    offline = policy.get("type", "disabled") == "disabled"
    return _HARMLESS.fullmatch(tool["type"]) is not None and offline


def _names(tool: Mapping[str, Any]) -> list[str]:
    """The names by which the command line may allow a tool, the best one first."""
    return [tool[field] for field in ("server_label", "name", "type") if field in tool]
