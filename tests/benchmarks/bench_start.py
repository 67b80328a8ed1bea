"""How long a whole run takes, process start and imports included, against others doing the same.

    python tests/benchmarks/bench_start.py [--rounds 3] [--only NAME ...]
        [--pydantic-evals VENV/bin/python run_pydantic_evals.py]
    python tests/benchmarks/bench_start.py claude [--rounds 3]
    python tests/benchmarks/bench_start.py end [--rounds 3]
    python tests/benchmarks/bench_start.py throughput [--cases 5000] [--latency 0.2] [--in-flight 500]

The first asks 200 cases of 0.5 s, 50 at a time, by turns: pytest over our own client, pytest over
litellm, bare `litellm.acompletion` under gather, and pydantic-evals with the openai SDK, and prints
medians and ratios. The second asks three cases of a scripted Anthropic by our own client and by
litellm. The third tells how long the process goes on after the last of 200 answers was sent (aim: 0.1 s
of CPU), the fourth how many answers one process scores per second. Seconds differ from machine to
machine; ratios of one run are what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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

from bench_latency import user_environment

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get current weather for a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
            "required": ["city"],
        },
    },
}

# Without `_skip_mcp_handler` litellm 1.106 needs the package `mcp` for every request with tools, and
# seconds to import it: the comparison is with litellm at its best.
BARE = """
import asyncio, json, os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
suite, base_url, in_flight = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])

async def ask(case, slots):
    async with slots:
        response = await litellm.acompletion(
            model="openai/mock", api_base=base_url, api_key="none", tools=suite["tools"],
            messages=[{"role": "user", "content": case["prompt"]}], tool_choice="required",
            temperature=0.0, max_retries=0, num_retries=0, _skip_mcp_handler=True)
    call = response.choices[0].message.tool_calls[0].function
    return json.loads(call.arguments) == case["expected_params"]

async def main():
    slots = asyncio.Semaphore(in_flight)
    right = await asyncio.gather(*(ask(case, slots) for case in suite["test_cases"]))
    assert all(right)

