"""The conversations of the Berkeley Function Calling Leaderboard (the categories multi_turn_...).

The checker runs the calls of the model and of the ground truth on objects of its own classes, and
compares their states and answers after each turn that has a ground truth. In a suite, that is
`match: "state"` and `results: true` on the world `BFCL`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import SuiteError
from ..explain import listing, show
from .openai_tools import typed
from .records import UnusableError, read_records

WORLD = "pytest_tooleval.worlds.bfcl:BFCL"
# Next to the questions: a file of functions for each class.
_FOLDER = "multi_turn_func_doc"
_FILES = {
    "GorillaFileSystem": "gorilla_file_system.json",
    "MathAPI": "math_api.json",
    "MessageAPI": "message_api.json",
    "TwitterAPI": "posting_api.json",
    "TicketAPI": "ticket_api.json",
    "TradingBot": "trading_bot.json",
    "TravelAPI": "travel_booking.json",
    "VehicleControlAPI": "vehicle_control.json",
}
_NEW_TOOLS = "I have updated some more functions you can choose from. What about now?"
# One ground truth has 34 calls in a turn. BFCL stops a conversation after 21 steps with calls, and still
# judges it if that was in the last turn.
_MAX_ROUNDS = 40

Json = dict[str, Any]


class _Entry(Struct):
    question: list[list[Json]]
    involved_classes: list[str]
    initial_config: Json
    missed_function: dict[str, list[str]] = {}


def functions_of(entry: Any, folder: Path) -> list[Json]:
    """The functions of the classes of an entry, from the files next to the questions."""
    classes = typed(entry, _Entry, "the entry").involved_classes
    unknown = [name for name in classes if name not in _FILES]
    if unknown:
        raise UnusableError(f'"involved_classes": {show(unknown[0])} is none of {listing(_FILES)}')
    return [function for name in classes for function in _functions(folder / _FOLDER / _FILES[name])]


def _functions(file: Path) -> list[Json]:
    records, problems = read_records(file)
    if problems:
        raise SuiteError(problems)
    return [_function(record.value) for record in records]


def _function(function: Json) -> Json:
    """The function with its answer in the description, as the leaderboard has it for most models."""
    kept = {key: value for key, value in function.items() if key != "response"}
    answer = json.dumps(function.get("response", {}))
    about = f"{function['description']} The response field has the following schema: {answer}"
    return {**kept, "description": about}


def conversation(entry: Any, truth: Any, functions: list[Json]) -> Json:
    """The fields of a case for an entry and its ground truth, without id and tools."""
    asked = typed(entry, _Entry, "the entry")
    calls = typed(truth, list[list[str]], "the answer's ground_truth")
    if len(calls) != len(asked.question):
        expected = len(asked.question)
        raise UnusableError(f"the answer has {len(calls)} turns, but the question has {expected}")
    parameters = {each["name"]: list(each["parameters"]["properties"]) for each in functions}
    classes, configs = asked.involved_classes, asked.initial_config
    config = {name: configs[name] for name in classes if name in configs}
    args: Json = {"classes": classes, "config": config}
    if "long_context" in entry["id"] or "composite" in entry["id"]:
        args["long_context"] = True
    turns = [
        dict(_turn(messages, asked.missed_function.get(str(number), []), calls[number], parameters))
        for number, messages in enumerate(asked.question)
    ]
    return {
        "turns": turns,
        "match": "state",
        "results": True,
        "exact_state": True,
        "max_rounds": _MAX_ROUNDS,
        "world": WORLD,
        "world_args": args,
        "thresholds": {"arguments_valid": None},
    }


def _turn(
    messages: list[Json], new_tools: list[str], calls: list[str], parameters: Mapping[str, list[str]]
) -> Iterator[tuple[str, Any]]:
    if not messages and not new_tools:
        raise UnusableError('"question": a turn without messages')
    yield "prompt", prompt_of(messages) if messages else _NEW_TOOLS
    if new_tools:
        yield "new_tools", new_tools
    if calls:  # without calls in the ground truth, the checker does not check the turn
        yield "expected_calls", [_call(text, parameters) for text in calls]


def prompt_of(messages: list[Json]) -> Any:
    """The text of the user's message, or all messages if there are others."""
    if len(messages) == 1 and isinstance(messages[0], dict) and messages[0].get("role") == "user":
        return messages[0].get("content")
    return messages


def _call(text: str, parameters: Mapping[str, list[str]]) -> Json:
    """`cd(folder='document')` or `cd('document')` as an expected call."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        positional = [ast.literal_eval(each) for each in call.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        json.dumps([positional, named], allow_nan=False)
    except (SyntaxError, TypeError, ValueError):
        raise UnusableError(f"the answer's {show(text)} is not a call with plain values") from None
    name = call.func.id
    if name not in parameters:
        raise UnusableError(f"the answer calls {show(name)}, which is not among the functions")
    return {"tool": name, "params": {**dict(zip(parameters[name], positional, strict=False)), **named}}
