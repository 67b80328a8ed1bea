"""The context of a request, and the parameters that the user has set for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ModelError
from ...keys import PublicTexts
from ...record.run import HelperRole
from ...suite.case import ResolvedCase
from ..cassettes.cassette import Cassette
from ..exchange.chat import RESPONSE_FORMAT, ChatRequest
from ..exchange.reply import OnReply
from ..models.spec import LEXICAL, SAMPLING, Builtin, DeployedAgent, ModelSpec


@dataclass(frozen=True, slots=True)
class Context:
    """A request's place in the queue, and where its answer is recorded.

    `is_fresh` sends it even if the answer is recorded, for a rerun. `set_by` maps the parameters that
    the user has set to where they are set. `refusal` says why only recorded answers may be used; it
    is empty if the model may be queried. `role` is None for the model under test; the answers of
    other models must pass `accept` before they are recorded. `public_texts` has the texts of the case's
    suite, which contain no secrets. `claim` is the question's key in the cassette, which the request
    claims just before it is sent; without one, nobody else can be sending the same request.
    """

    priority: int = 0
    cassette: Cassette | None = None
    is_fresh: bool = False
    set_by: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    role: HelperRole | None = None
    accept: OnReply | None = None
    public_texts: PublicTexts | None = None
    claim: str = ""


def sampling_for(spec: ModelSpec, case: ResolvedCase | None = None) -> dict[str, Any]:
    """The parameters to send besides messages and tools. A judge or a simulated user has no case.

    The case (with suite and command line) takes precedence over the model's table, and the table
    over the default temperature of 0. Parameters under `omit` are never sent. Headers have hashes as
    values, because this is recorded; the clients take the values from the table.
    """
    names = ("temperature", "max_tokens")
    chosen = {} if case is None else {name: getattr(case, name) for name in names}
    sampling = {
        "temperature": 0.0,
        **{name: spec.sampling[name] for name in SAMPLING if name in spec.sampling},
        **{name: value for name, value in chosen.items() if value is not None},
        **spec.extra,
    }
    if isinstance(headers := sampling.get("extra_headers"), Mapping):
        hashes = {name: hashlib.sha256(str(value).encode()) for name, value in headers.items()}
        # Different headers make a different question.
        sampling["extra_headers"] = {
            name: f"sha256:{digest.hexdigest()[:16]}" for name, digest in hashes.items()
        }
    sent = {name: value for name, value in sampling.items() if name not in spec.omit}
    # Never left out: without it, the model would be asked something else.
    form = None if case is None else case.response_format
    return sent if form is None else {**sent, RESPONSE_FORMAT: form}


def set_by(spec: ModelSpec, case: ResolvedCase | None = None) -> dict[str, str]:
    """The parameters that the user has set, and where. All others are defaults."""
    places = dict.fromkeys([*spec.sampling, *spec.extra], spec.place)
    return places if case is None else {**places, **case.set_by}


def require_form(request: ChatRequest, spec: ModelSpec, places: Mapping[str, str]) -> None:
    """Raise ModelError if the model is known to drop the request's `response_format`."""
    if RESPONSE_FORMAT not in request.sampling:
        return
    if isinstance(spec, Builtin):
        why = f"{LEXICAL} writes none"
    elif isinstance(spec, DeployedAgent):
        why = f"an agent with a url gets only what its request in {spec.place} holds"
    elif RESPONSE_FORMAT in spec.omit:
        why = f"it is under omit in {spec.place}"
    else:
        return
    place = places.get(RESPONSE_FORMAT, "the case")
    raise ModelError(
        f"{RESPONSE_FORMAT} is set by {place}, and would not be sent: {why}; remove one of the two",
        kind="bad_request",
    )
