"""Variants: pure functions from a case to the same case under another condition."""
