"""All runs: documents in a folder or a bucket, and their index in `.tooleval`."""

from .git import git_state
from .places import Place, place_of
from .store import History, NotStored, Pruned, has_runs, load_side
from .trends import Trend, TrendPoint, Trends
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
