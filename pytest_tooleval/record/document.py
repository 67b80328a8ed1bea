"""The result document: what `--tooleval-json` writes and every other report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from typing import Literal

from msgspec import Meta
from msgspec import Struct

from .comparison import Comparison
from .confusion import Confusion
from .gates import Gate
from .results import CaseResult
from .results import CaseRow
from .run import SummedRun
from .summary import ModelSummary
from .summary import SuiteSummary

VERSION: Literal[3] = 3


class RowsDocument(Struct, frozen=True, kw_only=True, gc=False):
    """The results of one run without explanations and transcripts."""

    version: Annotated[Literal[3], Meta(description="The version of this format.")] = VERSION
    run: Annotated[SummedRun, Meta(description="The run as a whole.")]
    models: Annotated[
        tuple[ModelSummary, ...],
        Meta(description="Sums over all cases of a model, in the order of the run."),
    ]
    suites: Annotated[
        tuple[SuiteSummary, ...], Meta(description="Sums over the cases of a suite on a model.")
    ]
    cases: Annotated[
        Sequence[CaseRow],
        Meta(description="Every case on every model, in the order of the files."),
    ]
    gates: Annotated[tuple[Gate, ...], Meta(description="The gates of the run.")] = ()
    confusion: Annotated[
        tuple[Confusion, ...],
        Meta(description="A model's tools, expected against called; of models that were to choose one."),
    ] = ()
    baseline: Annotated[
        Comparison | None, Meta(description="The comparison with the baseline; null without one.")
    ] = None


class Document(RowsDocument, frozen=True, kw_only=True, gc=False):
    """The results of one run."""

    cases: Annotated[
        Sequence[CaseResult],
        Meta(description="Every case on every model, in the order of the files."),
    ]

    def rows(self) -> RowsDocument:
        """The same without explanations and transcripts."""
        fields = {name: getattr(self, name) for name in RowsDocument.__struct_fields__}
        return RowsDocument(**{**fields, "cases": tuple(case.row() for case in self.cases)})
