"""A run: its versions, options, costs and state."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

from msgspec import Struct

from .fields import doc
from .summary import Summary

# The version of the scoring rules. Raise it with every change that could give a stored transcript of an
# unchanged case another score, category or verdict: in `scoring`, in how calls, endings and replies are
# read (`record`, `engine.exchange.reply`), and in how worlds play calls.
SCORING_VERSION = 6

RunStatus = Literal["finished", "running", "killed"]
AnswersFrom = Literal["replayed", "resumed", "shared"]
RunOutcome = Literal["passed", "failed", "inconclusive", "skipped"]
# A model that is not itself judged.
HelperRole = Literal["judge", "user"]
_AS = {"judge": " (as judge)", "user": " (as user)"}


def payer(model: str, role: HelperRole | None) -> str:
    """Return the name under which a model's costs are counted."""
    return model + _AS[role] if role else model


def is_other(payer: str) -> bool:
    """True if `payer` returned this name for a judge or a simulated user."""
    return payer.endswith(tuple(_AS.values()))


class Git(Struct, frozen=True, gc=False):
    """The state of a git repository."""

    commit: Annotated[str, doc("The commit's hash.")]
    branch: Annotated[str | None, doc("The branch; null when none is checked out.")]
    dirty: Annotated[bool | None, doc("Whether files differed from the commit; null: unknown.")]
    root: Annotated[
        str | None, doc("The root folder within the repository; empty: its top; null: unknown.")
    ] = None

    def is_of(self, root: str | None) -> bool:
        """True unless this run is known to be of another root folder."""
        return None in (root, self.root) or self.root == root


class AskedModel(Struct, frozen=True, gc=False):
    """A model that was queried."""

    model: Annotated[str, doc("The model's label, as everywhere in the document.")]
    identity: Annotated[str, doc("The model behind that label, such as a litellm name.")]
    by_test: Annotated[bool, doc("Whether it is an agent that a Python test passed.")] = False


class Payments(Struct, frozen=True, gc=False):
    """The paid answers of a run, including those of discarded trials."""

    answers: Annotated[int, doc("Answers of the model, without cached ones.", ge=0)] = 0
    priced: Annotated[int, doc("The answers whose whole price is known.", ge=0)] = 0
    usd: Annotated[float, doc("Their cost in US dollars.")] = 0.0
    cancelled: Annotated[
        int, doc("Requests that were cancelled at the end of the run, and may be billed.", ge=0)
    ] = 0

    @classmethod
    def of(cls, cost_usd: float | None, at_least: bool = False, cancelled: bool = False) -> Payments:
        """Count one answer, or one request that was cancelled.

        None is an unknown price, and `at_least` a partly unknown one.
        """
        return (
            cls(cancelled=1)
            if cancelled
            else cls(1, int(cost_usd is not None and not at_least), cost_usd or 0.0)
        )

    def __add__(self, other: Payments) -> Payments:
        return Payments(
            self.answers + other.answers,
            self.priced + other.priced,
            self.usd + other.usd,
            self.cancelled + other.cancelled,
        )


def add_up(*parts: Mapping[str, Payments]) -> dict[str, Payments]:
    """Add up what was spent on each model in all parts of a run."""
    # Copy the keys, as another thread may still be counting.
    payers = dict.fromkeys(payer for part in parts for payer in list(part))
    return {payer: sum((part.get(payer, Payments()) for part in parts), Payments()) for payer in payers}


class Unreadable(Struct, frozen=True, gc=False):
    """A file that could not be collected."""

    file: Annotated[str, doc("The file, relative to the root folder.")]
    reason: Annotated[str, doc("The reason in one line, with the place if it is known.")]


