"""What axe objects to on the built site, in both colours: `python tools/axe.py SITE [--six | --all]`.

On six pages, or with `--all` on every page and on a phone, too. It needs a Chromium.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Of each kind: pictures, tabs, code, wide tables, a generated reference.
SIX = ("", "get-started", "guides/story", "guides/agents", "reference/suite-format", "comparison")
# Only colours differ in the dark.
CHECKS: Sequence[tuple[int, Any, dict[str, Any]]] = [
    (1280, "light", {}),
    (1280, "dark", {"runOnly": ["color-contrast"]}),
]
PHONE: tuple[int, Any, dict[str, Any]] = (400, "light", {})
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def objections(page: Page, checks: Sequence[tuple[int, Any, dict[str, Any]]]) -> Iterator[str]:
    from axe_playwright_python.sync_playwright import Axe

    for width, scheme, options in checks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        result = Axe().run(page, options={"resultTypes": ["violations"], **options})
        for violation in result.response["violations"]:
            where = "; ".join(node["html"][:200] for node in violation["nodes"])
            yield f"{width} {scheme} {violation['id']}: {where}"


def main(arguments: list[str]) -> int:
    from playwright.sync_api import sync_playwright

    site = Path(arguments[0]).resolve()
    is_all = "--all" in arguments
    pages = sorted(site.rglob("index.html")) if is_all else [site / name / "index.html" for name in SIX]
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        print(f"no browser is installed: looked for {', '.join(_BROWSERS)}")
        return 1
    failed = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path in pages:
            page = browser.new_page()
            page.goto(path.as_uri())
            for objection in objections(page, [*CHECKS, PHONE] if is_all else CHECKS):
                print(f"{path.parent.relative_to(site)}: {objection}")
                failed = 1
            page.close()
        browser.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
