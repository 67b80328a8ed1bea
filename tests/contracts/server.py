"""The server of all stand-ins: a proxy under which the providers' own host names are found.

with StandIns(script) as standins:
    standins.environment()      # HTTPS_PROXY, SSL_CERT_FILE and keys, for whoever asks
    standins.url("api.openai.com", "/v1")    # the same without a proxy, for an `api_base`
    standins.exchanges          # what came, and what it was answered
    standins.faults             # what is said in place of the next answers
"""

from __future__ import annotations

import functools
import importlib
import json
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import trustme

from pytest_tooleval.engine.models.providers import PROVIDERS

from .talk import KEY, Asked, Brain, Exchange, Refused, Said, Script, StandIn, brain_of

# Providers with OpenAI's protocol and nothing more.
PLAIN = {
    urlsplit(row.base).netloc: row
    for row in PROVIDERS.values()
    if row.protocol == "openai" and row.name not in ("openai", "azure", "ollama", "openrouter")
}
# Where each provider is found. Their modules load the SDKs, which takes seconds.
HOSTS = {
    **dict.fromkeys(PLAIN, "openai_api"),
    "api.anthropic.com": "anthropic_messages",
    "api.openai.com": "openai_api",
    "generativelanguage.googleapis.com": "gemini",
    "bedrock-runtime.us-east-1.amazonaws.com": "bedrock_converse",
    "localhost:11434": "ollama_chat",
    "openrouter.ai": "openrouter",
}
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "GEMINI_API_KEY": KEY,
    "OPENROUTER_API_KEY": KEY,
    "AWS_BEARER_TOKEN_BEDROCK": KEY,
    "AWS_REGION": "us-east-1",
    "AWS_REGION_NAME": "us-east-1",
    **{row.keys[0]: KEY for row in PLAIN.values()},
}


@functools.cache
def standin_at(host: str) -> StandIn | None:
    """The provider of this name; it is imported when it is asked for the first time."""
    if host not in HOSTS:
        return None
    standin: StandIn = importlib.import_module(f".{HOSTS[host]}", __package__).STANDIN
    return standin


class StandIns:
    """A context manager; the server runs in threads of this process until the block ends."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = dict(script or {})
        self.faults: list[Said] = []
        self.exchanges: list[Exchange] = []
        self._authority = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._folder = tempfile.TemporaryDirectory()
        self._certificates = Path(self._folder.name) / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self._certificates))
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.standins = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def url(self, host: str, path: str = "") -> str:
        """Where a provider is found without the proxy."""
        return f"{self.address}/{host}{path}"

    def environment(self) -> dict[str, str]:
        """The variables that lead a process here, and the keys that it needs."""
        return {
            "HTTPS_PROXY": self.address,
            "https_proxy": self.address,
            "HTTP_PROXY": self.address,
            "http_proxy": self.address,
            "NO_PROXY": "",
            "no_proxy": "",
            "SSL_CERT_FILE": str(self._certificates),
            **ENVIRONMENT,
        }

    def forget(self) -> None:
        self.exchanges.clear()
        self.faults.clear()

    def brain(self, exchange: Exchange) -> Brain:
        """The script, after the faults; what was asked is noted."""

        def say(asked: Asked) -> Said:
            exchange.asked = asked
            return self.faults.pop() if self.faults else brain_of(self.script)(asked)

        return say

    def context(self, host: str) -> ssl.SSLContext:
        """A TLS context with a certificate for `host`."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._authority.issue_cert(host).configure_cert(context)
            self._contexts[host] = context
        return self._contexts[host]

    def __enter__(self) -> StandIns:
        self._thread.start()
        return self

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    standins: StandIns

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: clients go away as they please."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer waits 40 ms
    server: _Server
    host = ""

    def do_CONNECT(self) -> None:
        """Become the host that is asked for, with a certificate for it."""
        self.host = self.path.rpartition(":")[0]
        self.send_response(200, "Connection established")
        self.end_headers()
        context = self.server.standins.context(self.host)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", self.rbufsize)
        self.wfile = self.connection.makefile("wb")
        self.close_connection = False

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        address = urlsplit(self.path)
        host, path = self.host or address.netloc, address.path
        if not host:
            host, _, path = path.lstrip("/").partition("/")
            path = f"/{path}"
        path += f"?{address.query}" if address.query else ""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer, headers = self._answer(host, path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, host: str, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        standins = self.server.standins
        provider = standin_at(host)
        if provider is None:
            return 502, {"error": f"no stand-in for {host}{path}"}, {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            document = json.loads(body or b"{}")
        except ValueError:
            return 400, {"error": "the body is not JSON"}, {}
        if host in PLAIN:
            path = path.replace(urlsplit(PLAIN[host].base).path, "/v1", 1)
            document["model"] = document["model"].removeprefix("accounts/fireworks/models/")
        exchange = Exchange(provider.name, path, headers, document)
        standins.exchanges.append(exchange)
        try:
            exchange.status, exchange.answer = 200, provider.answer(exchange, standins.brain(exchange))
            more: dict[str, str] = {}
        except Refused as refused:
            exchange.status, exchange.answer, more = refused.status, refused.body, refused.headers
        return exchange.status, exchange.answer, more

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what came stands in `exchanges`."""
