"""The JUnit XML of a run, as `pytest --junitxml` writes it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from functools import cache

from ..record.document import Document
from ..record.results import EXPECTED_FAILURE, CaseResult
from ..text import printable
from ..verdicts.run import RunProblem
from ..verdicts.run_summary import excused_text
from .text import GATE_FILE, render_case

PROPERTY = "tooleval."


@cache  # pytest keeps the properties of all items, so share their names
def _property(name: str) -> str:
    return PROPERTY + name


def properties(result: CaseResult) -> Iterator[tuple[str, str | float]]:
    """The properties of a case."""
    yield _property("model"), printable(result.model)
    yield _property("suite"), printable(result.suite)
    yield _property("case"), printable(result.case)
    yield _property("outcome"), result.outcome
    if result.variant:
        yield _property("variant"), printable(result.variant)
    for metric, value in result.scores.items():
        if value is not None:
            yield _property(f"score.{metric}"), value
    if len(result.trials) > 1:
        yield _property("passes"), f"{result.passes}/{result.answered}"
    for name in ("latency_s", "cost_usd"):
        values = [value for trial in result.trials if (value := getattr(trial, name)) is not None]
        if values:
            yield _property(name), sum(values)


def junit_xml(document: Document, findings: Sequence[RunProblem]) -> str:
    """One test case for each case on each model, and one for each gate that did not pass."""
    cases = [_case(case, document) for case in document.cases] + [*map(_finding, findings)]
    root = ET.Element("testsuites", name="pytest tests")
    suite = ET.SubElement(root, "testsuite", name="pytest", tests=str(len(cases)))
    for name, tag in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{document.run.duration_s:.3f}")
    suite.set("timestamp", document.run.started)
    suite.extend(cases)
    xml: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml.decode()


def _case(result: CaseResult, document: Document) -> ET.Element:
    case = _testcase(result.nodeid, result.seconds)
    reason, where = printable(result.reason), printable(f"{result.file}:{result.line}")
    if result.was_expected:
        why = reason.removeprefix(EXPECTED_FAILURE).removeprefix(": ")
        ET.SubElement(case, "skipped", type="pytest.xfail", message=why)
    elif result.counted or result.tolerated or result.outcome == "skipped":
        of_shard = document.run.shard is not None
        text = reason if result.outcome == "skipped" else excused_text(result, of_shard=of_shard)
        ET.SubElement(case, "skipped", type="pytest.skip", message=text).text = f"{where}: {text}"
    elif result.outcome == "failed":
        ET.SubElement(case, "failure", message=reason).text = render_case(result, whole=False)
    elif result.outcome == "error":
        text = f"{printable(result.model)}: {reason}"
        ET.SubElement(case, "error", message=f'failed on setup with "{text}"').text = text
    return case


def _finding(finding: RunProblem) -> ET.Element:
    case = _testcase(f"{GATE_FILE}::{printable(finding.name)}", 0.0)
    message = printable(finding.message)
    if finding.failed:
        ET.SubElement(case, "failure", message=message).text = message
    else:
        skipped = ET.SubElement(case, "skipped", type="pytest.skip", message=message)
        skipped.text = f"{GATE_FILE}:0: {message}"
    return case


def _testcase(nodeid: str, seconds: float) -> ET.Element:
    path, _, case = nodeid.partition("::")
    classname, name = printable(re.sub(r"\.py$", "", path.replace("/", "."))), printable(case)
    return ET.Element("testcase", classname=classname, name=name, time=f"{seconds:.3f}")
