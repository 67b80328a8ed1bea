"""Pass and fail of BFCL's conversations against its own checker, on calls wrong in many ways.

All 200 cases of each category are tried at night, else a sample of two.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from bfcl_data import bfcl_suite
from nightly import ALL, at_night

from pytest_tooleval.scoring.trial import score_messages
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite

pytest.importorskip("bfcl_eval")
pytest.importorskip("mpmath")

CHECKER = "bfcl_eval.eval_checker.multi_turn_eval"
CATEGORIES = ("base", "miss_func", at_night("miss_param"), at_night("long_context"))
CASES = 200 if ALL else 10

Call = tuple[str, dict[str, Any]]
Turn = list[list[Call]]  # steps of calls


class Category:
    """The suite of a category, and what BFCL's checker needs to know of its entries."""

    def __init__(self, category: str) -> None:
        spec = importlib.import_module("bfcl_eval")
        data = Path(str(spec.__file__)).parent / "data"
        questions = data / f"BFCL_v4_multi_turn_{category}.json"
        answers = data / "possible_answer" / questions.name
        self.suite: Suite = parse_suite(json.dumps(bfcl_suite(questions)))
        self.entries = {line["id"]: line for line in map(json.loads, questions.read_text().splitlines())}
        truths = map(json.loads, answers.read_text().splitlines())
        self.truths: dict[str, list[list[str]]] = {each["id"]: each["ground_truth"] for each in truths}
        self.tried = random.Random(3).sample([*self.truths], CASES)

    def ours(self, id: str, turns: list[Turn]) -> bool:
        case = self.suite.case(id)
        messages: list[dict[str, Any]] = []
        for number, turn in enumerate(turns):
            messages.append({"role": "user", "content": f"turn {number}"})
            for step in turn:
                calls = [{"function": {"name": n, "arguments": json.dumps(a)}} for n, a in step]
                messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages.append({"role": "assistant", "content": "Done."})
        return score_messages(self.suite, case, messages).passed

    def theirs(self, id: str, turns: list[Turn]) -> bool:
        if len(turns) != len(self.truths[id]):  # as `_evaluate_single_multi_turn_entry` does
            return False
        checker = importlib.import_module(f"{CHECKER}.multi_turn_checker")
        decoded = [[[_text(call) for call in step] for step in turn] for turn in turns]
        with_fresh_objects()
        verdict = checker.multi_turn_checker(decoded, self.truths[id], self.entries[id], "", "model")
        return bool(verdict["valid"])

    def right(self, id: str) -> list[Turn]:
        """The ground truth, each call a step."""
        turns = self.suite.case(id).turns or []
        return [[[(str(c.tool), c.params or {})] for c in turn.calls or ()] for turn in turns]


def _text(call: Call) -> str:
    name, arguments = call
    return f"{name}({','.join(f'{key}={value!r}' for key, value in arguments.items())})"


_LISTS: list[tuple[Any, Any]] = []


def with_fresh_objects() -> None:
    """Drop what the checker keeps of earlier conversations: its objects, and what those share."""
    utils = importlib.import_module(f"{CHECKER}.multi_turn_utils")
    for name in [name for name in vars(utils) if name.endswith("_instance")]:
        delattr(utils, name)
    posting = importlib.import_module(f"{CHECKER}.func_source_code.posting_api")
    posting.TwitterAPI.post_tweet.__defaults__ = ([], [])
    travel = importlib.import_module(f"{CHECKER}.func_source_code.travel_booking")
    if not _LISTS:
        for shared in (travel.CREDIT_CARD_EXTENSION, travel.BOOKING_RECORD_EXTENSION):
            _LISTS.append((shared, copy.deepcopy(shared)))
    for shared, before in _LISTS:
        shared.update(copy.deepcopy(before))


