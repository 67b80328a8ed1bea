"""MCP servers: how to reach them, and which tools they offer.

Only this package imports the official SDK, and only to connect to a server.
"""
