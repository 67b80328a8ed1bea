"""What pytest pays for cases, against the same number of empty parametrized tests.

    python tests/benchmarks/bench_pytest.py [--cases 10000] [--rounds 3] [--xdist] [--scale]

In turns, whole processes, medians and ratios of the rounds:

- no suite: `pytest` in a folder with one test, with and without the plugin (user CPU; aim: 10 ms)
- collection: `--collect-only -q` of the cases and of the empty tests (aim: at most 1.3)
- replay: all answers from a cassette (aim: at most 1.25, alone and, with --xdist, under -n 2)
- --scale: 2,000 cases, 0.5 s latency, 100 in flight, alone and under -n 2 (aim: 1.25 times the
  ideal plus the start, which is a run of one case), and 5,000 cases at 0.2 s with 500 in flight
  (aim: 1,000 answers a second)
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_latency import QUIET, user_environment, write_project
from mock_server import MockServer

EMPTY = """
import pytest

@pytest.mark.parametrize("n", range({cases}))
def test_empty(n):
    pass
"""


class Figures(NamedTuple):
    """Seconds, and MiB at the peak (of the largest process so far)."""

    wall: float
    user: float
    peak: float


def pytest_run(folder: Path, *arguments: str) -> Figures:
    """Run pytest in `folder`; an exit status other than 0 ends the benchmark."""
    environment = user_environment()
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *QUIET, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return Figures(wall, after.ru_utime - before.ru_utime, after.ru_maxrss / 1024)


def in_turns(rounds: int, **runs: Callable[[], Figures]) -> dict[str, Figures]:
    """The median figures of each run, the runs taking turns."""
    found: dict[str, list[Figures]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    return {
        name: Figures(*(statistics.median(column) for column in zip(*figures, strict=True)))
        for name, figures in found.items()
    }


def compare(title: str, figures: dict[str, Figures], most: float) -> None:
    ours, theirs = figures["cases"], figures["empty"]
    ratios = [ours.wall / theirs.wall, ours.user / theirs.user]
    print(
        f"{title:18} cases {ours.wall:6.2f} s (peak {ours.peak:.0f} MiB), "
        f"empty tests {theirs.wall:6.2f} s, ratio {ratios[0]:.2f} (user {ratios[1]:.2f}), aim {most}"
    )


def scale(folder: Path, server: MockServer) -> None:
    model = "--tooleval-model=openai"
    for cases, latency, in_flight, modes in ((2000, 0.5, 100, ([], ["-n2"])), (5000, 0.2, 500, ([],))):
        server.latency = latency
        write_project(folder, server.base_url, cases)
        for mode in modes:
            options = [model, f"--tooleval-concurrency={in_flight}", *mode]
            start = pytest_run(folder, *options, "-k", f"town{cases - 1}")
            run = pytest_run(folder, *options)
            ideal = cases * latency / in_flight
            work = run.wall - (start.wall - latency)
            print(
                f"{cases} cases, {latency} s, {in_flight} in flight, {' '.join(mode) or 'alone':5}: "
                f"{run.wall:.2f} s, of which start {start.wall - latency:.2f}; without it "
                f"{work / ideal:.2f} times the ideal {ideal:.2f} s, {cases / work:.0f} answers a second"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--xdist", action="store_true")
    parser.add_argument("--scale", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, MockServer() as server:
        cases, empty, bare = (Path(name, part) for part in ("cases", "empty", "bare"))
        for folder in (cases, empty, bare):
            folder.mkdir()
            (folder / "pytest.ini").write_text("[pytest]\n")
        write_project(cases, server.base_url, options.cases)
        (empty / "test_empty.py").write_text(EMPTY.format(cases=options.cases))
        (bare / "test_one.py").write_text("def test_one(): pass\n")

        with_and_without = in_turns(
            max(20, options.rounds),
            cases=lambda: pytest_run(bare),
            empty=lambda: pytest_run(bare, "-p", "no:tooleval"),
        )
        more = with_and_without["cases"].user - with_and_without["empty"].user
        print(f"no suite: {more * 1000:.1f} ms more user CPU with the plugin; aim: 10")

        model = "--tooleval-model=openai"
        collect = ("--collect-only", "-q")
        compare(
            "collection",
            in_turns(
                options.rounds,
                cases=lambda: pytest_run(cases, model, *collect),
                empty=lambda: pytest_run(empty, *collect),
            ),
            1.3,
        )
        tape = [model, "--tooleval-cassette=tapes", "--tooleval-concurrency=200"]
        pytest_run(cases, *tape)
        for mode in ([], ["-n2"]) if options.xdist else ([],):
            compare(
                f"replay {' '.join(mode) or 'alone'}",
                in_turns(
                    options.rounds,
                    cases=partial(pytest_run, cases, *tape, "--tooleval-record=none", *mode),
                    empty=partial(pytest_run, empty, *mode),
                ),
                1.25,
            )
        if options.scale:
            scale(cases, server)


if __name__ == "__main__":
    main()
