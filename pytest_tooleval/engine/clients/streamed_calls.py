"""Joins the pieces of calls in a stream, as servers really send them.

By the API, a call's first piece has its id and name, later ones add to its arguments, and all have its
index. Servers repeat names or whole calls, send all arguments so far each time, make a new id for each
piece, and count wrongly or not at all. A piece that can belong to several calls, or to none, is kept as
unplaced: that is the server's error, never the model's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text

_KNOWN = ("index", "id", "type", "function", "custom", "name", "arguments")
_LAST = -1  # the index of a piece without one


class Arguments:
    """The JSON text of a call's arguments so far, or with `is_json` false any other text."""

    def __init__(self, *, is_json: bool = True) -> None:
        self._pieces: list[str] = []
        # Whether each piece begins with the one before.
        self._grows = is_json
        self._is_json = is_json

    @property
    def text(self) -> str:
        text = "".join(self._pieces)
        is_cumulative = self._grows and len(self._pieces) > 1 and _object_in(text) is None
        return self._pieces[-1] if is_cumulative else text

    @property
    def is_complete(self) -> bool:
        return _object_in(self.text) is not None

    def add(self, piece: str) -> bool:
        """Add a piece. False if it begins another object behind a whole one."""
        if not piece:
            return True
        begins = self._is_json and piece.lstrip().startswith("{")
        whole = _object_in(self.text) if begins else None
        if whole:
            new = _object_in(piece)
            if new is None or not _extends(whole, new):
                return False
        if whole is not None:  # as a whole once more, or after the `{}` in place of none
            self.clear()
        self._grows = self._grows and (not self._pieces or piece.startswith(self._pieces[-1]))
        self._pieces.append(piece)
        return True

    def clear(self) -> None:
        self._pieces, self._grows = [], self._is_json


def _object_in(text: str) -> dict[str, Any] | None:
    if not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _extends(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether an object is an earlier one with more in it."""
    return all(
        key in new
        and (new[key] == value or (isinstance(value, str) and as_text(new[key]).startswith(value)))
        for key, value in old.items()
    )


def text_of_arguments(arguments: object) -> str:
    """The text of a piece of arguments, which may be an object; empty for none."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


@dataclass
class _StreamedCall:
    id: object = None
    name: str = ""
    kind: str = "function"
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arguments = Arguments(is_json=self.kind != "custom")

    def whole_call(self) -> dict[str, Any]:
        name = "input" if self.kind == "custom" else "arguments"
        fields = {"name": self.name, name: self.arguments.text}
        return {"id": self.id, "type": self.kind, self.kind: fields, **self.extra}


@dataclass(frozen=True)
class _Piece:
    """A piece of a call, or a whole one, as a delta has it."""

    id: object
    index: int
    name: str
    arguments: str
    kind: str
    extra: Mapping[str, Any]

    @classmethod
    def of(cls, part: Mapping[str, Any], default: int) -> _Piece:
        """Make one. `default` counts as its index if it has none."""
        kind = "custom" if isinstance(part.get("custom"), Mapping) else "function"
        fields = as_mapping(part.get(kind)) or part
        arguments = fields.get("input" if kind == "custom" else "arguments")
        extra = {key: value for key, value in part.items() if key not in _KNOWN and value is not None}
        index = index_of(part)
        return cls(
            part.get("id") or None,
            default if index is None else index,
            as_text(fields.get("name")),
            text_of_arguments(arguments),
            kind,
            extra,
        )


def index_of(part: Mapping[str, Any]) -> int | None:
    """The index of a piece, which some servers send as text; None without one."""
    index = part.get("index")
    text = index if isinstance(index, str) else ""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


class StreamedCalls:
    """The calls of an answer so far."""

    def __init__(self) -> None:
        self._calls: list[_StreamedCall] = []
        self._at: dict[int, _StreamedCall] = {}
        self.unplaced: list[object] = []

    def add(self, parts: object) -> None:
        """Add the pieces in a delta."""
        pieces: Sequence[object] = as_list(parts) or ([parts] if parts else ())
        for number, part in enumerate(pieces):
            if not isinstance(part, Mapping):
                self.unplaced.append(part)
                continue
            piece = _Piece.of(part, number if len(pieces) > 1 else _LAST)
            if not (piece.id or piece.name or piece.arguments or piece.extra):
                continue
            call = self._call_of(piece)
            if call is None or not _added(call, piece):
                self.unplaced.append(part)

    def whole_calls(self) -> list[dict[str, Any]]:
        """The calls. Those that no piece named are unplaced."""
        self.unplaced += [call.whole_call() for call in self._calls if not call.name]
        return [call.whole_call() for call in self._calls if call.name]

    def _call_of(self, piece: _Piece) -> _StreamedCall | None:
        """The call that a piece belongs to, perhaps a new one; None if that is not clear."""
        last = self._calls[-1] if self._calls else None
        same_id = next((call for call in self._calls if piece.id and call.id == piece.id), None)
        at = self._at.get(piece.index) if piece.index != _LAST else same_id or last
        if at is None:
            return self._without_place(piece, same_id, last)
        is_other = bool(piece.id and at.id and piece.id != at.id)
        if not piece.name or not at.name:
            return (same_id or at) if is_other else at
        whole = at.arguments.is_complete
        if is_other:
            if whole or piece.name != at.name:
                return self._new(piece)
            if at.arguments.text:
                return at
            # The other call may have no arguments, or this is a piece of it.
            begins = piece.arguments and _object_in(piece.arguments) is None
            return at if begins else None
        if piece.name == at.name:
            if not whole or not piece.arguments:
                return at
            return self._repeated(piece, at)
        if whole:
            return self._new(piece)
        return None if at.arguments.text else at  # a piece of the name

    def _repeated(self, piece: _Piece, at: _StreamedCall) -> _StreamedCall | None:
        """The call of a piece that has the name of a whole call, and other arguments."""
        new, old = _object_in(piece.arguments), _object_in(at.arguments.text)
        if new == old:
            return at if piece.id or piece.index != _LAST else None
        is_cumulative = not old or (new is not None and _extends(old, new))
        return at if is_cumulative else None if piece.id else self._new(piece)

    def _without_place(
        self, piece: _Piece, same_id: _StreamedCall | None, last: _StreamedCall | None
    ) -> _StreamedCall | None:
        """The call of a piece at an index where none began."""
        if same_id is not None:
            if not piece.name or (piece.name == same_id.name and not same_id.arguments.is_complete):
                return same_id
            is_repeated = piece.name == same_id.name and (
                _object_in(piece.arguments) == _object_in(same_id.arguments.text)
            )
            return None if is_repeated else self._new(piece)
        if piece.name or (piece.id and not piece.arguments) or last is None:
            return self._new(piece)
        return None if last.arguments.is_complete else last

    def _new(self, piece: _Piece) -> _StreamedCall:
        call = _StreamedCall(id=piece.id, kind=piece.kind)
        self._calls.append(call)
        self._at[piece.index] = call
        return call


def _added(call: _StreamedCall, piece: _Piece) -> bool:
    """Add a piece to its call. False if its arguments are those of another call."""
    call.id = call.id or piece.id
    if piece.name and piece.name != call.name:
        call.name = piece.name if piece.name.startswith(call.name) else call.name + piece.name
    call.extra |= piece.extra
    return call.arguments.add(piece.arguments)
