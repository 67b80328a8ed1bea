"""`tooleval models check-judge`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import click
from msgspec import Struct, ValidationError
from msgspec.json import Decoder

from ..engine.models.names import resolve_models
from ..errors import ConfigError, ModelError, os_reason
from ..figures import interval_text
from ..project.root import Project
from ..record.transcript import RubricVerdict, Transcript
from ..replies.messages import transcript_of
from ..secrets import redact
from ..text import json_text, plural, printable, shown
from ..verdicts.statistics import kappa, wilson
from ..writing import read_whole
from .shared import table


class _WithRole(TypedDict):
    role: str


class _Message(_WithRole, total=False):
    content: str | list[dict[str, Any]] | None
    tool_calls: list[dict[str, Any]] | None


class _Line(Struct):
    """A line of the file: an answer, and a person's label for it."""

    rubric: str
    label: Literal["pass", "fail"]
    text: str | None = None
    messages: list[_Message] | None = None


class _Label(NamedTuple):
    line: int
    rubric: str
    passed: bool
    transcript: Transcript


@click.command("check-judge")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--judge", required=True, help="The model, as --tooleval-judge in a run.")
def check_judge(file: Path, judge: str) -> None:
    """Measure how often a judge agrees with your labels.

    FILE has JSON lines {"rubric": ..., "text": ..., "label": "pass" or "fail"}, or a whole conversation
    as "messages" in place of "text". Prints the agreement and Cohen's kappa, both with a 95% interval,
    and each disagreement with the judge's reason. The exit status is 1 if a verdict is missing.
    """
    from ..engine.runner import Runner, result_or_error

    labels = list(_read(file))
    (spec,) = resolve_models([judge], Project.around().tables())
    runner = Runner()
    try:
        futures = [runner.judge(each.rubric, each.transcript, spec) for each in labels]
        verdicts: list[RubricVerdict | ModelError] = []
        for future in futures:
            verdict = result_or_error(future)
            verdicts.append(verdict)
    finally:
        runner.close()
    for line in _lines(file, labels, verdicts):
        click.echo(line)
    if any(isinstance(each, ModelError) for each in verdicts):
        raise SystemExit(1)


def _read(file: Path) -> Iterator[_Label]:
    decoder = Decoder(_Line)
    try:
        lines = read_whole(file).splitlines()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {os_reason(error)}") from None
    if not any(map(bytes.strip, lines)):
        raise ConfigError(f"{file}: no labels")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = decoder.decode(line)
        except (ValidationError, ValueError) as error:
            raise ConfigError(f"{file}:{number}: {error}") from None
        messages = [redact(dict(message)) for message in entry.messages or ()]
        if entry.text is not None:
            messages.append({"role": "assistant", "content": redact(entry.text)})
        transcript = transcript_of(messages)
        if (entry.text is None) == (entry.messages is None) or not transcript.replies:
            expected = "either text or messages, among them one of the assistant"
            raise ConfigError(f"{file}:{number}: expected {expected}")
        yield _Label(number, entry.rubric, entry.label == "pass", transcript)


def _lines(
    file: Path, labels: Sequence[_Label], verdicts: Sequence[RubricVerdict | ModelError]
) -> Iterator[str]:
    counts: Counter[tuple[bool, bool]] = Counter()
    differing, unjudged = [], []
    for label, verdict in zip(labels, verdicts, strict=True):
        where = f"{printable(str(file))}:{label.line}"
        if isinstance(verdict, ModelError):
            unjudged.append(f"{where}: {printable(verdict.message)}")
            continue
        counts[label.passed, verdict.passed] += 1
        if label.passed != verdict.passed:
            both = "label pass, judge fail" if label.passed else "label fail, judge pass"
            why = f"{json_text(label.rubric)}: {shown(verdict.reason, 400)}"
            differing.append(f"{where}: {both}: {why}")
    total, agreed = counts.total(), counts[True, True] + counts[False, False]
    if total:
        rows = [
            {
                "": f"label {name}",
                "judge pass": str(counts[passed, True]),
                "judge fail": str(counts[passed, False]),
            }
            for name, passed in (("pass", True), ("fail", False))
        ]
        yield from table(rows, texts=("",))
        low, high = wilson(agreed, total)
        yield f"agreement {interval_text(agreed / total, low, high)} over {plural(total, 'label')}"
        value, low, high = kappa(
            counts[True, True], counts[True, False], counts[False, True], counts[False, False]
        )
        yield f"Cohen's kappa {interval_text(value, low, high)}"
        if len({passed for passed, _ in counts}) == 1:
            yield "all labels are the same, so kappa says little; add some of the other label"
    if differing:
        yield from ("", plural(len(differing), "disagreement"), *differing)
    if unjudged:
        yield from ("", f"{plural(len(unjudged), 'label')} without a verdict", *unjudged)
