"""A history in a folder or a bucket: how long its index takes to make, and what needs none.

    python tests/benchmarks/bench_places.py [--runs 200] [--cases 500] [--trials 1] [--place FOLDER|URL]

Fills an empty place with runs of `--cases` cases on two models, of about 5 kB of JSON a trial. Then, on
machines that have no index yet: the baseline of a commit, the index; and with it the list. Prints wall
time, as most of it is waiting for a bucket.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench_history import fill

from pytest_tooleval.history import History, place_of
from pytest_tooleval.history.documents import Texts, read_document, read_head
from pytest_tooleval.history.heads import read_name
from pytest_tooleval.history.places import Place

_T = TypeVar("_T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--place", help="an empty folder or URL; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-places-") as name:
        folder = Path(name)
        place = place_of(options.place or str(folder / "share"), folder)
        fill(History(folder / "writer", place), options.runs, options.cases, options.trials)
        reader = History(folder / "reader", place)
        sizes = [*place.sizes("heads").values(), *place.sizes("runs").values()]
        print(f"{sum(sizes) / 1e6:9.1f} MB   in the place")
        timed("the runs of the oldest commit, without an index", lambda: base(place))
        whole = timed("make the index", reader.refresh)
        nothing = timed("refresh it, with nothing new", reader.refresh)
        print(f"{reader.path.stat().st_size / 1e6:9.1f} MB   of the index")
        timed("list all runs", reader.runs)
        newest = reader.find("latest")
        nodeid = reader.short_cases(newest)[7].nodeid
        timed("show one case of a run", lambda: reader.case(newest, nodeid))
        print(f"{whole / nothing:9.0f}      times as long to make it as to refresh it")


def base(place: Place) -> None:
    names = filter(None, map(read_name, place.sizes("heads")))
    found = next(name for name in names if name.commit == f"{0:040x}")
    read_document(place, found, read_head(place, found), Texts)


def timed(what: str, ask: Callable[[], _T]) -> float:
    begin = time.perf_counter()
    ask()
    taken = time.perf_counter() - begin
    print(f"{taken:9.2f} s    {what}", flush=True)
    return taken


if __name__ == "__main__":
    main()
