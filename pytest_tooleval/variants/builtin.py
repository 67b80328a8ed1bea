"""The built-in variants."""

from __future__ import annotations

from msgspec import structs

from ..errors import ConfigError
from ..suite.case import ResolvedCase
from ..suite.types import MAX_TRIALS
from .distractors import distractors
from .revisions import against, undo
from .tool_answers import fault, inject, inject_control, secret
from .tools import bare, shuffle
from .variant import ChangeCase, Register, VariantContext

AGAIN = "again"


def _plain(change: ChangeCase) -> ChangeCase:
    """A change that takes no argument."""

    def plain(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
        if condition.argument:
            raise ConfigError(f"{condition.name} takes no argument")
        return change(case, condition)

    return plain


def again(case: ResolvedCase, _: VariantContext) -> ResolvedCase:
    """Run the unchanged case again, to show how much runs differ by chance."""
    return structs.replace(case, first_trial=MAX_TRIALS)


def add_built_in(register: Register) -> None:
    register(AGAIN, _plain(again))
    register("shuffle", _plain(shuffle))
    register("bare", _plain(bare))
    register("distractors", distractors)
    register("against", against, is_earlier=True)
    register("undo", undo, is_earlier=True)
    register("fault", fault)
    register("secret", _plain(secret))
    register("inject", inject, control=inject_control)
