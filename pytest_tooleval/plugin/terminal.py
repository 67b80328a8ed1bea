"""What a person sees: scores beside the words, a heartbeat on long waits, the table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING
from typing import Any

import pytest

from ..engine.models.spec import LEXICAL
from ..reports.comparison import aligned
from ..reports.comparison import render_comparison
from ..reports.run_text import fallbacks_text
from ..rows import was_expected
from ..suite.model import METRICS
from ..suite.model import PENALTIES
from ..text import counted
from ..text import printable
from .settings import NO_MODEL

if TYPE_CHECKING:
    from .session import EvalSession

_SOURCES = {
    "replayed": "replayed from the cassette",
    "resumed": "taken over from the last run",
    "shared": "shared with a case that asks the same",
}
_HEARTBEAT_S = 15.0
_MISSES_SHOWN = 20
_FILES = {"json": "results", "html": "report", "markdown": "summary", "csv": "table"}
_TITLES = {
    "overall": "overall",
    "tool_selection": "tool",
    "parameter_accuracy": "params",
    "arguments_valid": "valid args",
    "redundancy_penalty": "redundancy",
    "detour_penalty": "detours",
}
_COLOURS = {"passed": "green", "failed": "red", "error": "red"}


class Terminal:
    """Registered in every process; a worker of xdist has no terminal and stays silent."""

    def __init__(self, config: pytest.Config, session: EvalSession) -> None:
        self._config = config
        self._session = session
        self._summarising = False
        self._last_sign = time.monotonic()
        session.on_wait = self._heartbeat

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, Any, Any]:
        status = yield
        row = getattr(report, "tooleval", None)
        # The short summary calls this as well; there the plain word is what people search for.
        if not isinstance(row, dict) or self._summarising:  # a text in a worker of xdist
            return status
        allowed = isinstance(report, pytest.TestReport) and report.skipped
        if row["outcome"] == "error" and allowed and not hasattr(report, "wasxfail"):
            return "unanswered", "e", ("UNANSWERED", {"yellow": True})
        if getattr(report, "when", None) != "call":
            return status
        category, letter, word = status
        overall = row["scores"].get("overall")
        self._last_sign = time.monotonic()
        if report.skipped and not hasattr(report, "wasxfail"):
            score = "" if overall is None else f" {overall:.2f}"
            return "missed", "m", (f"MISSED{score}", {"yellow": True})
        if overall is None or not isinstance(word, str) or category not in _COLOURS:
            return status
        return category, letter, (f"{word} {overall:.2f}", {_COLOURS[category]: True})

    def _heartbeat(self, waited_s: float) -> None:
        """One line on a long silence, so that a slow model does not look like a hang."""
        now = time.monotonic()
        reporter = self._reporter
        if reporter is None or now - self._last_sign < _HEARTBEAT_S:
            return
        self._last_sign = now
        capture: Any = self._config.pluginmanager.getplugin("capturemanager")
        text = f"tooleval: waiting for answers, {waited_s:.0f} s for this one, {self._progress}"
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            if reporter._tw.width_of_current_line:  # after the dots, too
                reporter.write_line("")
            reporter.write_line(text)

    @property
    def _progress(self) -> str:
        return f"{self._session.waiting} more cases asked"

    @property
    def _reporter(self) -> pytest.TerminalReporter | None:
        found: pytest.TerminalReporter | None = self._config.pluginmanager.getplugin("terminalreporter")
        return found

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, object, object]:
        self._summarising = True
        result = yield
        if self._session.rows and not self._silent:
            write_summary(terminalreporter, self._session)
        for problem in self._session.unwritten:
            terminalreporter.write_line(problem, red=True, bold=True)
        for command in self._session.annotations:
            terminalreporter.write_line(command)
        resumable = self._session.rows and self._session.settings.cassette is None
        if exitstatus == pytest.ExitCode.INTERRUPTED and resumable and not self._silent:
            terminalreporter.write_line("--tooleval-resume takes over the answers that have come")
        return result

    @property
    def _silent(self) -> bool:
        # pytest 9 calls the hook in spite of --no-summary.
        return bool(self._config.option.no_summary) or self._config.option.verbose < -1


def write_summary(reporter: pytest.TerminalReporter, session: EvalSession) -> None:
    """The table of models and suites, then what a reader must not miss."""
    document = session.document(whole=False)
    reporter.write_sep("=", "tool calling")
    unnamed = sum(row["model"] == "" for row in session.rows.values())
    models = [row for row in document["models"] if row["model"]]
    if models:
        suites = [row for row in document["suites"] if row["model"]]
        files = {row["file"]: row["suite"] for row in suites}
        names = list(files.values())
        # Two files may hold suites of one name.
        suites = [
            {**row, "suite": f"{row['suite']} ({row['file']})"} if names.count(row["suite"]) > 1 else row
            for row in suites
        ]
        rows = [*suites, *({**row, "suite": "all suites"} for row in models)]
        several = len(files) > 1
        shown = rows if several else suites
        for number, line in enumerate(render_table(shown)):
            reporter.write_line(line, bold=number == 0)
    for line in notes(document):
        reporter.write_line(line, yellow=True)
    for path, lines in session.damaged_cassettes.items():
        numbers = ", ".join(map(str, lines))
        reporter.write_line(
            f"cassette {path}: line {numbers} cannot be read and was left out", yellow=True
        )
    if unnamed:
        cases = f"{unnamed} test cases were" if unnamed > 1 else "1 test case was"
        reporter.write_line(f"{cases} NOT EVALUATED: {NO_MODEL}", red=True, bold=True)
    if session.keeper is not None and session.keeper.problem:
        reporter.write_line(printable(session.keeper.problem), yellow=True)
    _write_missed(reporter, document["cases"])
    if session.comparison is not None:
        for line in render_comparison(session.comparison):
            reporter.write_line(line)
    for gate in session.gates:
        mark, colour = ("passed", "green") if gate["passed"] else ("FAILED", "red")
        reporter.write_line(f"gate {mark}: {printable(gate['message'])}", **{colour: True, "bold": True})
    if session.unjudged:
        reporter.write_line(
            "gates and baseline were not judged: the run was cut short", red=True, bold=True
        )
    if not session.unwritten:
        for format, file in session.settings.files.items():
            reporter.write_line(f"{_FILES[format]}: {file}")


def _write_missed(reporter: pytest.TerminalReporter, cases: Sequence[Mapping[str, Any]]) -> None:
    """One line for each case that a gate let pass by, as pytest shows no section for them."""
    missed = [case for case in cases if case["outcome"] == "missed" and not was_expected(case)]
    for case in missed[:_MISSES_SHOWN]:
        reporter.write_line(
            f"missed: {printable(case['nodeid'])} - {printable(case['reason'])}", yellow=True
        )
    if len(missed) > _MISSES_SHOWN:
        reporter.write_line(f"missed: {len(missed) - _MISSES_SHOWN} more", yellow=True)


def render_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table's lines, header first: counts, mean of each metric, tokens, cost, latency."""
    found = dict.fromkeys(metric for row in rows for metric in row["metrics"])
    order = [*METRICS, *PENALTIES]
    metrics = sorted(found, key=lambda m: order.index(m) if m in order else len(order))
    counts = [name for name in ("missed", "errors", "skipped") if any(row[name] for row in rows)]
    counts = ["cases", "passed", "failed", *counts]
    shown_last = [
        *((f"pass{sign}{k}", _reliability(sign, k)) for sign in "@^" for k in _most_trials(rows)),
        ("tokens", _tokens),
        ("reasoning", _reasoning),
        ("cost", _cost),
        ("latency", _latency),
    ]
    extras = [(name, [show(row) for row in rows]) for name, show in shown_last]
    extras = [(name, column) for name, column in extras if set(column) != {"-"}]
    header = ["model", "suite", *counts, *(_TITLES.get(m, m) for m in metrics)]
    cells = [[*header, *(name for name, _ in extras)]]
    for i, row in enumerate(rows):
        means = [row["metrics"].get(metric, {}).get("mean") for metric in metrics]
        cells.append(
            [
                printable(row["model"]),
                printable(row["suite"]),
                *(str(row[name]) for name in counts),
                *("-" if mean is None else f"{mean:.2f}" for mean in means),
                *(column[i] for _, column in extras),
            ]
        )
    return aligned(cells, texts=(0, 1))


