"""Items of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.transcript import Message
from ...record.untrusted import as_mapping, objects_in
from ...replies.call_like import may_be_call
from .builder import ChatBuilder, as_content

ResponseItem = Mapping[str, Any]

_CALL, _OUTPUT = "_call", "_call_output"
# Items with neither a call nor an answer.
_SILENT = frozenset(
    "reasoning compaction compaction_trigger item_reference mcp_list_tools additional_tools".split()
)
# Calls that OpenAI runs itself, besides those on MCP servers.
_HOSTED = frozenset(
    "web_search_call file_search_call code_interpreter_call image_generation_call".split()
)
# Fields of a call that are not its arguments.
_ABOUT = frozenset(
    "id call_id type status caller created_by environment async container_id server_label output "
    "outputs approval_request_id pending_safety_checks result results error".split()
)
# The request's part of calls that OpenAI runs itself; the rest is how they went, and what they found.
_REQUESTS = {
    "web_search_call": ("query", "queries", "url", "pattern"),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "image_generation_call": ("prompt", "revised_prompt"),
}
# Fields that contain a call's arguments as one object.
_ARGUMENTS = ("action", "operation")
_RESULTS = ("output", "outputs", "results", "result")


class ItemReader:
    """Reads items in order, because an approval refers to an earlier call."""

    def __init__(self, chat: ChatBuilder) -> None:
        self._chat = chat
        self._asked: dict[str, Message] = {}

    def read(self, item: ResponseItem) -> None:
        """Read an item without a role."""
        kind = str(item.get("type"))
        id = item.get("call_id") or item.get("id")
        if kind == "tool_search_call":
            self._chat.search(id, item.get("arguments"), names_shown=True)
        elif kind == "tool_search_output":
            self._chat.tools_found(id, list(tool_names(item.get("tools"))))
        elif kind == "program":
            self._chat.program(id, item.get("code"))
        elif kind == "program_output":
            self._chat.result(id, item.get("result"))
        elif kind in ("mcp_approval_request", "mcp_call"):
            self._of_mcp(item, asks=kind != "mcp_call")
        elif kind == "mcp_approval_response":
            self._approved(item)
        elif kind.endswith(_OUTPUT):
            self._chat.answer(id, item.get("output"), status=item.get("status"))
        elif kind.endswith(_CALL):
            self._called(item, kind, id)
        elif kind == "compaction":
            self._chat.note_compaction()
        elif kind not in _SILENT:
            self._chat.keep(item, replies=may_be_call(item))

    def _called(self, item: ResponseItem, kind: str, id: object) -> None:
        about: dict[str, Any] = {name: item.get(name) for name in ("caller", "namespace")}
        if kind == "function_call":
            self._chat.call(id, item.get("name"), item.get("arguments"), **about)
        elif kind == "custom_tool_call":
            self._chat.call(id, item.get("name"), item.get("input"), custom=True, **about)
        else:
            # A provider's tool, maybe an unknown one, named after its type.
            environment = as_mapping(item.get("environment")).get("type")
            hosted = kind in _HOSTED or (kind == "shell_call" and environment == "container_reference")
            name = kind.removesuffix(_CALL)
            self._chat.call(id, name, arguments_of(item), hosted=hosted, **about)
            result = next((item[name] for name in _RESULTS if item.get(name) is not None), None)
            if result is not None:
                text = "[image]" if kind == "image_generation_call" else result
                self._chat.answer(id, text, status=item.get("status"))

    def _of_mcp(self, item: ResponseItem, *, asks: bool) -> None:
        """Read OpenAI's call on an MCP server, or its request to approve the call."""
        answer = self._asked.get(str(item.get("approval_request_id")))
        if answer is None:
            self._chat.call(item.get("id"), item.get("name"), item.get("arguments"), hosted=True)
            answer = self._chat.answer(item.get("id"), "")
        if asks:
            self._asked[str(item.get("id"))] = answer
            answer["status"] = "waiting"
            return
        error = item.get("error")
        answer["content"] = as_content(error or item.get("output"))
        answer["status"] = "error" if error else item.get("status")

    def _approved(self, item: ResponseItem) -> None:
        answer = self._asked.get(str(item.get("approval_request_id")))
        if answer is not None:
            answer["status"] = "refused" if item.get("approve") is False else None
            answer["content"] = item.get("reason") or ""


def arguments_of(item: ResponseItem) -> Mapping[str, Any]:
    """The arguments of a call of the provider's own tool."""
    if asked := _REQUESTS.get(str(item.get("type"))):
        data = {**item, **as_mapping(item.get("action"))}
        return {name: data[name] for name in asked if data.get(name) is not None}
    for name in _ARGUMENTS:
        if isinstance(item.get(name), Mapping):
            return item[name]  # type: ignore[no-any-return]
    return {name: value for name, value in item.items() if name not in _ABOUT and value is not None}


def tool_names(tools: object) -> Iterator[str]:
    """The names of tools, prefixed with their namespaces."""
    for tool in objects_in(tools):
        name = as_mapping(tool.get("function")).get("name") or tool.get("name")
        if tool.get("type") == "namespace":
            yield from (f"{name}.{inner}" for inner in tool_names(tool.get("tools")))
        elif isinstance(name, str):
            yield name
