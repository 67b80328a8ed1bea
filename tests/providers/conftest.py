"""One server and one engine for all tests of the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_tooleval.engine.clients.litellm_client import load_litellm
from pytest_tooleval.engine.clients.litellm_connections import guard_connections

from .contract import Contract
from .contract import script
from .server import StandIns


@pytest.fixture(scope="package")
def running() -> Iterator[Contract]:
    with StandIns(script()) as standins:
        contract = Contract(standins)
        yield contract
        contract.close()
    # Its connections go over the proxy of the stand-ins, where other tests must not come.
    litellm = load_litellm()
    litellm.aclient_session = None
    guard_connections(litellm)


@pytest.fixture
def contract(running: Contract, monkeypatch: pytest.MonkeyPatch) -> Contract:
    """The contract, where every provider is a stand-in under its own name."""
    for name, value in running.standins.environment().items():
        monkeypatch.setenv(name, value)
    return running
