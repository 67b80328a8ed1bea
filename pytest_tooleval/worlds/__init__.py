"""Worlds: Python objects whose methods are a case's tools and whose attributes are its state."""
