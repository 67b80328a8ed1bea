"""The world of `shop.tooleval.json`: the orders and the stock of a shop."""

from __future__ import annotations

from typing import Any


class Shop:
    """Orders and stock. Public methods are the tools, public attributes the state."""

    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {
            "A1": {"item": "lamp", "price": 40, "city": "Oslo", "status": "shipped"},
            "B7": {"item": "desk", "price": 310, "city": "Bergen", "status": "packed"},
            "C3": {"item": "chair", "price": 95, "city": "Tromso", "status": "delayed"},
            "D4": {"item": "sofa", "price": 780, "city": "Oslo", "status": "packed"},
            "E5": {"item": "shelf", "price": 130, "city": "Trondheim", "status": "shipped"},
        }
        self.stock = {"lamp": 12, "desk": 0, "chair": 4, "sofa": 2, "shelf": 31}

    def get_order(self, order: str) -> dict[str, Any]:
        """Look up an order: its item, price, city and status.

        Args:
            order: The number of the order, such as A1.
        """
        if order not in self.orders:
            raise LookupError(f"there is no order {order}")
        return dict(self.orders[order])

    def get_stock(self, item: str) -> int:
        """How many pieces of an item the shop has.

        Args:
            item: The name of the item, such as lamp.
        """
        if item not in self.stock:
            raise LookupError(f"there is no item {item}")
        return self.stock[item]

    def cancel_order(self, order: str) -> dict[str, Any]:
        """Cancel an order.

        Args:
            order: The number of the order, such as A1.
        """
        self.orders[order]["status"] = "cancelled"
        return {"cancelled": order}

    def change_city(self, order: str, city: str) -> dict[str, Any]:
        """Send an order to another city.

        Args:
            order: The number of the order, such as A1.
            city: The name of the new city.
        """
        self.orders[order]["city"] = city
        return {"order": order, "city": city}
