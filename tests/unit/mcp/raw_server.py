"""A server on stdio that says what the SDK would refuse to say: `python raw_server.py MODE`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

MEGABYTE = 1024 * 1024
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def main(mode: str) -> None:
    if mode == "exits":
        print("Traceback: \x1b[31mno DATABASE_URL", file=sys.stderr)
        print(f"the token was {os.environ.get('TOOLEVAL_TEST_TOKEN')}", file=sys.stderr)
        sys.exit(3)
    if mode == "traceback":  # and what a wrapper says after it
        lines = ["Traceback (most recent call last):", '  File "server.py", line 1, in <module>']
        lines += ["    raise ImportError(name)", "ModuleNotFoundError: No module named 'shop'"]
        print("\n".join([*lines, *("see the docs, " * 50, "npm version 11")]), file=sys.stderr)
        sys.exit(1)
    if mode == "exits, cut":  # at the places where its words are cut, a secret stands
        secret = os.environ["TOOLEVAL_TEST_TOKEN"]
        print(f"refused: {secret} " + "x" * (600 - len(secret) // 2), end="", file=sys.stderr)
        sys.exit(3)
    if mode == "junk, cut":
        secret = os.environ["TOOLEVAL_TEST_TOKEN"]
        print("hello" + " " * (4096 - 5 - len(secret) // 2) + secret, flush=True)
        sys.exit(3)
    if mode == "junk, JSON":
        secret = os.environ["TOOLEVAL_TEST_TOKEN"]
        print(json.dumps({"hello": secret, "more": "x" * 1000}), flush=True)
        sys.exit(3)
    if mode == "silent":
        time.sleep(3600)
    if mode == "stubborn":  # ends neither when its stdin is closed, nor when it is asked to
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
        with open(os.environ["TOOLEVAL_TEST_PIDS"], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(3600)
    if mode == "parent":  # it ends when its stdin is closed, but not what it has started
        sleep = [
            sys.executable,
            "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)",
        ]
        silent = subprocess.DEVNULL
        child = subprocess.Popen(sleep, stdin=silent, stdout=silent, stderr=silent)
        with open(os.environ["TOOLEVAL_TEST_PIDS"], "w") as file:
            file.write(str(child.pid))
    if mode == "junk":
        print("\x1b[1mListening on port 3000", flush=True)
        time.sleep(3600)
    if mode == "logs":
        print("Starting up", flush=True)
        print('{"level": 30, "msg": "as some loggers write"}', flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer(mode, request)


def answer(mode: str, request: dict[str, Any]) -> None:
    head = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        info = {"name": "raw", "version": "1"}
        capabilities: dict[str, Any] = {} if mode == "no tools" else {"tools": {}}
        send(
            {
                **head,
                "result": {
                    "protocolVersion": "2025-03-26",
                    "capabilities": capabilities,
                    "serverInfo": info,
                },
            }
        )
    elif request["method"] != "tools/list":
        send({**head, "error": {"code": -32601, "message": "Method not found"}})
    elif mode == "dies":
        sys.stdout.write('{"jsonrpc": "2.0", "id": ')
        sys.stdout.flush()
        print("out of memory", file=sys.stderr)
        os._exit(137)
    elif mode == "invalid":
        tools = [{"name": "good", "inputSchema": CITY}, {"name": "no schema"}, {"inputSchema": CITY}]
        send({**head, "result": {"tools": [*tools, {"name": "last", "inputSchema": CITY}]}})
    elif mode == "all invalid":
        send({**head, "result": {"tools": [{"name": "no schema"}]}})
    elif mode == "invalid list":
        send({**head, "result": {"tools": {"name": "good"}}})
    elif mode == "keys":
        key = "sk-proj-A0b1C2d3E4f5G6h7"
        token = "Bearer A0b1C2d3E4f5G6h7I8j9"
        schema = {
            **CITY,
            "properties": {"city": {"type": "string", "examples": [token], "default": key}},
        }
        tool = {"name": "good", "description": f"Send {token}, or {key}.", "inputSchema": schema}
        send({**head, "result": {"tools": [tool]}})
    else:
        send({**head, "result": {"tools": [{"name": "good", "inputSchema": CITY}]}})


def send(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
