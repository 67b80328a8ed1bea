"""All runs, stored in `.tooleval/history.db`."""

from .git import git_state
from .store import FILE
from .store import History
from .store import Pruned
from .store import load_side
from .trends import Trend
from .trends import TrendPoint
from .trends import Trends
from .writer import RunWriter

__all__ = [
    "FILE",
    "History",
    "Pruned",
    "RunWriter",
    "Trend",
    "TrendPoint",
    "Trends",
    "git_state",
    "load_side",
]
