"""The definition of a kind of case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...findings import Finding, Findings
from ..case import CaseKind, TestCase
from ..checks.scope import Check, Scope
from ..fields import OnlyFor, fields_of


def _only_for(kind: CaseKind) -> list[str]:
    fields = fields_of(TestCase).items()
    return [name for name, field in fields if OnlyFor(kind) in field.marks]


# Fields that only some kinds have, with the message for the others.
OF_CHAINS = dict.fromkeys(
    _only_for("chain"),
    'only for multi-turn cases; add "multi_turn": true, or remove this',
)
OF_CONVERSATIONS = dict.fromkeys(
    _only_for("conversation"),
    'only for conversations; write "turns": [{"prompt": ...}] instead of prompt',
)


class Kind(NamedTuple):
    """A kind of case: the fields that it cannot have, each with the reason, and its own checks.

    `part_errors` check the case and each of its turns.
    """

    name: CaseKind
    refuses: Mapping[str, str] = {}
    errors: tuple[Check, ...] = ()
    part_errors: tuple[Check, ...] = ()
    warnings: tuple[Check, ...] = ()

    def refusals(self, scope: Scope) -> Findings:
        for field in scope.case.model_fields_set & self.refuses.keys():
            if getattr(scope.case, field) != _DEFAULTS[field]:
                yield Finding((*scope.at, field), self.refuses[field], at_key=True)


_DEFAULTS = {
    name: field.get_default(call_default_factory=True) for name, field in TestCase.model_fields.items()
}
