"""Variants by name: `NAME[:ARGUMENT]`, as on the command line and in node ids, and what they change."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from ..errors import ConfigError
from ..record.variants import CaseVariant
from ..suite.case import ResolvedCase
from ..suite.model import Suite
from ..text import near

# A function, so that the suites are only loaded when needed.
LoadSuites = Callable[[], Sequence[Suite]]


class VariantContext(NamedTuple):
    """The context in which a variant changes a case.

    `argument` is the text after the variant's name and a colon, `file` the suite's file, and `root`
    pytest's root folder. `collected` loads the suites named on the command line.
    """

    name: str
    argument: str
    suite: Suite
    file: Path
    root: Path
    collected: LoadSuites

    def random(self, case: ResolvedCase) -> random.Random:
        """Return a generator with the same seed in each run, whatever the variant's argument."""
        return random.Random(f"{self.name}\n{case.suite}\n{case.id}")


# Returns the case under the condition, or None if it does not apply. Raises ConfigError for a bad
# argument.
ChangeCase = Callable[[ResolvedCase, VariantContext], ResolvedCase | None]
# Adds a variant, as `Variants.register` does.
Register = Callable[..., None]


class Variant(NamedTuple):
    """A condition under which cases run; `label` is its name in node ids.

    It is compared with the variant `against`, or with the unchanged cases if that is empty. With
    `is_earlier`, it shows the cases as they were before.
    """

    label: str
    name: str
    argument: str
    change: ChangeCase
    against: str = ""
    is_earlier: bool = False

    def of(
        self, case: ResolvedCase, suite: Suite, file: Path, root: Path, collected: LoadSuites
    ) -> ResolvedCase | None:
        """Return the case under this condition; None if it does not apply. Raises ConfigError."""
        condition = VariantContext(self.name, self.argument, suite, file, root, collected)
        changed = self.change(case, condition)
        if changed is None:
            return None
        names = {tool.name for tool in case.tools}
        added = frozenset(tool.name for tool in changed.tools) - names
        is_same = changed is case or changed == case
        # Renamed tools are not added tools.
        is_renamed = len(added) == len(names) == len(changed.tools)
        variant = CaseVariant(
            self.label,
            self.against,
            is_same,
            self.is_earlier,
            frozenset() if is_renamed or self.is_earlier else added,
        )
        return structs.replace(changed, variant=variant)


class Variants:
    """The known variants."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[ChangeCase, ChangeCase | None, bool]] = {}

    def register(
        self,
        name: str,
        change: ChangeCase,
        *,
        control: ChangeCase | None = None,
        is_earlier: bool = False,
    ) -> None:
        """Add a variant, compared with the cases under its `control`, else with the unchanged ones.

        With `is_earlier`, it shows the cases as they were, and differences go from it to today's cases.
        Raises ConfigError if the name is taken or cannot be part of a node id.
        """
        if not name.replace("-", "_").isidentifier():
            raise ConfigError(f"variant {name!r}: expected a name of letters, digits and hyphens")
        if name in self._kinds:
            raise ConfigError(f"variant {name!r}: this name is already registered")
        self._kinds[name] = (change, control, is_earlier)

    def select(self, text: str) -> list[Variant]:
        """Return the variants named by `NAME[:ARGUMENT]`; commas in its first part give several.

        Raises ConfigError for an unknown name.
        """
        if not text.isprintable() or re.search(r"[\[\]]|::", text):
            raise ConfigError(
                f"variant {text!r}: expected no brackets, '::' or control characters, because it becomes"
                " part of node ids"
            )
        name, colon, tail = text.partition(":")
        if name not in self._kinds:
            hint = near(name, self._kinds) or f"; expected one of {', '.join(sorted(self._kinds))}"
            raise ConfigError(f"unknown variant {name}{hint}")
        change, control, is_earlier = self._kinds[name]
        first, more, rest = tail.partition(":")
        variants = []
        for part in first.split(","):
            argument = part.strip() + more + rest
            label, against = name + colon + argument, ""
            if control is not None:
                against = f"{name}-control{colon}{argument}"
                variants.append(Variant(against, name, argument, control))
            variants.append(Variant(label, name, argument, change, against, is_earlier))
        return variants
