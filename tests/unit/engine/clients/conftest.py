"""No provider, proxy or certificate of the developer's reaches the clients."""

from __future__ import annotations

import pytest

from .asking import KEY


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"
    others = "OPENAI_BASE_URL OPENAI_ORGANIZATION ANTHROPIC_BASE_URL ANTHROPIC_AUTH_TOKEN SSL_CERT_FILE"
    for name in f"{proxies} {proxies.lower()} {others}".split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MY_API_KEY", KEY)
