"""Runs Python tests with wrong agents, for `tooleval mutate`, which loads this plugin.

Each agent is a parameter of its test, so that fixtures are made anew for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ..mutation.wrong_agents import AGENTS, OUTCOMES, AgentTrial, WrongAgent
from ..python.mutant import MutantCase
from ..python.question import QuestionContext
from ..record.encoding import to_json
from ..run.asker import Asker
from .processes import may_ask
from .python_tests import MAKE_CASE

_INSTEAD = {
    "numprocesses": 0,
    "maxfail": 0,
    "keyword": "",
    "markexpr": "",
    "collectonly": False,
    "xmlpath": None,
    "tooleval_report": None,
    "tooleval_baseline": None,
    "tooleval_estimate": None,
    "tooleval_events": None,
}
_PARAMETER = "_tooleval_wrong_agent"
_ID = "wrong-agent-"
_IDS = re.compile(rf"-{_ID}(\d+)|{_ID}(\d+)-|\[{_ID}(\d+)\]")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    # Whatever the ini file says: the outcomes of all are gathered, in one process, and the files of a
    # real run stay.
    for name, value in _INSTEAD.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def pytest_configure(config: pytest.Config) -> None:
    text = Path(os.environ[AGENTS]).read_bytes()
    agents = msgspec.json.decode(text, type=dict[str, list[WrongAgent]])
    config.pluginmanager.register(_Mutants(config, agents), "tooleval-mutants")


class _Mutants:
    def __init__(self, config: pytest.Config, agents: dict[str, list[WrongAgent]]) -> None:
        self._agents = agents
        self._cases: dict[str, MutantCase] = {}
        self._tried: dict[str, dict[int, AgentTrial]] = {}
        config.stash[MAKE_CASE] = self._made

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        base = metafunc.definition.nodeid
        agents_of_test = (agents for id, agents in self._agents.items() if id.partition("[")[0] == base)
        most = max(map(len, agents_of_test), default=0)
        if most and "tooleval" in metafunc.fixturenames:
            metafunc.fixturenames.append(_PARAMETER)
            metafunc.parametrize(_PARAMETER, range(most), ids=[f"{_ID}{n}" for n in range(most)])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if self._agent_of(item) is not None]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def _agent_of(self, item: pytest.Item) -> WrongAgent | None:
        id, number = _place(item)
        agents = self._agents.get(id, []) if number is not None and may_ask(item) else []
        return agents[number] if number is not None and number < len(agents) else None

    def _made(self, item: pytest.Item, context: QuestionContext, asker: Asker) -> MutantCase:
        agent = self._agent_of(item)
        assert agent is not None
        case = self._cases[item.nodeid] = MutantCase(context, asker, agent)
        return case

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        id, number = _place(item)
        assert number is not None
        tried = self._tried.setdefault(id, {})
        if call.when == "call":
            case = self._cases.get(item.nodeid)
            tried[number] = (case and case.tried) or AgentTrial(False, untried=_why(call))
        elif call.excinfo is not None and number not in tried:
            tried[number] = AgentTrial(False, untried=_why(call))
        return report

    def pytest_sessionfinish(self) -> None:
        Path(os.environ[OUTCOMES]).write_bytes(to_json(self._tried))


def _place(item: pytest.Item) -> tuple[str, int | None]:
    """The node id of the test itself, and the number of its agent."""
    match = _IDS.search(item.nodeid)
    number = None if match is None else next(int(each) for each in match.groups() if each)
    return _IDS.sub("", item.nodeid, count=1), number


def _why(call: pytest.CallInfo[Any]) -> str:
    if call.excinfo is None:
        return "it asked nothing"
    text = str(call.excinfo.value).partition("\n")[0]
    return text or type(call.excinfo.value).__name__
