"""How long the history takes to list, find, draw a trend and compare, with 100,000 case rows in it.

    python tests/benchmarks/bench_history.py [--runs N] [--cases N] [--trials N] [--folder DIR]

Makes a store of runs of `--cases` cases on two models, each with `--trials` trials whose transcripts
and explanations have the size of a usual one (about 5 kB of JSON a trial, no two alike), then times
each question in a process that has just opened the store: the median of five turns in processor time,
which others at work on the machine hardly change. With `--folder` the store is made there and kept,
and one that is there already is used. Comparing includes the statistics of the baseline gate.

    python tests/benchmarks/bench_history.py --many N [--cases N] [--latency SECONDS]

Makes N runs of `--cases` cases by copying one, and a tenth of them. Then a new process for each asks on
disk and in a bucket: a folder whose every listing and file takes `--latency` longer. Prints wall time of
the first time (cold) and of the second (warm), and the peak of the process's memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import fsspec
import msgspec
from fsspec.implementations.local import LocalFileSystem
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, place_of
from pytest_tooleval.history.heads import unpack_head
from pytest_tooleval.record.comparison import Comparison
from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import CaseRow, KeptCase
from pytest_tooleval.record.run import AskedModel, Git, Run, new_run_id
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side

TURNS = 5
MODELS = ("claude-3", "gpt-4o")
SUITES = 10
WORDS = (
    "weather forecast flight hotel calendar meeting reminder invoice customer order refund shipment "
    "temperature kitchen light lock alarm route train station ticket currency rate account transfer"
).split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the store here")
    parser.add_argument("--many", type=int, metavar="N", help="ask of N copies of a run")
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--ask", nargs=2, metavar=("PLACE", "LATENCY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        ask_of_many(options.ask[0], float(options.ask[1]))
        return
    if options.many:
        of_many(options.many, options.cases, options.latency)
        return
    folder = options.folder or Path(tempfile.mkdtemp(prefix="bench-history-"))
    try:
        history = History(folder)
        if not history.runs():
            fill(history, options.runs, options.cases, options.trials)
        show_times(history)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


def fill(history: History, runs: int, cases: int, trials: int) -> None:
    chance = random.Random(7)
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    seconds = rows = 0.0
    for number in range(runs):
        started = first + timedelta(hours=number)
        run = Run(
            id=new_run_id(started),
            started=started.isoformat(),
            duration_s=60.0,
            exitstatus=1,
            models=tuple(AskedModel(model, model) for model in MODELS),
            git=Git(f"{number:040x}", "main", False),
            cached_answers_from="replayed",
            pytest_tooleval="1.0",
            pytest="1.0",
            python="1.0",
        )
        texts = [to_json(row) for row in case_rows(chance, cases, trials)]
        kept = [KeptCase(msgspec.json.decode(text, type=CaseRow), text) for text in texts]
        begin = time.perf_counter()
        writer = history.begin(run)
        for start in range(0, len(kept), 100):
            writer.add(kept[start : start + 100])
        writer.finish(run)
        seconds += time.perf_counter() - begin
        rows += len(kept)
    size = sum(path.stat().st_size for path in history.folder.rglob("*") if path.is_file()) / 1e6
    print(
        f"{rows:,.0f} case rows of {trials} trials written, {rows / seconds:,.0f} rows/s, {size:.0f} MB"
    )


def of_many(runs: int, cases: int, latency: float) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-history-") as name:
        one = History(Path(name, "one"))
        fill(one, 1, cases // len(MODELS), 1)
        for count in (runs // 10, runs):
            folder = Path(name, str(count))
            copy_run(one.folder, folder, count)
            for place, wait in ((str(folder), 0.0), (f"slow://{folder}", latency)):
                print(
                    f"\n{count} runs of {cases} cases, {wait * 1000:.0f} ms for each file\n", flush=True
                )
                subprocess.run([sys.executable, __file__, "--ask", place, str(wait)], check=True)


def copy_run(one: Path, folder: Path, count: int) -> None:
    """Copy a run's head, and link its document. Only every tenth and old one is good."""
    (head,), (document,) = ([*(one / kind).iterdir()] for kind in ("heads", "runs"))
    run = unpack_head(head.read_bytes(), head.name.partition(".")[0], head.name)
    for kind in ("heads", "runs"):
        (folder / kind).mkdir(parents=True)
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for number in range(count):
        started = first + timedelta(hours=number)
        id, is_good = new_run_id(started), number < count * 0.9 and number % 10 == 0
        summary = structs.replace(run.head.summary, id=id, started=started.isoformat(), is_good=is_good)
        copy = gzip.compress(to_json(structs.replace(run.head, summary=summary))) + run.packed
        (folder / f"heads/{id}.{number:040x}.json.gz").write_bytes(copy)
        os.link(document, folder / f"runs/{id}.json.gz")


