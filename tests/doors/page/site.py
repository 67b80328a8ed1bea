"""The page of `tooleval ui` over a folder, served by the real command and open in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

# Answers as script.json says; a prompt that ends in a number waits until that many are released.
_AGENT = """
import asyncio
import json
from pathlib import Path

HERE = Path(__file__).parent


async def answer(messages, tools):
    prompt = messages[-1]["content"]
    number = prompt.rpartition(" ")[2]
    while number.isdigit() and int(number) >= int((HERE / "released").read_text() or 0):
        await asyncio.sleep(0.02)
    script = json.loads((HERE / "script.json").read_text(encoding="utf-8"))
    calls = script.get(prompt, script.get("*", []))
    return {
        "role": "assistant",
        "content": script.get("text:" + prompt),
        "tool_calls": [
            {"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, (n, a) in enumerate(calls)
        ],
    }
"""
# On an idle machine nothing takes a second.
PATIENCE_MS = 120_000
_COMMAND = "from pytest_tooleval.cli import main; main()"
PARIS, TOKYO = "What's the weather in Paris?", "Temperature in Tokyo in Fahrenheit"
_WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error("policy", event.violatedDirective, event.blockedURI);
});"""
# What has not been saved would be asked about before anything else is shown.
_HOLDS = """() => {
  localStorage.clear();
  return document.querySelector("dialog[open]") !== null
    || !dispatchEvent(new Event("beforeunload", {cancelable: true}));
}"""
# By way of an empty form, as the page of an address that is shown already would not be drawn again.
_GO = """async (hash) => {
  for (const next of ["#/new", hash]) {
    if (location.hash === next) continue;
    document.querySelector("main h1")?.setAttribute("data-old", "");
    const shown = new Promise((done) => addEventListener("hashchange", done, {once: true}));
    location.hash = next;
    await shown;
  }
}"""


class Site:
    """A folder, the server for it, and a browser's page that remembers what went wrong in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.page: Page
        self.complaints: list[str] = []
        self.kept = ""
        self._unanswered: set[Request] = set()
        folder.mkdir()
        (folder / "my_agent.py").write_text(_AGENT, encoding="utf-8")
        self.log = (folder.parent / "server.log").open("w+")
        self.server = subprocess.Popen(
            [sys.executable, "-u", "-c", _COMMAND, "ui", str(folder), "--port", "0", "--no-browser"],
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        self.url = self._wait_for_url()
        self.base = self.url.partition("?")[0]

    def fresh(self) -> None:
        """An empty project with an agent, its suites on the page, and no complaint."""
        self.page.context.set_offline(False)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": 1280, "height": 900})
        if not self.page.url.startswith(self.base) or self.page.evaluate(_HOLDS):
            self.load()
        self.go("new")
        # What the last page still asks for would come back as a file that is not there.
        self.settle()
        for each in self.folder.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif each.name != "my_agent.py":
                each.unlink()
        model = '[models.agent]\ncallable = "my_agent:answer"\n'
        (self.folder / "tooleval.toml").write_text(model, encoding="utf-8")
        self.release(0)
        self.script({})
        self.complaints.clear()
        self.go("suites")

    def _wait_for_url(self) -> str:
        end = time.monotonic() + 120
        while time.monotonic() < end and self.server.poll() is None:
            found = re.search(r"http://\S+", Path(self.log.name).read_text())
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(Path(self.log.name).read_text())

    def open(self, browser: Browser) -> None:
        """One page for all tests: to load its scripts takes longer than most of them."""
        self.page = browser.new_context().new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.add_init_script(_WATCH)
        self.page.on(
            "console",
            lambda message: self.complaints.append(f"{message.text} {message.location['url']}"),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._request_began)
        self.page.on("requestfinished", self._request_ended)
        self.page.on("requestfailed", self._request_ended)
        self.load()

    def _request_began(self, request: Request) -> None:
        self._unanswered.add(request)

    def _request_ended(self, request: Request) -> None:
        self._unanswered.discard(request)

    def load(self) -> None:
        """As if the browser had just been opened."""
        self.page.goto("about:blank")
        self.page.goto(self.url)
        self.page.wait_for_selector("main h1")

    def settle(self) -> None:
        """Until all that the page has asked for is there and drawn."""
        self.page.wait_for_timeout(20)
        while self._unanswered:
            self.page.wait_for_timeout(20)
        self.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def cell(self, case: str, column: int = 0) -> Any:
        """What a model made of a case, in the matrix."""
        name = self.page.get_by_text(case, exact=True)
        return self.page.locator(".matrix tbody tr").filter(has=name).locator(".cell button").nth(column)

    def close(self) -> None:
        self.server.send_signal(signal.SIGINT)
        self.server.wait(120)
        self.log.close()

    def go(self, page: str) -> None:
        """To a page by its address, which is drawn anew."""
        self.page.evaluate(_GO, f"#/{page}")
        self.page.wait_for_selector("main h1:not([data-old])")

    def write(self, name: str, suite: Any) -> None:
        text = suite if isinstance(suite, str) else json.dumps(suite, indent=2)
        (self.folder / name).write_text(text, encoding="utf-8")

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def release(self, count: int) -> None:
        new = self.folder / "released.new"
        new.write_text(str(count))
        new.replace(self.folder / "released")

    def script(self, calls: dict[str, Any]) -> None:
        self.calls = calls
        (self.folder / "script.json").write_text(json.dumps(calls), encoding="utf-8")

    def run(self, *models: str, file: str = "weather.tooleval.json") -> str:
        """Run a suite over the page to its end; the id of the run."""
        self.go(f"run?file={file}&" + "&".join(f"model={model}" for model in models))
        self.page.get_by_role("button", name="Run Eval").click()
        self.page.get_by_role("link", name="Run again").wait_for()
        return str(self.page.evaluate("location.hash")).split("/")[-1].partition("?")[0]

    def run_of_the_weather(self) -> str:
        """A run of it by the agent and the baseline, made once for all tests that only read it."""
        store = self.folder / ".tooleval"
        if self.kept:
            shutil.copytree(self.folder.parent / self.kept, store)
        else:
            self.kept = self.run("agent", "builtin/lexical")
            shutil.copytree(store, self.folder.parent / self.kept)
        return self.kept

    @property
    def editor(self) -> Any:
        """Where the suite's text is typed."""
        return self.page.get_by_role("textbox", name="The suite as JSON")

    def editor_text(self) -> str:
        lines: list[str] = self.editor.locator(".cm-line").all_inner_texts()
        return "\n".join(line.removesuffix("\n") for line in lines)

    def type_whole(self, text: str) -> None:
        self.editor.focus()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def rename(self, name: str) -> None:
        """Give the suite in the editor another name."""
        old = json.loads(self.editor_text())["name"]
        self.type_whole(self.editor_text().replace(f'"name": "{old}"', f'"name": "{name}"', 1))

    def save(self) -> None:
        self.page.get_by_role("button", name="Save", exact=True).click()
        self.page.locator(".state", has_text=re.compile("^saved$")).wait_for()

    def history(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate("fetch('/api/history').then((r) => r.json())")
        return found
