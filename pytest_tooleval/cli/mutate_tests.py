"""`tooleval mutate test_shop.py`: Python tests, run with wrong agents in a process of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ..errors import ToolevalError
from ..mutation.results import TestMutation
from ..mutation.wrong_agents import AGENTS, OUTCOMES, AgentTrial, WrongAgent, agents_of, sort_out
from ..project.root import Project
from ..record.encoding import to_json
from ..record.results import CaseResult
from ..record.transcript import Transcript
from ..text import plural, printable
from .history import place_from

if TYPE_CHECKING:
    from ..history import History

_PLUGIN = "pytest_tooleval.plugin.python_mutants"
_RUNS = 50  # the newest ones, in which an answer to each test is looked for
_LONGEST_S = 600.0
_CUT_SHORT = (2, 3)  # pytest's status after pytest.exit(), and after an internal error


def is_python_test(path: Path) -> bool:
    """Whether a path names a file of Python tests, or some of them, as `test_shop.py::test_refund`."""
    return _file(path).suffix == ".py"


def mutate_tests(paths: Sequence[Path]) -> list[TestMutation]:
    """Run these tests with wrong agents, made from the newest answers that passed.

    A folder may have none. Raises ToolevalError if another path has none, or pytest cannot run them.
    """
    project = Project.around()
    missing = next((path for path in paths if not _file(path).exists()), None)
    if missing is not None:
        raise ToolevalError(f"{missing}: there is no file {_file(missing)}")
    places = {path: _relative(path, project.root) for path in paths if _may_have_tests(path)}
    answered = _answered(_history(project), [*places.values()]) if places else {}
    for path, prefix in places.items():
        if not path.is_dir() and not any(_is_in(id, prefix) for id in answered):
            raise ToolevalError(
                f"{path}: no run of this project has a test of it that passed; run pytest "
                f"{path} first, whose answers are then broken without asking anyone"
            )
    agents = {id: agents_of(each) for id, row in answered.items() if (each := _passing(row)) is not None}
    if not agents:
        return []
    models = dict.fromkeys(row.model for row in answered.values() if _names_its_model(row))
    files = dict.fromkeys(project.root / row.file for row in answered.values())
    tried = _tried([*files], agents, [*models])
    return [_mutation(id, each, tried.get(id, {})) for id, each in agents.items()]


def _may_have_tests(path: Path) -> bool:
    """Whether a path is not a folder without any Python file, such as one of suites."""
    return not path.is_dir() or next(path.rglob("*.py"), None) is not None


def _answered(history: History, places: Sequence[str]) -> dict[str, CaseResult]:
    """The newest result that passed of each Python test in these places, by node id."""
    results: dict[str, CaseResult] = {}
    for run in history.runs(_RUNS):
        for row in history.short_cases(run.id):
            is_meant = row.file.endswith(".py") and any(_is_in(row.nodeid, each) for each in places)
            if is_meant and row.outcome == "passed" and row.nodeid not in results:
                results[row.nodeid] = history.case(run.id, row.nodeid)
    return results


def _is_in(nodeid: str, prefix: str) -> bool:
    """Whether a node id is this one, or in this folder, file, class or function."""
    return prefix in (".", nodeid) or nodeid.startswith((f"{prefix}/", f"{prefix}::", f"{prefix}["))


def _names_its_model(row: CaseResult) -> bool:
    """Whether the model is a parameter of the test, which only the node id names."""
    return row.nodeid.removeprefix(row.file).partition("[")[2] != row.case.partition("[")[2]


def _passing(result: CaseResult) -> Transcript | None:
    return next((trial.transcript for trial in result.trials if trial.passed), None)


def _history(project: Project) -> History:
    from ..history import History

    return History(project.store_folder, place_from(None, project))


def _file(path: Path) -> Path:
    return Path(str(path).partition("::")[0])


def _relative(path: Path, root: Path) -> str:
    """A path as node ids have it."""
    _, colons, test = str(path).partition("::")
    return Path(os.path.relpath(_file(path).absolute(), root)).as_posix() + colons + test


def _tried(
    files: Sequence[Path], agents: dict[str, list[WrongAgent]], models: Sequence[str]
) -> dict[str, dict[int, AgentTrial]]:
    """What came of each agent, by the test's node id and the agent's number."""
    with tempfile.TemporaryDirectory() as folder:
        agents_file, out = Path(folder, "agents.json"), Path(folder, "outcomes.json")
        agents_file.write_bytes(to_json(agents))
        command = [sys.executable, "-m", "pytest", *map(str, files), "-q", "-p", _PLUGIN]
        command += ["-o", f"cache_dir={folder}/cache"]
        command += [*(f"--tooleval-model={label}" for label in models)]
        environment = {**os.environ, AGENTS: str(agents_file), OUTCOMES: str(out)}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise ToolevalError(f"the tests took longer than {_LONGEST_S:.0f} s; name fewer") from None
        if not out.exists() or done.returncode in _CUT_SHORT:
            text = printable("\n".join(filter(None, (done.stdout, done.stderr))), keep_newlines=True)
            raise ToolevalError(f"pytest could not run the tests:\n{text.strip()}")
        return msgspec.json.decode(out.read_bytes(), type=dict[str, dict[int, AgentTrial]])


def _mutation(id: str, agents: Sequence[WrongAgent], tried: dict[int, AgentTrial]) -> TestMutation:
    if 0 not in tried or not tried[0].passed:
        why = tried[0].untried if 0 in tried else "it was not collected"
        return TestMutation(id=id, untried=why or "it fails with the recorded answers, too")
    every = [tried.get(n, AgentTrial(False, untried="not run")) for n in range(len(agents))]
    caught, accepted = sort_out(agents, every)
    return TestMutation(
        id=id, agents=len(caught) + len(accepted), accepted=tuple(agent.what for agent in accepted)
    )


def test_lines(tests: Sequence[TestMutation]) -> Iterator[str]:
    """The findings, with a line for each test that accepts wrong agents or was not tried."""
    agents = sum(test.agents for test in tests)
    accepted = sum(len(test.accepted) for test in tests)
    files = dict.fromkeys(test.id.partition("::")[0] for test in tests)
    told = f"{accepted} of {plural(agents, 'wrong agent')} accepted" if agents else "none tried"
    color = "yellow" if accepted or not agents else "green"
    yield f"{click.style(printable(', '.join(files)), bold=True)}: {click.style(told, fg=color)}"
    for test in tests:
        name = printable(test.id if len(files) > 1 else test.id.partition("::")[2])
        if test.untried:
            yield f"  {name} was not tried: {printable(test.untried)}"
        elif test.accepted:
            yield f"  {name} accepts {len(test.accepted)} of {plural(test.agents, 'wrong agent')}:"
            yield from (f"    {printable(what)}" for what in test.accepted)