class Shard(Struct, frozen=True, kw_only=True, gc=False):
    """A part of a run, which `tooleval merge` joins with the others."""

    number: Annotated[int, doc("Which shard it is.", ge=1)]
    of: Annotated[int, doc("How many shards there are.", ge=1)]
    cases: Annotated[int, doc("Cases selected for all shards, each once for each model.", ge=0)]
    split_fingerprint: Annotated[str, doc("A hash of these cases, their suites, and the shard of each.")]
    judging: Annotated[
        dict[str, Any], doc("The gates of the ini file, by option, which are judged over all shards.")
    ] = {}
    misnamed: Annotated[tuple[str, ...], doc("Transcripts that name a nonexistent case.")] = ()
    unasked: Annotated[
        int, doc("Python tests of this shard that asked nothing, so that they are no cases.", ge=0)
    ] = 0


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """The run as a whole."""

    id: Annotated[str, doc("The run's name, also in the history.")]
    started: Annotated[str, doc("When it started: ISO 8601, UTC.")]
    duration_s: Annotated[float, doc("How long it took, in seconds.", ge=0)] = 0.0
    status: Annotated[RunStatus, doc("Whether the run ended; it may have been cut short.")] = "finished"
    pytest_tooleval: Annotated[str, doc("The version of pytest-tooleval.")]
    pytest: Annotated[str, doc("The version of pytest.")]
    python: Annotated[str, doc("The version of Python.")]
    prices: Annotated[str, doc("The day of the known models' prices.")] = ""
    scoring_version: Annotated[int, doc("The version of the scoring rules; 0: unknown.", ge=0)] = 0
    exitstatus: Annotated[int | None, doc("pytest's exit status; null when unknown.")] = None
    collection_errors: Annotated[int, doc("Files that could not be collected.", ge=0)] = 0
    unreadable: Annotated[tuple[Unreadable, ...], doc("These files, with the reasons.")] = ()
    tests_failed: Annotated[
        int | None,
        doc("pytest's number of failed tests, with gates and unreadable files; null when unknown."),
    ] = None
    max_cost_usd: Annotated[float | None, doc("The value of --tooleval-max-cost.")] = None
    spent: Annotated[
        dict[str, Payments],
        doc(
            "The label of a model to what was spent on it; the label of a judge or "
            "simulated user ends in `(as judge)` or `(as user)`."
        ),
    ] = {}
    cached_answers_from: Annotated[
        AnswersFrom, doc("Where cached answers came from: a cassette, the previous run, this run.")
    ] = "shared"
    models: Annotated[tuple[AskedModel, ...], doc("The models that were asked.")] = ()
    options: Annotated[
        dict[str, Any], doc("The options of pytest-tooleval that were given, and their values.")
    ] = {}
    git: Annotated[Git | None, doc("The repository's state; null outside a repository.")] = None
    ci: Annotated[
        str, doc("The run of the CI service in which it ran, such as `github 123`; else empty.")
    ] = ""
    selected: Annotated[int, doc("Selected cases, each once for each model; 0: unknown.", ge=0)] = 0
    case_counts: Annotated[
        dict[str, int], doc("The label of a model to its number of cases, selected or not.")
    ] = {}
    why_uncompared: Annotated[
        str, doc("Why there is no comparison with the baseline that was asked for; else empty.")
    ] = ""
    unapplied: Annotated[tuple[str, ...], doc("The variants that apply to no selected case.")] = ()
    partial: Annotated[bool, doc("Whether a case of a suite was not selected or not reached.")] = False
    shard: Annotated[Shard | None, doc("Which shard of a run it is; null: it is a whole run.")] = None


class SummedRun(Run, frozen=True, kw_only=True, gc=False):
    """The run as a whole, with sums over all its cases."""

    total: Annotated[Summary, doc("Sums over all cases.")]


class RunSummary(Summary, frozen=True, kw_only=True, gc=False):
    """A run in lists: sums over its evaluated cases, and its verdict in words.

    In a list for one model or suite, the sums and `models` cover only that (and `selected` is 0), but
    the verdict, suites and gates are those of the whole run.
    """

    id: Annotated[str, doc("The run's name.")]
    started: Annotated[str, doc("When it started: ISO 8601, UTC.")]
    duration_s: Annotated[float, doc("The duration; if unfinished, until the last result.")]
    status: Annotated[RunStatus, doc("Whether the run ended; it may have been cut short.")]
    exitstatus: Annotated[int | None, doc("pytest's exit status; null when unknown.")]
    ending: Annotated[str, doc("The reason if it is incomplete; else empty.")]
    outcome: Annotated[RunOutcome, doc("The outcome that marks the verdict.")]
    verdict: Annotated[str, doc("The verdict in words.")]
    details: Annotated[tuple[str, ...], doc("The reasons by cases, gates and baseline.")]
    scoring_version: Annotated[int, doc("The scoring rules' version; 0: unknown.")]
    git: Annotated[Git | None, doc("The repository's state; null outside a repository.")]
    models: Annotated[tuple[str, ...], doc("The models with a case.")]
    suites: Annotated[tuple[str, ...], doc("The names of the suites.")]
    selected: Annotated[int, doc("The selected cases of the whole run; 0: unknown.", ge=0)]
    gates_failed: Annotated[int, doc("Gates that failed, and the baseline if it did.", ge=0)]
    is_good: Annotated[bool, doc("Whether the run may be the baseline `good`.")]
    is_partial: Annotated[
        bool, doc("Whether a case of a suite was not selected or not reached; of the listed suite.")
    ] = False
    tags: Annotated[tuple[str, ...], doc("The run's tags.")] = ()


def whole_first(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Running runs and the newest whole one, then the others: a partial run does not replace it."""
    whole = [run for run in runs if not (run.is_partial or run.status == "running")][:1]
    return sorted(runs, key=lambda run: run.status != "running" and run not in whole)


def new_run_id(started: datetime, shards: Sequence[str] = ()) -> str:
    """Return an id such as `20261122-101530-3fa9c1`: the time in UTC and a random part.

    For merged `shards`, that part is derived from their ids, so that merging again gives the same id.
    """
    part = hashlib.sha256(" ".join(shards).encode()).hexdigest()[:6] if shards else secrets.token_hex(3)
    return f"{started.astimezone(timezone.utc):%Y%m%d-%H%M%S}-{part}"
