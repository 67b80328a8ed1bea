"""A scripted OpenAI-compatible server for tests, on a free port of this machine.

    with MockServer(latency=0.0, faults={"429": 10}) as server:
        server.base_url, server.requests, server.repeats

It answers as the question says: a prompt that holds "in PLACE?" gets a call of the first tool with
`{"city": PLACE}`, every other one a plain text. `script(request) -> message | None` overrides that.
"""
