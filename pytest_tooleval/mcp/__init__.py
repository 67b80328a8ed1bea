"""MCP servers: how to reach them, and the tools they offer.

Only this package imports the official SDK, and only to connect to a server.
"""
