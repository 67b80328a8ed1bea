"""The pictures of the docs, from real runs: `python tools/pictures.py [NAME...]` makes them anew.

They need a Chromium; diagrams need nothing.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
CARD = """
<style>
body { margin: 0; background: #1f5a50; color: #fff; font: 34px/1.35 system-ui, sans-serif }
div { padding: 80px 60px }
b { font-size: 64px }
p { margin: 14px 0 44px }
pre { background: #10302b; border-radius: 10px; padding: 24px 28px; font: 20px/1.5 monospace; margin: 0 }
</style>
<div><b>pytest-tooleval</b><p>Does your LLM call the right tool with the right arguments?</p>
<pre>SHOWN</pre></div>
"""


def project(folder: Path) -> Path:
    """The examples, as a project of their own."""
    leave = shutil.ignore_patterns(".tooleval", "__pycache__", ".pytest_cache", ".gitignore")
    return Path(shutil.copytree(ROOT / "examples", folder / "examples", ignore=leave))


def environment(columns: int) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": os.environ.get("HOME", "/"),
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "-p tooleval --color=yes",
    }


def run(command: str, cwd: Path, columns: int = 100) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=cwd,
        env=environment(columns),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


# ------------------------------------------------------------------------------------------- browser


def screenshots(shots: Callable[..., None], scale: float = 1) -> None:
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium", "google-chrome")
    program = next(filter(None, map(shutil.which, names)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, device_scale_factor=scale)
            page.set_viewport_size({"width": 1200, "height": 760})
            shots(page, scheme)
        browser.close()


def report(folder: Path) -> None:
    """The report of one model, and a case that it failed."""
    cwd = project(folder) / "models"
    run("pytest --tooleval-report=report.html --tooleval-model=qwen2.5-coder-1.5b", cwd)

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        page.goto((cwd / "report.html").as_uri())
        page.wait_for_timeout(500)
        row = page.locator(".matrix tbody tr").nth(2).bounding_box()
        page.set_viewport_size({"width": 1200, "height": int(row["y"] + row["height"])})
        page.screenshot(path=ASSETS / f"report-{scheme}.png")
        page.set_viewport_size({"width": 760, "height": 670})
        page.goto("about:blank")
        page.goto((cwd / "report.html").as_uri() + "#q=two-lights")
        page.locator(".matrix tbody .id").first.wait_for()
        page.locator(".matrix tbody button, .matrix tbody a").first.click()
        page.wait_for_timeout(500)
        page.locator(".panel").screenshot(path=ASSETS / f"failure-{scheme}.png")

    screenshots(shoot)


def variants(folder: Path) -> None:
    cwd = project(folder) / "models"
    run(
        "pytest routing.tooleval.json --tooleval-model=qwen2.5-coder-1.5b --tooleval-variant=bare "
        "--tooleval-variant=distractors:0,20,50,100:skills.json --tooleval-report=report.html",
        cwd,
    )

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        page.goto((cwd / "report.html").as_uri())
        page.locator("#variants").screenshot(path=ASSETS / f"variants-{scheme}.png")

    screenshots(shoot)


def inject(folder: Path) -> None:
    """A case under an attack, beside the same case under a harmless text."""
    cwd = project(folder) / "variants"
    run("pytest --tooleval-variant=inject --tooleval-report=report.html", cwd)

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        page.set_viewport_size({"width": 1200, "height": 1180})
        page.goto((cwd / "report.html").as_uri() + "#variant=inject&q=chairs")
        page.locator(".matrix tbody button, .matrix tbody a").first.click()
        page.wait_for_timeout(500)
        page.locator(".panel").screenshot(path=ASSETS / f"inject-{scheme}.png")

    screenshots(shoot)


def card(folder: Path) -> None:
    """The card of links to the site: the README's test, and how it fails."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"^```(?:python|text)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown = (
        "".join(code[:2]).partition("\n\n\n")[2].replace("E  ", "\n").replace("differ: ", "differ:\n")
    )

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        if scheme == "light":
            page.set_viewport_size({"width": 1200, "height": 630})
            page.set_content(CARD.replace("SHOWN", html.escape(shown)))
            page.screenshot(path=ASSETS / "card.png")

    screenshots(shoot)


COMMENT = """
<style>
:root { color-scheme: light dark }
body { margin: 0; padding: 16px; font: 14px/1.5 system-ui, sans-serif }
div { border: 1px solid #8886; border-radius: 6px; padding: 4px 16px; max-width: 760px }
li, p { overflow-wrap: anywhere }
ul { padding-left: 20px }
code { background: #8882; border-radius: 6px; padding: 2px 5px; font-size: 85% }
table { border-collapse: collapse; font: inherit }
th, td { border: 1px solid #8886; padding: 4px 12px }
</style>
<div>TEXT</div>
"""
TRACK, REFUND = "Find out where an order is and when it arrives.", "Pay back the money of an order."


def _shop(folder: Path, track: str, refund: str) -> None:
    """A suite for the built-in model, which compares words."""
    cases: list[dict[str, object]] = [
        {"id": "where-is-it", "prompt": "Find out where my order is", "forbidden_calls": ["refund"]},
        {"id": "when", "prompt": "When is my order here, when it is late?"},
        {"id": "money-back", "prompt": "Pay back my money", "expected_tool": "refund"},
        {"id": "broken-cup", "prompt": "Pay back the cup, it is broken", "expected_tool": "refund"},
    ]
    schema = {"type": "object", "properties": {}}
    tools = [
        {"name": name, "description": text, "parameters": schema}
        for name, text in (("track_order", track), ("refund", refund))
    ]
    suite = {
        "name": "Shop",
        "tools": [{"type": "function", "function": each} for each in tools],
        "test_cases": [{"expected_tool": "track_order", **case} for case in cases],
    }
    (folder / "shop.tooleval.json").write_text(json.dumps(suite, indent=2), encoding="utf-8")


def comment(folder: Path) -> None:
    """The comments on four pull requests: the first one, two without a baseline, one with."""
    who = "git -c user.name=me -c user.email=me@example.org"
    (folder / ".gitignore").write_text("*.json\n!shop.tooleval.json\n.tooleval\n*.html\n")
    run(f"git init -q -b main && git add . && {who} commit -qm main", folder)
    pytest = "pytest --tooleval-model=builtin/lexical --tooleval-report=tooleval-results.json"
    texts = {}

    def tell(name: str, track: str, refund: str, *options: str) -> None:
        _shop(folder, track, refund)
        run(f"git add . && {who} commit -qm {name}", folder)
        run(" ".join([pytest, *options]), folder)
        head, base = run("git rev-parse HEAD HEAD~1", folder).split()
        sides = {"head": {"sha": head}, "base": {"sha": base}}
        (folder / "event.json").write_text(json.dumps({"pull_request": sides}))
        given = "GITHUB_EVENT_PATH=event.json GITHUB_REPOSITORY=me/shop"
        texts[name] = run(f"{given} tooleval ci comment --link=https://example.org/report", folder)

    tell("first", TRACK, "For the money.", "--tooleval-fail-under=0.9")
    (folder / "tooleval-results.json").rename(folder / "baseline.json")
    tell("green", TRACK, REFUND)
    loose = ("--tooleval-fail-under=0.7", "--tooleval-fail-over=broken=0")
    spoilt = "Find out where an order is, or pay back the money of it."
    tell("red", "When it arrives.", spoilt)
    _shop(folder, TRACK, REFUND)
    run(f"git add . && {who} commit -qm again", folder)
    tell("compared", "When it arrives.", spoilt, "--tooleval-baseline=baseline.json", *loose)

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        shoot_comments(page, texts, scheme)

    screenshots(shoot, scale=2)


def shoot_comments(page, texts: dict[str, str], scheme: str) -> None:  # type: ignore[no-untyped-def]
    """As wide as a phone shows them."""
    import markdown  # type: ignore[import-untyped]

    page.set_viewport_size({"width": 512, "height": 400})
    for name, text in texts.items():
        made = markdown.markdown(text, extensions=["sane_lists", "tables"])
        page.set_content(COMMENT.replace("TEXT", made))
        page.locator("div").screenshot(path=ASSETS / f"comment-{name}-{scheme}.png")


STORY = "docs/guides/story.md"


def story(folder: Path) -> None:
    """The comment on the pull request of the story: whole, and on four of its cases for the README."""
    cwd = project(folder).parent
    who = "git -c user.name=me -c user.email=me@example.org"
    (cwd / ".gitignore").write_text(".tooleval\n*.json\n!*.tooleval.json\n")
    run(f"git init -q -b main && git add . && {who} commit -qm main", cwd)
    command = (
        "pytest examples/weather/weather.tooleval.json --tooleval-cassette=examples/blame "
        "--tooleval-model=qwen2.5-coder-1.5b --tooleval-temperature=0.7 "
    )
    run(f"{command} --tooleval-report=main.json", cwd)
    text = (ROOT / STORY).read_text(encoding="utf-8")
    for file, diff in re.findall(r"<!-- change: (\S+) -->\n```diff\n(.*?)```", text, re.DOTALL)[:3]:
        old, new = (re.search(rf"^[{sign}] *(.*)$", diff, re.MULTILINE)[1] for sign in "-+")  # type: ignore[index]
        suite = cwd / file
        suite.write_text(suite.read_text().replace(old, new))
    run(f"{who} commit -qam 'Shorten descriptions'", cwd)
    head, base = run("git rev-parse HEAD HEAD~1", cwd).split()
    sides = {"head": {"sha": head}, "base": {"sha": base}}
    (cwd / "event.json").write_text(json.dumps({"pull_request": sides}))
    texts = {}
    for name, options in (("story", ""), ("hero", "-k 'fahrenheit or five or either or nothing'")):
        report = "--tooleval-baseline=main.json --tooleval-report=tooleval-results.json"
        run(f"{command} {options} {report}", cwd)
        given = "GITHUB_EVENT_PATH=event.json GITHUB_REPOSITORY=me/shop"
        texts[name] = run(f"{given} tooleval ci comment --link=https://example.org/report", cwd)

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        shoot_comments(page, texts, scheme)

    screenshots(shoot, scale=2)


def page(folder: Path) -> None:
    cwd = project(folder) / "models"
    run("pytest --tooleval-model=needle-3,qwen2.5-coder-1.5b", cwd)
    served = subprocess.Popen(
        ["tooleval", "ui", "--port=0", "--no-browser"],
        cwd=cwd,
        env=environment(100) | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert served.stdout
    address = next(found[0] for line in served.stdout if (found := re.search(r"http://\S+", line)))

    def shoot(page, scheme: str) -> None:  # type: ignore[no-untyped-def]
        page.goto(address)
        page.goto(address.partition("?")[0] + "#/suite/parallel.tooleval.json")
        page.locator(".case-list li").first.wait_for()
        page.wait_for_timeout(1500)
        page.screenshot(path=ASSETS / f"page-{scheme}.png")

    try:
        screenshots(shoot)
    finally:
        served.send_signal(signal.SIGINT)
        served.wait(20)


# ------------------------------------------------------------------------------------------ diagrams

_NAMES = ("text", "soft", "line", "good", "bad", "open", "panel")
_COLOURS = {
    "light": dict(
        zip(_NAMES, "#1d2528 #5b676c #c3ccce #167a4a #b3342f #8a6a00 #f3f6f5".split(), strict=True)
    ),
    "dark": dict(
        zip(_NAMES, "#e3e8e9 #9daaae #47525a #5cc98f #f08a83 #e0be5c #252b33".split(), strict=True)
    ),
}


class Drawing:
    """An SVG of texts, boxes and lines, in the colours of a scheme. 380 wide, it fits a phone."""

    def __init__(self, width: int, height: int, title: str, scheme: str) -> None:
        self.colours = _COLOURS[scheme]
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'viewBox="0 0 {width} {height}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="14"><title>{title}</title>'
        ]

    def text(self, x: float, y: float, text: str, colour: str = "text", **more: str) -> None:
        fields = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x}" y="{y}" fill="{self.colours[colour]}"{fields}>{text}</text>')

    def box(self, x: float, y: float, width: float, height: float, colour: str = "line") -> None:
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" '
            f'fill="{self.colours["panel"]}" stroke="{self.colours[colour]}"/>'
        )

    def line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str = "soft", **more: str
    ) -> None:
        fields = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        self.parts.append(
            f'<path d="M{x} {y}L{to_x} {to_y}" stroke="{self.colours[colour]}" fill="none"{fields}/>'
        )

    def __str__(self) -> str:
        return "\n".join([*self.parts, "</svg>\n"])


