"""Checks on a suite's model: errors, and warnings about probable mistakes."""
