"""The suite file as pydantic models.

The models check each value on its own. `suite.load`, which reads every file, runs the checks that
compare values (duplicate ids, undefined tools).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from .. import secrets
from ..errors import ToolevalError
from ..explain import nearest
from ..keys import PublicTexts
from ..matchers.modes import ParamScoring
from ..tiers import Tier
from ..worlds.world import Memory, WorldSpec
from .case import TestCase
from .expectations import Forbidden
from .fields import Expects
from .policies import Policies
from .response_format import ResponseFormat
from .servers import ToolsFrom
from .tools import ProviderTools, ToolChoice, Tools
from .types import (
    EXAMPLE_THRESHOLDS,
    Count,
    LiveToolNames,
    Name,
    NamespaceName,
    Now,
    PassRule,
    Temperature,
    Thresholds,
    ToolPrefix,
    Trials,
    WithComment,
    WorldArgs,
    WorldName,
)

# Validation context for data already free of key values; searching a whole file is faster.
SEARCHED = object()


def suite_without_keys(suite: Any) -> Any:
    """Replace the values of key variables in a suite's data, but keep its server's address."""
    if not isinstance(suite, dict):
        return suite
    source = {name: value for name, value in suite.items() if name == "tools_from"}
    return {**secrets.without_key_values(suite), **source}


class Suite(WithComment):
    """A collection of tools and test cases."""

    TIERS: ClassVar[Mapping[Tier, str]] = {
        "everyday": "$schema name description tools system_prompt tool_choice thresholds trials pass "
        "test_cases",
        "agents": "tools_from live_tools world world_args exact_state policies forbidden_calls",
    }
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "test_cases": "cases tests",
        "tools": "functions",
        "name": "title",
    }

    schema_: str | None = Field(None, alias="$schema", description="For editors; never sent.")
    name: Name = Field(description="The name of the suite, shown in reports.")
    description: str = Field("", description="A note on the suite, for people.")
    tools: Tools = Field(
        default_factory=list, description="The tools of every case without its own, in OpenAI's format."
    )
    namespaces: Annotated[
        dict[NamespaceName, str], Expects('names and descriptions, such as {"crm": "Customers."}')
    ] = Field(default_factory=dict, description="The namespaces of tools, each with its description.")
    provider_tools: ProviderTools = Field(
        default_factory=ProviderTools,
        description="A provider's own tools, sent to that provider only. Those that act on the world "
        "run only with --tooleval-allow-tools.",
    )
    tools_from: ToolsFrom | None = Field(
        None, description="Instead of tools: a server to read them from when the suite runs."
    )
    live_tools: LiveToolNames | None = Field(
        None, description="Tools that chains call for real, on the server of tools_from, if allowed."
    )
    test_cases: Annotated[list[TestCase], Expects("a list of cases")] = Field(
        description="The test cases."
    )
    world: WorldName | None = Field(
        None,
        description='What conversations act on: "module:name" of a class, or of a function that '
        "returns objects, in a module next to the suite. Public methods are the tools, public "
        "attributes the state.",
    )
    world_args: WorldArgs | None = Field(None, description="Arguments for the world.")
    system_prompt: str | None = Field(None, description="Put before every prompt.")
    tool_choice: ToolChoice | None = Field(
        None,
        description="Whether the model must call a tool, as in a case. In conversations, required is "
        "auto.",
    )
    tool_prefix: ToolPrefix | None = Field(
        None, description="What the tools' names begin with in requests and answers; cases leave it out."
    )
    temperature: Temperature | None = Field(
        None, description="The sampling temperature of every case; default 0."
    )
    max_tokens: Count | None = Field(None, description="The most tokens in an answer.")
    response_format: ResponseFormat | None = Field(
        None, description="The form that the provider is asked to give the answers, as in a case."
    )
    param_scoring: ParamScoring | None = Field(
        None, description="How plain expected values compare; default: exact."
    )
    exact_state: bool | None = Field(
        None,
        description="With a world: whether states and results compare exactly, as some benchmarks do: "
        "40.0 in an answer is not 40, and each turn begins where the expected calls lead. By default, "
        "numbers compare by value, times by instant, and after a turn that is not judged by state, the "
        "next one begins where the model's own calls have led.",
    )
    thresholds: Thresholds | None = Field(
        None,
        description="Minimum scores by metric (of a penalty, the most), and limits such as max_calls; "
        "null removes one. Default: overall, arguments_valid, no_extra_calls and policies at 1.0; in "
        "chains completion and text at 1.0 and the penalties at 0 instead of overall; in conversations "
        "without no_extra_calls; with bfcl only overall and policies.",
        examples=[EXAMPLE_THRESHOLDS],
    )
    forbidden_calls: Forbidden | None = Field(
        None, description="Calls that fail every case, as in a case."
    )
    now: Now | None = Field(
        None,
        description="The date or instant that {{now}} stands for, and from which relative dates count, "
        "such as 2026-03-02 or 2026-03-02T10:00:00Z.",
    )
    policies: Policies = Field(
        default_factory=list, description="What must hold over all calls of every case."
    )
    trials: Trials | None = Field(None, description="The number of trials of each case; default 1.")
    pass_rule: PassRule | None = Field(
        None, alias="pass", description="How several trials of a case make one verdict, as in a case."
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Your own data; never sent.")

    _folder: Path = PrivateAttr(default=Path())
    # The index in the file of each case; empty if they are the same.
    _places: tuple[int, ...] = PrivateAttr(default=())
    _memory: Memory = PrivateAttr(default_factory=Memory)
    # The path of each value of a key variable in the file, with the name of the variable.
    _key_places: tuple[tuple[tuple[str | int, ...], str], ...] = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _search(cls, data: Any, info: ValidationInfo) -> Any:
        return data if info.context is SEARCHED else suite_without_keys(data)

    def note_rows(self, places: Sequence[int], bases: Iterable[str | None]) -> None:
        """Note the index in the file of each case, and the id there of a case with rows."""
        self._places = tuple(places)
        # The list is missing if it could not be read.
        for case, base in zip(vars(self).get("test_cases", ()), bases, strict=False):
            case._base = base

    def note_places(
        self, folder: Path, lines: Iterable[int], keys: Iterable[tuple[tuple[str | int, ...], str]]
    ) -> None:
        """Note the suite's folder, the line of each case, and the values of key variables."""
        self._folder = folder
        self._key_places = tuple(keys)
        for case, line in zip(self.test_cases, lines, strict=True):
            case._line = line

    def at_place(self, index: int) -> list[TestCase]:
        """The cases that the case at this index of the file makes: one, or one for each row."""
        if not self._places:
            return [self.test_cases[index]]
        placed = zip(self.test_cases, self._places, strict=True)
        return [case for case, position in placed if position == index]

    def place_of(self, index: int) -> int:
        """The index in the file of the case with this index."""
        return self._places[index] if self._places else index

    @cached_property
    def public_texts(self) -> PublicTexts:
        """The texts of the suite and its worlds' modules, none of which is secret."""
        return PublicTexts(self._texts)

    def _texts(self) -> list[Any]:
        worlds = (world_of(self, case) for case in self.test_cases)
        files = {world.file for world in worlds if world is not None and world.file.is_file()}
        return [self.model_dump(), *(file.read_text("utf-8", "replace") for file in files)]

    def case(self, id: str) -> TestCase:
        """The case with this id. Raises ToolevalError if there is none."""
        for case in self.test_cases:
            if case.id == id:
                return case
        near = nearest(id, [case.id or "" for case in self.test_cases])
        hint = f", did you mean {near!r}?" if near else ""
        raise ToolevalError(f"the suite {self.name!r} has no case {id!r}{hint}")


def world_of(suite: Suite, case: TestCase) -> WorldSpec | None:
    """The world of a conversation, if it has one."""
    target = suite.world if case.world is True else case.world or suite.world
    if target is None or case.kind != "conversation":
        return None
    args = suite.world_args if case.world_args is None else case.world_args
    exact = suite.exact_state if case.exact_state is None else case.exact_state
    return WorldSpec(target, suite._folder, args or {}, suite._memory, bool(exact))
