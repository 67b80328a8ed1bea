from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from unit.mcp.servers import TRANSPORTS, http_base, target

from pytest_tooleval.cli import main
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import load_suite

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["import", "mcp", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    assert all(line.isprintable() for line in done.output.splitlines())
    return done


def http(mode: str) -> tuple[str, str]:
    return "--http", target("http", mode)


def suite_in(file: str) -> Any:
    return json.loads(Path(file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_suite_is_made_over_each_transport(transport: Any) -> None:
    done = run(f"--{transport}", target(transport, "good"))
    assert done.exit_code == 0
    assert done.stdout == (
        "wrote good-server.tooleval.json: 2 tools, 2 cases\n"
        '2 drafts to edit: reword the prompt, check the params, and remove "skip"\n'
    )
    assert done.stderr == "good server 1.0: 2 tools\n"
    suite = load_suite("good-server.tooleval.json")
    assert (suite.name, suite.metadata) == ("good server", {"mcp_server": "good server"})
    assert [tool.name for tool in suite.tools] == ["get_weather", "delete_all"]
    assert {case.skip for case in suite.test_cases} == {"draft"}
    assert lint_suite(suite) == []


def test_importing_again_changes_nothing() -> None:
    run(*http("good"))
    # Not the whole `stat`: reading the file moves its time of access on.
    before = Path("good-server.tooleval.json").stat().st_mtime_ns
    done = run(*http("good"))
    assert done.stdout == "good-server.tooleval.json is up to date: 2 tools, 2 cases\n"
    assert Path("good-server.tooleval.json").stat().st_mtime_ns == before


def test_tools_are_brought_up_to_date_and_cases_stay() -> None:
    written = '{ "prompt": "What is the weather?", "expected_tool": "get_weather" }'
    own = '{ "prompt": "Old", "expected_tool": "old" }'
    tools = [{"type": "function", "function": {"name": name}} for name in ("old", "get_weather")]
    text = (
        f'{{\n  "name": "mine",\n  "tools": {json.dumps(tools)},\n'
        f'  "test_cases": [\n    {written},\n    {own}\n  ]\n}}\n'
    )
    file = Path("mine.tooleval.json")
    file.write_text(text, encoding="utf-8")
    done = run(*http("good"), "--out", "mine.tooleval.json")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[:4] == [
        'added: "delete_all"',
        'removed: "old"',
        'changed: "get_weather": description; the required parameter "city" added; parameters.type',
        'broken: the case "old": the tool "old" no longer exists',
    ]
    assert re.search(
        r"mine\.tooleval\.json:\d+:\d+: test_cases\[1\]\.expected_tool: the tool", done.stderr
    )
    after = file.read_text(encoding="utf-8")
    assert f"    {written},\n    {own},\n" in after
    assert suite_in("mine.tooleval.json")["name"] == "mine"
    assert [case.get("skip") for case in suite_in("mine.tooleval.json")["test_cases"]] == [
        None,
        None,
        "draft",
    ]


def test_importing_again_fails_until_the_cases_are_mended() -> None:
    case = {"id": "old", "prompt": "Old", "expected_tool": "old"}
    tools = [{"type": "function", "function": {"name": "old"}}]
    file = Path("mine.tooleval.json")
    file.write_text(json.dumps({"name": "mine", "tools": tools, "test_cases": [case]}), "utf-8")
    out = ("--out", file.name)
    assert run(*http("good"), *out).exit_code == 1
    for more in ((), ("--dry-run",)):
        done = run(*http("good"), *out, *more)
        assert done.exit_code == 1
        broken, last = done.stdout.splitlines()
        assert broken == 'broken: the case "old": the tool "old" no longer exists'
        assert "test_cases[0].expected_tool: the tool" in done.stderr
        assert last == "mine.tooleval.json is up to date: 2 tools, 3 cases"
    mended = suite_in(file.name)
    mended["test_cases"] = mended["test_cases"][1:]
    file.write_text(json.dumps(mended), "utf-8")
    assert run(*http("good"), *out).exit_code == 0


def test_a_dry_run_writes_nothing() -> None:
    done = run(*http("good"), "--dry-run")
    assert done.stdout.startswith("would write good-server.tooleval.json: 2 tools, 2 cases\n")
    assert list(Path().iterdir()) == []


def test_a_suite_may_be_printed() -> None:
    done = run(*http("good"), "--out", "-", "--no-drafts", "--name", "other")
    assert json.loads(done.stdout)["name"] == "other"
    assert json.loads(done.stdout)["test_cases"] == []
    assert list(Path().iterdir()) == []


def test_a_file_of_the_servers_name_is_not_taken_over() -> None:
    file = Path("good-server.tooleval.json")
    file.write_text('{"name": "by hand", "test_cases": []}', encoding="utf-8")
    done = run(*http("good"))
    assert done.exit_code == 1
    assert "already exists and is not from an MCP server" in done.stderr
    assert suite_in(file.name)["name"] == "by hand"
    assert run(*http("good"), "--out", file.name).exit_code == 0
    assert suite_in(file.name)["name"] == "by hand"


def test_names_that_providers_refuse_are_mapped_for_good() -> None:
    done = run(*http("names"))
    assert done.exit_code == 0
    suite = load_suite("names-server.tooleval.json")
    names = suite.metadata["mcp_names"]
    assert names["files_read_all"] == "files/read.all"
    assert names["etc_passwd"] == "../../etc/passwd"
    assert set(names) <= {tool.name for tool in suite.tools}
    assert sorted({**{tool.name: tool.name for tool in suite.tools}, **names}.values()) == sorted(NAMES)
    assert lint_suite(suite) == []
    assert run(*http("names")).stdout.startswith("names-server.tooleval.json is up to date: ")


NAMES = (
    "files/read.all",
    "../../etc/passwd",
    "\x1b[2J\x1b[31mred",
    "günstig wählen",
    "天気",
    "9lives",
    "a" * 65,
    "a" * 64 + "b",
    "Fetch",
    "fetch",
)


def test_escapes_are_shown_as_text_and_kept_in_the_file() -> None:
    done = run(*http("escapes"))
    assert done.stderr == "\\x1b[31m../evil\\nserver 1.0: 1 tool\n"
    assert [path.name for path in Path().iterdir()] == ["x1b-31m-evil-nserver.tooleval.json"]
    suite = load_suite("x1b-31m-evil-nserver.tooleval.json")
    assert suite.tools[0].definition.description == "Reads\x1b[31m red\x07.\u202e Then more.\x9b2J"
    assert str(suite.test_cases[0].prompt).isprintable()


def test_recursive_schemas_are_kept_and_drafted() -> None:
    run(*http("recursive"))
    tree, itself = load_suite("recursive-server.tooleval.json").test_cases
    assert tree.expected_params == {"root": {"name": "example name", "children": []}}
    assert itself.expected_params == {"city": "example city"}


def test_a_tool_that_breaks_the_protocol_is_named_and_left_out() -> None:
    server = Path(__file__).parents[2] / "unit" / "mcp" / "raw_server.py"
    done = run("--stdio", f'"{sys.executable}" "{server}" invalid', "--out", "s.tooleval.json")
    assert "left out: no schema: inputSchema: Field required" in done.stderr
    assert [tool["function"]["name"] for tool in suite_in("s.tooleval.json")["tools"]] == [
        "good",
        "last",
    ]


def test_tools_that_no_suite_can_hold_are_named_and_left_out() -> None:
    done = run(*http("unusable"))
    assert done.exit_code == 0
    left_out = [line for line in done.stderr.splitlines() if line.startswith("left out: ")]
    assert [line.split('"')[1] for line in left_out] == ["deep", "types", "lost"]
    assert "2 tools" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--http", "/many/http/mcp"),
        ("--http", "/raw/html"),
        ("--http", "/raw/huge_json"),
        ("--sse", "/raw/huge_event"),
        ("--http", "/raw/cut_off"),
        ("--http", "/raw/status/401"),
        ("--http", "/raw/silent", "--timeout", "0.5"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_failed_import_leaves_no_file_and_the_old_one_as_it_was(
    arguments: tuple[str, ...], exists: bool
) -> None:
    if exists:
        run(*http("good"), "--out", "a.tooleval.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    option, path, *more = arguments
    done = run(option, http_base() + path, *more, "--out", "a.tooleval.json")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"Error: the MCP server {http_base()}{path}: ")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of --stdio, --http and --sse"),
        (("--stdio", "a", "--http", "http://b"), "give one of --stdio, --http and --sse"),
        (("--http", "http://b", "--header", "hunter2"), "expected --header NAME=VARIABLE"),
        (
            ("--http", "http://b", "--out", "suite.json"),
            "pytest collects files that end in .tooleval.json",
        ),
        (("--http", "http://b", "--timeout", "x"), "'x' is not a valid float"),
    ],
)
def test_mistakes_in_the_options(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "hunter2" not in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stdio", "no-such-command --key hunter2"), "the command no-such-command, which starts"),
        (("--stdio", "no-such-uvx some-server"), "the command no-such-uvx, which starts"),
        (("--stdio", "python", "--env", "KEY=hunter2"), "env needs the name of an environment variable"),
        (("--stdio", "python", "--env", "NO_SUCH"), "not set in the environment: NO_SUCH"),
        (("--stdio", "python", "--header", "A=B"), "headers are for servers over HTTP"),
        (("--http", "http://b", "--env", "A"), "env is for servers started by a command"),
        (
            ("--http", "http://b", "--header", "Authorization=Bearer hunter2"),
            "the header Authorization needs",
        ),
        (("--http", "http://b", "--header", "Authorization=hunter2"), "but no such variable is set"),
    ],
)
def test_mistakes_about_the_server(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert "hunter2" not in done.output


def test_a_file_that_is_no_suite_is_refused_before_the_server_is_asked() -> None:
    Path("a.tooleval.json").write_text("{}", encoding="utf-8")
    done = run("--stdio", "no-such-command", "--out", "a.tooleval.json")
    assert done.exit_code == 1
    assert "not a suite, so it is not overwritten" in done.stderr
    assert Path("a.tooleval.json").read_text(encoding="utf-8") == "{}"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot write good-server.tooleval.json" in run(*http("good")).stderr


def test_the_sdk_is_not_needed_for_help() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pytest_tooleval.cli import main; "
        "main(['import', 'mcp', '--help'], standalone_mode=False); "
        "assert not {'mcp', 'httpx2', 'pydantic'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "--stdio COMMAND" in done.stdout


def test_the_tools_of_a_server_are_counted() -> None:
    done = CliRunner().invoke(main, ["tools", *http("good"), "--fail-over=10"])
    assert done.exit_code == 1
    assert done.stdout.startswith("good server: 2 tools, ")
    assert "get_weather" in done.stdout
