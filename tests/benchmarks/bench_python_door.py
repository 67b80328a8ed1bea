"""What a Python test that asks a function agent costs above a plain test.

    python tests/benchmarks/bench_python_door.py [--tests 300] [--rounds 5] [--profile]

Runs the same number of tests that call the agent themselves, and of tests that ask it with `tooleval`
and a world, by turns, and prints medians of the CPU time, the ratio, and the difference for each test
(aim: 5 ms).
The difference of runs with one test each is taken off: imports and the run's own end. `--profile` prints
where the time goes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = """
from pytest_tooleval import call

class Shop:
    def __init__(self):
        self.orders = {"A1": {"total": 40, "refunded": 0}}

    def get_order(self, id: str) -> dict:
        return self.orders[id]

    def refund(self, order: str, amount: float) -> str:
        self.orders[order]["refunded"] += amount
        return "done"

def agent(messages, tools, call_tool):
    call_tool("get_order", {"id": "A1"})
    call_tool("refund", {"order": "A1", "amount": 40})
    return "I refunded 40 euros."
"""
PLAIN = """
def test_{n}():
    shop = Shop()
    def call_tool(name, arguments):
        return getattr(shop, name)(**arguments)
    assert "40" in agent([{{"role": "user", "content": "Refund order A1 ({n})"}}], [], call_tool)
    assert shop.orders["A1"]["refunded"] == 40
"""
ASKS = """
def test_{n}(tooleval):
    run = tooleval("Refund order A1 ({n})", agent=agent, world=Shop)
    assert run.calls == [call("get_order", id="A1"), call("refund", order="A1", amount=40)]
    assert run.world.orders["A1"]["refunded"] == 40
    assert "40" in run.text
"""


def seconds(folder: Path, text: str, count: int, *more: str) -> float:
    tests = "".join(text.format(n=n) for n in range(count))
    (folder / "test_it.py").write_text(HEAD + tests, encoding="utf-8")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, *more, "-m", "pytest", "-q", "-p", "tooleval", "test_it.py"]
    command += ["-p", "no:cacheprovider"]
    subprocess.run([*command, "--co"], cwd=folder, env=environment, capture_output=True, check=False)
    begin = os.times()  # the assertions have been rewritten
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert f"{count} passed" in done.stdout, done.stdout + done.stderr
    if more:
        print(done.stdout)
    end = os.times()
    return end.children_user + end.children_system - begin.children_user - begin.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        if given.profile:
            seconds(folder, ASKS, given.tests, "-m", "cProfile", "-s", "tottime")
            return
        kinds = {"plain": (PLAIN, given.tests), "asks": (ASKS, given.tests)}
        kinds |= {"one plain": (PLAIN, 1), "one asks": (ASKS, 1)}
        took: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(given.rounds):
            for kind, (text, count) in kinds.items():
                took[kind].append(seconds(folder, text, count))
    median = {kind: statistics.median(each) for kind, each in took.items()}
    plain, asks = median["plain"] - median["one plain"], median["asks"] - median["one asks"]
    each = 1000 * (asks - plain) / (given.tests - 1)
    print(", ".join(f"{kind}: {value:.2f} s" for kind, value in median.items()))
    print(f"{given.tests} tests: {median['asks'] / median['plain']:.2f} times as long as plain ones")
    print(f"above a plain test: {each:.1f} ms each")


if __name__ == "__main__":
    main()
