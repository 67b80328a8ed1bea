"""An MCP server over stdio: the notes of a small team. Needs `pip install mcp`."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

NOTES = {
    "launch": "Launch is on 3 December. Priya writes the announcement.",
    "offsite": "The offsite is in Bergen, 14 to 16 January. Budget: 9,000 EUR.",
    "pricing": "The new price is 12 EUR per seat and month, from 1 January.",
}
READS = ToolAnnotations(readOnlyHint=True, destructiveHint=False)
server = MCPServer("notes")


@server.tool(annotations=READS)
def list_notes() -> list[str]:
    """List the names of all notes."""
    return sorted(NOTES)


@server.tool(annotations=READS)
def read_note(name: str) -> str:
    """Read one note, by a name that list_notes has given."""
    return NOTES[name]


@server.tool()
def delete_note(name: str) -> str:
    """Delete a note for good."""
    del NOTES[name]
    return f"deleted {name}"


if __name__ == "__main__":
    server.run()
