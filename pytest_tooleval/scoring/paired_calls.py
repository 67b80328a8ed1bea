"""Several expected calls, paired with those that were made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import reduce

from msgspec import structs

from ..errors import CannotCompare
from ..matchers.modes import MODES
from ..record.call_records import CallRecord
from ..record.calls import NO_TOOL, ToolCall, shown_tool
from ..record.results import Check, FailureCategory
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL, ExpectedCall, Match
from ..suite.resolved import accepts, is_unknown
from ..text import plural
from .assessment import CheckLine, Draft, Explained, ToolsAndCall
from .assignment import MAX_ACTUAL, MAX_EXPECTED, Assignment, Row, call_count, pair
from .ends import agent_lines, end_lines, end_share
from .extra_calls import UNEXPECTED, surplus_lines, weigh
from .one_call import RIGHT, CorrectShare, check_arguments, check_tool, share_of

_NONE_NEEDED = "no tool was called, and none had to be"


class PairedCalls:
    """Several expected calls, or none: the best pairing's total over max(expected, actual).

    Extra calls are ignored with the `match` contains and where "*" is expected, and missing ones with
    within. A missing optional call is not expected. `ended` says how each call ended, where a status or
    a result may be expected. `pairing` has indexes of expected and actual calls.
    """

    def __init__(
        self,
        case: ResolvedCase,
        expected: Sequence[ExpectedCall],
        calls: Sequence[ToolCall],
        *,
        in_order: bool,
        match: Match = "exact",
        ended: Sequence[CallRecord] = (),
    ) -> None:
        self._case = case
        self._calls = calls
        self._ended = ended
        self._expected = expected
        self._in_order = in_order
        self._takes_any = any(ANY_TOOL in each.tools for each in expected)
        self._match: Match = "contains" if self._takes_any and match == "exact" else match
        self._rules = MODES[case.param_scoring]
        if len(self._expected) > MAX_EXPECTED:
            most = f"at most {MAX_EXPECTED} can be scored; split the case"
            raise CannotCompare(f"{len(self._expected)} calls are expected, {most}", "expected_calls")
        self._rows = [
            Row(
                [self._share(index, number) for number in range(len(calls[:MAX_ACTUAL]))],
                expected.params is not None or expected.has_end or expected.agent is not None,
                expected.optional,
            )
            for index, expected in enumerate(self._expected)
        ]
        self.pairing = self._pair(self._in_order)
        pairs = self.pairing.pairs
        self._due = self._awaited(self.pairing)
        actual = len(pairs) if self._takes_any else len(calls)
        self._denominator = call_count(self._match, len(self._due), actual)
        broken = {i: calls[j] for i, j in pairs.items() if calls[j].arguments is None}
        self.malformed = next(iter(broken.values()), None)
        self._scored = [i for i in self._due if self._rows[i].scored or i in broken]
        more = len(calls) > len(self._due)
        self.extra = self._surplus(self.pairing) if more else []

    def _pair(self, in_order: bool) -> Assignment:
        if not self._rows or not self._calls:
            return Assignment({}, (), Fraction(0), 0.0)
        return pair(self._rows, in_order=in_order, match=self._match)

    def _awaited(self, pairing: Assignment) -> list[int]:
        """The indexes of the expected calls that count: all but missing optional ones."""
        expected = enumerate(self._expected)
        return [i for i, each in expected if not each.optional or i in pairing.pairs]

    @property
    def right_indexes(self) -> list[int]:
        """The indexes of the expected calls that were made with all their arguments right."""
        shares = zip(self.pairing.pairs, self.pairing.shares, strict=True)
        return [i for i, share in shares if share.flaw is None]

    def _share(self, index: int, number: int) -> CorrectShare | None:
        expected, call = self._expected[index], self._calls[number]
        if not accepts(expected.tools, call.name, self._case):
            return None
        try:
            share = share_of(self._case, expected.params, call)
        except CannotCompare as error:
            raise error.within(f"expected_calls[{index}].params") from None
        more: list[CorrectShare] = []
        if expected.agent is not None:
            is_right = call.is_by(expected.agent)
            more.append(CorrectShare(int(is_right), 1, None if is_right else "wrong_agent"))
        try:
            if expected.has_end and self._ended:
                more.append(end_share(expected, self._ended[number], self._rules))
        except CannotCompare as error:
            raise error.within(f"expected_calls[{index}].result") from None
        # Params of {} count as one right argument, unless they are unreadable.
        counts = share is not None and (expected.params or share.flaw or not more)
        return reduce(CorrectShare.with_more, [share, *more] if share and counts else more or [RIGHT])

    def drafts(self) -> dict[str, Draft]:
        pairing, scored, most = self.pairing, self._scored, self._denominator
        accuracy = pairing.arguments / len(scored) if scored else None
        return {
            "tool_selection": Draft(len(pairing.pairs) / most if most else 1.0, self._explain_tools),
            "parameter_accuracy": Draft(accuracy, self._explain_arguments),
            "overall": Draft(pairing.total / most if most else 1.0, self._explain_overall),
        }

    def failure(self, failing: Collection[str] = ()) -> FailureCategory | None:
        flaw = next((share.flaw for share in self.pairing.shares if share.flaw is not None), None)
        if flaw is not None and failing == {"parameter_accuracy"}:
            return flaw
        if not self._expected:
            return "unexpected_call" if self._calls else None
        if not self._calls:
            return "missing_call" if self._due else None
        if len(self.pairing.pairs) < self._denominator:
            free = self._pairing_in_any_order()
            surplus = self._surplus(free)
            missing = len(free.pairs) < len(self._awaited(free))
            if any(is_unknown(self._case, call) for call in surplus):
                return "hallucinated_tool"
            if surplus:
                return "wrong_tool" if missing else "surplus_call"
            if missing:
                return "missing_call"
        if self._in_order and self._pair(in_order=False).total > self.pairing.total:
            return "wrong_order"
        return flaw

    def pairs(self) -> list[ToolsAndCall]:
        """Each expected call with its actual one; unpaired calls replace missing ones in order."""
        free = self._pairing_in_any_order()
        surplus = iter(self._surplus(free))
        pairs: list[ToolsAndCall] = []
        for index in self._awaited(free):
            j = free.pairs.get(index)
            call = next(surplus, None) if j is None else self._calls[j]
            pairs.append((self._expected[index].tools, call))
        pairs += [((), call) for call in surplus]
        return pairs or [((), None)]

    def _pairing_in_any_order(self) -> Assignment:
        """The best pairing in any order."""
        return self._pair(in_order=False) if self._in_order else self.pairing

    def _surplus(self, pairing: Assignment) -> list[ToolCall]:
        if self._takes_any:
            return []
        paired = set(pairing.pairs.values())
        return [call for j, call in enumerate(self._calls) if j not in paired]

    def _explain_tools(self) -> Explained:
        if not self._expected:
            return self._explain_none()
        lines = []
        for i, expected in enumerate(self._expected):
            line = check_tool(self._case, expected.tools, self._paired(i), f"call {i + 1}")
            if i not in self._due:
                line = CheckLine(
                    structs.replace(line.check, value=1.0, reason="optional, not made"), None
                )
            lines.append(line)
        surplus = self._surplus(self.pairing)
        lines += surplus_lines(self._case, self._expected, surplus, in_order=self._in_order)
        count = len(self.pairing.pairs)
        if not self._denominator:
            return _NONE_NEEDED, lines
        return f"{count} of {self._denominator} calls to the right tool{self._counts()}", lines

    def _explain_none(self) -> Explained:
        if not self._calls:
            row = Check("tool", NO_TOOL, NO_TOOL, 1.0, "as expected")
            return "no tool was called, as expected", [CheckLine(row, None)]
        rows = (
            Check("tool", NO_TOOL, shown_tool(call), 0.0, "no tool should be called")
            for call in self._calls
        )
        lines = [CheckLine(row, UNEXPECTED) for row in rows]
        return f"{plural(len(lines), 'call')}, but none is expected", lines

    def _explain_arguments(self) -> Explained:
        if not self._expected:
            return "no call is expected", ()
        if not self._scored:
            what = "params, a status, a result or an agent"
            return f"no expected call has {what}: arguments are not scored", ()
        lines: list[CheckLine] = []
        for i in self._scored:
            params, call, place = self._expected[i].params, self._paired(i), f"call {i + 1}"
            lines += check_arguments(self._case, params or {}, call, place)
            j = self.pairing.pairs.get(i)
            lines += agent_lines(self._expected[i], call, place)
            record = self._ended[j] if self._ended and j is not None else None
            lines += end_lines(self._expected[i], record, self._rules, place)
        return f"mean over {len(self._scored)} expected calls; a missing call counts 0", lines

    def _explain_overall(self) -> Explained:
        if not self._expected:
            return self._explain_none()
        if not self._denominator:
            return _NONE_NEEDED, ()
        parts = []
        for i in self._due[:10]:
            j = self.pairing.pairs.get(i)
            share = None if j is None else self._share(i, j)
            parts.append(f"{0.0 if share is None else weigh(1.0, share.value):.4g}")
        value, terms = self.pairing.total / self._denominator, " + ".join(parts) or 0
        more = " + …" * (len(self._due) > 10)
        return f"{value:.4g} = ({terms}{more}) / {self._denominator}{self._counts()}", ()

    def _paired(self, index: int) -> ToolCall | None:
        j = self.pairing.pairs.get(index)
        return None if j is None else self._calls[j]

    def _counts(self) -> str:
        if len(self._due) == len(self._calls):
            return ""
        return f" ({len(self._due)} expected, {len(self._calls)} made)"
