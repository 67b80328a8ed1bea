"""A small MCP server over stdio, for live chains: `python live_server.py LOG`. Every call is logged.

It speaks plain JSON, as the SDK takes longer to import than most tests last. While there is a file
LOG.fewer, one of its tools is gone. It keeps what it has refunded in memory; with a file LOG.clock it
says when each time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

# A red pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IScHAAK2AQUKW6YGAAAAAElFTkSuQmCC"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, description: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": CITY, **more}


AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}


READS = {"annotations": {"readOnlyHint": True}}
TOOLS = [
    tool("find.station", "Find a station", **READS),
    tool("get_weather", "Weather at a station"),
    tool("delete_station", "Delete a station"),
    {"name": "refund", "description": "Refund a part", "inputSchema": AMOUNT},
    {"name": "report", "description": "Report what was refunded", "inputSchema": AMOUNT},
    tool("slow", "Takes long", **READS),
    tool("huge", "Answers a lot", **READS),
    tool("dies", "Ends the server", **READS),
    tool("fails", "Reports an error", **READS),
]

refunded: list[int] = []


def initialize(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": parameters["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "stations", "version": "1"},
    }


def list_tools(parameters: dict[str, Any]) -> dict[str, Any]:
    fewer = os.path.exists(sys.argv[1] + ".fewer")
    return {"tools": TOOLS[:-1] if fewer else TOOLS}


def call_tool(parameters: dict[str, Any]) -> dict[str, Any]:
    name, arguments = parameters["name"], parameters.get("arguments") or {}
    with open(sys.argv[1], "a", encoding="utf-8") as log:
        log.write(json.dumps([name, arguments]) + "\n")
    if name == "slow":
        sys.stdin.read()  # until its client is gone
        sys.exit()
    if name == "dies":
        os._exit(3)
    if name == "refund":
        refunded.append(arguments["amount"])
        clock = f" at {time.time_ns()}" if os.path.exists(sys.argv[1] + ".clock") else ""
        return {"content": [{"type": "text", "text": f"{sum(refunded)}{clock}"}]}
    if arguments.get("city") == "on a picture":
        block = {"type": "image", "mimeType": "image/png", "data": PNG}
        return {"content": [{"type": "text", "text": "S7, from the north"}, block]}
    text = "x" * 2_000_000 if name == "huge" else f"station of {arguments.get('city')}: S7"
    return {"content": [{"type": "text", "text": text}], "isError": name == "fails"}


METHODS = {"initialize": initialize, "tools/list": list_tools, "tools/call": call_tool}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method = METHODS.get(request["method"])
    if method is None:
        return {"error": {"code": -32601, "message": "Method not found"}}
    return {"result": method(request.get("params") or {})}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True)
