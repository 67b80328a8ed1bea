"""One message, and a reply with any number of calls."""

from __future__ import annotations

from .kind import OF_CHAINS, OF_CONVERSATIONS, Kind

CALLS = Kind("calls", {**OF_CHAINS, **OF_CONVERSATIONS})
