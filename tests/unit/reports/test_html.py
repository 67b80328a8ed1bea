"""The HTML report as text: nothing in it but what was built, and all of the document's words."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import re
import statistics
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser.documents import EVIL
from browser.documents import hostile_document
from browser.documents import hostile_trends
from browser.documents import rich_document
from browser.documents import trends
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from records import as_json

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.reports.html import html_text
from pytest_tooleval.reports.html import numbers
from pytest_tooleval.reports.html import write_html
from pytest_tooleval.reports.html.embed import script_json
from pytest_tooleval.reports.html.markup import tag
from pytest_tooleval.reports.html.page import asset
from pytest_tooleval.reports.html.plots.drawing import ticks
from pytest_tooleval.reports.html.plots.latency import quantile
from pytest_tooleval.reports.html.plots.trends import trends_section
from pytest_tooleval.reports.html.verdict import verdict

from .samples import any_text
from .samples import comparison
from .samples import document
from .samples import gate
from .samples import no_answer
from .samples import row
from .samples import trial

SCRIPTS = ("render.js", "filters.js", "matrix.js", "report.js")
TAGS = set(
    "a bdi body circle code dd details div dl dt figcaption figure footer g h1 h2 h3 head header html "
    "li line main meta nav noscript p polygon polyline rect script section small span style summary "
    "svg table tbody td text th thead title tr ul".split()
)


def json_document(*cases: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = as_json(document(*cases, **fields))
    return made


class Page(HTMLParser):
    """What a browser would find: elements, their attributes, scripts and visible words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.style = ""
        self.words = ""
        self._inside: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = (tag, dict(attrs))
        self.tags.append(self._inside)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ("", {})

    def handle_data(self, data: str) -> None:
        if self._inside[0] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside[0] == "style":
            self.style += data
        else:
            self.words += data + "\n"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]!r}")

    @property
    def blocks(self) -> dict[str, Any]:
        return {
            str(attributes["id"]): json.loads(text)
            for attributes, text in self.scripts
            if attributes.get("type") == "application/json"
        }

    def attributes(self, name: str) -> list[str | None]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def page(of: dict[str, Any], lines: dict[str, Any] | None = None) -> Page:
    return Page(html_text(of, lines))


def assert_harmless(found: Page) -> None:
    for name, attributes in found.tags:
        assert name in TAGS
        for attribute, value in attributes.items():
            assert not attribute.startswith("on"), (name, attribute)
            assert attribute not in ("style", "src", "srcdoc", "action", "formaction")
            assert attribute != "href" or (value or "").startswith("#")
    executable = [text for attributes, text in found.scripts if "type" not in attributes]
    assert executable == ["".join(map(asset, SCRIPTS))]