def scores(scheme: str) -> Drawing:
    mono = {"font_family": "ui-monospace, Menlo, Consolas, monospace", "font_size": "13"}
    bold = {"font_weight": "600"}
    draw = Drawing(380, 300, "How one call is scored", scheme)
    for x, title in ((10, "expected"), (130, "called"), (250, "score")):
        draw.text(x, 28, title, "soft")
    rows = [
        ("get_forecast", "get_forecast", "the right tool", "1", "good"),
        ('city  "Oslo"', 'city  "Oslo"', "right", "1", "good"),
        ("days  3", "days  5", "different value", "0", "bad"),
    ]
    for y, (expected, called, why, score, colour) in zip((58, 88, 118), rows, strict=True):
        draw.text(10, y, expected, **mono)
        draw.text(130, y, called, **mono)
        draw.text(250, y, score, colour, **bold)
        draw.text(270, y, why, "soft")
    draw.line(10, 136, 370, 136, "line")
    sums = [
        ("tool_selection", "1"),
        ("parameter_accuracy", "1 of 2 = 0.5"),
        ("overall", "0.6 × 1 + 0.4 × 0.5 = 0.80"),
    ]
    for y, (metric, value) in zip((164, 192, 220), sums, strict=True):
        draw.text(10, y, metric, **mono)
        draw.text(170, y, value, **bold)
    draw.box(10, 240, 360, 50, "bad")
    draw.text(24, 270, "needs 1.00", "soft")
    draw.text(130, 270, "0.80 is below it: FAILED", "bad", **bold)
    return draw


