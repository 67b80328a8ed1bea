"""How time and memory grow with tools and cases, with a cassette, and with the runs of a history.

    python tests/benchmarks/bench_growth.py [--only ROW ...] [--tools 1000] [--megabytes 200]
        [--runs 1900] [--cases 4000] [--log 33]

Whole processes, one after the other:

- validate: `tooleval validate` of N tools with 2 N cases, then twice as many, and twice again
  (aim: each takes twice the CPU, apart from the start)
- mutate: `tooleval mutate` of N / 10 chains, then twice as many, and twice again
- lexical: the same for 100 cases of the built-in model, from half of N tools on
- cassette: a replay of five cases whose cassette has so many megabytes of other answers, then one
  with a missing answer (aim: below 250 MB at the peak)
- prune: `tooleval history prune` of so many runs in a folder (aim: below 10 s)
- log: `tooleval import` of a log of so many megabytes, and of half of it (aim: below 300 MB at the peak)
- python: so many tests in Python of a function agent, and half of them
- served: so many cases at a local server without latency, with a history and without, against as many
  empty tests

bench_history.py has the runs of a history, bench_start.py the time above the ideal of 200 cases.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from bench_history import WORDS, fill
from bench_latency import QUIET, user_environment, write_project
from bench_pytest import EMPTY
from bench_python_door import ASKS, HEAD
from mock_server import MockServer

from pytest_tooleval.history import History

ROWS = ("validate", "mutate", "lexical", "cassette", "prune", "log", "python", "served")
TOOLEVAL = ["-c", "from pytest_tooleval.cli import main; main()"]
PYTEST = ["-m", "pytest", *QUIET]
AGENT = """
async def answer(messages, tools):
    function = {"name": "tool_0", "arguments": '{"city": "Paris"}'}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}
