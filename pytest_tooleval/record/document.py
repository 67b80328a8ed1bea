"""The result document, which is the JSON report and the source of all other reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Struct

from .comparison import Comparison
from .fields import doc
from .gates import Gate
from .identity import shared_names
from .results import CaseResult, CaseRow, without_variants
from .run import SummedRun
from .summary import ModelSummary, SuiteSummary
from .variants import ComparedVariant

DOCUMENT_VERSION: Literal[7] = 7


class RowsDocument(Struct, frozen=True, kw_only=True, gc=False):
    """The results of one run without explanations and transcripts."""

    version: Annotated[Literal[7], doc("The version of this format.")] = DOCUMENT_VERSION
    run: Annotated[SummedRun, doc("The run as a whole.")]
    models: Annotated[tuple[ModelSummary, ...], doc("Sums over a model's cases, in the run's order.")]
    suites: Annotated[tuple[SuiteSummary, ...], doc("Sums over the cases of a suite on a model.")]
    cases: Annotated[Sequence[CaseRow], doc("Every case on every model, in the order of the files.")]
    gates: Annotated[tuple[Gate, ...], doc("The run's gates.")] = ()
    baseline: Annotated[Comparison | None, doc("The comparison with the baseline; null: none.")] = None
    variants: Annotated[
        tuple[ComparedVariant, ...],
        doc("Each variant on each model, compared with the unchanged cases."),
    ] = ()

    @property
    def plain_cases(self) -> Sequence[CaseRow]:
        """The cases without those under a variant, which sums, gates and the baseline ignore."""
        return without_variants(self.cases) if self.variants else self.cases

    @property
    def leaks(self) -> Sequence[CaseRow]:
        """The cases under a variant that fail the run, as they passed on the secret of an attack."""
        return [case for case in self.cases if case.variant and case.leaked and case.fails_run]

    @property
    def shared_names(self) -> tuple[str, ...]:
        """The names of suites that several files have."""
        return shared_names(row.identity for row in self.suites)


class Document(RowsDocument, frozen=True, kw_only=True, gc=False):
    """The results of one run."""

    cases: Annotated[Sequence[CaseResult], doc("Every case on every model, in the order of the files.")]

    def rows(self) -> RowsDocument:
        """Return the document without explanations and transcripts."""
        fields = {name: getattr(self, name) for name in RowsDocument.__struct_fields__}
        return RowsDocument(**{**fields, "cases": tuple(case.row() for case in self.cases)})
