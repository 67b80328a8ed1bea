"""The results of a run, and its verdict on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..record.document import Document, RowsDocument
from ..record.results import CaseRow, KeptCase, KeptCases
from ..record.run import Run
from ..verdicts.gating import Gating
from ..verdicts.run import RunVerdict, decide_run
from ..verdicts.sides import FindSuite
from ..verdicts.summary import file_order, rows_document, whole_document


class RunResults:
    """The results of a run so far, by node id.

    `models` are the labels of the models in their order. `suites` finds its suites if they are loaded.
    Without `is_whole`, the JSON of passed cases is dropped.
    """

    def __init__(
        self,
        gating: Gating,
        models: Iterable[str],
        suites: FindSuite | None = None,
        *,
        is_whole: bool = True,
    ) -> None:
        self.cases: dict[str, KeptCase] = {}
        self.verdict = RunVerdict()
        self._gating = gating
        self._order = file_order(models)
        self._suites = suites
        self.is_whole = is_whole

    def add(self, case: KeptCase) -> None:
        """Keep a case's result, in place of an earlier one."""
        is_read = self.is_whole or case.row.outcome != "passed"
        self.cases[case.row.nodeid] = case if is_read else KeptCase(case.row)

    @property
    def rows(self) -> list[CaseRow]:
        """The rows in file order, whatever the order in which they came."""
        return [kept.row for kept in self._in_order(self.cases.values())]

    @property
    def counted_by_gates(self) -> list[KeptCase]:
        """Cases that did not pass and that a gate judges, or `tooleval merge`."""
        return self._in_order(kept for kept in self.cases.values() if kept.row.counted)

    def _in_order(self, cases: Iterable[KeptCase]) -> list[KeptCase]:
        return sorted(cases, key=lambda kept: self._order(kept.row))

    def decide(
        self, run: Run, without_known_case: Sequence[str] = (), test_files: Collection[str] = ()
    ) -> RunVerdict:
        """Judge the gates and the baseline; see `decide_run`."""
        by = self._gating
        rows = self.rows if by.gates or by.baseline or by.cases_needed_by else []
        self.verdict = decide_run(rows, run, by, without_known_case, self._suites, test_files)
        return self.verdict

    def document(self, run: Run) -> RowsDocument:
        """The results so far without transcripts and explanations."""
        return rows_document(run, self.rows, self.verdict.gates, self.verdict.comparison)

    def whole_document(self, run: Run) -> Document:
        """The results so far, with transcripts and explanations."""
        kept, verdict = self._in_order(self.cases.values()), self.verdict
        rows = [case.row for case in kept]
        document = rows_document(run, rows, verdict.gates, verdict.comparison, intervals=True)
        settled = map(KeptCase.with_row, kept, document.cases)
        return whole_document(document, KeptCases([case.json for case in settled]))
