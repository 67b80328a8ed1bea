"""Recorded answers: where they are stored, found and replayed."""