class Mistakes:
    """Calls that differ from the right one, some of which are right as well."""

    def __init__(self, category: Category, seed: int) -> None:
        self._random = random.Random(seed)
        self._category = category
        self._known: dict[str, list[dict[str, Any]]] = {}
        for id in category.truths:
            for name, arguments in _calls(category.right(id)):
                self._known.setdefault(name, []).append(arguments)

    def of(self, id: str) -> Iterator[list[Turn]]:
        right = self._category.right(id)
        kinds = [
            *(self._drop, self._swap, self._change, self._change, self._change, self._add, self._add),
            *(self._look, self._move, self._empty, self._misspell, self._cut, self._invent, self._merge),
            *(self._repeat, self._forget, self._stray),
        ]
        while True:
            turns = copy.deepcopy(right)
            for kind in self._random.choices(kinds, k=self._random.choice([1, 1, 1, 2, 4])):
                kind(id, turns)
            yield turns

    def _somewhere(self, turns: list[Turn]) -> tuple[Turn, int]:
        """A turn with steps, and one of these; the first turn anew where there is none."""
        full = [turn for turn in turns if turn]
        if not full:
            turns[0] = [[("pwd", {})]]
            full = [turns[0]]
        turn = self._random.choice(full)
        return turn, self._random.randrange(len(turn))

    def _drop(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        del turn[at]

    def _repeat(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        turn.insert(at, copy.deepcopy(turn[at]))

    def _swap(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        turn[at - 1], turn[at] = turn[at], turn[at - 1]

    def _merge(self, id: str, turns: list[Turn]) -> None:
        """All calls in one step."""
        turn, _ = self._somewhere(turns)
        turn[:] = [[call for step in turn for call in step]]

    def _move(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        step = turn.pop(at)
        other = self._random.choice(turns)
        other.insert(self._random.randint(0, len(other)), step)

    def _empty(self, id: str, turns: list[Turn]) -> None:
        self._random.choice(turns).clear()

    def _cut(self, id: str, turns: list[Turn]) -> None:
        if self._random.random() < 0.3 and len(turns) > 1:
            turns.pop()

    def _forget(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        _, arguments = turn[at][0]
        if arguments:
            del arguments[self._random.choice(list(arguments))]

    def _misspell(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        name, arguments = turn[at][0]
        turn[at] = [
            (self._random.choice([name.upper(), name.title(), f"api.{name}", "exit"]), arguments)
        ]

    def _change(self, id: str, turns: list[Turn]) -> None:
        turn, at = self._somewhere(turns)
        name, arguments = turn[at][0]
        if arguments:
            key = self._random.choice(list(arguments))
            others = [known[key] for known in self._known.get(name, ()) if key in known]
            arguments[key] = self._changed(arguments[key], others)
        else:
            arguments["all"] = True

    def _changed(self, value: Any, others: list[Any]) -> Any:
        choices: list[Any] = [*others[:1], self._random.choice(others) if others else None, None]
        if isinstance(value, (bool, int, float)):
            choices += [
                str(value),
                float(value),
                int(value),
                bool(value),
                value + 1,
                value - 0.5,
                -value,
            ]
        elif isinstance(value, str):
            choices += [value.lower(), value.title(), f"{value} (new)", f"{value}\n", value[:-1], ""]
            choices += [int(value)] if value.isdigit() else []
        elif isinstance(value, list):
            choices += [value[::-1], value[1:], [*value, *value], "x", []]
        elif isinstance(value, dict):
            choices += [{**value, "x": 1}, {}]
        return copy.deepcopy(self._random.choice(choices))

    def _add(self, id: str, turns: list[Turn]) -> None:
        """Any call of a tool that the conversation has, offered or not."""
        turn = self._random.choice(turns)
        turn.insert(self._random.randint(0, len(turn)), [self._any_call(id)])

    def _any_call(self, id: str) -> Call:
        tool = self._random.choice(self._category.suite.case(id).tools or []).definition
        known = self._known.get(tool.name)
        if known and self._random.random() < 0.8:
            return tool.name, copy.deepcopy(self._random.choice(known))
        parameters: dict[str, Any] = tool.parameters or {}
        kinds = {
            "string": "x",
            "integer": 2,
            "number": 1.5,
            "boolean": True,
            "array": ["x"],
            "object": {},
        }
        properties = parameters.get("properties", {}).items()
        return tool.name, {key: kinds.get(str(each.get("type")), {}) for key, each in properties}

    def _look(self, id: str, turns: list[Turn]) -> None:
        """A call of a tool without arguments, most of which change nothing."""
        tools = [tool.definition for tool in self._category.suite.case(id).tools or ()]
        names = [tool.name for tool in tools if not (tool.parameters or {}).get("required")]
        if names:
            turn = self._random.choice(turns)
            turn.insert(self._random.randint(0, len(turn)), [(self._random.choice(names), {})])

    def _invent(self, id: str, turns: list[Turn]) -> None:
        if self._random.random() < 0.2:
            turns[:] = [[[self._any_call(id)] for _ in range(self._random.randint(0, 3))] for _ in turns]

    def _stray(self, id: str, turns: list[Turn]) -> None:
        """A call where there is nothing to do."""
        empty = [turn for turn in turns if not turn]
        if empty:
            self._random.choice(empty).append([self._any_call(id)])


def _calls(turns: list[Turn]) -> Iterator[Call]:
    return (call for turn in turns for step in turn for call in step)


@pytest.fixture(scope="module", params=CATEGORIES)
def category(request: pytest.FixtureRequest) -> Category:
    return Category(request.param)


def test_every_ground_truth_passes(category: Category) -> None:
    assert len(category.truths) == 200
    for id in category.tried:
        assert category.ours(id, category.right(id)), id


def test_agrees_with_the_checker_on_everything_else(category: Category) -> None:
    mistakes = Mistakes(category, 1)
    verdicts = {True: 0, False: 0}
    for id in category.tried:
        for turns in islice(mistakes.of(id), 1):
            verdict = category.theirs(id, turns)
            verdicts[verdict] += 1
            assert category.ours(id, turns) == verdict, f"{id}: {turns}"
    assert min(verdicts.values()) > CASES / 10
    print(verdicts)


def test_positional_arguments_are_named_as_the_method_names_them(category: Category) -> None:
    for id, truth in category.truths.items():
        texts = [text for turn in truth for text in turn]
        for text, (name, arguments) in zip(texts, _calls(category.right(id)), strict=True):
            call = ast.parse(text, mode="eval").body
            assert isinstance(call, ast.Call)
            assert len(call.args) + len(call.keywords) == len(arguments), (name, text)