def test_only_the_reports_own_style_and_script_may_run() -> None:
    found = page(rich_document(4))
    policy = next(
        a["content"] for n, a in found.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in (policy or "").split("; "))
    script = next(text for attributes, text in found.scripts if "type" not in attributes)
    for kind, text in (("style-src", found.style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    # A policy holds only for what comes after it.
    names = [attributes for _, attributes in found.tags]
    place = next(i for i, each in enumerate(names) if "http-equiv" in each)
    assert all(found.tags[i][0] in ("html", "head", "meta") for i in range(place))


def test_hostile_texts_stay_text() -> None:
    found = page(hostile_document(), hostile_trends())
    assert_harmless(found)
    assert "<img src=x onerror=" in found.words
    assert "\\x1b[31mred" in found.words
    assert "\\u202eright to left" in found.words
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", found.words
    )


def test_a_hostile_text_in_the_data_cannot_end_its_element() -> None:
    text = html_text(hostile_document())
    blocks = re.findall(r'<script type="application/json" id="[\w-]+">(.*?)</script>', text, re.S)
    assert len(blocks) == 1 + len(EVIL) + 1
    for block in blocks:
        assert block.isascii()
        assert not set("<>&") & set(block)


@settings(max_examples=60)
@given(any_text, any_text)
def test_any_text_anywhere_is_harmless(one: str, other: str) -> None:
    made = trial(0, 0.6, ToolCall(one, {other: one}, None, other))
    rows = [
        row("failed", made, suite=one, case=other, model=one, reason=other, tags=(one, other), file=one),
        row(
            "error", no_answer(0, one), suite=other, case=one, model=other, reason=one, scores={one: 0.5}
        ),
    ]
    found = comparison(model=one, suite=other, case=one, message=other, name=one, metric=other)
    run: dict[str, Any] = {
        "git": {"commit": one, "branch": other, "dirty": False},
        "options": {one: other},
        "id": other,
    }
    whole = json_document(*rows, gates=(gate(False, one, name=other),), baseline=found, **run)
    series = [{"model": one, "suite": other, "metric": one, "values": [0.1, 1.0]}]
    lines = {"runs": [{"id": one, "started": other, "commit": one}] * 2, "series": series}
    assert_harmless(page(whole, lines))


@given(
    st.recursive(
        st.none() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_data_is_json_that_a_browser_reads(value: Any) -> None:
    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    text = script_json(value)
    json.loads(text, parse_constant=refuse)
    assert text.isascii()
    assert not set("<>&") & set(text)


def test_a_prompt_stands_once_however_many_trials_share_it() -> None:
    text = html_text(rich_document(3, trials=5))
    assert text.count("You are an assistant with tools.") == 3
    block = page(rich_document(3, trials=5)).blocks["case-0"]
    assert len(block["prompts"]) == 1
    assert len(block["rows"]) == 3
    checks = [json.dumps(check) for check in block["checks"]]
    assert len(checks) == len(set(checks))


def test_arguments_that_are_no_object_are_marked() -> None:
    made = trial(0, 0.0, ToolCall.parse("f", "[1]"), ToolCall.parse("f", '{"a": 1}'))
    block = page(json_document(row("failed", made))).blocks["case-0"]
    first, second = block["rows"]["0"]["trials"][0]["transcript"]["rounds"][0]["reply"]["calls"]
    assert first == {"name": "f", "raw_arguments": "[1]", "arguments": None}
    assert second == {"name": "f", "raw_arguments": '{"a": 1}'}


def test_an_answer_of_megabytes_is_cut_and_says_so() -> None:
    message = {"role": "assistant", "content": "x" * 1_000_000}
    made = TrialResult(transcript=Transcript((), (Round(Reply(message=message)),)))
    text = html_text(json_document(row("failed", made)))
    assert len(text) < 400_000
    assert "1,000,000 characters" in text


def test_the_index_holds_what_the_matrix_needs() -> None:
    rows = [
        row("passed", trial(0), case="a", model="one", tags=("smoke",)),
        row("failed", trial(0, 0.6, ToolCall("book", {})), trial(1), case="a", model="two"),
        row("error", no_answer(), case="b", model="one", reason="too slow"),
    ]
    index = page(json_document(*rows)).blocks["index"]
    assert index["models"] == ["one", "two"]
    assert [case["id"] for case in index["cases"]] == ["a", "b"]
    one, two = index["cases"][0]["cells"]
    assert (one["outcome"], one["overall"]) == ("passed", 1.0)
    assert (two["passes"], two["scored"], two["trials"]) == (1, 2, 2)
    assert two["failures"] == ["wrong_value"]
    assert two["tools"] == ["book"]
    assert index["cases"][0]["prompt"] == "hi"
    assert index["cases"][1]["cells"][0]["failures"] == ["error: timeout"]
    assert index["cases"][1]["cells"][1] is None


def test_a_cell_names_the_metric_that_failed_it() -> None:
    scores = {"overall": 1.0, "grounded": 0.0}
    failed = row("failed", trial(0), scores=scores, thresholds={"overall": 1.0, "grounded": 1.0})
    cell = page(json_document(failed)).blocks["index"]["cases"][0]["cells"][0]
    assert cell["below"] == "grounded"


def test_a_case_that_a_model_has_twice_becomes_two() -> None:
    index = page(json_document(row("passed", trial(0)), row("failed", trial(0, 0.5)))).blocks["index"]
    assert [case["cells"][0]["outcome"] for case in index["cases"]] == ["passed", "failed"]


@pytest.mark.parametrize(
    ("rows", "run", "expected", "words"),
    [
        ([row("passed", trial(0))], {"exitstatus": 0}, "passed", "1 of 1 case passed"),
        ([row("failed", trial(0, 0.5))], {"exitstatus": 1}, "failed", "1 of 1 case failed"),
        ([row("failed", trial(0, 0.5))], {"exitstatus": None}, "failed", "1 of 1 case failed"),
        ([row("error", no_answer())], {"exitstatus": 0}, "passed", "1 case without an answer"),
        ([row("passed", trial(0))], {"exitstatus": 2}, "failed", "the run was interrupted"),
        ([row("passed", trial(0))], {"exitstatus": None, "status": "killed"}, "failed", "was killed"),
        ([row("passed", trial(0))], {"exitstatus": 1}, "failed", "another test of the run failed"),
        ([row("skipped", model="")], {"exitstatus": 0}, "empty", "1 case skipped"),
        ([], {"exitstatus": 5}, "failed", "no test was collected"),
    ],
)  # fmt: skip
def test_the_verdict(rows: list[dict[str, Any]], run: dict[str, Any], expected: str, words: str) -> None:
    made = json_document(*rows, **run)
    assert verdict(made) == expected
    assert words in page(made).words


def test_gates_and_baseline_are_told() -> None:
    made = json_document(
        row("missed", trial(0, 0.6)),
        gates=(gate(False), gate(True, "tool_selection of gpt-4o: 0.98 >= 0.95", name="tool_selection")),
        baseline=comparison(),
    )
    words = page(made).words
    assert "1 of 2 gates failed" in words
    assert "worse than the baseline" in words
    assert "overall of gpt-4o: 0.80 < 0.90" in words
    assert "0.80 (0.70 to 0.88)" in words
    assert "−0.10" in words
    assert "significant drop" in words
    assert "5/5 → 0/5 trials" in words
    for heading in ("Worse cases: 1", "Better cases: 1", "New cases: 1", "Cases that are gone: 1"):
        assert heading in words


def test_unknown_numbers_are_dashes_and_never_0() -> None:
    words = page(
        json_document(row("passed", trial(0)), row("passed", trial(0, 1.0, latency_s=2.0), model="b"))
    ).words
    assert "Latency" in words
    assert "2.00 s" in words
    assert "–" in words
    assert "$0" not in words
    assert not re.search(r"\b0 ms", words)


def test_means_have_their_intervals_drawn_and_said() -> None:
    made = json_document(*(row("passed", trial(0), case=str(i)) for i in range(5)), intervals=True)
    mean = made["models"][0]["metrics"]["overall"]
    mean.update(mean=0.5, low=0.25, high=0.75)
    found = page(made)
    assert "0.25\n to \n–\n0.75" in found.words
    whisker = next(
        a for _, a in found.tags if a.get("class") == "whisker" and a.get("x1") != a.get("x2")
    )
    assert float(str(whisker["x1"])) == pytest.approx(2 + 68 * 0.25)
    assert float(str(whisker["x2"])) == pytest.approx(2 + 68 * 0.75)


def test_reliability_for_every_k() -> None:
    words = page(
        json_document(
            row("passed", trial(0), trial(1)), row("failed", trial(0, 0.5), trial(1), case="b")
        )
    ).words
    assert "Reliability over trials" in words
    assert "k = 1" in words
    assert "k = 2" in words


def test_plots_without_anything_to_show_are_left_out() -> None:
    found = page(json_document(row("error", no_answer())))
    headings = found.words
    assert "Failures by category" in headings
    for heading in (
        "Latency\n",
        "Cost against",
        "Tokens against",
        "Passing trials",
        "Overall score per case",
    ):
        assert heading not in headings
    assert "Plots" not in page(json_document()).words


def test_every_plot_has_words_and_numbers() -> None:
    found = page(rich_document(12), trends())
    plots = [a for name, a in found.tags if name == "svg" and a.get("role") == "img"]
    assert len(plots) == 6 + 2
    assert all(len(str(plot["aria-label"])) > 30 for plot in plots)
    assert found.words.count("Numbers") == len(plots)
    others = [a for name, a in found.tags if name == "svg" and a.get("role") != "img"]
    assert all(each.get("aria-hidden") == "true" for each in others)


def test_a_model_has_one_colour_on_the_whole_page() -> None:
    runs = [{"id": str(n), "started": "", "commit": ""} for n in range(2)]
    series = [
        {"model": model, "suite": "", "metric": "overall", "values": [0.5, 0.6]} for model in ("a", "b")
    ]
    drawn = str(trends_section({"runs": runs, "series": series}, ["b", "a"]))
    assert drawn.index("line model-1") < drawn.index("line model-0")


def test_trends_need_two_runs_and_a_number() -> None:
    one = {"runs": [{"id": "a", "started": "2026-01-01T00:00:00+00:00", "commit": None}], "series": []}
    assert "Trends" not in page(json_document(row()), one).words
    series: list[dict[str, Any]] = [
        {"model": "m", "suite": None, "metric": "overall", "values": [None, None]}
    ]
    assert "Trends" not in page(json_document(row()), {"runs": one["runs"] * 2, "series": series}).words
    series[0]["values"] = [0.5, None]
    words = page(json_document(row()), {"runs": one["runs"] * 2, "series": series}).words
    assert "overall: all suites" in words
    assert "0.50" in words


def test_a_line_breaks_where_a_run_has_no_value() -> None:
    series = [{"model": "m", "suite": "s", "metric": "overall", "values": [0.1, 0.2, None, 0.4, 0.5]}]
    run = {"id": "a", "started": "2026-01-01T00:00:00+00:00", "commit": "abc"}
    found = page(json_document(row()), {"runs": [run] * 5, "series": series})
    lines = [a["points"] for name, a in found.tags if name == "polyline"]
    assert [len(str(points).split()) for points in lines] == [2, 2]


def test_without_scripts_failures_are_listed() -> None:
    rows = [row("failed", trial(0, 0.5), case=f"c{i}", reason="wrong city") for i in range(300)]
    found = page(json_document(*rows))
    assert found.words.count("wrong city") == 200
    assert "The first 200 of 300 that did not pass" in found.words


def test_the_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "out" / "report.html"
    write_html(path, rich_document(2))
    before = path.read_bytes()
    assert before.endswith(b"</html>\n")
    broken = copy.deepcopy(rich_document(2))
    del broken["cases"][0]["scores"]
    with pytest.raises(KeyError):
        write_html(path, broken)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]


def test_the_same_document_gives_the_same_page() -> None:
    assert html_text(rich_document(5)) == html_text(rich_document(5))


def test_a_page_is_smaller_than_its_document() -> None:
    made = rich_document(200, trials=1)
    assert len(html_text(made)) < 0.7 * len(json.dumps(made, indent=1)) + 100_000


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_never_turn_text_into_markup(name: str) -> None:
    text = asset(name)
    assert "// @ts-check" in text
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert forbidden not in text
    for forbidden in ("</script", "<!--", "http:", "https:", "fetch(", "XMLHttpRequest", "import("):
        assert forbidden not in text


def test_the_style_fetches_nothing() -> None:
    text = asset("report.css")
    for forbidden in ("url(", "@import", "@font-face", "</style"):
        assert forbidden not in text


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_enough_contrast(scheme: int) -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", asset("report.css"))
    colours = {name: both[scheme] for name, *both in pairs}
    for ground in ("page", "raised"):
        for name in ("text", "muted", "accent", "passed", "failed", "missed", "error"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for outcome in ("passed", "failed", "missed", "error"):
        assert contrast(colours[outcome], colours[f"{outcome}-back"]) >= 4.5, outcome
    assert contrast(colours["text"], colours["failed-back"]) >= 4.5
    # Lines and marks that tell something, such as a model's colour, need 3.
    for name in ["strong-line", *(each for each in colours if each.startswith("model-"))]:
        assert contrast(colours[name], colours["page"]) >= 3, name


@pytest.mark.parametrize(
    ("show", "value", "expected"),
    [
        (numbers.score, 0.9999, "<1.00"),
        (numbers.score, 1, "1.00"),
        (numbers.score, None, "–"),
        (numbers.score, math.nan, "–"),
        (numbers.score, True, "–"),
        (numbers.signed, -0.1, "−0.10"),
        (numbers.probability, 0.00004, "<0.001"),
        (numbers.count, 12345, "12,345"),
        (numbers.count, 10**400, "–"),
        (numbers.usd, 0.00021, "$0.00021"),
        (numbers.usd, 12.5, "$12.5000"),
        (numbers.usd, 0, "$0.0000"),
        (numbers.seconds, 0.85, "850 ms"),
        (numbers.seconds, 83.21, "83.2 s"),
        (numbers.seconds, 725, "12 min 5 s"),
        (numbers.moment, "2026-11-22T10:15:30+00:00", "2026-11-22 10:15 UTC"),
        (numbers.moment, "2026-11-22T10:15:30Z", "2026-11-22 10:15 UTC"),
        (numbers.moment, "soon\x1b", "soon\\x1b"),
        (numbers.moment, None, "–"),
    ],
)
def test_numbers_as_people_read_them(show: Any, value: object, expected: str) -> None:
    assert show(value) == expected


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_quartiles_are_those_of_the_standard_library(values: list[float]) -> None:
    expected = statistics.quantiles(values, n=4, method="inclusive")
    found = [quantile(sorted(values), share) for share in (0.25, 0.5, 0.75)]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_hold_the_range_and_are_few(low: float, width: float) -> None:
    high = low + width
    if high - low < abs(low) * 1e-6:
        return
    found = ticks(low, high)
    assert found[0] <= low + width * 1e-6
    assert found[-1] >= high - width * 1e-6
    assert 2 <= len(found) <= 8
    assert found == sorted(set(found))


def test_an_attribute_is_escaped() -> None:
    assert tag("a", "<b>", title='"><script>') == '<a title="&quot;&gt;&lt;script&gt;">&lt;b&gt;</a>'
