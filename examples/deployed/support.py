"""A support agent behind HTTP, as it could be deployed: `python support.py` serves it on port 8765.

It keeps its conversations, and answers with a text and the steps that it took.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def steps_for(text: str) -> list[dict[str, Any]]:
    """What the agent does about a message."""
    order = re.search(r"\b[A-Z]\d+\b", text)
    if order is None:
        return []
    wanted = "refund" if "money back" in text.lower() else "track"
    return [{"tool": f"{wanted}_order", "input": {"order": order[0]}}]


class Support(BaseHTTPRequestHandler):
    conversations = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not (id := asked.get("conversation")):
            Support.conversations += 1
            id = f"c{Support.conversations}"
        steps = steps_for(asked["message"])
        answer = {"conversation": id, "reply": "Done." if steps else "Which order?", "steps": steps}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the tests say enough."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8765), Support).serve_forever()