def verdicts(scheme: str) -> Drawing:
    draw = Drawing(380, 420, "From trials to the exit status of a run", scheme)
    bold = {"font_weight": "600"}
    for row, (title, *lines) in enumerate(
        (
            ("trial", "one answer scores", "against thresholds"),
            ("case", "all its trials", "--tooleval-pass: mean, all, any, K/N"),
            ("gate", "all cases of a model, suite or tag", "--tooleval-fail-under"),
            ("run", "every gate and the baseline:", "exit status 0 or 1"),
        )
    ):
        y = 10 + 82 * row
        draw.box(10, y, 360, 62)
        draw.text(24, y + 36, title, **bold)
        for number, line in enumerate(lines):
            draw.text(80, y + 26 + 22 * number, line, "soft")
        if row < 3:
            draw.line(190, y + 62, 190, y + 81, stroke_width="1.5")
            draw.line(186, y + 75, 190, y + 81, stroke_width="1.5")
            draw.line(194, y + 75, 190, y + 81, stroke_width="1.5")
    draw.box(10, 334, 360, 80, "open")
    draw.text(24, 360, "ERROR", "open", **bold)
    for number, line in enumerate(
        (
            "No answer: network, key, rate limit.",
            "In no score, case or gate. Fails the run",
            "unless --tooleval-fail-over allows it.",
        )
    ):
        draw.text(90, 360 + 21 * number, line, "soft")
    return draw


