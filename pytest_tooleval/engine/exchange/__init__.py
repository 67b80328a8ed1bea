"""Requests to a model, its answers, and errors."""
