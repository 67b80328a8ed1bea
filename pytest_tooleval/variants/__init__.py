"""Variants: pure functions that return a case under another condition."""
