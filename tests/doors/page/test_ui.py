"""The pages of `tooleval ui` in a real browser, served by the real command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mock_server import MockServer
from weather_suite import WEATHER

from pytest_tooleval.history import History
from pytest_tooleval.suite.schema import suite_schema

from .site import PARIS, TOKYO, Site

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

_MCP_SERVER = Path(__file__).parents[1] / "pytest" / "live_server.py"
_EXAMPLE = Path(__file__).parents[3] / "examples" / "conversations"
_MARKUP = "<img src=x onerror=evil()></script><script>window.evil=1</script>"
_HOSTILE = _MARKUP + "\x1b[31m\u202egnp.exe\u2066"


def counted(count: int, **fields: Any) -> dict[str, Any]:
    """A suite whose cases wait to be released, one by one."""
    suite: dict[str, Any] = json.loads(WEATHER)
    suite["name"] = "Counted"
    suite["test_cases"] = [
        {"id": f"case-{i}", "prompt": f"Weather {i}", "expected_tool": "get_weather", **fields}
        for i in range(count)
    ]
    return suite


def pytest_scores(folder: Path, *arguments: str) -> dict[str, Any]:
    """Outcome and scores by case, as pytest has them."""
    command = [sys.executable, "-m", "pytest", "-q", "--tooleval-report=out.json", *arguments]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return by_case(json.loads((folder / "out.json").read_bytes()))


def by_case(document: dict[str, Any]) -> dict[str, Any]:
    return {row["case"]: (row["outcome"], row["scores"]) for row in document["cases"]}


# ---- suites ----


def test_an_empty_folder_says_what_to_do(site: Site) -> None:
    assert "No suites yet" in site.page.locator(".empty").inner_text()
    site.page.locator(".empty").get_by_role("link", name="New Suite").click()
    site.page.get_by_role("heading", name="New suite").wait_for()
    site.go("history")
    assert "No runs yet" in site.page.locator(".empty").inner_text()
    site.go("trend")
    assert "No runs yet" in site.page.locator(".empty").inner_text()
    site.go("run")
    assert "No suite has cases" in site.page.locator(".empty").inner_text()


def test_a_suite_made_in_the_page_runs_there_and_in_pytest_to_the_same_scores(site: Site) -> None:
    site.script({"Weather in Oslo?": [["get_weather", {"city": "Bergen"}]]})
    page = site.page
    page.get_by_role("link", name="New Suite").first.click()
    page.get_by_label("Name").fill("My suite")
    page.get_by_role("button", name="Create suite").click()
    page.get_by_role("button", name="Add a case").click()
    page.keyboard.insert_text("Weather in Oslo?")
    expect(page.locator(".case-list .jump")).to_have_text(
        ["whats-the-weather-in-paris", "weather-in-oslo"]
    )
    site.save()
    cases = json.loads(site.text("my-suite.tooleval.json"))["test_cases"]
    assert cases[1] == {"prompt": "Weather in Oslo?", "expected_tool": "get_weather"}
    run = site.run("agent", file="my-suite.tooleval.json")
    document = page.evaluate(f"fetch('/api/history/{run}').then((r) => r.json())")
    assert by_case(document) == pytest_scores(site.folder, "--tooleval-model=agent")
    assert by_case(document)["weather-in-oslo"][0] == "passed"
    assert by_case(document)["whats-the-weather-in-paris"][0] == "failed"


def test_an_import_with_problems_writes_nothing_and_a_good_one_every_byte(site: Site) -> None:
    site.go("import")
    site.page.get_by_label("Or paste its text").fill('{"name": "x",\n "test_cases": [{"promt": "y"}]}')
    site.page.get_by_role("button", name="Import", exact=True).click()
    alert = site.page.get_by_role("alert").inner_text()
    assert "did you mean prompt?" in alert
    assert "line 2" in alert
    assert list(site.folder.glob("*.tooleval.json")) == []
    site.complaints.clear()  # Chromium notes each answer of 422
    site.page.get_by_label("Or paste its text").fill(WEATHER)
    site.page.get_by_role("button", name="Import", exact=True).click()
    site.page.locator("h1", has_text="Weather API Suite").wait_for()
    assert site.text("weather-api-suite.tooleval.json") == WEATHER
    expect(site.page.locator(".case-list li")).to_have_count(2)
    site.go("import")
    site.page.get_by_label("Or paste its text").fill(WEATHER)
    site.page.get_by_label("Save as").fill("shop/weather")
    site.page.get_by_role("button", name="Import", exact=True).click()
    site.page.locator("h1", has_text="Weather API Suite").wait_for()
    assert site.text("shop/weather.tooleval.json") == WEATHER


def test_the_tools_of_an_mcp_server_become_a_suite(site: Site) -> None:
    site.go("mcp")
    page = site.page
    page.get_by_label("Server").select_option("stdio")
    command = [sys.executable, str(_MCP_SERVER), str(site.folder / "server.log")]
    page.get_by_label("Command", exact=True).fill(shlex.join(command))
    page.get_by_label("Suite name").fill("From MCP")
    page.get_by_role("button", name="Find tools").click()
    save = page.get_by_role("button", name="Save as a new suite")
    save.wait_for()
    found = page.get_by_label("Tools found").locator("summary code").all_inner_texts()
    assert found[:2] == ["find_station", "get_weather"]
    save.evaluate("(button) => { button.click(); button.click(); }")
    page.get_by_role("heading", name="From MCP", exact=True).wait_for()
    assert len(list(site.folder.glob("*.tooleval.json"))) == 1
    suite = json.loads(site.text("from-mcp.tooleval.json"))
    assert [tool["function"]["name"] for tool in suite["tools"]] == found


# ---- editing ----


def complete(site: Site, place: str, typed: str) -> list[str]:
    """What the editor offers once `typed` stands behind `place`."""
    text = WEATHER.replace(place, place + typed, 1)
    site.type_whole(text[: text.index(place + typed) + len(place + typed)])
    site.page.keyboard.press("Control+Space")
    offered = site.page.locator(".cm-completionLabel")
    offered.first.wait_for()
    # For a moment Enter is still meant for the text.
    site.page.wait_for_timeout(200)
    found: list[str] = offered.all_inner_texts()
    return found


def test_the_editor_completes_by_the_format_and_the_tools(weather: Site) -> None:
    weather.go("suite/weather.tooleval.json")
    for place, typed, offered in (
        ('"test_cases": [', '{"expected_to', ["expected_tool"]),
        ('"test_cases": [', '{"match": "st', ["state"]),
        ('"test_cases": [', '{"forbidden_calls": ["', ["get_weather"]),
        ('"test_cases": [', '{"paral', ["parallel"]),
        ('"test_cases": [', '{"expected_text": [{"$js', ["$json"]),
        ('"test_cases": [', '{"response_format": {"type": "', ["json_object", "json_schema"]),
        ('"test_cases": [\n    {', '"multi_turn": ', ["false", "true"]),
        ('"expected_tool": "', "", ["get_weather"]),
        ('"expected_params": { ', '"uni', ["units"]),
        ('"expected_params": { ', '"units": "', ["celsius", "fahrenheit"]),
        ('"expected_params": { ', '"city": {"$con', ["$contains"]),
    ):
        found = complete(weather, place, typed)
        assert sorted(found[: len(offered)]) == offered
        weather.page.keyboard.press("Escape")
    # What is chosen is written whole.
    keys = weather.page.keyboard
    complete(weather, '"test_cases": [', '{"call_o')
    keys.press("Enter")
    weather.page.locator(".cm-completionLabel", has_text="strict").wait_for()
    weather.page.wait_for_timeout(200)
    keys.press("ArrowDown")
    keys.press("Enter")
    assert weather.editor_text().endswith('{"call_order": "strict"')


def test_a_problem_is_marked_at_its_place_and_the_bytes_stay(site: Site) -> None:
    text = WEATHER.replace('"get_weather",\n      "expected', '"get_wether",\n      "expected', 1)
    (site.folder / "weather.tooleval.json").write_bytes(text.replace("\n", "\r\n").encode())
    site.go("suite/weather.tooleval.json")
    expect(site.page.locator(".cm-lintRange-error")).to_have_text('"get_wether"')
    site.page.locator(".findings .jump").click()
    keys = site.page.keyboard
    keys.press("ArrowRight")
    for _ in "get_we":
        keys.press("ArrowRight")
    keys.type("a")
    site.page.locator(".cm-lintRange-error").wait_for(state="detached")
    site.save()
    assert (site.folder / "weather.tooleval.json").read_bytes() == WEATHER.replace("\n", "\r\n").encode()
    # Tab indents, and after Escape it leaves.
    keys.press("Escape")
    keys.press("Tab")
    assert not site.page.evaluate("document.activeElement.matches('.json-editor')")


def test_a_tool_is_added_and_taken_back(weather: Site) -> None:
    weather.write("weather.tooleval.json", '{"name": "n", "test_cases": []}')
    weather.go("suite/weather.tooleval.json")
    page = weather.page
    page.get_by_role("button", name="Add a tool").click()
    expect(page.locator(".state")).to_have_text("unsaved changes")
    page.keyboard.type("look")
    added = json.loads(weather.editor_text())
    assert list(added) == ["name", "tools", "test_cases"]
    assert added["tools"][0]["function"]["name"] == "look"
    page.get_by_role("button", name="Add a case").click()
    assert json.loads(weather.editor_text())["test_cases"] == [{"prompt": "", "expected_tool": "look"}]
    weather.editor.focus()
    for _ in range(9):
        page.keyboard.press("Control+z")
    expect(page.locator(".state")).to_have_text("saved")
    weather.type_whole("{")
    expect(page.get_by_role("button", name="Add a case")).to_be_disabled()
    page.locator(".findings .jump").first.wait_for()


def test_a_key_says_what_it_is_for(weather: Site) -> None:
    weather.go("suite/weather.tooleval.json")
    described = suite_schema()["$defs"]["TestCase"]["properties"]["expected_tool"]["description"]
    weather.editor.locator("span", has_text=re.compile('^"expected_tool"$')).first.hover()
    expect(weather.page.locator(".cm-tooltip-hover")).to_have_text(described)
    start = weather.page.get_by_role("link", name="start with these forty")
    expect(start).to_have_attribute("href", re.compile("/get-started/forty/$"))


def test_a_suite_of_a_blank_name_goes_by_its_file(site: Site) -> None:
    site.write("blank.tooleval.json", {**json.loads(WEATHER), "name": "  "})
    site.go("suites")
    site.page.get_by_role("link", name="blank.tooleval.json", exact=True).click()
    site.page.get_by_role("heading", name="blank.tooleval.json").wait_for()


def test_a_file_that_is_gone_is_made_again_once(weather: Site) -> None:
    page = weather.page
    weather.go("suite/weather.tooleval.json")
    weather.rename("Mine")
    (weather.folder / "weather.tooleval.json").unlink()
    page.get_by_role("button", name="Save", exact=True).click()
    again = page.get_by_role("button", name="Create the file again")
    again.focus()
    again.evaluate("(button) => { button.click(); button.click(); }")
    page.locator(".state", has_text=re.compile("^saved$")).wait_for()
    weather.settle()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_focused()
    assert json.loads(weather.text("weather.tooleval.json"))["name"] == "Mine"
    weather.complaints.clear()  # Chromium notes the answer of 404


def test_two_editors_at_once_get_a_choice_and_no_lost_update(weather: Site) -> None:
    page = weather.page
    weather.go("suite/weather.tooleval.json")
    theirs = WEATHER.replace("Tests weather", "They tested")
    weather.rename("Mine")
    weather.write("weather.tooleval.json", theirs)
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.locator(".conflict")
    conflict.wait_for()
    assert '"name": "Mine"' in conflict.locator(".plus").first.inner_text()
    assert "They tested" in conflict.locator(".minus").all_inner_texts()[-1]
    assert weather.text("weather.tooleval.json") == theirs
    page.get_by_role("button", name="Keep editing").click()
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_focused()
    save.click()
    page.get_by_role("button", name="Discard my changes").click()
    expect(weather.editor).to_contain_text("They tested tool calling")
    weather.rename("Mine again")
    weather.write("weather.tooleval.json", WEATHER)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Overwrite with my version").click()
    page.locator(".state", has_text=re.compile("^saved$")).wait_for()
    assert json.loads(weather.text("weather.tooleval.json"))["name"] == "Mine again"
    weather.complaints.clear()  # Chromium notes each answer of 409


def test_unsaved_changes_are_not_left_by_accident(weather: Site) -> None:
    page = weather.page
    weather.go("suite/weather.tooleval.json")
    weather.rename("Mine")
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Stay").click()
    assert json.loads(weather.editor_text())["name"] == "Mine"
    assert "#/suite/" in page.url
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Leave without saving").click()
    page.get_by_role("heading", name="History").wait_for()
    assert weather.text("weather.tooleval.json") == WEATHER


def test_a_deleted_suite_is_gone_only_after_a_yes(weather: Site) -> None:
    page = weather.page
    weather.go("suite/weather.tooleval.json")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    assert (weather.folder / "weather.tooleval.json").exists()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the file").click()
    page.get_by_role("heading", name="Suites").wait_for()
    assert not (weather.folder / "weather.tooleval.json").exists()


# ---- running ----


_SEEN = """(isSeen) => {
  Object.defineProperty(document, "hidden", {value: !isSeen, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_scores_arrive_one_by_one_and_survive_a_reload(site: Site) -> None:
    site.write("counted.tooleval.json", counted(6))
    site.script({"*": [["get_weather", {"city": "x"}]], "Weather 1": [["wrong", {}]]})
    page = site.page
    site.go("run?file=counted.tooleval.json&model=agent")
    page.get_by_role("button", name="Run Eval").click()
    page.get_by_role("button", name="Cancel").wait_for()
    rows = page.locator(".matrix tbody tr")
    for count in (1, 2, 3):
        site.release(count)
        expect(rows).to_have_count(count)
        expect(page.locator(".live .number")).to_have_text(f"{count} of 6 cases")
    expect(site.cell("case-1")).to_have_accessible_name("agent: failed 0.00")
    page.reload()
    expect(rows).to_have_count(3)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.evaluate(_SEEN, False)  # six tabs that listen would leave the browser no connection
    site.release(4)
    page.wait_for_timeout(400)
    expect(rows).to_have_count(3)
    page.evaluate(_SEEN, True)
    expect(rows).to_have_count(4)
    assert [url for url in urls if re.search(r"/events\?after=\d+$", url)] == urls
    site.go("run")
    page.get_by_role("link", name="agent").click()  # the run under way
    expect(rows).to_have_count(4)
    site.release(6)
    page.get_by_role("link", name="Run again").wait_for()
    # Failures first, then in the order of the suite, whatever came first.
    expect(page.locator(".matrix .id")).to_have_text([f"case-{i}" for i in (1, 0, 2, 3, 4, 5)])
    expect(page.locator(".outcomes")).to_contain_text("5 passed")


def test_a_model_behind_the_scripted_server_scores_as_under_pytest(weather: Site) -> None:
    suite = json.loads(WEATHER)
    towns = ("Oslo", "Rome", "Lima", "Cairo")
    suite["test_cases"] += [
        {
            "id": town.lower(),
            "prompt": f"How warm is it in {town}?",
            "expected_tool": "get_weather",
            "expected_params": {"city": town},
        }
        for town in towns
    ]
    weather.write("weather.tooleval.json", suite)
    reloaded = threading.Event()

    def script(request: dict[str, Any]) -> None:
        if model.answered == 1:
            reloaded.wait(120)

    with MockServer(script=script, faults={"500": 4}) as model:
        with (weather.folder / "tooleval.toml").open("a") as tables:
            tables.write(
                '[models.scripted]\nmodel = "openai/mock"\napi = "openai"\nmax_concurrency = 1\n'
                f'api_base = "{model.base_url}"\n'
            )
        page = weather.page
        weather.go("run?file=weather.tooleval.json&model=scripted")
        page.get_by_role("button", name="Run Eval").click()
        page.get_by_text("1 of 6 cases").wait_for()
        page.reload()
        reloaded.set()
        page.get_by_role("link", name="Run again").wait_for()
        run = weather.history()[0]["id"]
        document = page.evaluate(f"fetch('/api/history/{run}').then((r) => r.json())")
        found = by_case(document)
        assert found == pytest_scores(weather.folder, "--tooleval-model=scripted")
    assert [found[town.lower()][0] for town in towns] == ["passed"] * 4
    # It answers a question without a place of the form "in PLACE?" with a text.
    assert sorted(outcome for outcome, _ in found.values()) == ["failed"] + ["passed"] * 5
    assert model.faulted > 0


def test_a_transcript_can_be_read_while_the_run_goes_on(site: Site) -> None:
    site.write("counted.tooleval.json", counted(2, expected_params={"city": "Oslo"}))
    site.script({"*": [["get_weather", {"city": "Bergen"}]]})
    site.go("run?file=counted.tooleval.json&model=agent")
    site.page.get_by_role("button", name="Run Eval").click()
    site.release(1)
    site.cell("case-0").click()
    panel = site.page.locator(".panel")
    panel.get_by_role("heading", name="Answer", exact=True).wait_for()
    assert "Weather 0" in panel.locator(".turn-user").inner_text()
    assert "Bergen" in panel.locator(".turn-assistant").inner_text()
    assert '"Oslo"' in panel.locator("tr.minus").first.inner_text()
    site.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(site.cell("case-0")).to_be_focused()
    site.release(2)
    site.page.get_by_role("link", name="Run again").wait_for()


def test_a_cancelled_run_keeps_what_came(site: Site) -> None:
    site.write("counted.tooleval.json", counted(4))
    site.script({"*": [["get_weather", {"city": "x"}]]})
    page = site.page
    site.go("run?file=counted.tooleval.json&model=agent")
    page.get_by_role("button", name="Run Eval").click()
    site.release(1)
    site.cell("case-0").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_text("interrupted").wait_for()
    expect(page.locator(".outcomes")).to_contain_text("1 passed")
    site.release(4)
    site.go("history")
    expect(page.locator("tbody tr")).to_contain_text("✗ Incomplete (interrupted)1/1 passed")
    site.go("suites")
    expect(page.locator("tbody .tone-error")).to_contain_text("1/1 passed · partial · interrupted")
    site.go("trend?name=Counted")
    expect(page.locator("tbody .tone-error")).to_contain_text("interrupted")


def test_a_run_that_fails_shows_what_pytest_wrote(weather: Site) -> None:
    conftest = "def pytest_runtestloop(session): raise OSError('no such place')"
    (weather.folder / "conftest.py").write_text(conftest)
    weather.run("agent")
    alert = weather.page.get_by_role("alert")
    expect(alert).to_have_text(
        "✗ internal error: OSError: no such place; pytest ended with exit status 3"
    )
    expect(weather.page.locator(".output pre")).to_contain_text("INTERNALERROR> OSError: no such place")


def test_run_again_offers_what_that_run_had(site: Site) -> None:
    page = site.page
    site.write("counted.tooleval.json", counted(3))
    site.release(3)
    first = site.run("agent", file="counted.tooleval.json")
    for label, value in (("Temperature", "0.7"), ("Trials", "2")):
        site.page.get_by_role("link", name="Run again").click()
        page.get_by_label(label, exact=True).fill(value)
        page.get_by_role("button", name="Run Eval").click()
        page.get_by_role("link", name="Run again").wait_for()
    page.get_by_role("link", name="Run again").click()
    expect(page.get_by_label("Temperature", exact=True)).to_have_value("0.7")
    expect(page.get_by_label("Trials", exact=True)).to_have_value("2")
    site.go(f"runs/{first}")
    page.get_by_role("link", name="Run again").click()
    for label in ("Temperature", "Trials", "Tool choice"):
        expect(page.get_by_label(label, exact=True)).to_have_value("")
    site.go("run?file=counted.tooleval.json&model=agent&case=case-1")
    page.get_by_text("1 case on 1 model").wait_for()


def test_an_option_that_only_its_row_knows_can_be_set(weather: Site) -> None:
    page = weather.page
    row = {"name": "new-flag", "help": "be new", "metavar": "", "default": None, "is_kept": True}
    options = [{**row, "choices": {"true": ""}}, {**row, "name": "new-text", "choices": {}}]
    page.route("**/api/project", lambda route: route.fulfill(json={"root": "/", "options": options}))
    weather.go("run?file=weather.tooleval.json&model=agent")
    page.get_by_label("New flag").select_option("true")
    page.get_by_label("New text").fill("some words")
    page.unroute("**/api/project")
    with page.expect_request("**/api/runs") as sent:
        page.get_by_role("button", name="Run Eval").click()
    assert json.loads(sent.value.post_data or "")["options"] == {
        "new-flag": "true",
        "new-text": "some words",
    }
    expect(page.get_by_role("alert")).to_contain_text("unknown option new-flag")
    weather.complaints.clear()  # Chromium notes the answer of 422


def test_the_models_of_the_ini_file_are_chosen(weather: Site) -> None:
    weather.write("pytest.ini", "[pytest]\ntooleval_model = agent openai/gpt-4o")
    weather.go("run")
    models = weather.page.get_by_role("group", name="Models")
    expect(models.get_by_role("checkbox", checked=True)).to_have_count(2)
    expect(models.get_by_label("builtin/lexical")).not_to_be_checked()
    expect(weather.page.get_by_text("2 cases on 2 models")).to_be_visible()


def test_only_the_cases_that_were_chosen_run(weather: Site) -> None:
    page = weather.page
    weather.go("run?file=weather.tooleval.json&model=agent&model=builtin/lexical")
    page.get_by_text("Choose cases").click()
    page.get_by_label(TOKYO).uncheck()
    expect(page.get_by_text("1 case on 2 models")).to_be_visible()
    page.get_by_label("Temperature", exact=True).fill("3")
    page.get_by_role("button", name="Run Eval").click()
    expect(page.get_by_role("alert")).to_contain_text("temperature=3: expected 0 to 2")
    page.get_by_label("Temperature", exact=True).fill("0.5")
    page.get_by_role("button", name="Run Eval").click()
    page.get_by_role("link", name="Run again").wait_for()
    expect(page.locator(".cell button")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text("temperature=0.5")
    page.get_by_role("link", name="Run again").click()
    page.get_by_text("1 case on 2 models").wait_for()
    weather.complaints.clear()  # Chromium notes the answer of 422


def test_a_run_of_the_history_is_seen_as_in_a_report(weather: Site) -> None:
    page = weather.page
    run = weather.run_of_the_weather()
    weather.go(f"runs/{run}")
    rows = page.locator(".matrix tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("combobox", name="Model").select_option("agent")
    page.locator(".chips").get_by_role("button", name="failed").click()
    expect(rows).to_have_count(1)
    expect(page).to_have_url(f"{weather.base}#/runs/{run}?outcome=failed&model=agent")
    weather.cell("temperature-in-tokyo-in-fahrenheit").click()
    panel = page.locator(".panel")
    panel.get_by_role("heading", name="Answer", exact=True).wait_for()
    assert "fahrenheit" in panel.locator("tr.minus").first.inner_text()
    page.reload()
    panel.get_by_role("heading", name="Answer", exact=True).wait_for()
    expect(rows).to_have_count(1)
    page.go_back()
    expect(panel).to_be_hidden()
    expect(rows).to_have_count(1)
    page.get_by_label("Search").fill("paris")
    expect(rows).to_have_count(0)
    page.go_forward()
    panel.get_by_role("link", name="weather.tooleval.json").click()
    page.locator("h1", has_text="Weather API Suite").wait_for()
    expect(panel).to_have_count(0)


def test_two_runs_are_compared_and_the_trend_is_drawn(weather: Site) -> None:
    page = weather.page
    weather.run("agent")
    weather.script({**weather.calls, PARIS: [["get_weather", {"city": "Rome"}]]})
    weather.run("agent")
    weather.go("history")
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("link", name="Compare selected").click()
    page.locator(".verdict-line").wait_for()
    overall = page.get_by_role("row", name=re.compile("^agent overall")).inner_text().split()
    assert overall[2:7] == ["2", "0.90", "0.70", "-20", "points"]
    page.get_by_text("Old and new answers").first.click()
    page.locator(".lines .plus", has_text="Rome").wait_for()
    page.locator(".comparison").get_by_role("link", name="whats-the-weather-in-paris").first.click()
    expect(page.locator("#panel-title")).to_have_text("whats-the-weather-in-paris")
    weather.go("trend?name=Weather%20API%20Suite")
    chart = page.get_by_role("img")
    assert "first 0.50 … last 0.00" in str(chart.get_attribute("aria-label"))
    ticks = chart.locator("text").all_text_contents()
    assert len([tick for tick in ticks if re.search(r", \d\d:\d\d:\d\d$", tick)]) == 2
    weather.go("suites")
    page.get_by_text("0.00 · 0/2 passed").wait_for()
    weather.go("compare?old=nope&new=latest")
    message = re.compile(r'Run "nope" not found\.$')
    expect(page.get_by_role("alert")).to_contain_text(message)
    weather.complaints.clear()  # Chromium notes the answer of 404


def test_results_belong_to_their_file_and_skipped_cases_are_no_success(weather: Site) -> None:
    page = weather.page
    weather.write("a-twin.tooleval.json", WEATHER)
    drafts = json.loads(WEATHER)
    drafts["name"] = "Drafts"
    drafts["test_cases"] = [{**case, "skip": True} for case in drafts["test_cases"]]
    weather.write("drafts.tooleval.json", drafts)
    first = weather.run("agent")
    weather.run("agent", file="drafts.tooleval.json")
    weather.go("suites")
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text="weather.tooleval.json")).to_contain_text("0.50 · 1/2 passed")
    expect(rows.filter(has_text="drafts.tooleval.json")).to_contain_text("⊘ 2 skipped")
    expect(rows.filter(has_text="a-twin.tooleval.json")).not_to_contain_text("passed")
    expect(rows.filter(has_text="weather.tooleval.json")).not_to_contain_text("partial")
    weather.go("history")
    expect(rows.first).to_contain_text("⊘ Not evaluated: 0 of 22 skipped")
    started = page.locator("tbody time").first.inner_text()
    page.get_by_role("link", name="Compare runs").click()
    expect(page.locator(".verdict-line")).to_contain_text("failed: nothing to compare")
    expect(page.get_by_label("New run", exact=True).locator("option").first).to_contain_text(started)
    weather.run("agent")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_label("Old run", exact=True)).to_have_value(first)
    weather.go("trend")
    expect(page.get_by_label("Suite or case")).to_have_value("Weather API Suite")
    expect(page.get_by_role("img")).to_have_count(1)


def test_a_partial_run_does_not_replace_the_last_whole_one(weather: Site) -> None:
    page = weather.page
    whole = weather.run("agent")
    weather.run("agent", file="weather.tooleval.json&case=whats-the-weather-in-paris")
    weather.run("builtin/lexical")
    part = weather.run("agent", file="weather.tooleval.json&case=whats-the-weather-in-paris")
    weather.go("suites")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text(
        re.compile(r"\d/2 passed.*builtin/lexical.*since then, in part: 1/1 passed")
    )
    weather.go("history")
    rows = page.locator("tbody tr")
    expect(rows.nth(1)).to_contain_text(part)
    expect(rows.nth(1)).to_contain_text("partial")
    expect(rows.nth(3)).to_contain_text(whole)
    expect(rows.first).not_to_contain_text("partial")
    weather.run("agent")
    weather.go("trend?name=Weather%20API%20Suite")
    page.get_by_role("img").wait_for()
    lines = page.locator("figure path.line").evaluate_all("(all) => all.map((p) => p.getAttribute('d'))")
    assert sorted(line.count("L") for line in lines) == [0, 1]


def test_a_run_that_passed_its_gate_is_marked_so_and_a_tag_is_seen(weather: Site) -> None:
    page = weather.page
    for rate in ("0.4", "0.9"):
        pytest_scores(weather.folder, "--tooleval-model=agent", f"--tooleval-fail-under={rate}")
    history = History(weather.folder / ".tooleval")
    history.tag(history.find("latest~1"), "v1")
    weather.go("history")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    strict, loose = rows.all()
    expect(strict).to_contain_text("✗ Failed1/2 passed, 1 failed, 1 counted · 1 gate failed")
    expect(loose).to_contain_text("✓ Passed1/2 passed, 1 failed, 1 counted, 1 tolerated")
    expect(loose.locator(".tag")).to_have_text("@v1")
    weather.go("compare")
    expect(page.get_by_label("Old run", exact=True).locator("option:checked")).to_have_text(
        re.compile("^@v1 · ")
    )
    weather.go("suites")
    page.get_by_text("✗ 0.50 · 1/2 passed").wait_for()
    history.delete(history.find("latest"))
    page.reload()
    page.get_by_text("✓ 0.50 · 1/2 passed").wait_for()
    weather.write("test_other.py", "def test_other(): assert False")
    pytest_scores(weather.folder, "--tooleval-model=agent", "--tooleval-fail-under=0.4")
    weather.go("history")
    expect(rows.first).to_contain_text("✗ Failed1/2 passed")


def test_a_deleted_run_is_gone_and_told_in_words(weather: Site) -> None:
    run = weather.run_of_the_weather()
    weather.go("history")
    weather.page.get_by_role("button", name="Delete the run of").click()
    weather.page.get_by_role("button", name="Delete the run", exact=True).click()
    weather.page.get_by_text("No runs yet").wait_for()
    assert weather.history() == []
    weather.go(f"runs/{run}")
    expect(weather.page.get_by_role("alert")).to_contain_text("There are no runs yet")
    weather.complaints.clear()  # Chromium notes the answer of 404


def test_a_lost_server_is_told_in_words(weather: Site) -> None:
    weather.go("suite/weather.tooleval.json")
    weather.page.context.set_offline(True)
    weather.rename("Mine")
    weather.page.get_by_role("button", name="Save", exact=True).click()
    weather.page.get_by_text("No response from the server").first.wait_for()
    assert json.loads(weather.editor_text())["name"] == "Mine"
    weather.complaints.clear()  # Chromium notes each request that fails


# ---- hostile texts, many cases, narrow screens, keyboards ----


def test_hostile_texts_run_nothing_and_break_no_layout(site: Site) -> None:
    suite = json.loads(WEATHER)
    suite["name"] = _HOSTILE
    suite["test_cases"] = [
        {
            "id": _MARKUP + "x" * 120,
            "prompt": _HOSTILE,
            "expected_tool": "get_weather",
            "expected_params": {"city": _HOSTILE + "b"},
        }
    ]
    site.write("hostile.tooleval.json", suite)
    site.script(
        {_HOSTILE: [["get_weather", {"city": _HOSTILE, _HOSTILE: 1}]], "text:" + _HOSTILE: _HOSTILE}
    )
    page = site.page
    page.set_viewport_size({"width": 390, "height": 800})
    site.go("suites")
    assert "\\x1b[31m" in page.locator("tbody").inner_text()
    run = site.run("agent", file="hostile.tooleval.json")
    page.locator(".cell button").click()
    page.locator(".panel .turn-assistant").wait_for()
    text = page.locator(".panel").inner_text()
    assert "<img src=x onerror=evil()>" in text
    assert "\\u202e" in text
    for address in (
        "suites",
        "suite/hostile.tooleval.json",
        "run?file=hostile.tooleval.json",
        f"runs/{run}",
        "history",
        "trend",
        f"compare?old={run}&new={run}",
    ):
        site.go(address)
        site.settle()
        visible = page.locator("body").inner_text()
        assert not set(visible) & {"\x1b", "\u202e", "\u2066"}
        assert page.locator("img, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_of_many_cases_the_page_draws_those_that_are_seen(site: Site) -> None:
    site.write("many.tooleval.json", counted(400))
    page = site.page
    site.go("run?file=many.tooleval.json&model=builtin/lexical")
    page.get_by_role("button", name="Run Eval").click()
    page.get_by_role("link", name="Run again").wait_for()
    page.locator(".verdict").wait_for()
    expect(page.locator(".status")).to_have_text("400 of 400 cases")
    assert page.locator(".matrix tbody tr").count() < 200
    page.get_by_label("Search").fill("case-399")
    site.cell("case-399").wait_for()
    site.go("suite/many.tooleval.json")
    page.get_by_role("button", name="case-321", exact=True).click()
    expect(page.get_by_role("button", name="case-321", exact=True)).not_to_be_focused()
    page.keyboard.press("Control+ArrowRight")
    expect(site.editor.locator(".cm-activeLine")).to_contain_text('"id": "case-321"')
    page.get_by_role("link", name="Run case-321", exact=True).click()
    page.get_by_text("1 case on 1 model").wait_for()


_NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button")]
  .filter((each) => !each.closest("[hidden]"))
  .filter((each) => !each.labels?.length && !each.getAttribute("aria-label"))
  .filter((each) => !each.textContent.trim())
  .map((each) => each.outerHTML)"""


def test_every_page_names_its_controls_and_is_no_wider_than_a_narrow_screen(weather: Site) -> None:
    run = weather.run_of_the_weather()
    page = weather.page
    page.set_viewport_size({"width": 390, "height": 800})
    for address in (
        "suites",
        "new",
        "import",
        "mcp",
        "suite/weather.tooleval.json",
        "run",
        f"runs/{run}",
        "trend",
        f"compare?old={run}&new={run}",
        "history",
    ):
        weather.go(address)
        weather.settle()
        assert page.locator("h1").count() == 1, address
        assert page.evaluate(_NAMELESS) == [], address
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
        assert len(ids) == len(set(ids)), address
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, (address, scheme)
    # A label of two lines is not printed over the next one.
    assert page.locator(".list td").first.evaluate(
        """(cell) => {
          const before = cell.offsetHeight;
          cell.dataset.label = "Redundancy penalty of all";
          return cell.offsetHeight > before * 1.4;
        }"""
    )


def test_the_skip_link_leaves_the_address_as_it_is(weather: Site) -> None:
    page = weather.page
    weather.go("history")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("[document.activeElement.id, location.hash]") == ["main", "#/history"]
    page.goto("about:blank")
    page.goto(f"{weather.base}#main")
    page.get_by_role("heading", name="Suites").wait_for()


def test_a_suite_is_edited_and_run_by_keyboard_alone(weather: Site) -> None:
    page = weather.page
    weather.go("suites")
    page.locator("h1").focus()
    _tab_to(page, "Weather API Suite")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="Weather API Suite").wait_for()
    _tab_to(page, "Add a case")
    page.keyboard.press("Enter")
    page.keyboard.type("Now!")
    page.keyboard.press("Control+s")
    page.locator(".state", has_text=re.compile("^saved$")).wait_for()
    assert json.loads(weather.text("weather.tooleval.json"))["test_cases"][2]["prompt"] == "Now!"
    page.locator("h1").focus()
    _tab_to(page, "Run")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Run").wait_for()


def _tab_to(page: Page, text: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith(text):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"no Tab leads to {text}")


def test_the_colours_can_be_chosen_and_are_kept(site: Site) -> None:
    page = site.page
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.reload()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == dark
    assert dark != "rgb(255, 255, 255)"
    page.get_by_role("button", name="Theme: dark").click()
    page.get_by_role("button", name="Theme: auto").wait_for()


def test_a_python_test_is_shown_and_not_edited(site: Site) -> None:
    (site.folder / "test_it.py").write_text(
        "def agent(messages, tools):\n    return 'ok'\n\n"
        "def test_it(tooleval):\n    assert tooleval('Hi', agent=agent).calls\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    subprocess.run(command, cwd=site.folder, capture_output=True, check=False)
    page = site.page
    site.go("history")
    (made,) = site.history()
    site.go(f"runs/{made['id']}?case=test_it.py%3A%3Atest_it")
    expect(
        page.get_by_text("A Python test: edit it in its file, and run it with pytest.")
    ).to_be_visible()
    expect(page.get_by_role("link", name="Open in VS Code")).to_be_visible()
    expect(page.get_by_role("link", name="test_it.py:4")).to_have_count(0)
