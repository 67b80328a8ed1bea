"""File handles: each connection needs one, and the system limits them."""

from __future__ import annotations

import contextlib
import os
import sys

# For everything else: cassettes, the history, reports, libraries, other tests.
_SPARE = 64


def most_in_flight(most: int) -> int:
    """How many connections can be open, up to `most`. Raises the process's limit if needed."""
    if sys.platform == "win32":  # without such a limit
        return most
    import resource

    used = len(os.listdir("/dev/fd"))
    needed = used + most + _SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return most
    more = needed if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(OSError, ValueError):  # macOS has a second limit, below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return max(1, min(most, soft - used - _SPARE))
