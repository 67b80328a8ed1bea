"""Executors, which answer the tool calls of a model."""
