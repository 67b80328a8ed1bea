"""The features that a suite's tools may use, and the substitutes for models that lack them.

A suite uses OpenAI's terms. A feature is a field of a function, a kind of tool, or a `tool_choice`.
A model that lacks one gets the tools in a plainer form, which counts as a fallback and is shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, get_args

from msgspec import structs

from ...errors import ModelError
from ...jsonschemas.subschemas import recursion
from ...text import first_few
from ..exchange.chat import ChatRequest
from ..exchange.tools import RawTool, as_function, function_name, named_by, naming, tool_body, tool_kind
from ..models.spec import Agent, Builtin, HttpModel, ModelSpec
from ..models.traits import needs_responses, searches_tools

Feature = Literal[
    "defer_loading", "allowed_callers", "input_examples", "output_schema", "custom", "namespace",
    "allowed_tools",
]  # fmt: skip
FEATURES: tuple[Feature, ...] = get_args(Feature)

_OPENAI = ("openai", "azure")
_CALLERS: frozenset[Feature] = frozenset(("defer_loading", "allowed_callers"))
_RESPONSES: frozenset[Feature] = frozenset(("output_schema", "namespace"))
_OF_PROTOCOL: Mapping[str, frozenset[Feature]] = {
    "openai": frozenset(("custom", "allowed_tools")),
    "anthropic": frozenset(("input_examples",)),
    "gemini": frozenset(("allowed_tools",)),
}
# The substitutes for missing features, in words.
_INSTEAD: Mapping[Feature, str] = {
    "defer_loading": "the whole list of tools, because this model cannot search",
    "allowed_callers": "no programs, because this model writes none that call tools",
    "input_examples": "no examples, because this model takes none",
    "output_schema": "no schema of answers, because this model takes none",
    "custom": "a function with the argument input, because this model takes no custom tools",
    "namespace": "the tool's name without its namespace, because this model or the tool_choice has none",
    "allowed_tools": "only the allowed tools, because this model cannot choose among all",
}


_BESIDE_DEFERRED = "no examples, because Anthropic refuses them beside deferred tools"
_BEYOND_PROGRAMS = "because programs cannot call a strict tool or one whose schema refers to itself"


# The provider's own tools that features need, each with the prefix of such tools' types.
_HOSTED: Mapping[str, Mapping[Feature, tuple[str, RawTool]]] = {
    "openai": {
        "defer_loading": ("tool_search", {"type": "tool_search"}),
        "allowed_callers": ("programmatic_tool_calling", {"type": "programmatic_tool_calling"}),
    },
    "anthropic": {
        "defer_loading": (
            "tool_search_tool",
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        ),
        "allowed_callers": (
            "code_execution",
            {"type": "code_execution_20260120", "name": "code_execution"},
        ),
    },
}


def features_of(spec: ModelSpec) -> frozenset[Feature]:
    """The model's features, as far as its name and protocol reveal them."""
    if isinstance(spec, Builtin):
        return frozenset(("defer_loading", "custom"))
    if isinstance(spec, Agent):
        return frozenset(_INSTEAD) - {"custom"}  # it gets the suite's fields, and may ignore them
    protocol = spec.protocol
    others = spec.is_elsewhere
    if protocol is None or (protocol == "openai" and (others or spec.provider.name not in _OPENAI)):
        return frozenset()
    features = _OF_PROTOCOL[protocol]
    if protocol == "openai" and needs_responses(spec.model):
        features |= _RESPONSES
    can_search = protocol in _HOSTED and not others and searches_tools(spec.model)
    return features | (_CALLERS if can_search else frozenset())


