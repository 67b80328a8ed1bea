"""The kinds of cases; each lists the fields that it cannot have, and its own checks."""

from __future__ import annotations

from collections.abc import Mapping

from ..case import CaseKind
from .chain import CHAIN
from .conversation import CONVERSATION
from .kind import OF_CHAINS, OF_CONVERSATIONS, Kind

# One message, and a reply with any number of calls.
CALLS = Kind("calls", {**OF_CHAINS, **OF_CONVERSATIONS})

KINDS: Mapping[CaseKind, Kind] = {kind.name: kind for kind in (CALLS, CHAIN, CONVERSATION)}
