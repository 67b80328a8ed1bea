"""What a run's view says of a document: verdict, gates, scores, comparison, plots and trends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from builders import as_json
from msgspec import structs
from unit.reports.samples import comparison, document, gate, no_answer, row, trial

from pytest_tooleval.history import Trend
from pytest_tooleval.record.call_pairs import CallPair
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.results import Outcome
from pytest_tooleval.record.status import CallStatus
from pytest_tooleval.reports.html import html_text

from .conftest import Opened
from .documents import point_of, rich_document, trends, varied_document

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

Draw = Callable[..., Opened]


@pytest.fixture
def draw(open_page: Callable[..., Opened], tmp_path: Path) -> Draw:
    """`draw(document, trends=None)`: the report of it, opened."""

    def draw_(made: Document, lines: Sequence[Trend] = ()) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(html_text(made, lines), encoding="utf-8")
        return open_page(path)

    return draw_


def words(opened: Opened) -> str:
    """All that it says, with what is folded."""
    return re.sub(r"\s+", " ", str(opened.page.locator("main").text_content()))


def headings(opened: Opened) -> list[str]:
    return opened.page.locator("main h2, main h3").all_inner_texts()


def test_the_verdict(draw: Draw) -> None:
    page = draw(document(row("failed", trial(0, 0.5)), row("passed", trial(0)))).page
    assert page.locator(".verdict.failed h1").inner_text() == "✗ Failed"
    assert page.locator(".problems").inner_text() == "1 of 2 cases failed"
    assert page.title() == "Failed: Weather - tooleval"


def test_gates_and_baseline_are_told(draw: Draw) -> None:
    text = words(
        draw(
            document(
                row("failed", trial(0, 0.6), tolerated=True),
                gates=(gate(False), gate(True, "tool_selection: 0.98 >= 0.95", name="tool_selection")),
                baseline=comparison(),
            )
        )
    )
    for part in (
        *("1 of 2 gates failed", "worse than the baseline", "overall of gpt-4o: 0.80 < 0.90"),
        *(
            "gpt-4o ✗ failed 0 of 1 case passed",
            "worse than main.json: paris newly broken",
        ),
        *("0.80 (0.70 to 0.88)", "-10 points", "0.15", "5/5 → 0/5"),
        *("Worse: 1", "Better: 1", "Added: 1", "Removed: 1"),
    ):
        assert part in text


def test_a_case_of_the_comparison_leads_to_its_details(draw: Draw) -> None:
    opened = draw(document(row("failed", trial(0, 0.6), tolerated=True), baseline=comparison()))
    opened.page.locator("#baseline").get_by_role("link", name="paris").first.click()
    expect(opened.page.locator("#panel-title")).to_have_text("paris")
    opened.page.go_back()
    expect(opened.page.locator(".panel")).to_be_hidden()


def test_a_case_leads_to_its_own_file_where_two_suites_share_a_name(draw: Draw) -> None:
    made = comparison()
    twin = row(nodeid="b::paris", file="b.tooleval.json", reason="b is wrong", outcome="failed")
    made["models"][0]["worse"] = [
        {**moved, "file": "b.tooleval.json"} for moved in made["models"][0]["worse"]
    ]
    opened = draw(document(row("failed", reason="a is wrong"), twin, baseline=made))
    opened.page.locator("#baseline").get_by_role("link", name="paris").first.click()
    expect(opened.page.locator(".panel")).to_contain_text("b is wrong")


def test_variants_are_a_table_a_curve_and_cases_of_their_own(draw: Draw) -> None:
    opened = draw(varied_document())
    page = opened.page
    assert len(opened.cases()) == 8
    assert opened.status() == "8 of 8 cases"
    row = page.locator("#variants tbody tr", has_text="distractors:50gpt-4o-mini").first
    texts = "distractors:50 gpt-4o-mini 8 1.00 0.38 -62.5 points (-100 to -14.5) 0.125 0 5 0"
    assert re.sub(r"\s+", " ", row.inner_text()) == f"{texts} ? inconclusive"
    curve = page.locator("#variants svg").first.get_attribute("aria-label")
    assert curve == (
        "distractors:N. gpt-4o-mini: 1.00 at 0, 0.38 at 50; claude-3-5-haiku: 1.00 at 0, 0.38 at 50"
    )
    page.locator("#variants details", has_text="5 worse").first.locator("summary").click()
    page.locator("#variants details[open] a").first.click()
    opened.settle()
    assert opened.status() == "8 of 8 cases"
    panel = page.locator(".panel")
    panel.locator(".changes").wait_for()
    assert panel.locator(".beside h3").all_inner_texts() == ["Unchanged", "distractors:50"]
    assert [text.split() for text in panel.locator(".changes tbody tr").all_inner_texts()] == [
        ["tool", "search_news"],
        ["description", "of", "send_email", "Sends", "Sends", "mail"],
    ]
    panel.get_by_role("button", name="Unchanged").click()
    expect(page.locator(".toolbar").get_by_label("Variant")).to_have_value("")


def test_unknown_numbers_are_dashes_and_never_0(draw: Draw) -> None:
    text = words(
        draw(document(row("passed", trial(0)), row("passed", trial(0, 1.0, latency_s=2.0), model="b")))
    )
    assert "2.00 s" in text
    assert "–" in text
    assert "$0" not in text
    assert not re.search(r"\b0 ms", text)


def test_means_have_their_intervals_drawn_and_said(draw: Draw) -> None:
    rows = row("passed", trial(0), case="a"), row("failed", trial(0, 0.5), case="b")
    made = document(*rows, intervals=True)
    passing = made.models[0].pass_rate
    assert passing is not None
    assert passing.low is not None
    assert passing.high is not None
    opened = draw(made)
    assert f"{passing.low:.2f} to –{passing.high:.2f}" in words(opened)
    whisker = opened.page.locator("#plots .whisker").first
    ends = [float(str(whisker.get_attribute(name))) for name in ("x1", "x2")]
    assert ends == pytest.approx([8 + 412 * passing.low, 8 + 412 * passing.high])


def test_cases_are_filtered_by_the_tools_that_were_mixed_up(draw: Draw) -> None:
    found = {
        "right": CallPair(expected="a", called="a"),
        "wrong": CallPair(expected="a", called="b"),
        "invented": CallPair(expected="a", called="<b>x", hallucinated=True),
        "quiet": CallPair(),
    }
    rows = [
        row("failed", structs.replace(trial(), call_pairs=(choice,)), case=name)
        for name, choice in found.items()
    ]
    opened = draw(document(*rows))
    menu = opened.page.get_by_role("combobox", name="Expected → called")
    for label, cases in (("b", ["wrong"]), ("(hallucinated)", ["invented"]), ("a", ["right"])):
        menu.select_option(f"a → {label}")
        assert opened.cases() == cases


def test_reliability_for_every_k(draw: Draw) -> None:
    opened = draw(
        document(row("passed", trial(0), trial(1)), row("failed", trial(0, 0.5), trial(1), case="b"))
    )
    heads = opened.page.locator(".reliability thead th").all_text_contents()
    assert heads == ["Model", "Share of cases", "k = 1", "k = 2"]


def test_each_cell_says_what_one_must_know(draw: Draw) -> None:
    other = {"overall": 1.0, "grounded": 0.0}
    opened = draw(
        document(
            row("failed", trial(0), scores=other, thresholds={"overall": 1.0, "grounded": 1.0}),
            row("failed", trial(0, 0.6, ToolCall("book", {})), trial(1), model="two"),
            row("error", no_answer(), case="b", reason="too slow", tolerated=True),
            row("failed", trial(0, 0.6), case="b", model="two", counted=True),
            # A case that a model has twice becomes two.
            row("passed", trial(0)),
        )
    )
    labels = [
        each.get_attribute("aria-label") or each.get_attribute("title")
        for each in opened.page.locator(".cell > *").all()
    ]
    assert labels == [
        "gpt-4o: failed 1.00, grounded",
        "two: failed 0.80 1/2 trials passed",
        "gpt-4o: error, tolerated",
        "two: failed, counted 0.60",
        "gpt-4o: passed 1.00",
        "not run",
    ]
    opened.page.get_by_label("Search").fill("BOOK")
    assert opened.cases() == ["paris"]
    opened.page.get_by_label("Search").fill("too slow")
    assert opened.cases() == ["b"]
    opened.page.get_by_role("button", name="Clear").click()
    opened.page.get_by_role("combobox", name="Failure").select_option("error: timeout")
    assert opened.cases() == ["b"]
    opened.page.get_by_role("button", name="Clear").click()
    opened.page.get_by_role("button", name="tolerated 1").click()
    assert opened.cases() == ["b"]
    assert opened.page.locator(".cell", has_text="tolerated").count() == 1


def test_every_turns_prompt_is_shown(draw: Draw) -> None:
    made = trial(0)
    assert made.transcript
    more = structs.replace(made.transcript.replies[0], prompt=({"role": "user", "content": "and now?"},))
    talk = structs.replace(made.transcript, replies=(*made.transcript.replies, more))
    page = draw(document(row("passed", structs.replace(made, transcript=talk)))).page
    page.locator(".cell button").click()
    prompts = page.locator(".trial > section").filter(
        has=page.get_by_role("heading", name="Prompts", exact=True)
    )
    texts = ["user turn 1 hi", "user turn 2 and now?"]
    expect(prompts.locator(".turn")).to_have_text(texts, use_inner_text=True)


def test_a_call_that_did_not_end_well_says_so(draw: Draw) -> None:
    made = trial(0)
    assert made.transcript
    reply = made.transcript.replies[0]
    names = ("pay", "look", "refund", "ask", "wait")
    calls = tuple(ToolCall(name, {}, id=name) for name in names)
    answer = {"role": "tool", "tool_call_id": "ask", "content": "timed out"}
    statuses: tuple[CallStatus | None, ...] = ("refused", "error", "waiting", None, None)
    stopped = structs.replace(reply, calls=calls, statuses=statuses, tool_answers=(answer,))
    line = "look was answered with an error, so it was not played on the world"
    talk = structs.replace(made.transcript, replies=(stopped,))
    shown = structs.replace(made, transcript=talk, not_played=(line,))
    page = draw(document(row("passed", shown))).page
    page.locator(".cell button").click()
    callees = ["calls pay (refused)", "calls look (error)", "calls refund (waiting)"]
    callees += ["calls ask (unknown)", "calls wait"]
    expect(page.locator(".trial .callee")).to_have_text(callees, use_inner_text=True)
    expect(page.locator(".trial > .note")).to_have_text([line])


def test_of_several_agents_each_reply_names_its_own(draw: Draw) -> None:
    made = trial(0)
    assert made.transcript
    (reply,) = made.transcript.replies
    clerk = structs.replace(reply, agent="Clerk <b>")
    bank = structs.replace(reply, agent="bank", is_inner=True)
    for replies, names in (((clerk, bank), ["Clerk <b>", "bank, as a tool"]), ((clerk,), [])):
        talk = structs.replace(made.transcript, replies=replies)
        opened = draw(document(row("passed", structs.replace(made, transcript=talk))))
        opened.page.locator(".cell button").click()
        opened.page.locator(".trial .turn").first.wait_for()
        text = opened.page.locator(".trial").inner_text()
        assert [name for name in ("Clerk <b>", "bank, as a tool") if name in text] == names


def test_a_row_opens_its_case_on_the_first_model_that_did_not_pass(draw: Draw) -> None:
    page = draw(document(row("passed", trial(0)), row("failed", trial(0, 0.6), model="two"))).page
    page.locator(".matrix .id").click()
    expect(page.locator("#panel-title")).to_have_text("paris")
    expect(page.locator(".panel .tabs [aria-pressed=true]").first).to_have_text(re.compile("two$"))


def test_plots_without_anything_to_show_are_left_out(draw: Draw) -> None:
    page = draw(document()).page
    plots = "(made) => [...plotsSection(made)?.querySelectorAll('h3') ?? []].map((h) => h.textContent)"
    assert page.evaluate(plots, as_json(document(row("error", no_answer())))) == ["Failures by category"]
    assert page.evaluate(plots, as_json(document())) == []


def test_every_plot_has_words_and_numbers(draw: Draw) -> None:
    page = draw(rich_document(12), trends()).page
    plots = page.locator("figure").filter(has=page.get_by_role("img"))
    assert plots.count() == 4 + 2
    for plot in plots.all():
        assert len(str(plot.get_by_role("img").get_attribute("aria-label"))) > 30
        assert plot.get_by_text("Numbers", exact=True).count() == 1
        assert plot.locator("tbody tr").count() > 0


def test_ticks_stand_where_their_numbers_are(draw: Draw) -> None:
    rows = row("passed", trial(latency_s=0.002)), row("passed", trial(latency_s=90.0), case="slow")
    plot = draw(document(*rows)).page.locator("#plots figure", has_text="Latency").locator("svg")
    lines = plot.locator(".grid").evaluate_all(
        "(all) => all.map((line) => Number(line.getAttribute('x1')))"
    )
    ticks = plot.locator(".tick[text-anchor=middle]")
    assert ticks.evaluate_all("(all) => all.map((text) => Number(text.getAttribute('x')))") == lines
    numbers = [float(text) for text in ticks.all_text_contents()]
    assert numbers == [0, 20, 40, 60, 80, 100]
    assert lines == pytest.approx([8 + 4.12 * number for number in numbers])


def test_a_trend_marks_other_scoring_rules_and_a_comparison_lists_what_they_keep_apart(
    draw: Draw,
) -> None:
    page = draw(rich_document(12), trends()).page
    assert page.locator("#trends figure").first.locator(".changed").count() == 1
    assert page.get_by_text("┆ the suite, the case or the scoring rules changed").count() == 2
    listed = page.locator("#baseline details", has_text="Not comparable")
    assert "its tools changed" in str(listed.text_content())


def test_a_trend_needs_two_runs_and_a_number(draw: Draw) -> None:
    page = draw(document()).page

    def drawn(*values: float | None) -> list[str] | None:
        points = [point_of(id=str(number), pass_rate=value) for number, value in enumerate(values)]
        found: list[str] | None = page.evaluate(
            "(lines) => { const made = trendsSection(lines, []); return made && "
            "[...made.querySelectorAll('h3, path')].map((n) => n.getAttribute('d') ?? n.textContent) }",
            [msgspec.to_builtins(Trend("Weather", None, tuple(points)))],
        )
        return found

    assert drawn(0.5) is None
    assert drawn(None, None) is None
    heading, path = drawn(0.1, 0.2, None, 0.4, 0.5) or []
    assert heading == "Weather"
    # The line of a model goes on past a run without it.
    assert re.sub(r"[\d. ]+", "", path) == "MLLL"


def test_a_model_has_one_colour_on_the_whole_page(draw: Draw) -> None:
    points = [point_of(id=str(n), model=model) for n in range(2) for model in ("gpt-4o", "b")]
    opened = draw(
        document(row("passed", trial(0), model="b"), row("passed", trial(0))),
        [Trend("", None, tuple(points))],
    )
    classes = opened.page.locator("#trends svg[role=img] > g").evaluate_all(
        "(all) => all.map((n) => n.getAttribute('class'))"
    )
    assert classes == ["model-0", "model-1"]
    assert opened.page.locator("#trends .legend li").all_text_contents()[0].strip().startswith("b")


@pytest.mark.parametrize(
    ("outcome", "first", "then"), [("failed", "Cases", "Scores"), ("passed", "Scores", "Cases")]
)
def test_failed_cases_come_before_the_scores(
    draw: Draw, outcome: Outcome, first: str, then: str
) -> None:
    found = headings(draw(document(row(outcome, trial(0, 0.5)))))
    assert found.index(first) < found.index(then)
