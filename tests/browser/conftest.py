"""A headless Chromium, and pages that remember everything that went wrong in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
from seed_suite import SEED

from .site import PARIS
from .site import TOKYO
from .site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page

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
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, headless=True, args=["--no-sandbox"])
        yield launched
        launched.close()


class Opened:
    """A page opened from a file, and what it complained about, asked for, or popped up."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.url = path.as_uri()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(_TELL_VIOLATIONS)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, hash: str = "") -> None:
        self.page.goto("about:blank")
        self.page.goto(self.url + hash)
        self.page.locator("h1, noscript p").first.wait_for(state="attached")

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


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """`open_page(path, hash="", width=1280, scheme="light", scripts=True)`."""
    contexts = []

    def open_(
        path: Path, hash: str = "", *, width: int = 1280, scheme: Any = "light", scripts: bool = True
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        opened = Opened(context.new_page(), path)
        opened.go(hash)
        return opened

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip("starlette", reason="the page needs starlette")
    pytest.importorskip("uvicorn", reason="the page needs uvicorn")
    made = Site(tmp_path_factory.mktemp("site") / "project")
    yield made
    made.close()


@pytest.fixture
def site(browser: Browser, served: Site) -> Iterator[Site]:
    served.fresh()
    served.open(browser)
    yield served
    for context in browser.contexts:
        context.close()
    assert served.complaints == []


@pytest.fixture
def seeded(site: Site) -> Site:
    """With the seed's suite, and an agent that gets the first of its cases right."""
    site.write("weather.tooleval.json", SEED)
    site.script(
        {
            PARIS: [["get_weather", {"city": "paris"}]],
            TOKYO: [["get_weather", {"city": "Tokyo", "units": "celsius"}]],
        }
    )
    return site
