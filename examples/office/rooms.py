"""The world of `rooms.tooleval.json`: an office's meeting rooms and who has booked them."""

from __future__ import annotations

from typing import Any


class Rooms:
    """Meeting rooms and their bookings."""

    def __init__(self) -> None:
        self.rooms = {"Ada": 4, "Grace": 10, "Edsger": 10}
        self.bookings = {
            1: _booking("Grace", "2026-12-01", "09:00", "12:00", "Interviews", "kim@example.com"),
            2: _booking("Ada", "2026-12-02", "14:00", "15:00", "One to one", "li@example.com"),
            3: _booking("Ada", "2026-12-02", "16:00", "17:00", "Retrospective", "sam@example.com"),
            4: _booking("Grace", "2026-12-03", "10:00", "11:00", "Planning", "sam@example.com"),
            5: _booking("Edsger", "2026-12-03", "10:00", "12:00", "Workshop", "kim@example.com"),
        }

    def list_bookings(self, date: str) -> list[dict[str, Any]]:
        """All bookings of a day, with their numbers.

        Args:
            date: The day, as YYYY-MM-DD.
        """
        return [{"number": n, **b} for n, b in self.bookings.items() if b["date"] == date]

    def find_free_rooms(self, date: str, start: str, end: str, people: int = 1) -> list[dict[str, Any]]:
        """Rooms that are free all the time and have seats enough.

        Args:
            date: The day, as YYYY-MM-DD.
            start: When the meeting begins, as HH:MM.
            end: When the meeting ends, as HH:MM.
            people: How many people come.
        """
        return [
            {"room": room, "seats": seats}
            for room, seats in self.rooms.items()
            if seats >= people and not self._taken(room, date, start, end)
        ]

    def book_room(
        self, room: str, date: str, start: str, end: str, title: str, owner: str
    ) -> dict[str, Any]:
        """Book a room.

        Args:
            room: The name of the room.
            date: The day, as YYYY-MM-DD.
            start: When the meeting begins, as HH:MM.
            end: When the meeting ends, as HH:MM.
            title: What the meeting is called.
            owner: The e-mail address of whoever books.
        """
        if room not in self.rooms:
            raise LookupError(f"there is no room {room}; there are {', '.join(self.rooms)}")
        if taken := self._taken(room, date, start, end):
            raise ValueError(f"{room} is booked by then, for {taken['title']}")
        number = max(self.bookings) + 1
        self.bookings[number] = _booking(room, date, start, end, title, owner)
        return {"number": number, **self.bookings[number]}

    def move_booking(self, number: int, start: str, end: str) -> dict[str, Any]:
        """Move a booking to another time of the same day, in the same room.

        Args:
            number: The number of the booking.
            start: When the meeting begins from now on, as HH:MM.
            end: When the meeting ends from now on, as HH:MM.
        """
        booking = self._booked(number)
        if taken := self._taken(booking["room"], booking["date"], start, end, but=number):
            raise ValueError(f"{booking['room']} is booked by then, for {taken['title']}")
        booking.update(start=start, end=end)
        return {"number": number, **booking}

    def cancel_booking(self, number: int) -> str:
        """Cancel a booking.

        Args:
            number: The number of the booking.
        """
        booking = self._booked(number)
        del self.bookings[number]
        return f"{booking['title']} in {booking['room']} is cancelled"

    def _booked(self, number: int) -> dict[str, str]:
        if number not in self.bookings:
            raise LookupError(f"there is no booking {number}")
        return self.bookings[number]

    def _taken(
        self, room: str, date: str, start: str, end: str, but: int | None = None
    ) -> dict[str, str] | None:
        for number, each in self.bookings.items():
            same = number != but and (each["room"], each["date"]) == (room, date)
            if same and each["start"] < end and start < each["end"]:
                return each
        return None


def _booking(room: str, date: str, start: str, end: str, title: str, owner: str) -> dict[str, str]:
    return {"room": room, "date": date, "start": start, "end": end, "title": title, "owner": owner}
