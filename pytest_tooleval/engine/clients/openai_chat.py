"""Our own client for OpenAI and servers with its protocols."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from ..models.prices import listed
from ..models.prices import openai_price
from ..models.prices import provider_of
from ..models.spec import ModelSpec
from ..models.traits import needs_responses
from ..models.traits import reasons
from .base import ChatAnswer
from .base import ChatRequest
from .http_client import HttpClient
from .openai_responses import chat_document
from .openai_responses import responses_body
from .openai_responses import wants_responses
from .transport import for_chat
from .transport import key_from

OPENAI = "https://api.openai.com/v1"
_REFUSES_ENCRYPTED = re.compile(r"encrypted[ _]content", re.IGNORECASE)
_THOUGHTS = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>(.*)", re.DOTALL)


class OpenAIClient(HttpClient):
    """One model behind `POST {api_base}/chat/completions`.

    Models that are offered, or accept tools, only at `/responses` are asked there: known ones from the
    start, others as soon as an error says so.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._azure = spec.api is None and provider_of(spec.model) == "azure"
        self._model, self._responses = _named(spec.model, "azure/" if self._azure else "openai/")
        if self._azure:
            super().__init__(spec, _azure(spec.base or ""), listed(spec.model))
            self._responses = True
        else:
            super().__init__(spec, spec.base or OPENAI, openai_price(self._model))
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
        """Whether the form of the question was refused; later questions have another form then."""
        if not responses and wants_responses(refusal):
            self._responses = True
        elif responses and encrypted and _REFUSES_ENCRYPTED.search(refusal):
            self._encrypted = False
        else:
            return False
        return True

    def _own_headers(self) -> dict[str, str]:
        # The user's OPENAI_API_KEY must not travel to another host by accident.
        own = None if self._spec.api_base else "AZURE_API_KEY" if self._azure else "OPENAI_API_KEY"
        key = key_from(self._spec, self._spec.api_key_env or own)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        organization = os.environ.get("OPENAI_ORGANIZATION", "").strip()
        if organization and own == "OPENAI_API_KEY":
            headers["OpenAI-Organization"] = organization
        return headers

    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        body = {"model": self._model, **chat}
        if self._azure:
            body.pop("api_version", None)
        if self._responses:
            return responses_body(body, encrypted=self._encrypted)
        return {**body, "messages": for_chat(body["messages"])}

    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        return chat_document(document) if self._responses else document


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Move thinking from the start of the text to `reasoning_content`, like litellm."""
    content = message["content"]
    if "reasoning_content" in message or "reasoning" in message or not isinstance(content, str):
        return message
    found = _THOUGHTS.match(content)
    return {**message, "content": found[2], "reasoning_content": found[1]} if found else message


def _named(model: str, provider: str) -> tuple[str, bool]:
    """The server's name of the model, and whether the prefix `responses/` selects that API."""
    name = model.removeprefix(provider)
    return name.removeprefix("responses/"), name.startswith("responses/")


def _is_openai(base: str) -> bool:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:
        return False
    return f".{host}".endswith(".api.openai.com")


def _azure(resource: str) -> str:
    """The address of OpenAI's API without versions at an Azure resource."""
    return re.sub(r"(/openai(/v1)?)?/*$", "/openai/v1", resource, count=1) if resource else ""
