"""How cases are shared out to workers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("xdist")

from pytest_tooleval.engine.models.spec import share


class Node:
    """A worker, as the scheduler sees it."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.sent: list[int] = []
        self.stolen: list[list[int]] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def send_steal(self, indices: list[int]) -> None:
        self.stolen.append(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def schedule(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A scheduler with two workers that have collected these node ids."""
    import xdist.scheduler.load

    from pytest_tooleval.plugin.settings import read_settings
    from pytest_tooleval.plugin.xdist import EvalScheduling

    def make(nodeids: list[str], active: int = 2) -> tuple[Any, Node, Node]:
        specs = ["popen", "popen"]
        monkeypatch.setattr(xdist.scheduler.load, "parse_tx_spec_config", lambda config: specs)
        asking = replace(read_settings(pytestconfig).asking, concurrency=active)
        scheduler = EvalScheduling(pytestconfig, None, asking)
        nodes = Node("gw0"), Node("gw1")
        for node in nodes:
            scheduler.add_node(node)
            scheduler.add_node_collection(node, nodeids)
        scheduler.schedule()
        return scheduler, *nodes

    return make


CASES = [f"w.tooleval.json::c{i}[m]" for i in range(40)]
TESTS = [f"test_a.py::t{i}" for i in range(20)]


def test_each_worker_gets_every_second_case_at_once(schedule: Any) -> None:
    _, first, second = schedule(CASES)
    assert first.sent == list(range(0, 40, 2))
    assert second.sent == list(range(1, 40, 2))
    assert not first.shutting_down


def test_only_as_many_workers_as_the_smallest_limit_allows_get_cases(schedule: Any) -> None:
    _, first, second = schedule(CASES, active=1)
    assert first.sent == list(range(40))
    assert second.sent == []


def test_other_tests_follow_in_their_turn(schedule: Any) -> None:
    scheduler, first, second = schedule(CASES + TESTS)
    assert sorted(first.sent + second.sent) == list(range(40))
    for index in list(first.sent):
        scheduler.mark_test_complete(first, index)
    assert any(index >= 40 for index in first.sent)


def test_a_session_without_cases_is_left_to_stock_scheduling(schedule: Any) -> None:
    _, first, second = schedule(TESTS)
    assert len(first.sent) == len(second.sent) == 2


def test_what_a_dead_worker_had_finds_a_place(schedule: Any) -> None:
    scheduler, first, second = schedule(CASES)
    assert scheduler.remove_node(second) == CASES[1]
    assert sorted(first.sent) == [i for i in range(40) if i != 1]
    for index in first.sent:
        scheduler.mark_test_complete(first, index)
    assert scheduler.tests_finished


def test_a_run_that_ends_early_takes_back_all_that_has_not_begun(
    schedule: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler, first, second = schedule(CASES)
    monkeypatch.setattr(type(scheduler), "_ends_early", True)
    scheduler.mark_test_complete(first, 0)
    assert (first.stolen, second.stolen) == ([list(range(6, 40, 2))], [list(range(5, 40, 2))])
    scheduler.remove_pending_tests_from_node(first, first.stolen[0])
    scheduler.remove_pending_tests_from_node(second, second.stolen[0])
    assert scheduler.node2pending == {first: [2, 4], second: [1, 3]}


@pytest.mark.parametrize(("total", "count"), [(32, 4), (10, 3), (2, 4), (1, 1)])
def test_shares_differ_by_one_and_add_up(total: int, count: int) -> None:
    shares = [share(total, count, number) for number in range(count)]
    assert max(shares) - min(shares) <= 1
    assert sum(shares) == max(total, count)
