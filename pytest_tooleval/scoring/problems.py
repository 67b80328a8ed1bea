"""The error inside scoring, before it is known where in the suite its cause stands."""

from __future__ import annotations


class CannotCompare(Exception):
    """A comparison that the suite asks for cannot be carried out.

    `place` grows on the way up, from the parameter to the case; `score_transcript` turns the whole
    into a `ScoringError`.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def within(self, outer: str) -> CannotCompare:
        """The same error, its place seen from one level further out."""
        dot = "" if not self.place or self.place.startswith("[") else "."
        return CannotCompare(self.message, outer + dot + self.place)
