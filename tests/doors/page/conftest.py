"""A headless Chromium, and pages that remember everything that went wrong in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from weather_suite import WEATHER

from .site import PARIS, PATIENCE_MS, TOKYO, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_TELL_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error("policy", event.violatedDirective);
});"""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: looked for {', '.join(_NAMES)}")
    # Ends with the module: as long as it runs, no other test of this process can run an event loop.
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, headless=True, args=["--no-sandbox"])
        yield launched
        launched.close()


class Opened:
    """A page opened from a file, and what it complained about, asked for, or popped up."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.url = ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(_TELL_VIOLATIONS)

    def open(self, path: Path, hash: str, width: int, scheme: Any) -> None:
        """A file as if nobody had seen it before."""
        if self.url:
            self.page.evaluate("localStorage.clear()")
        self.url = path.as_uri()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media="screen", color_scheme=scheme)
        self.complaints.clear()
        self.requests.clear()
        self.go(hash)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, hash: str = "") -> None:
        shown = self.page.url.partition("#")[0] == self.url
        self.page.goto(self.url + hash)
        if shown:
            self.page.reload()
        self.page.locator("h1").first.wait_for(state="attached")

    @property
    def hash(self) -> str:
        return str(self.page.evaluate("location.hash"))

    def cases(self) -> list[str]:
        """The ids of the cases that the matrix holds now, drawn to the last."""
        self.settle()
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        return self.page.locator(".matrix tbody .id").all_inner_texts()

    def status(self) -> str:
        self.settle()
        return self.page.locator(".status").inner_text()

    def settle(self) -> None:
        """Until what was asked for has been drawn."""
        self.page.locator("h1").first.wait_for(state="attached")
        self.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def wait(self, expression: str) -> None:
        """Until it is true; the page's policy forbids Playwright's own `wait_for_function`."""
        deadline = time.monotonic() + 120
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(20)

    def assert_clean(self) -> None:
        assert self.complaints == []
        assert {url.partition("#")[0] for url in self.requests} <= {self.url, "about:blank"}
        assert self.page.evaluate("window.evil") is None


@pytest.fixture(scope="module")
def opened_once(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield Opened(context.new_page())
    context.close()


@pytest.fixture
def open_page(opened_once: Opened) -> Callable[..., Opened]:
    """`open_page(path, hash="", width=1280, scheme="light")`, in one page for all tests of a module."""

    def open_(path: Path, hash: str = "", *, width: int = 1280, scheme: Any = "light") -> Opened:
        opened_once.open(path, hash, width, scheme)
        return opened_once

    return open_


@pytest.fixture(scope="module")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site") / "project")
    made.open(browser)
    yield made
    made.page.context.close()
    made.close()


@pytest.fixture
def site(served: Site) -> Iterator[Site]:
    served.fresh()
    yield served
    assert served.complaints == []


@pytest.fixture
def weather(site: Site) -> Site:
    """With the weather suite, and an agent that gets the first of its cases right."""
    site.write("weather.tooleval.json", WEATHER)
    site.script(
        {
            PARIS: [["get_weather", {"city": "paris"}]],
            TOKYO: [["get_weather", {"city": "Tokyo", "units": "celsius"}]],
        }
    )
    return site
