"""A scripted OpenAI-compatible server for tests, on a free port of this machine.

    with MockServer(latency=0.0, faults={"429": 10}) as server:
        server.base_url, server.requests, server.repeats

It answers as the question says: a prompt that holds "in PLACE?" gets a call of the first tool with
`{"city": PLACE}`, every other one a plain text. `script(request) -> message | None` overrides that,
and `respond(path, request) -> (status, document) | None` stands for a provider of another kind; a
document that is bytes is a stream of events. `raw` is sent as it is, and then the connection is closed.

It answers nobody before `together` requests have been in flight at one time.

`faults` maps a kind to N, and every Nth request meets it:

- a status such as `429` (with `Retry-After`, see `retry_after`), `500`, `503`;
- `hang` never answers, `reset` closes the connection, `garbage` is a 200 that is not JSON, `half`
  breaks off in the middle of the body;
- `echo-key` is a 401 that repeats the Authorization header;
- `refuse-required` is a 400 for each Nth of the requests with `tool_choice: "required"`.
"""

from __future__ import annotations

import asyncio
import collections
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

Script = Callable[[dict[str, Any]], "dict[str, Any] | None"]
Respond = Callable[[str, dict[str, Any]], "tuple[int, object] | None"]


class MockServer:
    """A context manager; the server runs in a thread of this process until the block ends.

    Counters: `requests`, `answered` (with a 200 and a whole body), `faulted`, `in_flight`,
    `max_in_flight`, and `repeats`: answers to a body that had been answered before. `bodies` and
    `headers` hold what came, in order.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        together: int = 0,
        faults: Mapping[str, int] | None = None,
        retry_after: str | None = "0",
        script: Script | None = None,
        respond: Respond | None = None,
        raw: bytes | None = None,
    ) -> None:
        self.latency = latency
        self.together = together
        self.faults = dict(faults or {})
        self.retry_after = retry_after
        self.script = script
        self.respond = respond
        self.raw = raw
        self.port = 0
        self.requests = self.answered = self.faulted = self.in_flight = self.max_in_flight = 0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answered_bodies: collections.Counter[bytes] = collections.Counter()
        self._required = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mock-server", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def repeats(self) -> int:
        return sum(count - 1 for count in self.answered_bodies.values())

    def __enter__(self) -> MockServer:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the mock server did not start")
        return self

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=4096)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                line = (await reader.readline()).decode("latin-1")
                if not line.strip():
                    return
                path = line.split(" ")[1]
                headers: dict[str, str] = {}
                while (header := (await reader.readline()).decode("latin-1")).strip():
                    name, _, value = header.partition(":")
                    headers[name.strip().lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if not await self._answer(path, headers, body, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the block ended
        finally:
            writer.close()

    async def _answer(
        self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection must be closed."""
        request: dict[str, Any] = json.loads(body or b"{}")
        self.requests += 1
        self.bodies.append(request)
        self.headers.append(headers)
        fault = self._fault(request)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            while self.max_in_flight < self.together:
                await asyncio.sleep(0.005)
            await asyncio.sleep(3600.0 if fault == "hang" else self.latency)
        finally:
            self.in_flight -= 1
        if fault is not None:
            return await self._spoil(fault, headers, writer)
        if self.raw is not None:
            writer.write(self.raw)
            await writer.drain()
            return False
        answer = self.respond(path, request) if self.respond else None
        status, document = answer or (200, self._completion(request))
        if status == 200:
            self.answered += 1
            self.answered_bodies[hashlib.sha256(body).digest()] += 1
        if isinstance(document, bytes):
            await _send(writer, status, document, {"Content-Type": "text/event-stream"})
        else:
            await _send(writer, status, json.dumps(document).encode(), self._wait(status))
        return True

    def _fault(self, request: Mapping[str, Any]) -> str | None:
        if request.get("tool_choice") == "required":
            self._required += 1
        for kind, every in self.faults.items():
            count = self._required if kind == "refuse-required" else self.requests
            if kind == "refuse-required" and request.get("tool_choice") != "required":
                continue
            if count % every == 0:
                self.faulted += 1
                return kind
        return None

    async def _spoil(self, kind: str, headers: Mapping[str, str], writer: asyncio.StreamWriter) -> bool:
        if kind == "reset":
            return False
        if kind == "garbage":
            await _send(writer, 200, b"<html>Bad gateway</html>")
        elif kind == "half":
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
            writer.write(head + b'{"id": "chatcmpl-')
            await writer.drain()
            return False
        elif kind == "echo-key":
            message = f"Incorrect API key provided: {headers.get('authorization', 'none')}"
            await _send(writer, 401, _error(message))
        elif kind == "refuse-required":
            await _send(writer, 400, _error("tool_choice 'required' is not supported by this model"))
        else:
            await _send(writer, int(kind), _error(f"scripted fault {kind}"), self._wait(int(kind)))
        return True

    def _wait(self, status: int) -> dict[str, str]:
        return {"Retry-After": self.retry_after} if status == 429 and self.retry_after else {}

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        message = self.script(request) if self.script else None
        if message is None:
            message = answer_to(request)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": request.get("model"),
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                }
            ],
            "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        }


def answer_to(request: Mapping[str, Any]) -> dict[str, Any]:
    """The message that the server gives unless a script says otherwise."""
    prompts = [m.get("content") for m in request.get("messages", ()) if m.get("role") == "user"]
    place = re.search(r"\bin ([\w' -]+)\?", str(prompts[-1])) if prompts else None
    tools = request.get("tools")
    if not tools or place is None or request.get("tool_choice") == "none":
        return {"role": "assistant", "content": "I cannot help with that."}
    return call_message(tools[0]["function"]["name"], {"city": place[1]})


def call_message(name: str, arguments: object, id: str = "call_1") -> dict[str, Any]:
    """An assistant's message with one call; `arguments` that are a text go as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def http(body: bytes, status: int = 200, *headers: str) -> bytes:
    """A whole answer, for `raw`."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _error(message: str) -> bytes:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return json.dumps({"error": error}).encode()


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, extra: Mapping[str, str] | None = None
) -> None:
    headers = {"Content-Type": "application/json", **(extra or {})}
    writer.write(http(body, status, *(f"{name}: {value}" for name, value in headers.items())))
    await writer.drain()
