"""What conversations with worlds take beyond the time in which the model answers.

    python tests/benchmarks/bench_conversations.py [--cases 200] [--latency 0.2] [--in-flight 50]
        [--rounds 3]

Conversations of two turns and eight rounds, six of which call a world, on a scripted server in a process
of its own. In turns, whole processes, alone and under `-n 2`: asked, less the start, which is a run of
one case, against the ideal of cases x rounds x latency / in flight (aim: at most 1.3 times); replayed
from a cassette, against as many empty parametrized tests.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from bench_pytest import EMPTY, pytest_run

CALLS = 3
ROUNDS = 2 * (CALLS + 1)
WORLD = '''
class Bank:
    """Accounts. Public methods are the tools."""

    def __init__(self):
        self.accounts = {}

    def pay_in(self, account: str, amount: int) -> dict:
        """Pay money into an account."""
        self.accounts[account] = self.accounts.get(account, 0) + amount
        return {"account": account, "balance": self.accounts[account]}
'''


def write_project(folder: Path, base_url: str, cases: int) -> None:
    """A suite that the server answers right."""
    tests = [
        {
            "id": f"account-{n}",
            "match": "state",
            "results": True,
            "turns": [_turn(f"A{n}"), _turn(f"A{n}")],
            "expected_state": {f"accounts.A{n}": 2 * CALLS},
        }
        for n in range(cases)
    ]
    suite = {"name": "bench", "world": "bank:Bank", "test_cases": tests}
    (folder / "bank.py").write_text(WORLD)
    (folder / "bench.tooleval.json").write_text(json.dumps(suite))
    table = f'[models.mock]\nmodel = "openai/mock"\napi = "openai"\napi_base = "{base_url}"\n'
    (folder / "tooleval.toml").write_text(table)
    (folder / "pytest.ini").write_text("[pytest]\n")


def _turn(account: str) -> dict[str, Any]:
    calls = [{"tool": "pay_in", "params": {"account": account, "amount": 1}}] * CALLS
    return {"prompt": f"Pay 1 into account {account}, {CALLS} times.", "expected_calls": calls}


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The base URL of a server in a process of its own, which the runs leave to itself."""
    command = [sys.executable, __file__, "serve", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve(latency: float) -> None:
    from mock_server import MockServer, call_message

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        last = max(i for i, message in enumerate(messages) if message["role"] == "user")
        answered = sum(message["role"] == "tool" for message in messages[last:])
        if answered == CALLS:
            return {"role": "assistant", "content": "Done."}
        account = messages[last]["content"].split()[4].rstrip(",")
        return call_message("pay_in", {"account": account, "amount": 1}, f"call_{len(messages)}")

    with MockServer(latency=latency, script=answer) as mock:
        print(mock.base_url, flush=True)
        while True:
            time.sleep(3600)


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(float(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ideal = options.cases * ROUNDS * options.latency / options.in_flight
    one = ROUNDS * options.latency
    with tempfile.TemporaryDirectory() as name, server(options.latency) as base_url:
        folder, empty = Path(name, "cases"), Path(name, "empty")
        folder.mkdir()
        empty.mkdir()
        write_project(folder, base_url, options.cases)
        (empty / "pytest.ini").write_text("[pytest]\n")
        (empty / "test_empty.py").write_text(EMPTY.format(cases=options.cases))
        model = ["--tooleval-model=mock", f"--tooleval-concurrency={options.in_flight}"]
        tape = [*model, "--tooleval-cassette=tapes"]
        pytest_run(folder, *tape)
        found: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for label, mode in (("alone", []), ("-n2", ["-n2"])):
                start = pytest_run(folder, *model, "-k", "account-0", *mode).wall - one
                wall = pytest_run(folder, *model, *mode).wall
                asked = (wall - start) / ideal
                print(f"{label}: {wall:.2f} s, of which start {start:.2f} s", flush=True)
                replayed = pytest_run(folder, *tape, "--tooleval-record=none", *mode).wall
                nothing = pytest_run(empty, *mode).wall
                print(f"{label}: replay {replayed:.2f} s, empty tests {nothing:.2f} s", flush=True)
                found.setdefault(f"{label}, asked, to the ideal {ideal:.1f} s", []).append(asked)
                found.setdefault(f"{label}, replayed, to empty tests", []).append(replayed / nothing)
    print(f"\n{options.cases} conversations of {ROUNDS} rounds, {options.in_flight} in flight")
    for label, ratios in found.items():
        turns = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{label}: {statistics.median(ratios):.2f} (by turn {turns})")


if __name__ == "__main__":
    main()
