"""One message, and a reply with any number of calls."""

from __future__ import annotations

from .kind import OF_CHAINS
from .kind import OF_CONVERSATIONS
from .kind import Kind

CALLS = Kind("calls", {**OF_CHAINS, **OF_CONVERSATIONS})
