"""What the engine adds to the latency of the model, litellm's own start taken apart.

    python tests/benchmarks/bench_latency.py [--cases 200] [--latency 0.5] [--in-flight 50] [--rounds 3]

Whole processes, by turns: `pytest --tooleval-model=...` over litellm on a server with that latency,
and, timed apart, the start: a process that imports litellm and makes one call without latency as
`LitellmClient` does. The ideal is cases / in flight x latency; (wall - start) / ideal should be at
most 1.25. our own client, which does without litellm, is shown beside it. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from mock_server import MockServer

MOST = 1.25
# Not the developers': nor may pytest be kept from caching what it compiles, as it does for users.
_NOT_USERS = ("PYTEST", "COV", "PYTHONDONTWRITEBYTECODE")
# Plugins that are only in the developers' environment take a second of every process.
QUIET = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:hypothesispytest",
    "-p",
    "no:rerunfailures",
]
START = """
import asyncio, sys
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.clients.litellm_client import LitellmClient
from pytest_tooleval.engine.models.spec import HttpModel

async def main():
    client = LitellmClient(HttpModel("m", model="openai/mock", api_base=sys.argv[1]))
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    await client.complete(ChatRequest([{"role": "user", "content": "in Rome?"}], [tool], "required"), 60)
    await client.close()

asyncio.run(main())
"""


def write_project(folder: Path, base_url: str, cases: int) -> None:
    """A suite that the server answers right, and the same model over both clients."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": schema}}
    tests = [
        {
            "prompt": f"What's the weather in Town{n}?",
            "expected_tool": "get_weather",
            "expected_params": {"city": f"Town{n}"},
        }
        for n in range(cases)
    ]
    suite = {"name": "bench", "tools": [tool], "test_cases": tests}
    (folder / "bench.tooleval.json").write_text(json.dumps(suite))
    tables = [
        f'[models.{api}]\nmodel = "openai/mock"\napi = "{api}"\napi_base = "{base_url}"\n'
        for api in ("litellm", "openai")
    ]
    (folder / "tooleval.toml").write_text("\n".join(tables))
    (folder / "pytest.ini").write_text("[pytest]\n")


def user_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_USERS)}


def seconds(arguments: list[str], folder: Path) -> float:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=user_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(arguments[:3])} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    starts: list[float] = []
    walls: dict[str, list[float]] = {"litellm": [], "openai": []}
    in_flight: dict[str, int] = {"litellm": 0, "openai": 0}
    with tempfile.TemporaryDirectory() as name, MockServer(latency=options.latency) as server:
        folder = Path(name)
        write_project(folder, server.base_url, options.cases)
        run: list[Any] = ["-m", "pytest", *QUIET]
        run += [f"--tooleval-concurrency={options.in_flight}"]
        for _ in range(options.rounds):
            server.latency = 0.0
            starts.append(seconds(["-c", START, server.base_url], folder))
            server.latency = options.latency
            for api, taken in walls.items():
                server.max_in_flight = 0
                taken.append(seconds([*run, f"--tooleval-model={api}"], folder))
                in_flight[api] = server.max_in_flight
    ideal = options.cases / options.in_flight * options.latency
    start = statistics.median(starts)
    print(f"{options.cases} cases, {options.latency} s latency, ideal {ideal:.2f} s")
    print(f"start of litellm (import and first call): {start:.2f} s; aim: at most {MOST}")
    for api, taken in walls.items():
        wall, base = statistics.median(taken), start if api == "litellm" else 0.0
        ratio = (wall - base) / ideal
        minus = " - start" if base else ""
        print(
            f"{api:8} wall {wall:.2f} s, (wall{minus}) / ideal = {ratio:.2f}, in flight {in_flight[api]}"
        )


if __name__ == "__main__":
    main()
