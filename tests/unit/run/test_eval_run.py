"""A run needs no pytest: its cases are asked, scored, kept and judged without it."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from weather_suite import WEATHER

from pytest_tooleval.engine.models.spec import LEXICAL, Builtin
from pytest_tooleval.engine.trial import Job
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import KeptCase
from pytest_tooleval.run.case_queue import CaseQueue
from pytest_tooleval.run.eval_run import EvalRun
from pytest_tooleval.run.nodeids import CaseId
from pytest_tooleval.run.observers import Observer
from pytest_tooleval.run.origin import Origin
from pytest_tooleval.run.process import Process
from pytest_tooleval.run.task import Task
from pytest_tooleval.settings.settings import Asking, Outputs, Settings
from pytest_tooleval.suite.load import load_suite
from pytest_tooleval.suite.overrides import Overrides
from pytest_tooleval.suite.resolved import resolve
from pytest_tooleval.verdicts.gating import Gates, Gating
from pytest_tooleval.verdicts.rules import read_rule

MODEL = Builtin(LEXICAL)
ASKING = Asking(
    models=(MODEL,),
    transcripts=None,
    judge=None,
    user=None,
    overrides=Overrides(trials=3),
    allowed_tools=(),
    concurrency=4,
    timeout_s=10.0,
    variants=(),
    cassette_path=None,
    record="new",
    resume=False,
    max_cost=None,
)
# No number of trials decides this gate.
GATING = Gating(Gates((read_rule("pass^1=0.99", over=False),), confidence=0.95))
SETTINGS = Settings(
    options={},
    preset="",
    preset_text="",
    replaced=(),
    asking=ASKING,
    gating=GATING,
    outputs=Outputs((), None, "", writes_properties=False, github="never"),
    only_estimates=False,
    shard=None,
    left_to_merge={},
)


class Heard(Observer):
    """Keeps what it was told, and is interrupted at the end."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def case_done(self, case: KeptCase) -> None:
        self.words.append(case.row.case)

    def finished(self) -> None:
        self.words.append("finished")
        raise KeyboardInterrupt


def test_two_cases(tmp_path: Path) -> None:
    file = tmp_path / "weather.tooleval.json"
    file.write_text(WEATHER)
    run = EvalRun(Process(tmp_path, datetime.now(timezone.utc), pytest_version="none"), SETTINGS)
    suite, heard, after = load_suite(file), Heard(), Heard()
    run.observers.add(heard)
    run.observers.add(after)
    queue, origin = CaseQueue(run), Origin(suite, file)
    tasks = [
        Task(
            CaseId(file.name, str(case.id), MODEL.label).nodeid,
            Job(resolve(suite, case, ASKING.overrides), MODEL),
            origin,
        )
        for case in suite.test_cases
    ]
    for task in tasks:
        queue.ahead(task)
    for task in tasks:
        run.add(to_json(task.result(queue.take(task), explain=True)))
    queue.close()
    assert [gate.verdict for gate in run.decide().gates] == ["inconclusive"]
    with pytest.raises(KeyboardInterrupt):
        run.observers.finished()
    cases = [case.id for case in suite.test_cases]
    assert heard.words == [*cases, "finished"]
    assert after.words == heard.words  # even after an interrupt
    rows = run.document().cases
    assert [(row.case, row.outcome, row.position, len(row.trials)) for row in rows] == [
        (cases[0], "passed", 0, 3),
        (cases[1], "passed", 1, 3),
    ]


def test_a_worker_that_ends_before_it_collects_empties_nothing(tmp_path: Path) -> None:
    run = EvalRun(Process(tmp_path, datetime.now(timezone.utc), pytest_version="none"), SETTINGS)
    lines = {"unapplied": ["typos"], "unclaimed": ["no case a"], "without_known_case": ["no case b"]}
    run.add_worker_facts({"case_counts": {MODEL.label: 2}, "recorded": 1, **lines})
    run.add_worker_facts({"recorded": 2})
    known = run.run_facts
    assert (known.case_counts, known.recorded) == ({MODEL.label: 2}, 3)
    assert {name: list(getattr(known, name)) for name in lines} == lines
