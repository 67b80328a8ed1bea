"""Worlds: Python objects whose methods are the tools of a case, and whose attributes are its state."""
