"""Reads what a model, or whoever played one, replied: messages, calls in them, and how they ended."""