def statistics(scheme: str) -> Drawing:
    draw = Drawing(380, 250, "A gate with a confidence: passed, inconclusive, failed", scheme)
    left, right = 20, 256

    def at(value: float) -> float:
        return left + (right - left) * (value - 0.6) / 0.4

    for value in (0.6, 0.7, 0.8, 0.9, 1.0):
        draw.line(at(value), 44, at(value), 210, "line")
        draw.text(at(value), 234, f"{value:.1f}", "soft", text_anchor="middle", font_size="12")
    draw.line(at(0.85), 34, at(0.85), 210, "text", stroke_dasharray="5 4", stroke_width="1.5")
    draw.text(at(0.85), 24, "--tooleval-fail-under=0.85", text_anchor="middle", font_size="13")
    rows = (
        ("184 of 200 cases", 0.874, 0.92, 0.950, "passed", "good"),
        ("46 of 50 cases", 0.812, 0.92, 0.968, "inconclusive", "open"),
        ("152 of 200 cases", 0.696, 0.76, 0.814, "failed", "bad"),
    )
    for y, (name, low, mean, high, verdict, colour) in zip((84, 138, 192), rows, strict=True):
        draw.text(left, y - 16, name)
        draw.line(at(low), y, at(high), y, colour, stroke_width="4", stroke_linecap="round")
        draw.parts.append(f'<circle cx="{at(mean)}" cy="{y}" r="6" fill="{draw.colours[colour]}"/>')
        draw.text(270, y + 5, verdict, colour, font_weight="600")
    return draw


def diagrams(folder: Path) -> None:
    for draw in (scores, verdicts, statistics):
        for scheme in _COLOURS:
            (ASSETS / f"{draw.__name__}-{scheme}.svg").write_text(str(draw(scheme)), encoding="utf-8")


PICTURES = {
    one.__name__: one for one in (diagrams, card, report, variants, inject, comment, story, page)
}


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            PICTURES[name](Path(folder))
        print(f"{name}: {time.monotonic() - started:.0f} s")
    for file in sorted(ASSETS.iterdir()):
        print(f"{file.stat().st_size / 1000:6.0f} kB  {file.name}")


if __name__ == "__main__":
    main()
