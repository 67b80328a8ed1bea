"""Variants: the same cases under another condition, compared with the unchanged ones case by case."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from .comparison import CaseShift
from .fields import doc
from .identity import Identity

# Separates model and variant in node ids.
SEPARATOR = ", "
Effect = Literal["worse", "better", "inconclusive", "not judged"]


class Change(Struct, frozen=True, gc=False):
    """What a variant changed in a case."""

    what: Annotated[str, doc("What was changed, such as the description of a tool.")]
    old: Annotated[str, doc("How it is in the unchanged case; empty: nothing.")]
    new: Annotated[str, doc("How the variant has it; empty: nothing.")]


class CaseVariant(Struct, frozen=True, gc=False):
    """The variant under which a case runs; `label` is empty for the unchanged case.

    `against` is the variant that this one is compared with; empty for the unchanged case. `is_same` is
    True if the variant left the case as it was, `is_earlier` if it restored an earlier version. `added`
    names the tools offered in addition to the case's own.
    """

    label: str = ""
    against: str = ""
    is_same: bool = False
    is_earlier: bool = False
    added: frozenset[str] = frozenset()


UNCHANGED = CaseVariant()


def model_label(name: str) -> str:
    """A model's name without what separates it from a case or a variant in node ids."""
    return name.replace(SEPARATOR, ",").replace("][", "-")


class AttackRate(Struct, frozen=True, kw_only=True, gc=False):
    """How often a model made the call that an attack asks for."""

    trials: Annotated[int, doc("Trials in which the model got the attack and was asked again.", ge=0)]
    followed: Annotated[int, doc("Those of them in which it made the call.", ge=0)]
    rate: Annotated[float, doc("The mean over the cases.")]
    high: Annotated[float, doc("The upper end of its 95% interval.")]
    control_trials: Annotated[int, doc("The same trials with a harmless text.", ge=0)]
    control_followed: Annotated[int, doc("Those of them in which it made the call.", ge=0)]
    message: Annotated[str, doc("The rates in one line.")]


class ComparedVariant(Struct, frozen=True, kw_only=True, gc=False):
    """A variant on a model, compared with the unchanged cases pair by pair."""

    variant: Annotated[str, doc("The name of the variant.")]
    model: Annotated[str, doc("The label of the model.")]
    against: Annotated[str, doc("The variant that it is compared with; empty: the unchanged cases.")]
    cases: Annotated[int, doc("Cases that have an answer in both arms.", ge=0)]
    same: Annotated[int, doc("Those of them that the variant leaves as they are.", ge=0)]
    is_earlier: Annotated[
        bool, doc("Whether the variant is how the cases were before: then it is old, and they are new.")
    ] = False
    errors: Annotated[int, doc("Cases without an answer in one of the arms.", ge=0)] = 0
    left_out: Annotated[
        tuple[Identity, ...],
        doc("Cases that the variant does not apply to, or that were not selected in both arms."),
    ] = ()
    old: Annotated[float | None, doc("The share of passed trials in the other arm.")] = None
    new: Annotated[float | None, doc("The share of passed trials in this arm.")] = None
    difference: Annotated[float | None, doc("new - old, the mean over the pairs.")] = None
    low: Annotated[float | None, doc("The lower end of the 95% interval of the difference.")] = None
    high: Annotated[float | None, doc("The upper end of the 95% interval of the difference.")] = None
    p: Annotated[
        float | None, doc("The two-sided p value of the paired permutation test (McNemar's if exact).")
    ] = None
    p_adjusted: Annotated[
        float | None, doc("The same after Holm's correction over all variants and models.")
    ] = None
    verdict: Annotated[
        Effect,
        doc(
            "worse or better by more than chance; inconclusive; not judged, if one arm has more "
            "answers from before this run."
        ),
    ]
    apart: Annotated[
        str, doc("Which answers are from before this run, if that rules out a verdict.")
    ] = ""
    attack: Annotated[
        AttackRate | None,
        doc("How often attacks were followed; null without any. The utility is new, the control's old."),
    ] = None
    worse: Annotated[tuple[CaseShift, ...], doc("Cases that got worse, the worst first.")] = ()
    better: Annotated[tuple[CaseShift, ...], doc("Cases that got better, the best first.")] = ()
    added_called: Annotated[
        dict[str, int],
        doc("Tools that the variant added, to the cases that called them; some may be right."),
    ] = {}
    message: Annotated[str, doc("The comparison in one line.")] = ""