@cache
def _listed(folder: str) -> list[dict[str, Any]]:
    """Listed before the first question: this is the bucket's work."""
    files = os.scandir(folder) if os.path.isdir(folder) else ()
    return [{"name": file.path, "size": file.stat().st_size, "type": "file"} for file in files]


class Slow(LocalFileSystem):  # type: ignore[misc]
    """A folder that answers as late as a bucket."""

    protocol = "slow"
    latency = 0.0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("slow://")

    def ls(self, path: str, **options: Any) -> Any:
        time.sleep(self.latency)
        return _listed(path)

    def cat_file(self, path: str, **options: Any) -> Any:
        time.sleep(self.latency)
        return super().cat_file(path, **options)


def ask_of_many(place: str, latency: float) -> None:
    fsspec.register_implementation("slow", Slow)
    Slow.latency = latency
    for kind in ("heads", "runs", "tags"):
        _listed(f"{Slow._strip_protocol(place)}/{kind}")
    questions: dict[str, Callable[[History], object]] = {
        "list the last 20": lambda history: history.runs(20),
        "list the last 20 of a model": lambda history: history.runs(20, model=MODELS[0]),
        "find latest": lambda history: history.find("latest"),
        "find good, a tenth of the runs back": lambda history: history.find("good"),
        "trend of a suite, 100 runs": lambda history: history.trend("Suite 3", limit=100),
        "trend of a case, 100 runs": lambda history: history.trend("case-7", limit=100),
        "list all runs": lambda history: history.runs(),
        "a case that no run has": lambda history: is_unknown(history, "nothing"),
    }
    for name, ask in questions.items():
        # A bucket's threads may still write what was not needed in the end.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            taken = []
            for _ in ("cold", "warm"):
                history = History(Path(folder, ".tooleval"), place_of(place, Path()))
                begin = time.perf_counter()
                ask(history)
                taken.append(time.perf_counter() - begin)
        # Not getrusage, which knows the peak of the process that started this one.
        peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
        cold, warm = (f"{seconds * 1000:9.1f}" for seconds in taken)
        print(f"{cold} ms cold {warm} ms warm {peak:6.0f} MB   {name}", flush=True)


def is_unknown(history: History, name: str) -> bool:
    try:
        history.trend(name)
    except ToolevalError:
        return True
    return False


def case_rows(chance: random.Random, cases: int, trials: int) -> Iterator[dict[str, Any]]:
    for model in MODELS:
        for number in range(cases):
            results = [trial(chance, place) for place in range(trials)]
            overall = statistics.fmean(r["scores"]["overall"]["value"] for r in results)
            suite, case = f"Suite {number % SUITES}", f"case-{number}"
            yield {
                "nodeid": f"suites/{number % SUITES}.tooleval.json::{case}[{model}]",
                "suite": suite,
                "case": case,
                "model": model,
                "outcome": "passed" if overall == 1.0 else "failed",
                "scores": dict.fromkeys(results[0]["scores"], overall),
                "thresholds": {"overall": 1.0},
                "reason": "" if overall == 1.0 else f"overall {overall:.2f} < 1.00 (wrong value)",
                "weight": 1.0,
                "tags": ["smoke"],
                "tool_choice": "required",
                "file": f"suites/{number % SUITES}.tooleval.json",
                "line": 10 + number,
                "position": number // SUITES,
                "case_fingerprint": f"{number:016x}",
                "suite_fingerprint": f"{number % SUITES:016x}",
                "suite_cases": cases // SUITES,
                "pass_rule": "mean",
                "passes": sum(r["passed"] for r in results),
                "answered": trials,
                "trials": results,
            }


