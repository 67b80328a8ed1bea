"""Models through litellm, which is imported only when a model is called."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib
import json
import re
import threading
import time
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import structs

from ...errors import ModelError
from ...record.encoding import without_surrogates
from ...record.transcript import text_of
from ...record.untrusted import as_mapping
from ...replies.endings import ending_of
from ...secrets import shown_address
from ..exchange.chat import ChatAnswer, ChatRequest, sent_parameters
from ..models.known import known_entry
from ..models.litellm_library import import_litellm
from ..models.spec import HttpModel
from ..models.traits import needs_responses
from .openai_kin import with_images
from .openai_responses import wants_responses
from .provider_errors import lacks_credentials, one_line, provider_error, refused_answer, retry_after_s
from .transport import (
    chain,
    connection_error,
    for_chat,
    headers_of,
    no_message,
    read_chat,
    timed_out,
    tool_arguments,
)

_load_lock = threading.Lock()
_loaded: Any = None


def load_litellm() -> Any:
    """litellm with guarded connections. Importing it takes seconds the first time."""
    global _loaded  # noqa: PLW0603
    with _load_lock:
        if _loaded is None:
            litellm = import_litellm()
            # Imports httpx, which a run without litellm does not need.
            from .litellm_connections import guard_connections

            guard_connections(litellm)
            _loaded = litellm
    return _loaded


@cache
def load_before_asking() -> None:
    """Import litellm on the thread that runs the tests.

    Warning filters are global, and pytest sets them for each test on that thread, so only there can the
    import change and restore them.
    """
    with warnings.catch_warnings(), contextlib.suppress(ModelError):  # the request raises it again
        warnings.simplefilter("ignore")
        litellm = load_litellm()
        # For the first answer, pydantic builds its types and warns about dozens of fields.
        litellm.ModelResponse()
        # From litellm 1.110 on, the first request imports it.
        with contextlib.suppress(ImportError):
            importlib.import_module("litellm.llms.github_copilot.per_user_auth")


class LitellmClient:
    """One model through litellm's `acompletion`, without streaming or litellm's retries."""

    def __init__(self, spec: HttpModel) -> None:
        self._spec = spec

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        self._spec.require()
        api_key = self._spec.key()
        # litellm itself reads the usual variable from the environment.
        key = api_key if self._spec.api_key_env else None
        litellm = _loaded or await asyncio.get_running_loop().run_in_executor(None, load_litellm)
        from .litellm_connections import open_session

        self._check_provider(key)
        open_session(litellm)
        # A copy, because litellm removes unsupported parts from schemas.
        arguments = copy.deepcopy(self._arguments(request, key, timeout_s))
        details: dict[str, Any] = {}
        arguments["logger_fn"] = details.update
        begin = time.perf_counter()
        try:
            # Some of litellm's code ignores `timeout`.
            response = await asyncio.wait_for(litellm.acompletion(**arguments), timeout_s + 1.0)
        except asyncio.TimeoutError:
            raise timed_out(timeout_s) from None
        except Exception as error:
            answer = self._answer_in(error, _native(details), request, time.perf_counter() - begin)
            if answer is None:
                raise self._translate(error, request, timeout_s) from None
            return answer
        answer = _read(response, _native(details), time.perf_counter() - begin)
        by_responses = "responses/" in self._spec.model or needs_responses(self._spec.model)
        is_empty = not (text_of(answer.message) or answer.message.get("tool_calls"))
        if by_responses and is_empty and answer.finish_reason in (None, "stop"):
            raise ModelError(
                "litellm hands on an empty answer of the Responses API, and not why it is empty; ask "
                f'without litellm: api = "openai" ({self._spec.place})',
                kind="bad_response",
            )
        return answer

    async def close(self) -> None:
        if _loaded is not None:
            from .litellm_connections import close_connections

            await close_connections(_loaded)

    def _arguments(self, request: ChatRequest, key: str | None, timeout_s: float) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            **request.sampling,
            "model": self._spec.model,
            "messages": without_surrogates(for_chat(with_images(request.messages, self._spec))),
            "timeout": timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            # Otherwise litellm imports its MCP gateway and `mcp` for requests with tools.
            "_skip_mcp_handler": True,
            **tool_arguments(request),
        }
        if headers := headers_of(self._spec, request):
            arguments["extra_headers"] = headers
        if self._spec.api_base:
            arguments["api_base"] = self._spec.api_base
        if key is not None:
            arguments["api_key"] = key
        elif self._spec.api_base:
            # Otherwise litellm would send the provider's key in the environment to another host.
            arguments["api_key"] = "none"
        return arguments

    def _check_provider(self, key: str | None) -> None:
        """Refuse providers whose connections cannot be secured."""
        if self._spec.model.startswith("aiohttp_openai/"):
            raise self._spec.unusable(
                "the connections of aiohttp_openai follow redirects and read without an end; use "
                "openai/NAME"
            )
        provider = self._spec.provider
        if provider.logs_in and self._spec.api_base and key is None:
            raise self._spec.unusable(
                f"litellm would send the credentials for {provider.name} on this machine to the model's "
                "api_base; if they are meant for it, name their variable with api_key_env",
                "credentials",
            )

    def _answer_in(
        self, error: Exception, document: object, request: ChatRequest, latency_s: float
    ) -> ChatAnswer | None:
        """The model's answer in an exception of litellm; None if it is really an error."""
        ending = ending_of(document)
        if ending is not None:  # litellm fails if Gemini blocks a prompt and reports no usage
            message = {"role": "assistant", "content": None}
            return ChatAnswer(message, ending.reason, latency_s=latency_s, finish_message=ending.message)
        status = getattr(error, "status_code", None)
        bodies = (getattr(cause, "body", None) for cause in chain(error))
        texts = [json.dumps({"error": body}, default=str) for body in bodies if isinstance(body, dict)]
        text = _text_of(error)
        detail = _clean(text)
        messages = request.messages
        answers = (refused_answer(status, each, detail, latency_s, messages) for each in [*texts, text])
        refused = next((answer for answer in answers if answer is not None), None)
        if refused is not None or not _NO_MESSAGE.search(text):
            return refused
        if not isinstance(document, dict):
            return None
        with contextlib.suppress(ModelError):
            # The message may be valid even if litellm fails to parse a call or a number.
            return read_chat(document, document, known_entry(self._spec.model), latency_s)
        return None

    def _translate(self, error: Exception, request: ChatRequest, timeout_s: float) -> ModelError:
        """The error on one line without secrets, marked as retryable if a retry may help."""
        ours = next((cause for cause in chain(error) if isinstance(cause, ModelError)), None)
        if ours is not None:
            return ours
        missing = self._missing_package(error)
        if missing is not None:
            return missing
        status = _status(error)
        refused = status is not None and 400 <= status < 500
        where = shown_address(self._spec.api_base or "") or self._spec.model
        broken = connection_error(error, where, _clean, timeout_s, refused=refused)
        if broken is not None and not (status is None and lacks_credentials(str(error))):
            return broken
        unreadable = _NO_MESSAGE.search(str(error))
        if unreadable:
            return no_message(unreadable[0])
        headers = getattr(error, "litellm_response_headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        # Messages about litellm's own failures include a traceback.
        text = _clean(_text_of(error).partition("Traceback (most recent call last)")[0])
        if refused and self._spec.provider.name == "azure" and wants_responses(text):
            deployment = self._spec.model.removeprefix("azure/")
            text += f' (model = "azure/responses/{deployment}" asks there: {self._spec.place})'
            return ModelError(
                f"the provider refused the request: {text}", kind="bad_request", fatal=True
            )
        return provider_error(
            self._spec,
            status,
            f"litellm failed: {type(chain(error)[-1]).__name__}: {text}" if status is None else text,
            sent=sent_parameters(request),
            retry_after=retry_after_s(headers),
        )

    def _missing_package(self, error: Exception) -> ModelError | None:
        lacking = [cause for cause in chain(error) if isinstance(cause, ImportError)]
        if not lacking:
            return None
        detail = _clean(str(lacking[0]))
        needed = _PACKAGES.get((lacking[-1].name or "").partition(".")[0])
        way = f"; pip install '{needed}'" if needed and needed not in detail else ""
        if needed == _MCP:
            way += (
                ', or ask the provider without litellm: model = "openai/responses/NAME" and its api_base'
            )
        needs = f"litellm needs a package that is not installed to ask {self._spec.model}"
        return self._spec.unusable(f"{needs}: {detail}{way}")


def _clean(text: str) -> str:
    """One line, without secrets and without litellm's class names."""
    return _LITELLM_TALK.sub("", one_line(text))


_MCP = "pytest-tooleval[mcp]"
# The packages of modules that may be missing.
_PACKAGES = {"mcp": _MCP, "google": "litellm[google]", "vertexai": "litellm[google]", "boto3": "boto3"}


def _status(error: Exception) -> int | None:
    """The status of the response; None for a failure of litellm itself, which it reports as 500."""
    innermost = chain(error)[-1]
    status = getattr(getattr(innermost, "response", None), "status_code", None)
    if status is None:
        status = getattr(error, "status_code", None)
        if not isinstance(status, int) or (status == 500 and not hasattr(innermost, "status_code")):
            # litellm raises a bare Exception for an error in a response with status 200.
            return 422 if type(innermost) is Exception else None
    return status if isinstance(status, int) else None


def _text_of(error: Exception) -> str:
    """litellm's message, with the response's text if the openai library reports only its status."""
    text = str(error)
    if not _ONLY_STATUS.search(text):
        return text
    responses = (getattr(cause, "response", None) for cause in chain(error))
    bodies = (getattr(response, "text", "") for response in responses)
    return " - ".join(filter(None, (text, next(filter(None, bodies), ""))))


_ONLY_STATUS = re.compile(r"Error code: \d+$")
# Class names at the start, and advice at the end, such as to drop parameters.
_LITELLM_TALK = re.compile(
    r"^(litellm\.)?((\w+Error|Timeout( Error)?): (litellm\.)?)*(\w+(Exception|Error)( \w+Error)? - )?"
    r"|\.? Handle with `litellm\.\w+`\.?$"
    r"|[.,]? (To drop|or set `litellm|Use tool_choice='auto' and)\b.{0,200}drop_params.*$"
)


# litellm's messages for a 200 that is not a chat answer.
_NO_MESSAGE = re.compile(
    r"Invalid response object|Empty or invalid response|Error converting to valid response"
    r"|provider returned ('choices' that is not a list|a response with no 'choices')"
    r"|Unable to get json response"
    r"|Exceeds the limit \(\d+ digits\)|maximum recursion depth exceeded"
)


def _native(details: Mapping[str, Any]) -> object:
    """The provider's document, which litellm gives to a `logger_fn`; None if it is not valid JSON."""
    text = details.get("original_response")
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _read(response: Any, document: object, latency_s: float) -> ChatAnswer:
    """The answer in litellm's response object."""
    try:
        choice = response.choices[0]
        message = choice.message.model_dump(exclude_none=True)
    except (AttributeError, IndexError, TypeError) as error:
        raise no_message(type(error).__name__) from None
    message.setdefault("content", None)
    fields = message.get("provider_specific_fields")
    if isinstance(fields, dict) and not any(fields.values()):
        # litellm adds this empty field, which strict servers refuse in later requests.
        del message["provider_specific_fields"]
    names = ("usage", "model", "provider", "system_fingerprint")
    chat = {name: getattr(response, name, None) for name in names}
    if chat["usage"]:
        chat["usage"] = chat["usage"].model_dump()
    ending = ending_of(document, {"choices": [choice.model_dump()]})
    reason = getattr(choice, "finish_reason", None)
    answer = ChatAnswer.from_chat(message, ending, reason, chat, latency_s)
    return structs.replace(answer, cost_usd=_cost(response))


def _cost(response: Any) -> float | None:
    """litellm's price; None when unknown, which litellm reports as 0."""
    cost = as_mapping(getattr(response, "_hidden_params", None)).get("response_cost")
    return float(cost) if isinstance(cost, (int, float)) and cost > 0 else None
