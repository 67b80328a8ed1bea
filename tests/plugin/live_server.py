"""A small MCP server over stdio, for live chains: `python live_server.py LOG`. Every call is logged.

While there is a file LOG.fewer, one of its tools is gone.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
READ_ONLY = types.ToolAnnotations(read_only_hint=True)
TOOLS = [
    types.Tool(
        name="find.station", description="Find a station", input_schema=CITY, annotations=READ_ONLY
    ),
    types.Tool(name="get_weather", description="Weather at a station", input_schema=CITY),
    types.Tool(name="delete_station", description="Delete a station", input_schema=CITY),
    types.Tool(name="slow", description="Takes long", input_schema=CITY, annotations=READ_ONLY),
    types.Tool(name="huge", description="Answers a lot", input_schema=CITY, annotations=READ_ONLY),
    types.Tool(name="dies", description="Ends the server", input_schema=CITY, annotations=READ_ONLY),
    types.Tool(name="fails", description="Reports an error", input_schema=CITY, annotations=READ_ONLY),
]


async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
    fewer = os.path.exists(sys.argv[1] + ".fewer")
    return types.ListToolsResult(tools=TOOLS[:-1] if fewer else TOOLS)


async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = parameters.arguments or {}
    with open(sys.argv[1], "a", encoding="utf-8") as log:
        log.write(json.dumps([parameters.name, arguments]) + "\n")
    if parameters.name == "slow":
        await anyio.sleep(60)
    if parameters.name == "dies":
        os._exit(3)
    text = "x" * 2_000_000 if parameters.name == "huge" else f"station of {arguments.get('city')}: S7"
    is_error = parameters.name == "fails"
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


async def main() -> None:
    server: Any = Server("stations", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
