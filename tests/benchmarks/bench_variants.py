"""What variants cost: 200 cases under 5 variants against 1,200 plain cases, which asks as often.

    python tests/benchmarks/bench_variants.py [--cases 200] [--rounds 7]

Whole processes in turns, against a server that answers at once; the median of the ratios of each turn
(aim: at most 1.05).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_latency import write_project
from bench_pytest import Figures, pytest_run
from mock_server import MockServer

VARIANTS = 5
HOOK = """
from msgspec.structs import replace


def asked_with(case, condition):
    \"\"\"The same question with a mark, so that no two requests are the same.\"\"\"
    message = case.messages[-1]
    marked = {**message, "content": message["content"] + condition.argument}
    return replace(case, messages=(*case.messages[:-1], marked))


def pytest_tooleval_variants(register):
    register("asked-with", asked_with)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, MockServer() as server:
        varied, plain = Path(name, "varied"), Path(name, "plain")
        for folder, cases in ((varied, options.cases), (plain, options.cases * (VARIANTS + 1))):
            folder.mkdir()
            write_project(folder, server.base_url, cases)
        (varied / "conftest.py").write_text(HOOK)
        model = "--tooleval-model=openai"
        marks = ",".join("!" * (number + 1) for number in range(VARIANTS))
        pairs: list[tuple[Figures, Figures]] = []
        for _ in range(options.rounds):
            first = pytest_run(varied, model, f"--tooleval-variant=asked-with:{marks}")
            pairs.append((first, pytest_run(plain, model)))
        for place, what in enumerate(("wall", "user CPU")):
            ratios = [ours[place] / theirs[place] for ours, theirs in pairs]
            middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
            seconds = statistics.median(ours[place] for ours, _ in pairs)
            print(f"{what}: {middle:.2f} times plain cases ({low:.2f} to {high:.2f}), {seconds:.2f} s")


if __name__ == "__main__":
    main()
