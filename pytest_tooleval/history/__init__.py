"""All runs: documents and their heads in a folder or a bucket, and logs of runs that have not ended."""

from .heads import ShortCase
from .log import RunWriter
from .places import Place, place_of
from .store import History, has_runs, load_side
from .trends import Trend, TrendPoint

__all__ = [
    "History",
    "Place",
    "RunWriter",
    "ShortCase",
    "Trend",
    "TrendPoint",
    "has_runs",
    "load_side",
    "place_of",
]
