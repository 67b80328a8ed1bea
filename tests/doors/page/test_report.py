"""The HTML report in a browser: usable, harmless whatever models say, and small when it is big."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_tooleval.reports.html import html_text
from pytest_tooleval.text import printable

from .conftest import Opened
from .documents import (
    EVIL,
    MODELS,
    big_document,
    hostile_document,
    hostile_trends,
    rich_document,
    trends,
)

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

Open = Callable[..., Opened]

QWEN = MODELS[2]


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rich") / "report.html"
    path.write_text(html_text(rich_document(), trends()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(html_text(hostile_document(), hostile_trends()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "report.html"
    path.write_text(html_text(big_document()), encoding="utf-8")
    return path


def assert_no_sideways_scroll(opened: Opened) -> None:
    for selector in ("html", "body", ".panel"):
        found = opened.page.locator(selector)
        if found.count():
            assert found.evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0, selector


# ---- hostile texts ----


def test_nothing_of_a_hostile_document_runs(open_page: Open, hostile: Path) -> None:
    opened = open_page(hostile)
    page = opened.page
    assert len(opened.cases()) == len(EVIL) + 1
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert_no_sideways_scroll(opened)
    page.set_viewport_size({"width": 390, "height": 900})
    assert_no_sideways_scroll(opened)
    page.locator(".cell button").first.click()
    for _ in range(len(EVIL)):
        page.locator(".tabs:not(.trials) button:not([data-tab=model-all])").first.click()
        page.locator(".transcript .turn").first.wait_for()
        for more in page.locator(".panel button:has-text('Show all')").all()[:1]:
            more.click()
        page.locator(".trials button").nth(1).click()
        page.get_by_text("no answer (timeout)").wait_for()
        assert_no_sideways_scroll(opened)
        page.keyboard.press("j")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert_no_sideways_scroll(opened)
    opened.assert_clean()


def test_only_pictures_that_cannot_run_are_drawn(open_page: Open, hostile: Path) -> None:
    opened = open_page(hostile)
    opened.page.locator(".cell button").first.click()
    images = opened.page.locator(".turn-tool img")
    expect(images).to_have_count(1)
    expect(images).to_have_attribute("alt", "[image: image/png, 1 kB]")
    assert images.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 1
    expect(opened.page.locator(".turn-tool .text").last).to_have_text(
        "[image: image/png, 1 kB]\n[image_url]\n[image_url]\n[image_url]"
    )
    opened.assert_clean()


def test_no_invisible_character_is_left(open_page: Open, hostile: Path) -> None:
    opened = open_page(hostile)
    opened.page.locator(".cell button").first.click()
    for _ in EVIL:
        text = opened.page.evaluate("document.body.innerText.replace(/[\\n\\t ]/g, '')")
        assert printable(text) == text
        opened.page.keyboard.press("j")


def test_scripts_cannot_get_in_by_other_ways(open_page: Open, rich: Path) -> None:
    """The policy itself, should a mistake ever let markup through."""
    opened = open_page(rich)
    thrown = opened.page.evaluate(
        """() => {
          try { document.body.innerHTML += "<img src=x onerror='window.evil=1'>" }
          catch (error) { return error.name }
        }"""
    )
    assert thrown == "TypeError"
    opened.page.evaluate(
        """() => {
          const image = document.createElement("img");
          image.src = "http://evil.example/i.png";
          document.body.append(image);
        }"""
    )
    opened.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.append("window.evil = 1");
          document.body.append(script);
        }"""
    )
    opened.settle()
    assert opened.page.evaluate("window.evil") is None
    assert any("policy img-src" in each for each in opened.complaints)
    assert any("policy script-src" in each or "require-trusted" in each for each in opened.complaints)


