"""What a result belongs to, and names for it that no two share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import Annotated

from msgspec import Struct

from .fields import doc


class Identity(Struct, frozen=True, gc=False):
    """A case on a model. An empty part means any.

    The file is part of it, because suites in several files may share a name.
    """

    suite: Annotated[str, doc("The suite's name.")]
    case: Annotated[str, doc("The case's id; empty: all cases.")] = ""
    file: Annotated[str, doc("The suite's file, relative to pytest's root folder.")] = ""
    model: Annotated[str, doc("The model's label; empty: all models.")] = ""
    variant: Annotated[str, doc("The variant of the case; empty: the unchanged case.")] = ""

    @property
    def of_case(self) -> Identity:
        """The case on any model and under any variant."""
        return Identity(self.suite, self.case, self.file)

    def under(self, variant: str) -> Identity:
        """The same case on the same model, under this variant."""
        return Identity(self.suite, self.case, self.file, self.model, variant)

    @property
    def of_suite(self) -> Identity:
        return Identity(self.suite, file=self.file)

    def suite_name(self, shared: Container[str]) -> str:
        """The suite's name, with its file if several files share it."""
        return f"{self.suite} ({self.file})" if self.file and self.suite in shared else self.suite

    def case_name(self, shared: Container[str]) -> str:
        """The case's id, after its file if several files share the suite's name."""
        return f"{self.file}::{self.case}" if self.file and self.suite in shared else self.case


def shared_names(identities: Iterable[Identity]) -> tuple[str, ...]:
    """The names of suites that several files have."""
    names = Counter(each.suite for each in {each.of_suite for each in identities})
    return tuple(sorted(name for name, files in names.items() if files > 1))


def suite_names(identities: Iterable[Identity]) -> dict[Identity, str]:
    """The suites and their names, with the file where several files share the name."""
    suites = dict.fromkeys(each.of_suite for each in identities)
    shared = shared_names(suites)
    return {each: each.suite_name(shared) for each in suites}
