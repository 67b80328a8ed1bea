"""The results of mutating a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

# docs/guides/mutation.md says what each means.
MutantKind = Literal[
    "no_call",
    "another_tool",
    "invented_tool",
    "missing_call",
    "repeated_call",
    "further_call",
    "destructive_call",
    "wrong_order",
    "wrong_replies",
    "unfinished_chain",
    "longer_chain",
    "wandering_chain",
    "malformed_arguments",
    "dropped_argument",
    "renamed_argument",
    "invented_argument",
    "wrong_value",
    "enum_neighbour",
    "off_by_one",
    "spelling",
    "as_text",
    "wrong_list",
    "nothing_said",
    "wrong_form",
    "half_done",
    "another_record",
    "wrong_end",
]
GapKind = Literal[
    "threshold",
    "params_not_scored",
    "argument_not_named",
    "undeclared_arguments",
    "equal_calls",
    "any_length",
    "any_calls",
    "free_calls",
    "calls_not_looked_at",
    "nothing_changes",
    "not_compared",
]
GAPS: Mapping[GapKind, str] = {
    "threshold": "a metric is lower, but no threshold requires it",
    "params_not_scored": "`expected_params` or `params` is not given, so no argument is checked",
    "argument_not_named": "the case does not name the argument",
    "undeclared_arguments": "the tool's schema declares no parameters",
    "equal_calls": "two expected calls are alike, so one call made twice satisfies both",
    "any_length": "without `optimal_hops` a chain may take any number of calls",
    "any_calls": 'any number of calls is right (`expected_tool: "*"`)',
    "free_calls": "the turn allows further calls, even destructive ones",
    "calls_not_looked_at": "neither the turn nor the case checks calls or state",
    "nothing_changes": "only the state is compared, and the expected calls change nothing",
    "not_compared": "only the state is compared, and it does not show what the call changes",
}


class MutantCall(Struct, frozen=True):
    """A call in an answer."""

    name: str
    arguments: dict[str, Any]


class Survivor(Struct, frozen=True):
    """A wrong answer that passes."""

    kind: Annotated[MutantKind, Meta(description="How the right answer was broken.")]
    calls: Annotated[tuple[MutantCall, ...], Meta(description="The wrong answer: all its calls.")]
    gap: Annotated[GapKind, Meta(description="What lets it pass.")]
    add: Annotated[
        str, Meta(description="The line that makes this answer fail; replace `...` by a value.")
    ]
    to: Annotated[str, Meta(description="The part of the suite to add the line to.")]


class CaseMutation(Struct, frozen=True, kw_only=True):
    """The wrong answers made from a case's right one."""

    id: Annotated[str, Meta(description="The id of the case.")]
    line: Annotated[int, Meta(description="Its line in the file.")]
    calls: Annotated[
        tuple[MutantCall, ...] | None, Meta(description="The right answer; null if none is known.")
    ]
    unknown: Annotated[str, Meta(description="Why no right answer is known, or empty.")] = ""
    mutants: Annotated[int, Meta(description="Wrong answers.")] = 0
    legal: Annotated[int, Meta(description="Changed answers that the case itself calls right.")] = 0
    survivors: Annotated[tuple[Survivor, ...], Meta(description="Wrong answers that pass.")] = ()

    @property
    def score(self) -> float | None:
        return share_noticed(self.mutants, len(self.survivors))


class SuiteMutation(Struct, frozen=True, kw_only=True):
    """The wrong answers made from a suite's right ones."""

    file: str
    name: str
    score: Annotated[
        float | None, Meta(description="Mutants that fail / mutants; null without mutants.")
    ]
    mutants: int
    survivors: int
    legal: int
    unknown: Annotated[int, Meta(description="Cases without a known right answer.")]
    skipped: Annotated[int, Meta(description="Cases that are never run.")]
    unnoticed: Annotated[
        tuple[str, ...], Meta(description="Policies that no case would notice if they were broken.")
    ] = ()
    cases: tuple[CaseMutation, ...]


class TestMutation(Struct, frozen=True, kw_only=True):
    """The wrong agents made from what the agent of a Python test did."""

    __test__: ClassVar[bool] = False

    id: Annotated[str, Meta(description="The node id of the test.")]
    agents: Annotated[int, Meta(description="Wrong agents.")] = 0
    accepted: Annotated[
        tuple[str, ...], Meta(description="What those do with which the test passes.")
    ] = ()
    untried: Annotated[str, Meta(description="Why there are none, or empty.")] = ""

    @property
    def score(self) -> float | None:
        return share_noticed(self.agents, len(self.accepted))


class Mutations(Struct, frozen=True):
    """The document of `tooleval mutate --json`."""

    suites: tuple[SuiteMutation, ...]
    tests: tuple[TestMutation, ...] = ()
    version: Literal[1] = 1


def share_noticed(mutants: int, survivors: int) -> float | None:
    """Return the mutation score; None without mutants."""
    return (mutants - survivors) / mutants if mutants else None
