"""Tests of agents in Python: calls and matchers as values, and a test's question to an agent."""
