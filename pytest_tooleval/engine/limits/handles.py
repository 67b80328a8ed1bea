"""File handles: every connection is one, and a process may not open many."""

from __future__ import annotations

import contextlib
import os
import sys

# For all that is no connection: cassettes, the history, reports, libraries, the tests beside us.
_SPARE = 64


def most_in_flight(wanted: int) -> int:
    """How many of so many requests at a time there are handles for; raises the limit if need be."""
    if sys.platform == "win32":  # no limit is known
        return wanted
    import resource

    used = len(os.listdir("/dev/fd"))
    needed = used + wanted + _SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    more = needed if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(OSError, ValueError):  # macOS has a second limit, below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return max(1, min(wanted, soft - used - _SPARE))