def test_the_same_texts_are_shown_as_in_the_terminal(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    # Lone surrogates do not survive the way into the browser; they are tried below.
    texts = [text.encode("utf-8", "replace").decode() for text in EVIL]
    assert opened.page.evaluate("(texts) => texts.map(shown)", texts) == [printable(t) for t in texts]
    assert opened.page.evaluate("shown('\\ud800') + shown('\\u{e0041}')") == "\\ud800\\U000e0041"


# ---- finding cases ----


def test_the_matrix_shows_every_case_on_every_model(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#sort=suite")
    page = opened.page
    assert opened.cases() == [f"case-{i:04d}" for i in range(24)]
    assert [text.strip() for text in page.locator(".matrix thead th").all_inner_texts()] == [
        "Case",
        *MODELS,
    ]
    label = page.locator(".cell button").first.get_attribute("aria-label")
    assert label == "gpt-4o-mini: passed 1.00 5/5 trials passed"
    page.get_by_label("Sort by").select_option("failures first")
    opened.settle()
    first = page.locator(".matrix tbody tr").first
    assert first.locator(".outcome-failed, .outcome-tolerated").count() > 0
    opened.assert_clean()


def test_search_looks_at_ids_prompts_reasons_and_tools(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    search = opened.page.get_by_role("searchbox", name="Search")
    for query, expected in (
        ("case-0007", 1),
        ("request 12.", 1),
        ("REYKJAVÍK", None),
        ("no such thing", 0),
    ):
        search.fill(query)
        found = opened.cases()
        assert (len(found) == expected) if expected is not None else 0 < len(found) < 24
    assert "No cases match" in opened.status()
    search.fill("create_event zürich")
    assert 0 < len(opened.cases()) < 24
    opened.page.get_by_role("button", name="Clear").click()
    assert opened.status() == "24 of 24 cases"


def test_filters_belong_to_one_and_the_same_cell(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    page = opened.page
    page.get_by_role("combobox", name="Failure").select_option("wrong_tool")
    page.get_by_role("button", name="passed").first.click()
    assert "No cases match" in opened.status()
    page.get_by_role("button", name="passed").first.click()
    page.get_by_role("combobox", name="Model").select_option(QWEN)
    assert 0 < len(opened.cases()) < 24
    assert page.locator(".matrix thead th").count() == 2
    page.get_by_role("combobox", name="Tag").select_option("smoke")
    assert all(int(each[-4:]) % 5 == 0 for each in opened.cases())
    page.get_by_role("combobox", name="Suite").select_option("Weather")
    assert all(int(each[-4:]) % 15 == 0 for each in opened.cases())
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("combobox", name="Tool", exact=True).select_option(index=1)
    assert 0 < len(opened.cases()) < 24


def test_sorting(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    page = opened.page

    def scores(column: int) -> list[float]:
        assert len(opened.cases()) == 24
        texts = page.locator(f".matrix tbody tr td:nth-child({column}) .value").all_inner_texts()
        return [float(text) for text in texts if text[0].isdigit()]

    page.get_by_role("columnheader", name=QWEN).get_by_role("button").click()
    found = scores(4)
    assert found == sorted(found)
    assert page.locator(".matrix th[aria-sort=ascending]").inner_text().startswith(QWEN)
    page.get_by_role("columnheader", name=QWEN).get_by_role("button").click()
    assert scores(4) == sorted(found, reverse=True)
    page.get_by_role("combobox", name="Sort by").select_option("worst")
    lowest = [min(row) for row in zip(scores(2), scores(3), scores(4), strict=True)]
    assert lowest == sorted(lowest)
    page.get_by_role("combobox", name="Sort by").select_option("differ")
    assert len(opened.cases()) == 24
    shares = [
        [int(text[0]) / int(text[2]) for text in texts]
        for texts in itertools.zip_longest(
            *(
                page.locator(f".matrix tbody td:nth-child({i}) small:not(.tolerated)").all_inner_texts()
                for i in (2, 3, 4)
            )
        )
    ]
    spread = [max(row) - min(row) for row in shares]
    assert spread == pytest.approx(sorted(spread, reverse=True), abs=0.11)


def test_the_address_keeps_the_view(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    page = opened.page
    page.get_by_role("searchbox", name="Search").fill("tokyo")
    page.get_by_role("combobox", name="Sort by").select_option("worst")
    page.get_by_role("button", name="failed").first.click()
    before = opened.cases()
    assert opened.hash == "#q=tokyo&outcome=failed&sort=worst"
    page.reload()
    assert opened.cases() == before
    assert page.get_by_role("searchbox", name="Search").input_value() == "tokyo"
    assert page.get_by_role("button", name="failed").first.get_attribute("aria-pressed") == "true"
    opened.assert_clean()


def test_an_address_that_fits_nothing_does_no_harm(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    for hash in (
        "#case=nowhere",
        "#sort=model:nobody&outcome=wrong&trial=x",
        "#" + "%" * 50,
        "#q=%ff&case=@9999",
        "#plots",
    ):
        opened.go(hash)
        opened.settle()
        assert opened.page.locator(".panel").is_hidden(), hash
    opened.assert_clean()


# ---- details of a case ----


def test_a_cell_opens_the_details(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    page = opened.page
    page.locator(".cell button.outcome-failed").first.click()
    panel = page.get_by_role("complementary")
    expect(panel.get_by_role("heading", level=2)).to_be_visible()
    expect(page.locator("#panel-title")).to_be_focused()
    headings = ["Prompt", "Expected and actual", "Scores", "Details", "Answer"]
    expect(panel.get_by_role("heading", level=3)).to_have_text(headings)
    # The trial to look at first is the one that failed.
    expect(panel.locator(".trials [aria-pressed=true]")).to_have_text(re.compile("^✗"))
    expect(panel.locator(".diff tr.minus").first).to_be_visible()
    expect(panel.locator(".turn")).to_have_count(3)
    expect(panel.locator(".callee code")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator(".outcome-failed:focus")).to_have_count(1)
    opened.assert_clean()


def test_every_model_and_trial_has_an_address(open_page: Open, rich: Path) -> None:
    opened = open_page(
        rich, "#sort=suite&case=suites/travel.tooleval.json::case-0008&on=claude-3-5-haiku&trial=2"
    )
    page = opened.page
    title = page.locator("#panel-title")
    expect(title).to_have_text("case-0008")
    model = page.locator(".tabs:not(.trials) [aria-pressed=true]")
    expect(model).to_contain_text("claude-3-5-haiku")
    expect(page.locator(".trials [aria-pressed=true]")).to_have_text(re.compile("2$"))
    page.locator(".trials button").nth(3).click()
    page.locator(".tabs:not(.trials) button").first.click()
    assert "on=gpt-4o-mini" in opened.hash
    assert "trial" not in opened.hash
    page.keyboard.press("j")
    expect(title).to_have_text("case-0009")
    page.keyboard.press("k")
    expect(title).to_have_text("case-0008")


def test_all_models_answers_stand_side_by_side(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#case=suites/travel.tooleval.json::case-0008&on=@all")
    columns = opened.page.locator(".beside")
    expect(columns).to_have_count(len(MODELS))
    columns.locator(".callee").first.wait_for()
    columns.last.get_by_role("button", name=MODELS[-1]).click()
    model = opened.page.locator(".tabs:not(.trials) [aria-pressed=true]")
    expect(model).to_have_text(re.compile(f"{re.escape(MODELS[-1])}$"))
    opened.assert_clean()


def test_what_was_sent_and_the_command_are_at_hand(open_page: Open, rich: Path) -> None:
    page = open_page(rich, "#case=suites/travel.tooleval.json::case-0008").page
    page.get_by_text("Requests and responses").click()
    assert '"role": "user"' in page.locator(".panel details .code").first.inner_text()
    command = str(page.get_by_role("button", name="Copy pytest command").get_attribute("title"))
    assert command.startswith("pytest 'suites/travel.tooleval.json::case-8[")
    assert "--tooleval-model=" in command


def test_long_numbers_keep_their_digits(open_page: Open, rich: Path) -> None:
    number = '{"n":123456789012345678901234567890,"a":[1,2]}'
    shown = open_page(rich).page.evaluate("(text) => JSON.stringify(exactJson(text))", number)
    assert shown == number


def test_back_closes_what_a_click_opened(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    opened.page.locator(".cell button").nth(4).click()
    expect(opened.page.locator(".panel")).to_be_visible()
    opened.page.go_back()
    expect(opened.page.locator(".panel")).to_be_hidden()


def test_the_matrix_is_walked_by_arrow_keys(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#sort=suite")
    page = opened.page
    assert page.locator(".matrix tbody button[tabindex='0']").count() == 1
    page.locator(".matrix tbody button[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    assert "claude-3-5-haiku" in str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    page.keyboard.press("Enter")
    expect(page.locator("#panel-title")).to_have_text("case-0002")


def test_on_a_narrow_screen_the_panel_covers_the_page(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#case=suites/travel.tooleval.json::case-0008", width=390)
    assert opened.page.locator(".panel").bounding_box() == pytest.approx(
        {"x": 0, "y": 0, "width": 390, "height": 900}
    )
    assert opened.page.locator("main").evaluate("(node) => node.inert")
    opened.page.get_by_role("button", name="Close").click()
    assert not opened.page.locator("main").evaluate("(node) => node.inert")
    assert_no_sideways_scroll(opened)


def test_differences_are_marked_in_the_details(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, f"#failure=wrong_value&model={QWEN}")
    page = opened.page
    page.locator(".cell button").first.click()
    for _ in range(page.locator(".trials button").count()):
        if "wrong value" in page.locator(".trial .facts").inner_text():
            break
        page.locator(".trials [aria-pressed=true] + button").click()
    expect(page.locator(".minus mark")).to_have_text(["05"])
    expect(page.locator(".plus mark")).to_have_text(["06"])


# ---- the rest of the page ----


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_screen(open_page: Open, rich: Path, width: int) -> None:
    opened = open_page(rich, width=width)
    assert_no_sideways_scroll(opened)
    for heading in ("Gates", "Comparison with the baseline", "Scores", "Cases", "Plots", "Trends"):
        assert opened.page.get_by_role("heading", name=heading, exact=True).is_visible()
    assert opened.page.get_by_text("overall of qwen2.5-coder-1.5b: 0.64 < 0.90").is_visible()
    opened.assert_clean()


def test_without_scripts_the_page_says_where_else_to_look(browser: Browser, rich: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(rich.as_uri())
    assert "--tooleval-report=FILE.md" in page.locator("noscript").inner_text()
    context.close()


def test_the_colours_follow_the_system_until_somebody_chooses(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, scheme="dark")

    def is_dark() -> bool:
        opened.settle()
        colour = opened.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(map(int, colour[4:-1].split(","))) < 200

    switch = opened.page.get_by_role("button", name="Theme")
    assert is_dark()
    switch.click()
    assert switch.inner_text() == "Theme: light"
    assert not is_dark()
    # The browser hands on what a page stores a moment later, which a reload does not wait for.
    for _ in range(50):
        opened.page.wait_for_timeout(200)
        opened.page.reload()
        if not is_dark():
            break
    assert not is_dark()
    opened.page.emulate_media(color_scheme="light")
    switch.click()
    assert is_dark()


def test_links_to_sections_keep_the_view(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#q=tokyo")
    opened.page.get_by_role("navigation").get_by_role("link", name="Plots").click()
    assert opened.hash == "#q=tokyo"
    opened.wait("document.getElementById('plots').getBoundingClientRect().top < 300")


def test_everything_to_press_has_a_name(open_page: Open, rich: Path) -> None:
    opened = open_page(rich, "#case=suites/travel.tooleval.json::case-0008")
    nameless = opened.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, a, [role=region], [role=img]")]
          .filter((node) => !node.getAttribute("aria-label") && !node.textContent)
          .filter((node) => !node.closest("label"))
          .map((node) => node.outerHTML.slice(0, 100))"""
    )
    assert nameless == []


def test_print_shows_all_cases_and_no_controls(open_page: Open, rich: Path) -> None:
    opened = open_page(rich)
    opened.page.emulate_media(media="print")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator(".toolbar").is_hidden()
    assert opened.page.locator(".matrix tbody tr").count() == 24
    assert opened.page.locator(".matrix tbody tr").last.is_visible()


# ---- many cases ----


def test_of_a_thousand_cases_those_in_sight_are_drawn(open_page: Open, big: Path) -> None:
    assert big.stat().st_size < 8_000_000
    opened = open_page(big)
    page = opened.page
    search = page.get_by_role("searchbox", name="Search")
    sort = page.get_by_role("combobox", name="Sort by")
    for control, value in (
        *((search, text) for text in ("p", "paris", "get_weather", "nothing of this", "")),
        *((sort, by) for by in ("worst", "differ", "name", "suite")),
    ):
        if control is search:
            search.fill(value)
        else:
            sort.select_option(value)
        opened.settle()
        # Their number, and not that of the cases, is what the page's speed depends on.
        assert page.evaluate("document.querySelectorAll('*').length") < 8000
    assert opened.status() == "1,000 of 1,000 cases"
    opened.assert_clean()


def test_rows_appear_while_scrolling(open_page: Open, big: Path) -> None:
    opened = open_page(big)
    page = opened.page
    first = page.locator(".matrix tbody tr").count()
    assert first < 300
    page.locator(".tall").evaluate("(node) => node.scrollTo(0, node.scrollHeight)")
    opened.wait(f"document.querySelectorAll('.matrix tbody tr').length > {first}")


def test_a_link_to_a_case_far_down_brings_it_into_sight(open_page: Open, big: Path) -> None:
    opened = open_page(big, "#case=suites/travel.tooleval.json::case-0800")
    expect(opened.page.locator("#panel-title")).to_have_text("case-0800")
    opened.wait(
        """(() => {
          const row = document.querySelector("tr.open").getBoundingClientRect();
          const box = document.querySelector(".tall").getBoundingClientRect();
          return row.top >= box.top && row.bottom <= box.bottom;
        })()"""
    )
