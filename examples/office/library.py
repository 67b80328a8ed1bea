"""The world of `library.tooleval.json`: a small library, its books and its members."""

from __future__ import annotations

from typing import Any

MOST_OWED = 10


class Library:
    """Which member has borrowed and reserved what, and who owes how much."""

    def __init__(self) -> None:
        self.books = {
            "B1": {"title": "Middlemarch", "author": "George Eliot", "lendable": True},
            "B2": {"title": "Emma", "author": "Jane Austen", "lendable": True},
            "B3": {"title": "Persuasion", "author": "Jane Austen", "lendable": True},
            "B4": {"title": "The Trial", "author": "Franz Kafka", "lendable": True},
            "B5": {"title": "Atlas of the World", "author": "Various", "lendable": False},
        }
        self.members: dict[str, dict[str, Any]] = {
            "M1": {"name": "Ada", "borrowed": [], "reserved": [], "owes": 0},
            "M2": {"name": "Ben", "borrowed": [], "reserved": [], "owes": 12.5},
            "M3": {"name": "Cleo", "borrowed": ["B3", "B4"], "reserved": [], "owes": 0},
        }

    def find_books(self, words: str) -> list[dict[str, Any]]:
        """Find books by words of their title or author, and who has borrowed them.

        Args:
            words: Words of the title or of the author's name.
        """
        wanted = words.casefold().split()
        found = []
        for book, about in self.books.items():
            text = f"{about['title']} {about['author']}".casefold()
            if all(word in text for word in wanted):
                found.append({"book": book, **about, "borrowed_by": self._borrower(book)})
        return found

    def get_member(self, member: str) -> dict[str, Any]:
        """What a member has borrowed and reserved, and how much they owe.

        Args:
            member: The member's number, such as M1.
        """
        if member not in self.members:
            raise LookupError(f"there is no member {member}")
        return dict(self.members[member])

    def lend_book(self, book: str, member: str) -> str:
        """Lend a book to a member.

        Args:
            book: The book's number, such as B1.
            member: The member's number, such as M1.
        """
        title, owes = self._title(book), self.get_member(member)["owes"]
        if not self.books[book]["lendable"]:
            raise PermissionError(f"{title} may only be read in the library")
        if self._borrower(book):
            raise PermissionError(f"{title} has been borrowed by somebody else")
        if owes > MOST_OWED:
            raise PermissionError(f"{member} owes {owes} and may borrow nothing before it is paid")
        self.members[member]["borrowed"].append(book)
        return f"{title} is lent to {member}"

    def take_back_book(self, book: str, member: str) -> str:
        """Take back a book that a member has borrowed.

        Args:
            book: The book's number, such as B1.
            member: The member's number, such as M1.
        """
        self.get_member(member)
        if self._borrower(book) != member:
            raise LookupError(f"{member} has not borrowed {self._title(book)}")
        self.members[member]["borrowed"].remove(book)
        return f"{self._title(book)} is back"

    def reserve_book(self, book: str, member: str) -> str:
        """Reserve a book for a member, who gets it when it is back.

        Args:
            book: The book's number, such as B1.
            member: The member's number, such as M1.
        """
        title = self._title(book)
        if book not in self.get_member(member)["reserved"]:
            self.members[member]["reserved"].append(book)
        return f"{title} is reserved for {member}"

    def cancel_reservation(self, book: str, member: str) -> str:
        """Cancel what a member has reserved.

        Args:
            book: The book's number, such as B1.
            member: The member's number, such as M1.
        """
        if book not in self.get_member(member)["reserved"]:
            raise LookupError(f"{member} has not reserved {self._title(book)}")
        self.members[member]["reserved"].remove(book)
        return f"{self._title(book)} is not reserved for {member} any more"

    def pay_fine(self, member: str, amount: float) -> dict[str, Any]:
        """Take a member's payment of what they owe.

        Args:
            member: The member's number, such as M1.
            amount: How much the member pays.
        """
        owes = self.get_member(member)["owes"]
        if not 0 < amount <= owes:
            raise ValueError(f"{member} owes {owes}, and cannot pay {amount}")
        self.members[member]["owes"] = owes - amount
        return {"paid": amount, "owes": owes - amount}

    def _title(self, book: str) -> str:
        if book not in self.books:
            raise LookupError(f"there is no book {book}")
        return str(self.books[book]["title"])

    def _borrower(self, book: str) -> str | None:
        return next((m for m, about in self.members.items() if book in about["borrowed"]), None)
