"""Receives a client's answers, adds their costs, checks them, and removes keys."""

from __future__ import annotations

from datetime import datetime, timezone

from msgspec import structs

from ...errors import ModelError
from ...keys import PublicTexts
from ...record.calls import MAX_DEPTH, is_nested_deeper
from ...record.run import payer
from ...secrets import redacted, scrub, secret_values
from ..clients.base import ChatAnswer, ChatClient, ChatRequest
from ..clients.choice import make_client
from ..limits.spending import Spending, price
from ..models.spec import ModelSpec
from .context import Context

_TEXTS = ("message", "finish_reason", "finish_message", "served_model", "system_fingerprint", "answers")


class Received:
    """A model's client, created when first needed."""

    def __init__(self, spec: ModelSpec, spending: Spending, timeout_s: float) -> None:
        self._spec = spec
        self._spending = spending
        self._timeout_s = timeout_s
        self.client: ChatClient | None = None

    async def complete(self, request: ChatRequest, context: Context) -> ChatAnswer:
        if self.client is None:
            self.client = make_client(self._spec)
        try:
            answer = await self.client.complete(request, self._timeout_s)
        except ModelError as error:
            # The provider's error message may echo a key.
            error.message = scrub(error.message, secret_values([self._spec.api_key_env]))
            raise
        replies = [self._priced(each) for each in answer.replies]
        costs = [each.cost_usd for each in replies]
        cost = None if None in costs else sum(each or 0 for each in costs)
        # The answer is paid for, even if it is refused below.
        at_least = any(each.cost_at_least for each in replies)
        self._spending.add(payer(self._spec.label, context.role), cost, at_least)
        *earlier, last = (_checked(each, context.public) for each in replies)
        return last if answer.earlier is None else structs.replace(last, earlier=tuple(earlier))

    def _priced(self, answer: ChatAnswer) -> ChatAnswer:
        """The answer with its cost, if the model's table has prices."""
        spec = self._spec
        cost = price(answer.prompt_tokens, answer.completion_tokens, spec.input_price, spec.output_price)
        return answer if cost is None else structs.replace(answer, cost_usd=cost)


def _checked(answer: ChatAnswer, public: PublicTexts | None) -> ChatAnswer:
    """An answer, or an agent's reply, with its time, and with stand-ins for keys."""
    if is_nested_deeper([answer.message, *answer.answers], MAX_DEPTH):
        raise ModelError(f"the answer is nested more than {MAX_DEPTH} levels deep", kind="bad_response")
    texts = redacted({name: getattr(answer, name) for name in _TEXTS}, public)
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return structs.replace(answer, answered_at=now, **texts)