"""
CHAIN: dict[str, Any] = {
    "multi_turn": True,
    "valid_prerequisites": ["tool_8", "tool_9"],
    "mock_responses": {"tool_8": {"rows": [1, 2]}, "tool_9": "done"},
    "optimal_hops": 2,
}
KEPT = 20  # runs that prune leaves


class Figures(NamedTuple):
    """Seconds, seconds of CPU, and megabytes at the peak of one process."""

    wall: float
    cpu: float
    peak: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1900)
    parser.add_argument("--cases", type=int, default=4000)
    parser.add_argument("--log", type=int, default=33)
    options = parser.parse_args()
    sizes = {"cassette": options.megabytes, "prune": options.runs, "log": options.log}
    sizes |= {"python": options.cases, "served": options.cases}
    for row in options.only:
        with tempfile.TemporaryDirectory(prefix="bench-growth-") as name:
            globals()[row](Path(name), sizes.get(row, options.tools))


def run(folder: Path, *arguments: str, status: int = 0) -> Figures:
    """Run Python; another exit status ends the benchmark."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=user_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, ended, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(ended) != status:
        raise SystemExit(f"{' '.join(arguments[:4])} failed:\n{output[-3000:]}")
    wall = time.perf_counter() - begin
    return Figures(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def validate(folder: Path, tools: int) -> None:
    def measure(n: int) -> tuple[str, Figures]:
        name = suite(folder, n, 2 * n)
        return f"{n:,} tools, {2 * n:,} cases", run(folder, *TOOLEVAL, "validate", name)

    doubled("validate", map(measure, (1, 1, tools, 2 * tools, 4 * tools)))


def mutate(folder: Path, tools: int) -> None:
    def measure(n: int) -> tuple[str, Figures]:
        name = suite(folder, 10, n, **CHAIN)
        return f"{n:,} chains", run(folder, *TOOLEVAL, "mutate", name)

    doubled("mutate", map(measure, (1, 1, tools // 10, tools // 5, 2 * tools // 5)))


def lexical(folder: Path, tools: int) -> None:
    options = ("--tooleval-model=builtin/lexical", "--tooleval-fail-under=0")

    def measure(n: int) -> tuple[str, Figures]:
        return f"100 cases, {n:,} tools", run(folder, *PYTEST, suite(folder, n, 100), *options)

    doubled("lexical", map(measure, (1, 1, tools // 2, tools, 2 * tools)))


def doubled(row: str, figures: Iterator[tuple[str, Figures]]) -> None:
    """Print each figure, and its ratio to the one before, both without the start: the second figure."""
    next(figures)  # compiles modules
    start, before = next(figures)[1].cpu, 0.0
    for size, found in figures:
        own = found.cpu - start
        ratio = f", {own / before:.2f} times the one before" if before else ""
        print(f"{row:9} {size:28} {found.cpu:6.2f} s of CPU, start {start:.2f}{ratio}", flush=True)
        before = own


def suite(folder: Path, tools: int, cases: int, **more: Any) -> str:
    """Write a suite whose cases each expect one of the tools, with `more` in each; return its name."""
    chance = random.Random(7)
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    functions: list[dict[str, Any]] = [
        {"name": f"tool_{n}", "description": " ".join(chance.choices(WORDS, k=8)), "parameters": schema}
        for n in range(tools)
    ]
    tests = [
        {
            "id": f"c{n}",
            "prompt": f"{' '.join(chance.choices(WORDS, k=5))} {n} in Paris",
            # A tool is the same in upper case, and then harder to find.
            "expected_tool": f"{'TOOL' if n % 2 else 'tool'}_{n % tools}",
            "expected_params": {"city": "Paris"},
            **more,
        }
        for n in range(cases)
    ]
    definitions = [{"type": "function", "function": each} for each in functions]
    name = f"growth-{tools}-{cases}.tooleval.json"
    document = {"name": "Growth", "tools": definitions, "test_cases": tests}
    (folder / name).write_text(json.dumps(document))
    return name


def cassette(folder: Path, megabytes: int) -> None:
    (folder / "my_agent.py").write_text(AGENT)
    (folder / "tooleval.toml").write_text('[models.agent]\ncallable = "my_agent:answer"\n')
    name = suite(folder, 1, 5)
    options = ("--tooleval-model=agent", "--tooleval-cassette=tapes")
    run(folder, *PYTEST, name, *options)
    (path,) = (folder / "tapes").iterdir()
    own = path.read_text()
    chance, line, size = random.Random(7), json.loads(own.splitlines()[0]), 0
    with path.open("w") as file:
        while size < megabytes * 1e6:
            line["key"] = f"{chance.getrandbits(256):064x}"
            line["asked"]["messages"][-1]["content"] = " ".join(chance.choices(WORDS, k=700))
            line["answer"]["message"]["content"] = " ".join(chance.choices(WORDS, k=700))
            size += file.write(json.dumps(line) + "\n")
        file.write(own)
    found = run(folder, *PYTEST, name, *options, "--tooleval-record=none")
    print(f"cassette  of {megabytes} MB: five cases {_shown(found)}", flush=True)
    (folder / name).write_text((folder / name).read_text().replace(" 3 in Paris", " 33 in Paris"))
    found = run(folder, *PYTEST, name, *options, "--tooleval-record=none", status=1)
    print(f"cassette  of {megabytes} MB: one answer missing {_shown(found)}", flush=True)


def _shown(found: Figures) -> str:
    return f"{found.peak:.0f} MB at the peak, {found.wall:.1f} s, {found.cpu:.1f} s of CPU"


def prune(folder: Path, runs: int) -> None:
    fill(History(folder / ".tooleval"), runs + KEPT, 10, 1)
    found = run(folder, *TOOLEVAL, "history", "prune", f"--keep={KEPT}", "--yes")
    print(f"prune     {runs:,} runs: {_shown(found)}", flush=True)


def log(folder: Path, megabytes: int) -> None:
    """Requests and answers of an agent's loops over ten tools, as OpenAI's API has them."""
    tools = json.loads((folder / suite(folder, 10, 1)).read_text())["tools"]
    chance = random.Random(7)
    path, size, loops = folder / "log.jsonl", 0, 0
    for part in (megabytes / 2, megabytes):
        with path.open("a") as file:
            while size < part * 1e6:
                loops += 1
                prompt = {"role": "user", "content": f"{' '.join(chance.choices(WORDS, k=8))} {loops}"}
                function = {"name": f"tool_{loops % 10}", "arguments": '{"city": "Paris"}'}
                calls = [{"id": f"call_{loops}", "type": "function", "function": function}]
                call = {"role": "assistant", "content": None, "tool_calls": calls}
                text = " ".join(chance.choices(WORDS, k=200))
                told = {"role": "tool", "tool_call_id": f"call_{loops}", "content": text}
                end = {"role": "assistant", "content": "Done."}
                for messages, answer in (([prompt], call), ([prompt, call, told], end)):
                    request = {"model": "m", "messages": messages, "tools": tools}
                    response = {"choices": [{"message": answer}]}
                    size += file.write(json.dumps({"request": request, "response": response}) + "\n")
        out = f"--out=log-{loops}.tooleval.json"
        found = run(folder, *TOOLEVAL, "import", path.name, out)
        print(f"log       {part:.0f} MB, {loops:,} loops: {_shown(found)}", flush=True)


def python(folder: Path, tests: int) -> None:
    def measure(n: int) -> tuple[str, Figures]:
        text = HEAD + "".join(ASKS.format(n=number) for number in range(n))
        (folder / "test_it.py").write_text(text, encoding="utf-8")
        run(folder, *PYTEST, "--collect-only", "test_it.py")  # rewrites the assertions
        return f"{n:,} tests", run(folder, *PYTEST, "test_it.py")

    doubled("python", map(measure, (1, 1, tests // 2, tests)))


def served(folder: Path, cases: int) -> None:
    with MockServer() as server:
        write_project(folder, server.base_url, cases)
        arguments = (*PYTEST, "--tooleval-model=openai")
        start = run(folder, *arguments, "-k", f"town{cases - 1}")
        (folder / "test_empty.py").write_text(EMPTY.format(cases=cases), encoding="utf-8")
        empty = run(folder, *PYTEST, "test_empty.py")
        for history in ([], ["--tooleval-history=off"]):
            found = run(folder, *arguments, *history, "bench.tooleval.json")
            each = 1000 * (found.cpu - start.cpu) / cases
            name = "without a history" if history else "with a history"
            print(
                f"served    {cases:,} cases {name}: {each:.2f} ms of CPU a case, "
                f"{found.cpu / empty.cpu:.1f} times that of empty tests, {_shown(found)}"
            )


if __name__ == "__main__":
    main()
