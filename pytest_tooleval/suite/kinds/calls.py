"""One message, and the calls in the reply to it: several, one, or none."""

from __future__ import annotations

from .kind import OF_CHAINS
from .kind import OF_CONVERSATIONS
from .kind import Kind

CALLS = Kind("calls", {**OF_CHAINS, **OF_CONVERSATIONS})
