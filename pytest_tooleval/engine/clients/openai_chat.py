"""Our own client for OpenAI and servers with its protocols."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from ..exchange.chat import ChatAnswer, ChatRequest
from ..models.known import known_entry
from ..models.spec import HttpModel
from ..models.traits import needs_responses, reasons
from .http_client import ProviderClient
from .joined_streams import StreamEnd, joined_chat, joined_responses
from .openai_kin import adapt_body, base_of
from .openai_responses import chat_document, responses_body, wants_responses
from .transport import for_chat

_REFUSES_ENCRYPTED = re.compile(r"encrypted[ _]content", re.IGNORECASE)
_THOUGHTS = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>(.*)", re.DOTALL)


class OpenAIClient(ProviderClient):
    """One model behind `POST {api_base}/chat/completions`.

    Models that exist, or accept tools, only at `/responses` are queried there: known ones from the
    start, others as soon as an error says so.
    """

    def __init__(self, spec: HttpModel) -> None:
        super().__init__(spec)
        name = self._model.removeprefix("responses/")
        self._responses = name != self._model
        self._model = name
        self._is_azure = spec.provider.name == "azure"
        if self._is_azure:
            self._base, self._responses = _azure(self._base), True
        else:
            self._base = base_of(self._base, spec)
            # Another server with OpenAI's protocol may reuse the names of other providers' models.
            self._price = known_entry(f"{spec.provider.name}/{name}")
        if _is_openai(self._base):
            self._responses = self._responses or needs_responses(spec.model)
        self._encrypted = reasons(spec.model) is not False

    @property
    def _url(self) -> str:
        return self._base.rstrip("/") + ("/responses" if self._responses else "/chat/completions")

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        while True:
            form = self._responses, self._encrypted
            answered = await self._post(request, timeout_s)
            if answered.status not in (400, 404) or not self._changes_form(answered.text, *form):
                answer = self._answer(answered, request)
                return structs.replace(answer, message=_with_reasoning(answer.message))

    def _changes_form(self, refusal: str, responses: bool, encrypted: bool) -> bool:
        """Whether the form of the request was refused. If so, change it for later requests."""
        if not responses and wants_responses(refusal):
            self._responses = True
        elif responses and encrypted and _REFUSES_ENCRYPTED.search(refusal):
            self._encrypted = False
        else:
            return False
        return True

    def _own_headers(self) -> dict[str, str]:
        key = self._spec.key()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        organization = os.environ.get("OPENAI_ORGANIZATION", "").strip()
        if organization and self._spec.provider.name == "openai" and not self._spec.api_base:
            headers["OpenAI-Organization"] = organization
        return headers

    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        body = {"model": self._model, **chat}
        if self._spec.stream:
            body |= {"stream": True}
            if not self._responses:
                body["stream_options"] = {"include_usage": True}
        if self._is_azure:
            body.pop("api_version", None)
        if self._responses:
            return responses_body(body, encrypted=self._encrypted)
        return adapt_body({**body, "messages": for_chat(body["messages"])}, self._spec)

    def _joined(self, chunks: Sequence[Mapping[str, Any]]) -> StreamEnd:
        return joined_responses(chunks) if self._responses else joined_chat(chunks)

    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        return chat_document(document) if self._responses else document


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Move thinking from the start of the text to `reasoning_content`, like litellm."""
    content = message["content"]
    if "reasoning_content" in message or "reasoning" in message or not isinstance(content, str):
        return message
    match = _THOUGHTS.match(content)
    return {**message, "content": match[2], "reasoning_content": match[1]} if match else message


def _is_openai(base: str) -> bool:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:
        return False
    return f".{host}".endswith(".api.openai.com")


def _azure(resource: str) -> str:
    """The address of an Azure resource's OpenAI API without versions."""
    return re.sub(r"(/openai(/v1)?)?/*$", "/openai/v1", resource, count=1) if resource else ""
