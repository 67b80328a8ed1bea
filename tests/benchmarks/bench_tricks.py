"""What each trick with the interpreter saves: runs of three cases with all, and without one of them.

    python tests/benchmarks/bench_tricks.py [--rounds 7]

By turns, whole processes; medians, and ratios to the run with all of the same turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from bench_start import pytest_command, server, timed, write_project

# Plugins, each of which takes a trick away.
WITHOUT = {
    "nothing": "",
    "leave_out_what_is_there": """
        import pytest_tooleval.plugin.gc_tuning as gc_tuning
        gc_tuning.leave_out_what_is_there = lambda: None
        """,
    "leave_memory_at_exit": """
        import pytest_tooleval.plugin.gc_tuning as gc_tuning
        gc_tuning.leave_memory_at_exit = lambda: None
        """,
    "own_bytecode": """
        import sys, warnings, pytest
        sys.meta_path[:] = [each for each in sys.meta_path if "_OwnModules" not in str(each)]
        warnings.simplefilter("ignore")
        pytest.register_assert_rewrite("pytest_tooleval")
        """,
}
ALWAYS = ("leave_out_what_is_there", "leave_memory_at_exit")
RUNS = {"lean": (*ALWAYS, "own_bytecode"), "litellm": ALWAYS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name, server(0.0) as base_url:
        folder = Path(name)
        write_project(folder, 3, base_url)
        for trick, code in WITHOUT.items():
            lines = [line.strip() for line in code.splitlines()]
            (folder / f"without_{trick}.py").write_text("\n".join(lines))
        for model, tricks in RUNS.items():
            measure(model, tricks, folder, rounds)


def measure(model: str, tricks: tuple[str, ...], folder: Path, rounds: int) -> None:
    walls: dict[str, list[float]] = {}
    for _ in range(rounds + 1):
        for trick in ("nothing", *tricks):
            command = [*pytest_command(model, 32), "-p", f"without_{trick}"]
            walls.setdefault(trick, []).append(timed(command, folder)[0])
    for trick, taken in walls.items():
        # The first turn compiles.
        ratios = sorted(mine / all for mine, all in zip(taken[1:], walls["nothing"][1:], strict=True))
        median, least, most = statistics.median(ratios), ratios[0], ratios[-1]
        wall = statistics.median(taken[1:])
        print(f"{model:8} without {trick:24} {wall:.2f} s, {median:.2f} ({least:.2f} to {most:.2f})")


if __name__ == "__main__":
    main()
