"""One server and one engine for all tests of the contract."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from .contract import Contract, script
from .server import StandIns

HAS_LITELLM = importlib.util.find_spec("litellm") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In the environment `plain`, leave out what only litellm can query: its name says so."""
    if not HAS_LITELLM:
        items[:] = [item for item in items if not _needs_litellm(item)]


def _needs_litellm(item: pytest.Item) -> bool:
    is_ours = item.path.is_relative_to(Path(__file__).parent)
    return is_ours and any(word in item.name for word in ("litellm", "bedrock"))


@pytest.fixture(scope="package")
def running() -> Iterator[Contract]:
    with StandIns(script()) as standins:
        # Connections that other tests have made do not go over the proxy of the stand-ins, nor trust
        # their certificates; those made here are none for other tests.
        with pytest.MonkeyPatch.context() as patch:
            for name, value in standins.environment().items():
                patch.setenv(name, value)
            _renew_connections()
        contract = Contract(standins)
        yield contract
        contract.close()
    _renew_connections()


def _renew_connections() -> None:
    if not HAS_LITELLM:
        return
    from pytest_tooleval.engine.clients.litellm_client import load_litellm
    from pytest_tooleval.engine.clients.litellm_connections import guard_connections

    litellm = load_litellm()
    litellm.aclient_session = None
    guard_connections(litellm)


@pytest.fixture
def contract(running: Contract, monkeypatch: pytest.MonkeyPatch) -> Contract:
    """The contract, where every provider is a stand-in under its own name."""
    for name, value in running.standins.environment().items():
        monkeypatch.setenv(name, value)
    return running