asyncio.run(main())
"""


def write_project(folder: Path, cases: int, base_url: str) -> Path:
    """A suite of so many cases and the models `lean` and `litellm`; the suite's path."""
    rows = []
    for number in range(cases):
        town = "Town" + "".join(chr(97 + int(digit)) for digit in str(number))
        rows.append(
            {
                "prompt": f"What's the weather in {town}?",
                "expected_tool": "get_weather",
                "expected_params": {"city": town},
            }
        )
    suite = folder / "bench.tooleval.json"
    document = {"name": "bench", "description": "generated", "tools": [TOOL], "test_cases": rows}
    suite.write_text(json.dumps(document), encoding="utf-8")
    claude = f'model = "anthropic/claude-haiku-4-5"\napi_base = "{base_url.removesuffix("/v1")}"\n'
    tables = "".join(
        f'[models.{name}]\nmodel = "openai/mock"\napi_base = "{base_url}"\napi = "{api}"\n\n'
        for name, api in (("lean", "openai"), ("litellm", "litellm"))
    )
    tables += f'[models.claude]\n{claude}\n[models.claude-litellm]\n{claude}api = "litellm"\n'
    (folder / "tooleval.toml").write_text(tables, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return suite


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The base URL of a mock server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", str(latency)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def serve(latency: float) -> None:
    from mock_server import MockServer

    with MockServer(latency=latency, respond=as_anthropic) as mock:
        print(mock.base_url, flush=True)
        while True:
            time.sleep(3600)


def as_anthropic(path: str, body: dict[str, Any]) -> tuple[int, object] | None:
    """The right call, in the shape of the Messages API; None for questions to OpenAI's."""
    if path != "/v1/messages":
        return None
    town = re.search(r"in (\w+)\?", str(body["messages"]))
    assert town is not None
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": town[1]}}
    usage = {"input_tokens": 50, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
    return 200, {**message, "content": [call], "stop_reason": "tool_use", "usage": usage}


def pytest_command(model: str, in_flight: int, *options: str) -> list[str]:
    plain = ["-q", "-p", "no:cacheprovider", "-p", "pytest_tooleval.plugin"]
    named = [f"--tooleval-model={model}", f"--tooleval-concurrency={in_flight}"]
    return [sys.executable, "-m", "pytest", *plain, *named, *options]


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a command, which must succeed."""
    # Only this plugin: hypothesis and others of a development environment take time to load.
    environment = {**user_environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before, begin = os.times(), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - begin, os.times()
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def start(rounds: int, peer: list[str] | None, only: list[str]) -> None:
    cases, latency, in_flight = 200, 0.5, 50
    with tempfile.TemporaryDirectory() as scratch, server(latency) as base_url:
        folder = Path(scratch)
        suite = write_project(folder, cases, base_url)
        arguments = [str(suite), base_url, str(in_flight)]
        commands = {
            "lean": pytest_command("lean", in_flight),
            "litellm": pytest_command("litellm", in_flight),
            "bare litellm": [sys.executable, "-c", BARE, *arguments],
        }
        if peer:
            commands["pydantic-evals"] = [peer[0], os.path.abspath(peer[1]), *arguments]
        commands = {name: command for name, command in commands.items() if not only or name in only}
        print(
            f"{cases} cases of {latency} s, {in_flight} in flight, ideal {cases * latency / in_flight} s"
        )
        pairs = [("lean", "pydantic-evals"), ("litellm", "bare litellm")]
        by_turns(commands, folder, rounds, pairs, cases * latency / in_flight)


def by_turns(
    commands: dict[str, list[str]],
    folder: Path,
    rounds: int,
    pairs: list[tuple[str, str]],
    ideal_s: float = 0,
) -> None:
    """Time commands by turns; prints medians, and how long one of a pair takes against the other.

    Above the ideal, too, if there is one.
    """
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            seen[name].append(timed(command, folder))
            print(f"round {number + 1}: {name:15s} wall {seen[name][-1][0]:6.2f} s", flush=True)
    wall = {name: statistics.median(w for w, _ in times) for name, times in seen.items()}
    for name, times in seen.items():
        cpu = statistics.median(c for _, c in times)
        print(f"{name:15s} median wall {wall[name]:6.2f} s   cpu {cpu:6.2f} s")
    for mine, other in pairs:
        if mine in wall and other in wall:
            ratios = sorted(m[0] / o[0] for m, o in zip(seen[mine], seen[other], strict=True))
            each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{mine} / {other}: {wall[mine] / wall[other]:.2f} (by round {each})")
            if ideal_s:
                above = (wall[mine] - ideal_s) / (wall[other] - ideal_s)
                print(f"{mine} / {other}, above the ideal: {above:.2f}")


def claude(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch, server(0.0) as base_url:
        folder = Path(scratch)
        write_project(folder, 3, base_url)
        names = ("claude", "claude-litellm")
        commands = {name: pytest_command(name, 32) for name in names}
        by_turns(commands, folder, rounds, [names])


def end(rounds: int) -> None:
    from mock_server import MockServer

    cases, in_flight = 200, 50
    environment = {**user_environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = pytest_command("lean", in_flight)
    after: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as scratch, MockServer(latency=0.5) as server:
        write_project(Path(scratch), cases, server.base_url)
        for number in range(1, rounds + 1):
            before = os.times()
            with subprocess.Popen(
                command, cwd=scratch, env=environment, stdout=subprocess.DEVNULL
            ) as process:
                while server.answered < number * cases and process.poll() is None:
                    time.sleep(0.001)
                # Linux counts the CPU seconds of each process on a clock of this number.
                answered, spent = time.perf_counter(), time.clock_gettime((~process.pid << 3) | 2)
            if process.returncode:
                sys.exit(f"{' '.join(command)} failed")
            wall, times = time.perf_counter() - answered, os.times()
            cpu = times.children_user + times.children_system
            cpu -= before.children_user + before.children_system
            after.append((wall, cpu - spent))
    for name, seconds in zip(("wall", "cpu"), zip(*after, strict=True), strict=True):
        median, least = statistics.median(seconds), min(seconds)
        print(f"after the last answer: {name} {median:.3f} s (least {least:.3f})")


def throughput(cases: int, latency: float, in_flight: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch, server(latency) as base_url:
        folder = Path(scratch)
        suite = write_project(folder, cases, base_url)
        command = [sys.executable, __file__, "engine", str(suite), base_url, str(in_flight)]
        for _ in range(rounds):
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
            print(done.stdout.strip(), flush=True)
        nothing, _ = timed(pytest_command("lean", in_flight, "--collect-only"), folder)
        wall, _ = timed(pytest_command("lean", in_flight), folder)
        rate = cases / (wall - nothing)
        print(f"pytest: {wall:.2f} s, {nothing:.2f} s of it to start and collect: {rate:.0f} cases/s")


def engine(suite_path: str, base_url: str, in_flight: int) -> None:
    """Ask and score all cases without pytest; prints the rate once everything is loaded."""
    from pytest_tooleval.engine.models.spec import HttpModel
    from pytest_tooleval.engine.runner import Runner
    from pytest_tooleval.engine.trial import Job, TrialRequest
    from pytest_tooleval.scoring.trial import score_transcript
    from pytest_tooleval.suite.load import load_suite
    from pytest_tooleval.suite.overrides import Overrides
    from pytest_tooleval.suite.resolved import resolve

    suite = load_suite(Path(suite_path))
    resolved = [resolve(suite, case, Overrides()) for case in suite.test_cases]
    spec = HttpModel("lean", model="openai/mock", api_base=base_url)
    runner = Runner(in_flight)

    def answer(future: Any) -> Any:
        return future.result()[0]

    score_transcript(resolved[0], answer(runner.submit(TrialRequest(Job(resolved[0], spec)))))
    begin, cpu = time.perf_counter(), time.process_time()
    futures = [runner.submit(TrialRequest(Job(case, spec), 0, i)) for i, case in enumerate(resolved)]
    results = [score_transcript(c, answer(f)) for c, f in zip(resolved, futures, strict=True)]
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    runner.close()
    assert all(result.passed for result in results)
    print(
        f"engine: {len(results)} in {wall:.2f} s (cpu {cpu:.2f} s): {len(results) / wall:.0f} answers/s"
    )


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        return serve(float(sys.argv[2]))
    if sys.argv[1:2] == ["engine"]:
        return engine(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=("start", "claude", "end", "throughput"), default="start"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--pydantic-evals", nargs=2, metavar=("PYTHON", "SCRIPT"))
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=500)
    chosen = parser.parse_args()
    if chosen.what == "start":
        return start(chosen.rounds, chosen.pydantic_evals, chosen.only)
    if chosen.what == "claude":
        return claude(chosen.rounds)
    if chosen.what == "end":
        return end(chosen.rounds)
    return throughput(chosen.cases, chosen.latency, chosen.in_flight, chosen.rounds)


if __name__ == "__main__":
    main()
