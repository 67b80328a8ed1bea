"""The error of comparisons, which do not know the place of its cause in the suite."""

from __future__ import annotations


class CannotCompare(Exception):
    """A comparison that the suite asks for cannot be made.

    Callers prepend to `place` what they know of it; `score_transcript` raises a `ScoringError` instead.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def within(self, outer: str) -> CannotCompare:
        """The same error, with its place seen from one level further out."""
        dot = "" if not self.place or self.place.startswith("[") else "."
        return CannotCompare(self.message, outer + dot + self.place)
