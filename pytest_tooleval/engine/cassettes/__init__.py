"""Recorded answers: where they are kept, found and replayed."""
