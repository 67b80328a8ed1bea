"""The published JSON Schema of the result document, for those who read it with other tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from typing import get_args

from ..errors import ErrorKind
from ..results import CallFormat
from ..results import FailureCategory
from ..results import Outcome
from .document import VERSION

SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/results.schema.json"
)

Schema = dict[str, Any]


def results_schema() -> Schema:
    """The JSON Schema (draft 2020-12) of the file that `--tooleval-json` writes.

    Objects of ours have all the fields named here and no others; what providers and suites made
    (chat messages, arguments) may be anything.
    """
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "pytest-tooleval results",
    }
    document = _object(
        "The results of one run.",
        {
            "version": {"const": VERSION, "description": "The version of this format."},
            "run": _ref("Run", "The run as a whole."),
            "models": _list(_ref("Model"), "Sums over all cases of a model, in the order of the run."),
            "suites": _list(_ref("Suite"), "Sums over the cases of a suite on a model."),
            "cases": _list(_ref("Case"), "Every case on every model, in the order of the files."),
            "gates": _list(_ref("Gate"), "The gates of the run, passed and failed."),
            "baseline": _nullable(
                _ref("Comparison"), "The comparison with the baseline; null without one."
            ),
        },
    )
    return {**head, **document, "$defs": dict(sorted(_definitions().items()))}


def results_schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(results_schema(), indent=2, ensure_ascii=False) + "\n"


def _definitions() -> dict[str, Schema]:
    return {
        **_run(),
        **_summaries(),
        **_cases(),
        **_transcripts(),
        **_verdicts(),
        "MetricNumbers": {
            "description": "A metric to its value; null where the metric does not apply.",
            "type": "object",
            "additionalProperties": _typed("number", null=True),
        },
    }


def _run() -> dict[str, Schema]:
    model = {
        "model": _typed("string", "The label of the model, as everywhere in this document."),
        "calls": _typed("string", "What is asked under that label, such as a litellm name."),
    }
    git = {
        "commit": _typed("string", "The hash of the commit."),
        "branch": _typed("string", "The branch; null when none is checked out.", null=True),
        "dirty": _typed("boolean", "Whether files differed from the commit; null: unknown.", null=True),
    }
    run = {
        "id": _typed("string", "The name of the run, in the history too."),
        "started": _typed("string", "When it started: ISO 8601, UTC.") | {"format": "date-time"},
        "duration_s": _count("How long it took, in seconds.", "number"),
        "pytest_tooleval": _typed("string", "The version of pytest-tooleval."),
        "pytest": _typed("string", "The version of pytest."),
        "python": _typed("string", "The version of Python."),
        "exitstatus": _typed("integer", "pytest's exit status; null when unknown.", null=True),
        "collection_errors": _count("Files that could not be collected."),
        "max_cost_usd": _typed("number", "The value of --tooleval-max-cost.", null=True),
        "answers": {
            "enum": ["replayed", "resumed", "shared"],
            "description": "Where cached answers came from: a cassette, the run before, this run.",
        },
        "models": _list(_ref("AskedModel"), "The models that were asked."),
        "options": {
            "type": "object",
            "description": "The options of pytest-tooleval that were given, and their values.",
        },
        "git": _nullable(_ref("Git"), "The state of the repository; null outside of one."),
        "partial": {
            "type": "boolean",
            "description": "Whether some case of a suite was not selected, or did not come to its turn.",
        },
        "status": {
            "enum": ["running", "killed"],
            "description": "Only in a document from the history, of a run that did not finish.",
        },
        "total": _ref("Summary", "Sums over all cases."),
    }
    return {
        "Run": _object("The run as a whole.", run, optional=("status",)),
        "AskedModel": _object("A model that was asked.", model),
        "Git": _object("The state of a git repository.", git),
    }


def _summaries() -> dict[str, Schema]:
    summary = {
        "cases": _count("Cases, counted once for each model."),
        "passed": _count("Cases that passed."),
        "failed": _count("Cases that failed."),
        "missed": _count("Cases below their thresholds in a run with an aggregate gate, or xfail."),
        "errors": _count("Cases without an answer to judge."),
        "skipped": _count("Cases that were not run."),
        "metrics": {
            "type": "object",
            "description": "A metric to its mean over the passed, failed and missed cases.",
            "additionalProperties": _ref("Mean"),
        },
        "reliability": _nullable(
            _ref("Reliability"), "pass@k and pass^k; null when every case had one trial."
        ),
        "trials": _count("Trials with an answer."),
        "cached": _count("Trials whose answers were not asked for now."),
        "surplus": _count("Passed cases with calls beyond the expected ones."),
        "recovered": _count("Trials whose calls were written as text."),
        "tool_choice_fallbacks": _count("Cases whose tool_choice was refused."),
        "tokens": _ref("Tokens", "Tokens of all trials."),
        "cost_usd": _known("What the answers cost, cached ones too, in US dollars.", "number"),
        "spent_usd": _known("What the answers that were asked for now cost.", "number"),
        "priced": _count("Trials whose cost is known."),
        "latency_s": _known("The mean latency of a trial in seconds.", "number"),
    }
    mean = {
        "mean": _typed("number", "The mean, weighted by the cases' weights."),
        "n": _count("The cases that have a value."),
        "low": _typed("number", "The lower bound of the 95% interval."),
        "high": _typed("number", "The upper bound of the 95% interval."),
    }
    by_k = {"type": "object", "propertyNames": {"pattern": "^[1-9][0-9]*$"}}
    reliability = {
        "trials": _count("The most trials of a case."),
        "cases": {
            **by_k,
            "description": "k to the number of cases that have so many trials: those of the means.",
            "additionalProperties": {"type": "integer", "minimum": 0},
        },
        "pass@k": {
            **by_k,
            "description": "k to the chance that at least one of k trials passes.",
            "additionalProperties": _typed("number"),
        },
        "pass^k": {
            **by_k,
            "description": "k to the chance that all of k trials pass.",
            "additionalProperties": _typed("number"),
        },
    }
    tokens = {
        "prompt": _known("Tokens of the prompts."),
        "completion": _known("Tokens of the answers."),
    }
    label = {"model": _typed("string", "The label of the model; empty when none was named.")}
    suite = {
        "suite": _typed("string", "The name of the suite."),
        "file": _typed("string", "Its file, relative to pytest's root folder."),
    }
    return {
        "Summary": _object("Sums over cases.", summary),
        "Model": _object("Sums over all cases of a model.", {**label, **summary}),
        "Suite": _object("Sums over the cases of a suite on a model.", {**label, **suite, **summary}),
        "Mean": _object("The mean of a metric.", mean, optional=("low", "high")),
        "Reliability": _object("pass@k and pass^k, means over cases.", reliability),
        "Tokens": _object("Numbers of tokens.", tokens),
    }


def _cases() -> dict[str, Schema]:
    case = {
        "nodeid": _typed("string", "pytest's node id."),
        "suite": _typed("string", "The name of the suite."),
        "case": _typed("string", "The id of the case."),
        "model": _typed("string", "The label of the model; empty when none was named."),
        "outcome": {"enum": list(get_args(Outcome)), "description": "What came of it."},
        "scores": _ref("MetricNumbers", "Means over the trials that have an answer."),
        "thresholds": {
            "type": "object",
            "description": "A metric to the least score that passes.",
            "additionalProperties": _typed("number"),
        },
        "reason": _typed("string", "Why it did not pass, in one line; else empty."),
        "weight": _typed("number", "The weight of the case in means."),
        "tags": _list(_typed("string"), "The tags of the case."),
        "tool_choice": _typed("string", "The tool_choice that the case asks for."),
        "file": _typed("string", "The suite's file, relative to pytest's root folder."),
        "line": _count("The line of the case in it, from 1; 0 when unknown."),
        "position": _count("The place of the case in the suite, from 0."),
        "content": _fingerprint("Of what the case asks and expects."),
        "suite_content": _fingerprint("Of the suite's file."),
        "suite_cases": _count("The cases of the suite, selected or not."),
        "pass_rule": {
            "type": "string",
            "pattern": "^(mean|all|any|[1-9][0-9]*/[1-9][0-9]*)$",
            "description": "How the trials make the verdict.",
        },
        "passes": _count("Trials that passed."),
        "scored": _count("Trials with an answer."),
        "trials": _list(_ref("Trial"), "The trials of the case."),
    }
    trial = {
        "trial": _count("The number of the trial, from 0."),
        "passed": _typed("boolean", "Whether every metric with a threshold reached it."),
        "scores": {
            "type": "object",
            "description": "A metric to its score.",
            "additionalProperties": _ref("Score"),
        },
        "failure": {
            "enum": [*get_args(FailureCategory), None],
            "description": "The category that a failed trial counts under.",
        },
        "extra_calls": _count("Calls beyond the expected ones."),
        "format": {
            "enum": [*get_args(CallFormat), None],
            "description": "native, or recovered when calls were written as text.",
        },
        **_measures(),
        "cached": _typed("boolean", "Whether every answer came from a cassette or an earlier run."),
        "tool_choice": _typed("string", "The tool_choice that was sent last.", null=True),
        "transcript": _nullable(_ref("Transcript"), "The conversation; null without an answer."),
        "error": _nullable(_ref("Error"), "Why there is no answer; null when there is one."),
    }
    score = {
        "value": _typed("number", "The score; null where the metric does not apply.", null=True),
        "explanation": _typed("string", "Why it is what it is; may be empty when the case passed."),
        "checks": _list(_ref("Check"), "The comparisons behind it; may be empty likewise."),
    }
    check = {
        "what": _typed("string", "What was compared, such as a parameter."),
        "expected": _typed("string", "What was expected, as text."),
        "actual": _typed("string", "What came, as text."),
        "value": _typed("number", "What it counts, from 0 to 1."),
        "reason": _typed("string", "Why it counts that."),
    }
    error = {
        "kind": {"enum": list(get_args(ErrorKind)), "description": "The kind of the error."},
        "message": _typed("string", "What went wrong."),
    }
    return {
        "Case": _object("A case on a model.", case),
        "Trial": _object("One trial of a case.", trial),
        "Score": _object("A score with its explanation.", score),
        "Check": _object("One comparison behind a score.", check),
        "Error": _object("Why nothing can be said of the model.", error),
    }


def _measures() -> dict[str, Schema]:
    return {
        "latency_s": _known("Seconds until the answer; of a cached one as it was recorded.", "number"),
        "prompt_tokens": _known("Tokens of the prompt."),
        "completion_tokens": _known("Tokens of the answer."),
        "cost_usd": _known("The cost in US dollars.", "number"),
    }


def _transcripts() -> dict[str, Schema]:
    message = {"type": "object", "description": "A message in the form of the chat API."}
    transcript = {
        "prompt": _list(_ref("Message"), "The messages that the case supplies."),
        "rounds": _list(_ref("Round"), "The answers of the model, in order."),
    }
    round_ = {
        "reply": _ref("Reply", "What the model answered."),
        "answers": _list(_ref("Message"), "What its calls were answered."),
    }
    reply = {
        "message": _ref("Message", "The message as it came."),
        "calls": _list(_ref("Call"), "The calls in it."),
        "format": {
            "enum": list(get_args(CallFormat)),
            "description": "native, or recovered when the calls were written as text.",
        },
        "tool_choice": _typed("string", "The tool_choice that was sent.", null=True),
        "finish_reason": _typed("string", "Why the answer ended.", null=True),
        **_measures(),
        "cached": _typed("boolean", "Whether it came from a cassette or an earlier run."),
    }
    call = {
        "name": _typed("string", "The tool."),
        "arguments": _typed("object", "The arguments; null when they are not an object.", null=True),
        "raw_arguments": _typed("string", "The arguments as they came, if as text.", null=True),
        "id": _typed("string", "The id of the call.", null=True),
    }
    return {
        "Message": message,
        "Transcript": _object("A whole conversation.", transcript),
        "Round": _object("An answer of the model, and the answers of the tools to it.", round_),
        "Reply": _object("An answer of the model.", reply),
        "Call": _object("A call of a tool.", call),
    }


def _verdicts() -> dict[str, Schema]:
    gate = {
        "kind": {"enum": ["fail_under", "errors", "baseline"], "description": "The kind of gate."},
        "name": _typed("string", "A short name."),
        "model": _typed("string", "The model judged; null for all.", null=True),
        "suite": _typed("string", "The suite judged; null for all.", null=True),
        "tag": _typed("string", "The tag judged; null for all cases.", null=True),
        "metric": _typed("string", "The metric judged.", null=True),
        "needed": _typed("number", "The value that passes.", null=True),
        "value": _typed("number", "The value reached.", null=True),
        "low": _typed("number", "The lower bound of its interval.", null=True),
        "high": _typed("number", "The upper bound of its interval.", null=True),
        "confidence": _typed("number", "The value of --tooleval-confidence.", null=True),
        "cases": _count("The cases judged."),
        "errors": _count("The cases among them without an answer."),
        "passed": _typed("boolean", "Whether the gate passed."),
        "message": _typed("string", "All of it in one line."),
    }
    comparison = {
        "old": _ref("ComparedRun", "The baseline."),
        "new": _ref("ComparedRun", "The run compared with it."),
        "alpha": _typed("number", "The level of significance."),
        "max_drop": _typed("number", "The drop that is allowed: --tooleval-max-drop."),
        "models": _list(_ref("ComparedModel"), "The models, paired."),
        "cases": _ref("ComparedCases", "What became of the baseline's cases."),
        "failed": _typed("boolean", "Whether the comparison fails the run."),
        "message": _typed("string", "All of it in one line."),
    }
    run = {
        "name": _typed("string", "What the user called it."),
        "id": _typed("string", "The id of the run; null when unknown.", null=True),
        "started": _typed("string", "When it started; null when unknown.", null=True),
        "git": _nullable(_ref("Git"), "The state of the repository; null when unknown."),
    }
    model = {
        "old": _typed("string", "The label in the baseline."),
        "new": _typed("string", "The label now."),
        "cases": _count("The cases compared."),
        "metrics": _list(_ref("ComparedMetric"), "The metrics; pass is the share of passed trials."),
        "flips": _list(_ref("Flip"), "Cases that passed always and now fail always."),
        "flips_p": _typed("number", "The p value of the flips.", null=True),
        "flips_p_adjusted": _typed("number", "The same after Holm's correction.", null=True),
        "flips_failed": _typed("boolean", "Whether the flips fail the run."),
        "worse": _list(_ref("Moved"), "Cases that got worse."),
        "better": _list(_ref("Moved"), "Cases that got better."),
    }
    metric = {
        "metric": _typed("string", "The metric, or pass."),
        "suite": _typed("string", "The suite that it is of; null for all of them.", null=True),
        "old": _typed("number", "The mean in the baseline."),
        "new": _typed("number", "The mean now."),
        "drop": _typed("number", "old - new."),
        "n": _count("The cases that have a value in both."),
        "p": _typed("number", "The p value."),
        "p_adjusted": _typed("number", "The same after Holm's correction."),
        "test": {"enum": ["sign-flip", "McNemar"], "description": "The test."},
        "significant": _typed("boolean", "Whether the difference is significant."),
        "failed": _typed("boolean", "Whether it fails the run."),
    }
    case = {
        "suite": _typed("string", "The name of the suite."),
        "case": _typed("string", "The id of the case."),
    }
    passes = "Trials that passed of those with an answer, such as 4/5, "
    flip = {
        **case,
        "old": _typed("string", passes + "in the baseline."),
        "new": _typed("string", passes + "now."),
    }
    moved = {
        **case,
        "old": _typed("number", "overall in the baseline.", null=True),
        "new": _typed("number", "overall now.", null=True),
        "old_passes": _typed("string", passes + "in the baseline."),
        "new_passes": _typed("string", passes + "now."),
    }
    renamed = {
        **case,
        "old_suite": _typed("string", "The suite in the baseline."),
        "old_case": _typed("string", "The id in the baseline."),
    }
    cases = {
        "same": _count("Cases that both have."),
        "added": _list(_ref("ComparedCase"), "Cases that only this run has."),
        "removed": _list(_ref("ComparedCase"), "Cases that only the baseline has."),
        "changed": _list(_ref("ComparedCase"), "Cases that ask or expect something else now."),
        "renamed": _list(_ref("RenamedCase"), "Cases that are the same under another name."),
    }
    return {
        "Gate": _object("A gate and its verdict.", gate),
        "Comparison": _object("A comparison of two runs, paired by case and model.", comparison),
        "ComparedRun": _object("One of the two runs.", run),
        "ComparedModel": _object("The comparison of a model.", model),
        "ComparedMetric": _object("The comparison of a metric.", metric),
        "ComparedCase": _object("A case by name.", case),
        "RenamedCase": _object("A case with its two names.", renamed),
        "Flip": _object("A case that passed always and now fails always.", flip),
        "Moved": _object("A case that got worse or better.", moved),
        "ComparedCases": _object("What became of the baseline's cases.", cases),
    }


def _object(
    description: str, properties: Mapping[str, Schema], optional: tuple[str, ...] = ()
) -> Schema:
    """An object that has exactly these fields."""
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _typed(type: str, description: str = "", *, null: bool = False) -> Schema:
    schema: Schema = {"type": [type, "null"] if null else type}
    return {**schema, "description": description} if description else schema


def _count(description: str, type: str = "integer") -> Schema:
    return {"type": type, "minimum": 0, "description": description}


def _known(description: str, type: str = "integer") -> Schema:
    """A measured amount, or null when it is unknown."""
    return {"type": [type, "null"], "minimum": 0, "description": f"{description} Null when unknown."}


def _fingerprint(description: str) -> Schema:
    text = f"{description} 16 hex digits; empty when unknown."
    return {"type": "string", "pattern": "^([0-9a-f]{16})?$", "description": text}


def _list(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _ref(name: str, description: str = "") -> Schema:
    schema: Schema = {"$ref": f"#/$defs/{name}"}
    return {**schema, "description": description} if description else schema


def _nullable(schema: Schema, description: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": description}
