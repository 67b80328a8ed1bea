"""The HTML report as text: a frame, one script, and the document packed: none of it is markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import pytest
from builders import as_json
from doors.page.documents import EVIL, hostile_document, hostile_trends, rich_document, trends

from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.metrics import PENALTIES
from pytest_tooleval.reports.html import PAGE, html_text, script_text

MODULES = sorted(PAGE.glob("*.js"))
STYLE = (PAGE / "page.css").read_text(encoding="utf-8")


def test_the_page_knows_the_penalties() -> None:
    (found,) = re.findall(r"PENALTIES = (\[.*\]);", (PAGE / "numbers.js").read_text(encoding="utf-8"))
    assert json.loads(found) == [*PENALTIES]


class Page(HTMLParser):
    """What a browser finds: elements with their attributes, and the texts in them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._place = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._place = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._place = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._place] = self.texts.get(self._place, "") + data

    @property
    def data(self) -> list[Any]:
        lines = self.texts["data"].split("\n")
        return [json.loads(zlib.decompress(base64.b64decode(line))) for line in lines]


def test_only_the_reports_own_style_and_script_may_run() -> None:
    page = Page(html_text(rich_document(4)))
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in (policy or "").split("; "))
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.texts[kind].encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    # A policy holds only for what comes after it.
    names = [tag for tag, _ in page.tags]
    assert names[:4] == ["html", "head", "meta", "meta"]


def test_no_text_of_a_document_is_part_of_the_markup() -> None:
    hostile = html_text(hostile_document(), hostile_trends())
    page = Page(hostile)
    assert page.tags == Page(html_text(rich_document(1))).tags
    assert not any(text in hostile for text in EVIL[:6])
    assert re.fullmatch(r"[A-Za-z0-9+/=\n]+", page.texts["data"])


def test_the_whole_document_is_in_it() -> None:
    document = rich_document(4)
    head, *blocks = Page(html_text(document, trends())).data
    rows = [row for block in blocks for row in block]
    assert rows == as_json(document.cases)
    assert [len(block) for block in blocks] == [head["together"], 12 - head["together"]]
    assert as_json(document.rows()).items() <= head["document"].items()
    assert head["trends"] == as_json(trends())
    trial = head["document"]["cases"][0]["trials"][0]
    assert rows[0]["trials"][0].keys() - trial.keys() == {"transcript"}


def test_a_report_is_a_fraction_of_its_document() -> None:
    document = rich_document(200)
    assert len(html_text(document)) < 0.08 * len(to_json(document)) + 150_000


def test_the_modules_can_be_one_script() -> None:
    """Their names are unique, each comes after those that it imports, and all of them are there."""
    names = [
        name
        for module in MODULES
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)",
            module.read_text("utf-8"),
            re.M,
        )
    ]
    assert sorted(names) == sorted(set(names))
    script = script_text()
    assert not re.search("^(import|export) ", script, re.M)
    for module in MODULES:
        second_line = module.read_text("utf-8").splitlines()[1]
        assert script.count(f"{second_line}\n") == 1, module.name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_scripts_never_turn_text_into_markup_and_fetch_nothing(module: Any) -> None:
    text = module.read_text(encoding="utf-8")
    for forbidden in (
        *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("),
        *("</script", "<!--", "https:", "fetch(", "XMLHttpRequest", "import(", "EventSource"),
    ):
        assert forbidden not in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("http:") == 0


def test_the_style_fetches_nothing() -> None:
    for forbidden in ("url(", "@import", "@font-face", "</style"):
        assert forbidden not in STYLE


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
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
    colours = {name: both[scheme] for name, *both in pairs}
    for ground in ("page", "raised"):
        for name in ("text", "muted", "accent", "passed", "failed", "warning", "error"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for outcome in ("passed", "failed", "warning", "error"):
        assert contrast(colours[outcome], colours[f"{outcome}-back"]) >= 4.5, outcome
    assert contrast(colours["text"], colours["failed-back"]) >= 4.5
    # Lines and marks that tell something, such as a model's colour, need 3.
    for name in ["strong-line", *(each for each in colours if each.startswith("model-"))]:
        assert contrast(colours[name], colours["page"]) >= 3, name
