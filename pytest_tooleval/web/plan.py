"""What a run asks: every case of its suites on every model, as pytest would collect them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from ..engine.executors.live import Live
from ..engine.models.spec import ModelSpec
from ..engine.models.tables import ModelTables
from ..engine.models.tables import read_tables
from ..engine.models.tables import resolve_models
from ..engine.runner import Answer
from ..errors import ConfigError
from ..errors import Problem
from ..record.results import CaseResult
from ..scoring.registry import Scorer
from ..suite.explain import nearest
from ..suite.explain import show
from ..suite.fingerprints import content_of_bytes
from ..suite.fingerprints import content_of_case
from ..suite.model import Overrides
from ..suite.model import ResolvedCase
from ..suite.model import XFail
from ..suite.model import resolve
from ..text import printable
from ..verdicts.evaluate import Place
from ..verdicts.evaluate import as_expected
from ..verdicts.evaluate import evaluate
from ..verdicts.evaluate import unscored
from .answers import RunAnswers
from .loading import Loaded
from .loading import load
from .project import project_folders
from .responses import ApiError
from .responses import field_error
from .suite_files import SuiteFolder

MAX_TRIALS = 1_000_000


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case of a suite file, with all that does not depend on the model."""

    case: ResolvedCase
    place: Place
    scorers: tuple[Scorer, ...]
    live: Live | None

    def place_on(self, model: str) -> Place:
        nodeid = f"{self.place.file}::{self.case.id}[{model}]"
        return dataclasses.replace(self.place, nodeid=nodeid)

    def skipped_on(self, model: str) -> CaseResult | None:
        """The result of a case that is skipped, None for one that is to be asked."""
        skip = self.case.case.skip
        if not skip:
            return None
        reason = printable(skip) if isinstance(skip, str) else "unconditional skip"
        return unscored(self.case, model, self.place_on(model), "skipped", reason)

    def judged(self, model: str, answers: Sequence[Answer]) -> CaseResult:
        """The result that pytest would report, expected failures included."""
        result = evaluate(self.case, model, self.place_on(model), answers, self.scorers)
        return expected_failure(result, self.case.case.xfail)


@dataclass(frozen=True)
class Plan:
    """A run before it begins. `options` are those that a request gave, as pytest names them."""

    files: tuple[str, ...]
    models: tuple[ModelSpec, ...]
    cases: tuple[PlannedCase, ...]
    options: Mapping[str, Any]
    answers: RunAnswers
    note: str | None

    @property
    def total(self) -> int:
        return len(self.cases) * len(self.models)

    @property
    def runs_code(self) -> bool:
        """Whether the project's own code answers or scores."""
        return any(spec.callable for spec in self.models) or any(
            len(planned.scorers) > 1 for planned in self.cases
        )


def config_tables(root: Path) -> ModelTables:
    """The config tables of the folder, else of the nearest one above it in the same repository."""
    found = ModelTables()
    for folder in project_folders(root):
        tables = read_tables(folder)
        if tables.tables:
            return tables
        found = found if found.path else tables
    return found


def make_plan(folder: SuiteFolder, request: Mapping[str, Any]) -> Plan:
    """Read the suites and find the models that a request names.

    Imports the project's own scorers, and asks the servers of suites with `tools_from`. ApiError 404
    for a file that is not there, 422 for a suite with problems, for a model, and for a case that does
    not exist.
    """
    files = list(dict.fromkeys(request.get("files") or [request["file"]]))
    models = _models(folder.root, request["models"])
    overrides = Overrides(
        tool_choice=request.get("tool_choice"),
        temperature=request.get("temperature"),
        trials=request.get("trials"),
    )
    contents = {file: folder.read(file) for file in files}
    answers = RunAnswers(folder.root)
    cases: list[PlannedCase] = []
    notes = []
    for file, content in contents.items():
        loaded = load(folder.root, file, content, answers.of(file))
        cases += _cases(file, content, loaded, overrides)
        notes += [loaded.note] if loaded.note else []
    wanted = request.get("cases")
    if wanted is not None:
        cases = _selected(cases, wanted)
    if not cases:
        raise field_error(422, "cases", "there is no case to run")
    if sum(planned.case.trials for planned in cases) * len(models) > MAX_TRIALS:
        raise field_error(422, "trials", f"more than {MAX_TRIALS} trials in one run")
    given = {
        "model": [spec.label for spec in models],
        "tool-choice": overrides.tool_choice,
        "temperature": overrides.temperature,
        "trials": overrides.trials,
    }
    options = {name: value for name, value in given.items() if value is not None}
    note = "; ".join(notes) or None
    return Plan(tuple(files), tuple(models), tuple(cases), options, answers, note)


def _models(root: Path, names: Sequence[str]) -> list[ModelSpec]:
    try:
        return resolve_models(names, config_tables(root))
    except ConfigError as error:
        raise field_error(422, "models", str(error)) from None


def _cases(file: str, content: bytes, loaded: Loaded, overrides: Overrides) -> Iterable[PlannedCase]:
    suite = loaded.suite
    suite_content = content_of_bytes(content)
    for position, case in enumerate(suite.test_cases):
        try:
            resolved = resolve(suite, case, overrides)
        except ConfigError as error:
            place = Problem(file, case.line, 1, f"test_cases[{position}]", str(error))
            raise ApiError(422, f"trials: {case.id}: {error}", [place]) from None
        yield PlannedCase(
            resolved,
            Place(
                nodeid="",
                file=file,
                position=position,
                content=content_of_case(suite, case),
                suite_content=suite_content,
                suite_cases=len(suite.test_cases),
            ),
            loaded.scorers,
            loaded.live,
        )


def _selected(cases: Sequence[PlannedCase], wanted: Sequence[str]) -> list[PlannedCase]:
    known = {planned.case.id for planned in cases}
    for number, id in enumerate(wanted):
        if id not in known:
            near = nearest(id, known)
            hint = f", did you mean {show(near)}?" if near else ""
            raise field_error(422, f"cases[{number}]", f"there is no case {show(id)}{hint}")
    chosen = set(wanted)
    return [planned for planned in cases if planned.case.id in chosen]


def expected_failure(result: CaseResult, xfail: bool | str | XFail) -> CaseResult:
    """What pytest makes of a case that is marked `xfail`: only the model's failure is expected."""
    if not xfail:
        return result
    reason = xfail.reason if isinstance(xfail, XFail) else (xfail if isinstance(xfail, str) else "")
    reason = printable(reason)
    if result.outcome == "failed":
        return as_expected(result, reason)
    if result.outcome == "passed" and isinstance(xfail, XFail) and xfail.strict:
        text = f"[XPASS(strict)] {reason}".strip()
        return structs.replace(result, outcome="failed", reason=text)
    return result
