"""How many recorded answers are scored per second, ours beside BFCL's own checker.

    python tests/benchmarks/bench_scoring.py [--data DIR] [--bfcl DIR] [--answers N]

`--data` is a folder of `*.tooleval.json` suites with an `oracle.jsonl` of answers (default:
TOOLEVAL_BFCL_DATA). `--bfcl` (or TOOLEVAL_BFCL_EVAL) is a folder with `bfcl-eval` unpacked:

    pip download --no-deps bfcl-eval filelock && unzip -d DIR '*.whl'

Without it only our figures are printed. Both sides get answers already parsed and ground truth
already loaded, take the same answers in the same order and in turns, and the best of five rounds
counts, which is what the machine can do when nothing else disturbs it. Right and wrong answers are
timed apart: BFCL stops at the first mistake, while partial credit has to look at everything.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.trial import score_calls, score_transcript
from pytest_tooleval.suite.case import TestCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

ROUNDS = 5
# What BFCL's checker judges from ground truth; without a call there is nothing for it to do.
CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TOOLEVAL_BFCL_DATA", ""))
    parser.add_argument("--bfcl", type=Path, default=os.environ.get("TOOLEVAL_BFCL_EVAL"))
    parser.add_argument("--answers", type=int, default=10_000)
    options = parser.parse_args()
    if not (Path(options.data) / "oracle.jsonl").is_file():
        sys.exit(f"no oracle.jsonl in {options.data}; name its folder with --data")

    cases = _cases(Path(options.data))
    lines = _answers(Path(options.data))
    if options.bfcl is None:
        print("bfcl-eval: not given (--bfcl DIR), so there is nothing to compare with")
    for verdict in ("valid", "invalid"):
        judged = [line for line in lines if line["bfcl_verdict"] == verdict]
        repeated = (judged * (options.answers // len(judged) + 1))[: options.answers]
        print(f"{len(repeated)} answers that are {verdict}, best of {ROUNDS} rounds")
        _compare(cases, repeated, options.bfcl)


def _compare(
    cases: dict[str, tuple[Suite, TestCase]], lines: list[dict[str, Any]], bfcl: Path | None
) -> None:
    recorded = [(resolve(*cases[line["id"]]), Transcript.from_calls(line["calls"])) for line in lines]
    bare = [(*cases[line["id"]], line["calls"]) for line in lines]
    jobs: dict[str, Callable[[], None]] = {
        "score_transcript": lambda: _each(score_transcript, recorded),
        "score_calls (resolves the case, builds the transcript)": lambda: _each(score_calls, bare),
        "score_calls, reading every explanation": lambda: _explained(bare),
    }
    if bfcl is not None:
        check, arguments = _bfcl(Path(bfcl), lines)
        jobs["bfcl-eval's ast_checker"] = lambda: _each(check, arguments)
    rates = {name: len(lines) / seconds for name, seconds in _best(jobs).items()}
    theirs = rates.get("bfcl-eval's ast_checker")
    for name, rate in rates.items():
        ratio = f"   {rate / theirs:5.2f} x bfcl-eval" if theirs else ""
        print(f"{rate:10,.0f} answers/s{ratio}   {name}")


def _best(jobs: dict[str, Callable[[], None]]) -> dict[str, float]:
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def _each(function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
    for one in arguments:
        function(*one)


def _explained(arguments: list[tuple[Suite, TestCase, Any]]) -> None:
    for suite, case, calls in arguments:
        for score in score_calls(suite, case, calls).scores.values():
            assert score.explanation


def _cases(data: Path) -> dict[str, tuple[Suite, TestCase]]:
    suites = [
        Suite.model_validate_json(path.read_text("utf-8")) for path in data.glob("*.tooleval.json")
    ]
    return {str(case.id): (suite, case) for suite in suites for case in suite.test_cases}


def _answers(data: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (data / "oracle.jsonl").read_text("utf-8").splitlines()]
    return [line for line in lines if line["category"] in CATEGORIES and line["calls"]]


def _bfcl(folder: Path, lines: list[dict[str, Any]]) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    sys.path.insert(0, str(folder))
    # The table of models imports the client of every provider; the checker asks it one thing only.
    table: Any = types.ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = {"bench": types.SimpleNamespace(underscore_to_dot=True)}
    sys.modules[table.__name__] = table
    python = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    data = folder / "bfcl_eval/data"
    functions, truths = {}, {}
    for category in CATEGORIES:
        for entry in _json_lines(data / f"BFCL_v4_{category}.json"):
            functions[entry["id"]] = entry["function"]
        for entry in _json_lines(data / f"possible_answer/BFCL_v4_{category}.json"):
            truths[entry["id"]] = entry["ground_truth"]
    arguments = [
        (
            functions[line["id"]],
            [{call["name"]: call["arguments"]} for call in line["calls"]],
            truths[line["id"]],
            python,
            line["category"],
            "bench",
        )
        for line in lines
    ]
    return checker.ast_checker, arguments


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main()