def trial(chance: random.Random, number: int) -> dict[str, Any]:
    """A trial as it stands in a document, with about 5 kB of texts."""
    value = chance.choice((1.0, 1.0, 1.0, 0.6))
    arguments = {chance.choice(WORDS): " ".join(chance.choices(WORDS, k=3)) for _ in range(4)}
    call = {"name": "_".join(chance.choices(WORDS, k=2)), "arguments": arguments}
    wire = {**call, "arguments": json.dumps(arguments)}
    check = {"expected": json.dumps(arguments), "actual": wire["arguments"], "value": value}
    checks = [{"what": name, **check, "reason": "different text"} for name in arguments]
    metrics = ("tool_selection", "parameter_accuracy", "overall", "arguments_valid")
    explanation = " ".join(chance.choices(WORDS, k=8))
    identity = f"call_{chance.getrandbits(96):024x}"
    return {
        "trial": number,
        "passed": value == 1.0,
        "failure": None if value == 1.0 else "wrong_value",
        "calls_made": 1,
        "wrong": "",
        "format": "native",
        "latency_s": round(chance.uniform(0.3, 2.0), 4),
        "prompt_tokens": chance.randint(300, 900),
        "completion_tokens": chance.randint(20, 90),
        "cost_usd": round(chance.uniform(0.0005, 0.002), 7),
        "cached": False,
        "tool_choice": "required",
        "fallbacks": {},
        "error": None,
        "scores": {
            metric: {"value": value, "explanation": explanation, "checks": checks[:2]}
            for metric in metrics
        },
        "transcript": {
            "prompt": [
                {"role": "system", "content": " ".join(chance.choices(WORDS, k=40))},
                {"role": "user", "content": " ".join(chance.choices(WORDS, k=20))},
            ],
            "rounds": [
                {
                    "reply": {
                        "message": {
                            "role": "assistant",
                            "content": " ".join(chance.choices(WORDS, k=15)),
                            "tool_calls": [{"id": identity, "type": "function", "function": wire}],
                        },
                        "calls": [{**call, "raw_arguments": wire["arguments"], "id": identity}],
                        "format": "native",
                        "tool_choice": "required",
                        "fallbacks": {},
                        "finish_reason": "tool_calls",
                        "latency_s": 0.5,
                        "prompt_tokens": 500,
                        "completion_tokens": 50,
                        "cost_usd": 0.001,
                        "cached": False,
                    },
                    "answers": [],
                }
            ],
        },
    }


def show_times(history: History) -> None:
    runs = history.runs()
    print(f"{sum(run.cases for run in runs):,} case rows in {len(runs)} runs")
    newest = history.find("latest")
    case = "case-7"
    nodeid = history.rows_document(newest).cases[0].nodeid
    questions: dict[str, Callable[[], object]] = {
        "list all runs": history.runs,
        "list the last 20": lambda: history.runs(20),
        "list all runs with one model": lambda: history.runs(model=MODELS[0]),
        "find latest~5": lambda: history.find("latest~5"),
        "trend of a case, all runs": lambda: history.trend(case),
        "trend of a suite, all runs": lambda: history.trend("Suite 3"),
        "compare two runs": lambda: compare_newest(history),
        "  of which reading both": lambda: both(history),
        "document without transcripts": lambda: history.rows_document(newest),
        "document with transcripts and intervals": lambda: history.document(newest),
        "one case with its transcripts": lambda: history.case(newest, nodeid),
    }
    for name, ask in questions.items():
        print(f"{median_s(ask) * 1000:9.1f} ms   {name}")


def both(history: History) -> list[RowsDocument]:
    return [history.rows_document(history.find(name)) for name in ("latest~1", "latest")]


def compare_newest(history: History) -> Comparison:
    sides = [Side(document.run.id, document.run, document.cases) for document in both(history)]
    return compare_runs(sides[0], sides[1], ComparisonRules())


def median_s(ask: Callable[[], object]) -> float:
    taken = []
    for _ in range(TURNS):
        begin = time.process_time()
        ask()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
