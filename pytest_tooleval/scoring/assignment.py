"""The assignment of actual to expected calls with the best score.

A pair scores 0.6 + 0.4 x arguments. The score is the total over the number of calls that count.
Optional calls count only if they are paired, so one that takes a required call's place lowers the score.
Among pairings with the same score, the one with the most required calls wins, then the one with the most
pairs, then the one with the most right arguments, so no score depends on the order of the calls. Scores
are compared as fractions, so rounding cannot decide between pairings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..suite.expectations import Match
from .one_call import NO_CALL, CorrectShare

# The cost grows with expected² x actual and replies may be hostile, so any further calls are surplus.
MAX_ACTUAL = 1000
MAX_EXPECTED = 200


class Row(NamedTuple):
    """An expected call's share of right arguments in each actual call; None for a wrong tool."""

    shares: Sequence[CorrectShare | None]
    scored: bool
    optional: bool = False


class Assignment(NamedTuple):
    """A pairing of expected with actual calls.

    `pairs` maps indexes of expected calls to those of actual ones; `shares` has the share of each pair.
    `exact` is the sum of the pairs' scores, and `arguments` that of argument accuracies, where scored.
    """

    pairs: dict[int, int]
    shares: Sequence[CorrectShare]
    exact: Fraction
    arguments: float

    @property
    def total(self) -> float:
        return float(self.exact)


def call_count(match: Match, expected: int, actual: int) -> int:
    """Return the number of calls that count, of so many expected and actual ones."""
    if match == "contains":
        return expected
    return actual if match == "within" else max(expected, actual)


def pair(rows: Sequence[Row], *, in_order: bool, match: Match = "exact") -> Assignment:
    """Return the best pairing; with `in_order`, the pairs keep the order of both lists.

    Each row has a share for every actual call; there must be at least one row and one call.
    """
    weights = _weights(rows)
    optional = [row.optional for row in rows]
    required, actual = optional.count(False), len(rows[0].shares)
    most = min(optional.count(True), actual)
    # So many optional calls can be paired without making more calls count.
    free = {"exact": min(max(0, actual - required), most), "within": most}.get(match, 0)
    best, best_key = None, None
    for limit in range(free, most + 1):
        pairs = _aligned(weights, optional, limit) if in_order else _assigned(weights, optional, limit)
        assignment = _made(rows, pairs)
        taken = sum(not optional[i] for i in pairs)
        counting = call_count(match, required + len(pairs) - taken, actual)
        score = assignment.exact / counting if counting else Fraction(1)
        key = (score, taken, len(pairs), assignment.arguments)
        if best_key is None or key > best_key:
            best, best_key = assignment, key
        elif not in_order and score < best_key[0]:
            break  # the total grows less with each optional call
    assert best is not None
    return best


def _made(rows: Sequence[Row], pairs: dict[int, int]) -> Assignment:
    shares = [rows[i].shares[j] or NO_CALL for i, j in pairs.items()]
    common = math.lcm(*[share.total for share in shares])
    right = [share.correct * (common // share.total) for share in shares]
    # 0.6 + 0.4 p = (3 + 2 p) / 5. A single division does not depend on the order of the pairs.
    total = sum(3 * common + 2 * part for part in right)
    arguments = sum(part for part, i in zip(right, pairs, strict=True) if rows[i].scored)
    return Assignment(pairs, shares, Fraction(total, 5 * common), arguments / common)


def _weights(rows: Sequence[Row]) -> list[list[int]]:
    """Return weights that rank by the total, then by required calls, pairs, and scored arguments."""
    common = math.lcm(*{share.total for row in rows for share in row.shares if share is not None})
    most_arguments = len(rows) * common + 1
    most_pairs = len(rows) + 1
    weights = []
    for row in rows:
        line = []
        for share in row.shares:
            if share is None:
                line.append(0)
                continue
            amount = share.correct * (common // share.total)
            rank = (3 * common + 2 * amount) * most_pairs + (not row.optional)
            rank = rank * most_pairs + 1
            line.append(rank * most_arguments + (amount if row.scored else 0))
        weights.append(line)
    return weights


def _aligned(weights: list[list[int]], optional: Sequence[bool], limit: int) -> dict[int, int]:
    """Return the heaviest alignment that keeps the order, as in the longest common subsequence.

    At most `limit` optional rows are used.
    """
    height, width = len(weights), len(weights[0])
    # For each number of optional rows that may still be used.
    best = [[[0] * (width + 1) for _ in range(height + 1)] for _ in range(limit + 1)]

    def taken(i: int, j: int, left: int) -> int:
        left -= optional[i]
        return weights[i][j] + best[left][i + 1][j + 1] if weights[i][j] and left >= 0 else -1

    for left in range(limit + 1):
        table = best[left]
        for i in range(height - 1, -1, -1):
            for j in range(width - 1, -1, -1):
                table[i][j] = max(taken(i, j, left), table[i + 1][j], table[i][j + 1])
    pairs: dict[int, int] = {}
    i = j = 0
    left = limit
    while i < height and j < width:
        if best[left][i][j] == taken(i, j, left):
            pairs[i] = j
            left -= optional[i]
            i, j = i + 1, j + 1
        elif best[left][i][j] == best[left][i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _assigned(weights: list[list[int]], optional: Sequence[bool], limit: int) -> dict[int, int]:
    """Return the heaviest assignment that uses each row and each column at most once.

    At most `limit` optional rows are used; columns of no call, which outweigh all, take the others.
    """
    width = len(weights[0])
    left_out = optional.count(True) - limit
    if left_out > 0:
        heaviest = sum(map(max, weights)) + 1
        weights = [
            line + [heaviest * is_optional] * left_out
            for line, is_optional in zip(weights, optional, strict=True)
        ]
    if len(weights) <= len(weights[0]):
        columns = _hungarian(weights)
    else:
        turned = [list(column) for column in zip(*weights, strict=True)]
        columns = {i: j for j, i in _hungarian(turned).items()}
    return {i: columns[i] for i in sorted(columns) if columns[i] < width and weights[i][columns[i]]}


def _hungarian(weights: list[list[int]]) -> dict[int, int]:
    """Return each row's column in a heaviest assignment; needs at least as many columns as rows.

    The shortest augmenting path form of the Hungarian algorithm (Jonker and Volgenant 1987), in
    O(rows² x columns). Index 0 of the arrays means "none".
    """
    height, width = len(weights), len(weights[0])
    row_potential = [0] * (height + 1)
    column_potential = [0] * (width + 1)
    row_of = [0] * (width + 1)
    for row in range(1, height + 1):
        row_of[0] = row
        column = 0
        slack: list[float] = [math.inf] * (width + 1)
        came_from = [0] * (width + 1)
        used = [False] * (width + 1)
        while row_of[column]:
            used[column] = True
            current, delta, nearest = row_of[column], math.inf, 0
            line, potential = weights[current - 1], row_potential[current]
            for j in range(1, width + 1):
                if used[j]:
                    continue
                reduced = -line[j - 1] - potential - column_potential[j]
                if reduced < slack[j]:
                    slack[j] = reduced
                    came_from[j] = column
                if slack[j] < delta:
                    delta, nearest = slack[j], j
            step = int(delta)
            for j in range(width + 1):
                if used[j]:
                    row_potential[row_of[j]] += step
                    column_potential[j] -= step
                else:
                    slack[j] -= step
            column = nearest
        while column:
            previous = came_from[column]
            row_of[column] = row_of[previous]
            column = previous
    return {row_of[j] - 1: j - 1 for j in range(1, width + 1) if row_of[j]}