def _most_trials(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The k of the columns pass@k and pass^k: the most trials of a case; none with one trial each."""
    trials = {row["reliability"]["trials"] for row in rows if row["reliability"]}
    return [max(trials)] if trials else []


def _reliability(sign: str, k: int) -> Callable[[Mapping[str, Any]], str]:
    def show(row: Mapping[str, Any]) -> str:
        value = ((row["reliability"] or {}).get(f"pass{sign}k") or {}).get(str(k))
        return "-" if value is None else f"{value:.2f}"

    return show


def _tokens(row: Mapping[str, Any]) -> str:
    tokens = row["tokens"]
    known = [tokens[kind] for kind in ("prompt", "completion") if tokens[kind] is not None]
    return f"{sum(known):,}" if known else "-"


def _reasoning(row: Mapping[str, Any]) -> str:
    """Those of the tokens that went into reasoning, if any did."""
    return f"{row['tokens']['reasoning']:,}" if row["tokens"]["reasoning"] else "-"


def _latency(row: Mapping[str, Any]) -> str:
    """Seconds a trial took on average."""
    return "-" if row["latency_s"] is None else f"{row['latency_s']:.2f} s"


def _cost(row: Mapping[str, Any]) -> str:
    """Dollars; a `+` says that the price of some answers is unknown."""
    cost = row["cost_usd"]
    if cost is None:
        return "-"
    return f"${cost:.4f}" + ("+" if row["priced"] < row["trials"] else "")


def notes(document: Mapping[str, Any]) -> list[str]:
    """What the numbers alone would hide."""
    lines = []
    run = document["run"]
    for row in document["models"]:
        name = printable(row["model"])
        if row["errors"]:
            reasons = [
                case["reason"]
                for case in document["cases"]
                if case["model"] == row["model"] and case["outcome"] == "error"
            ]
            lines.append(
                f"{name}: {counted(row['errors'], 'error')}, left out of every mean; "
                f"the first: {printable(reasons[0])}"
            )
        for k in _most_trials([row]):
            enough, answered = (row["reliability"]["cases"][str(each)] for each in (k, 1))
            if enough < answered:
                lines.append(
                    f"{name}: pass@{k} and pass^{k} are over {enough} of {answered} cases; "
                    "the others had fewer trials with an answer"
                )
        if row["fallbacks"]:
            lines.append(f"{name}: {fallbacks_text(row['fallbacks'])}")
        if row["recovered"]:
            lines.append(
                f"{name}: {counted(row['recovered'], 'answer')} had calls written as text (recovered)"
            )
        if row["cached"]:
            source = _SOURCES[document["run"].get("answers", "replayed")]
            lines.append(f"{name}: {row['cached']} of {row['trials']} answers {source}")
        if row["surplus"]:
            lines.append(
                f"{name}: {counted(row['surplus'], 'passed case')} made more calls than expected; "
                "expected_calls would count them"
            )
        unpriced = row["trials"] - row["priced"] - row["cached"]
        if run.get("max_cost_usd") is not None and unpriced > 0 and row["model"] != LEXICAL:
            lines.append(
                f"{name}: the price of {counted(unpriced, 'answer')} is unknown; --tooleval-max-cost "
                "did not count them; set input_price and output_price in the model's table"
            )
    if run.get("answers") == "resumed" and not any(row["cached"] for row in document["models"]):
        lines.append("--tooleval-resume: there was no answer to take over from a run before")
    total = run["total"]
    if total["cost_usd"] is not None and (len(document["models"]) > 1 or total["cached"]):
        known = "" if total["priced"] == total["trials"] else ", as far as prices are known"
        cost, spent = total["cost_usd"], total["spent_usd"]
        lines.append(f"cost: ${cost:.4f}, of which spent in this run: ${spent:.4f}{known}")
    return lines