def fit_request(request: ChatRequest, spec: ModelSpec) -> tuple[ChatRequest, Mapping[str, str]]:
    """The request with tools that the model accepts, and the provider's tools that these need.

    Also returns the substitutes in it, as fallbacks. Raises ModelError if the model has a feature that
    litellm would drop.
    """
    request = structs.replace(request, tools=[*map(_stated, request.tools)])
    if not wanted_by(request):
        return request, {}
    features = features_of(spec)
    protocol = spec.protocol if isinstance(spec, HttpModel) else None
    combined, apart = _reconciled(request.tools, protocol, features)
    request = structs.replace(request, tools=combined)
    needed = wanted_by(request)
    _require_carried(needed - features, spec)
    choice = request.tool_choice
    named = named_by(choice)
    if any("namespace" in each for each in named) and not isinstance(spec, Agent):
        features -= {"namespace"}
    lacking = [feature for feature in _INSTEAD if feature in needed - features]
    tools = [_plain(tool, lacking, request.tools) for tool in request.tools]
    if isinstance(choice, Mapping):
        chosen = [sent for sent, tool in zip(tools, request.tools, strict=True) if naming(tool) in named]
        if "allowed_tools" in lacking:
            tools, choice = chosen, choice["allowed_tools"]["mode"]
        elif "allowed_tools" in choice:
            allowed = {**choice["allowed_tools"], "tools": [*map(naming, chosen)]}
            choice = {**choice, "allowed_tools": allowed}
        else:
            choice = naming(chosen[0])
    for feature, (types, hosted) in _HOSTED.get(protocol or "", {}).items():
        if feature in needed & features and not any(tool["type"].startswith(types) for tool in tools):
            tools.append(hosted)
    instead = {f"tools.{feature}": _INSTEAD[feature] for feature in lacking}
    return structs.replace(request, tools=tools, tool_choice=choice), {**instead, **apart}


def _reconciled(
    tools: Sequence[RawTool], protocol: str | None, features: Collection[Feature]
) -> tuple[list[RawTool], dict[str, str]]:
    """The tools without combinations of features that the provider refuses, and what they lack."""
    apart: dict[str, str] = {}
    tools = [*tools]
    if protocol not in _HOSTED:
        return tools, apart
    direct = [index for index, tool in enumerate(tools) if _is_beyond_programs(tool)]
    if direct and "allowed_callers" in features:
        names = first_few([function_name(tools[index]) for index in direct])
        apart["tools.allowed_callers"] = f"only direct calls of {names}, {_BEYOND_PROGRAMS}"
        for index in direct:
            tools[index] = _plain(tools[index], ["allowed_callers"], ())
    wanted = {feature for tool in tools for feature in tool_body(tool)}
    if protocol == "anthropic" and {"defer_loading", "input_examples"} <= wanted & {*features}:
        apart["tools.input_examples"] = _BESIDE_DEFERRED
        tools = [_plain(tool, ["input_examples"], ()) for tool in tools]
    return tools, apart


def _is_beyond_programs(tool: RawTool) -> bool:
    function = tool_body(tool)
    if "programmatic" not in (function.get("allowed_callers") or ()):
        return False
    return bool(function.get("strict")) or recursion(function.get("parameters") or {}) is not None


def _require_carried(lacking: frozenset[Feature], spec: ModelSpec) -> None:
    if not isinstance(spec, HttpModel) or spec.protocol is not None:
        return
    features = features_of(dataclasses.replace(spec, api=None, extra={}))
    if lost := [feature for feature in FEATURES if feature in lacking & features]:
        cause = 'api = "litellm"' if spec.api == "litellm" else "the parameters that only litellm takes"
        raise ModelError(
            f"litellm loses {', '.join(lost)}, which {spec.model} has; remove {cause} from {spec.place} "
            "so that the built-in client sends the tools, or use a suite without them",
            kind="bad_request",
        )


def wanted_by(request: ChatRequest) -> frozenset[Feature]:
    """The features that a request needs."""
    features: set[Feature] = set()
    for tool in request.tools:
        features |= {feature for feature in FEATURES if feature in tool_body(_stated(tool))}
        features |= {name for name in ("custom", "namespace") if name in tool}
    if isinstance(request.tool_choice, Mapping) and "allowed_tools" in request.tool_choice:
        features.add("allowed_tools")
    return frozenset(features)


def _stated(tool: RawTool) -> RawTool:
    """A tool without fields that only state the default, such as `defer_loading: false`."""
    kind = tool_kind(tool)
    if kind is None or tool[kind].keys().isdisjoint(FEATURES):
        return tool
    return {
        **tool,
        kind: {
            name: value
            for name, value in tool[kind].items()
            if name not in FEATURES or (value and value != ["direct"])
        },
    }


def _plain(tool: RawTool, lacking: Collection[Feature], others: Sequence[RawTool]) -> RawTool:
    """A tool without the features that the model lacks."""
    if not lacking:
        return tool
    if "custom" in lacking and "custom" in tool:
        tool = as_function(tool)
    kind = tool_kind(tool)
    if kind is None:
        return tool
    inner = {name: value for name, value in tool[kind].items() if name not in lacking}
    plain = {**tool, kind: inner}
    if "namespace" in lacking and "namespace" in tool:
        del plain["namespace"]
        if sum(function_name(other) == inner["name"] for other in others) > 1:
            inner["name"] = f"{tool['namespace']['name']}_{inner['name']}"
    return plain
