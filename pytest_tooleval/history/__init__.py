"""All runs: documents in a folder or a bucket, and their index in `.tooleval`."""

from .git import git_state
from .places import Place
from .places import place_of
from .store import History
from .store import NotStored
from .store import Pruned
from .store import has_runs
from .store import load_side
from .trends import Trend
from .trends import TrendPoint
from .trends import Trends
from .writer import RunWriter

__all__ = [
    "History",
    "NotStored",
    "Place",
    "Pruned",
    "RunWriter",
    "Trend",
    "TrendPoint",
    "Trends",
    "git_state",
    "has_runs",
    "load_side",
    "place_of",
]
