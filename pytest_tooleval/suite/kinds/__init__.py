"""The kinds of cases; each lists the fields that it cannot have, and its own checks."""

from __future__ import annotations

from collections.abc import Mapping

from ..case import CaseKind
from .calls import CALLS
from .chain import CHAIN
from .conversation import CONVERSATION
from .kind import Kind

KINDS: Mapping[CaseKind, Kind] = {kind.name: kind for kind in (CALLS, CHAIN, CONVERSATION)}
