"""Whether all is tried, as it is every night: with `TOOLEVAL_TESTS=all` in the environment."""

from __future__ import annotations

import os

ALL = os.environ.get("TOOLEVAL_TESTS") == "all"
