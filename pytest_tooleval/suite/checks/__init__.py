"""Checks of a suite's model: what is wrong, and what is probably a mistake."""
