"""MCP servers: what they are, how to talk to them, and the tools they offer.

Only this package imports the official SDK, and only when a server is really asked.
"""
