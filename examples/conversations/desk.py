"""The world of `refunds.tooleval.json`: a shop's desk, with an order."""

from __future__ import annotations

from typing import Any


class Desk:
    """Orders of a shop. Public methods are the tools, public attributes the state."""

    def __init__(self, orders: dict[str, Any] | None = None) -> None:
        self.orders = orders or {"A1": {"customer": "ada@example.com", "total": 40, "refunded": 0}}

    def get_order(self, order: str) -> dict[str, Any]:
        """Look up an order.

        Args:
            order: The number of the order, such as A1.
        """
        if order not in self.orders:
            raise LookupError(f"there is no order {order}")
        return dict(self.orders[order])

    def refund(self, order: str, amount: float) -> dict[str, Any]:
        """Refund an order, wholly or in part.

        Args:
            order: The number of the order, such as A1.
            amount: How much to pay back.
        """
        self.orders[order]["refunded"] += amount
        return {"ok": True, "refunded": self.orders[order]["refunded"]}
