"""axe objects to nothing on any view of report and page, in both colours and, at night, narrow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from nightly import ALL

from pytest_tooleval.reports.html import html_text

from .documents import trends, varied_document
from .site import Site

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
).Axe

# Only colours differ in the dark.
CHECKS: Sequence[tuple[int, Any, dict[str, Any]]] = [
    (1280, "light", {}),
    (1280, "dark", {"runOnly": ["color-contrast"]}),
    *([(400, "light", {})] if ALL else []),
]
REPORT = (
    "",
    "#case={case}&on={model}&trial=1",
    "#case={case}&on=@all",
    "#case={case}[distractors:50]&variant=@all",
)

PAGES = (
    "suites",
    "new",
    "import",
    "mcp",
    "suite/weather.tooleval.json",
    "suite/broken.tooleval.json",
    "run",
    "runs/{run}",
    "runs/{run}?case={case}",
    "trend?suite=Weather",
    "compare?old={run}&new={run}",
    "history",
)
OPEN = "for (const each of document.querySelectorAll('details')) each.open = true"


def objections(page: Page, part: str = "") -> list[str]:
    """What axe finds wrong in each size and colour, with the place; what is folded away, too."""
    found = []
    page.evaluate(OPEN)
    is_there = page.evaluate("typeof axe === 'object'")
    axe = Axe("true") if is_there else Axe()  # what it is given is read into the page each time
    for width, scheme, options in CHECKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        result = axe.run(page, part, options={"resultTypes": ["violations"], **options})
        for violation in result.response["violations"]:
            where = "; ".join(node["html"][:200] for node in violation["nodes"])
            found.append(f"{width} {scheme} {violation['id']}: {where}")
    return found


def test_the_report(browser: Browser, tmp_path: Path) -> None:
    document = varied_document(6)
    case = document.cases[0]
    path = tmp_path / "report.html"
    path.write_text(html_text(document, trends(4)), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    for view in REPORT:
        page.goto("about:blank")
        key = quote(f"{case.file}::{case.case}")
        page.goto(path.as_uri() + view.format(case=key, model=quote(case.model)))
        part = ".panel" if "case" in view else ""
        page.locator(f"{part}:not([hidden])" if part else "h1").wait_for()
        assert objections(page, part) == [], view
    context.close()


@pytest.mark.parametrize("view", PAGES)
def test_the_page(weather: Site, view: str) -> None:
    page = weather.page
    run = weather.run_of_the_weather()
    weather.write("broken.tooleval.json", json.dumps({"name": "Broken", "test_cases": [{"id": 5}]}))
    row = page.evaluate(f"fetch('/api/history/{run}').then((r) => r.json())")["cases"][0]
    weather.go(view.format(run=run, case=quote(f"{row['file']}::{row['case']}")))
    weather.settle()
    part = ".panel" if "case" in view else ""
    assert not part or page.locator(".panel:not([hidden])").count() == 1
    assert objections(page, part) == []
