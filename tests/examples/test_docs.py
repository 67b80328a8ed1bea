"""The commands of the README and of every page of the docs are run, or say why not.

A page is a folder of its own. A block with a title, as in ```json title="weather.tooleval.json", is
written there; a ```bash block is run; the ```text block after it is what the last command prints. A line
`...` stands for any lines, and ` ...` within one for any text. `<!-- not run: REASON -->` before
a block leaves it out; then only its options are checked. A ```python block without a title runs beside
the weather suite. JSON, TOML and YAML are read, and the fields of suites and models are checked.
`<!-- change: FILE -->` before a diff changes a file.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import jsonschema
import pytest
import yaml
from builders import git
from click.testing import CliRunner

# pytester forgets what a run within this process imports first, and two classes of scores are not one.
import pytest_tooleval.record.results  # noqa: F401
from pytest_tooleval import score_calls
from pytest_tooleval.cli import main
from pytest_tooleval.engine.models.table_checks import check_tables
from pytest_tooleval.engine.models.tables import read_tables
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.schema import schema_text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "examples/README.md"])
FORMAT = json.loads(schema_text())
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<word>not run|change): (?P<why>.+?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
# What differs from run to run: times, and the ids of runs.
_VARYING = re.compile(r"\b\d+\.\d\d?s\b|\b\d{8}-\d{6}-\w{6}\b|\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")


class Block(NamedTuple):
    language: str
    title: str | None
    word: str | None
    why: str | None
    text: str


def blocks(page: Path) -> Iterator[Block]:
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        text = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        yield Block(found["language"], found["title"], found["word"], found["why"], text)


def commands(text: str) -> list[list[str]]:
    """The words of each command, comments left out."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def runs(page: Path) -> bool:
    return any(block.language == "bash" and block.word != "not run" for block in blocks(page))


@pytest.mark.parametrize(
    "page", [*filter(runs, PAGES)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_commands_do_what_the_page_says(page: Path, pytester: pytest.Pytester) -> None:
    counts = "o200k_base" in page.read_text(encoding="utf-8")
    if counts and importlib.util.find_spec("litellm") is None:
        pytest.skip("tokens are estimated without litellm")
    pytester.makepyprojecttoml("[tool.pytest.ini_options]")
    if any("examples" in block.text for block in blocks(page) if block.language == "bash"):
        leave = shutil.ignore_patterns(".tooleval", "__pycache__", ".pytest_cache")
        shutil.copytree(ROOT / "examples", "examples", ignore=leave)
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "as in a clone"]):
            git(pytester.path, *arguments)
    printed = ""
    for block in blocks(page):
        if block.title and not block.title.startswith("."):
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.word == "change":
            change(Path(str(block.why)), block.text)
        elif block.language == "bash" and block.word != "not run":
            for words in commands(block.text):
                printed = run(words, pytester)
        elif block.language == "text" and printed:
            assert_shown(block.text, printed)
        if block.language != "bash" or block.word == "not run":
            printed = ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_without_a_file_runs_or_says_why_not(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "examples/weather/weather.tooleval.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        is_own = not block.title and "--8<--" not in block.text  # the examples have their own tests
        if block.language == "python" and is_own and block.word != "not run":
            exec(compile(block.text, str(page), "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_data_is_as_the_program_takes_it(page: Path, tmp_path: Path) -> None:
    """Suites and tables of models, whole or in part, are valid; other data can be read."""
    for number, block in enumerate(blocks(page)):
        if block.word == "not run" or "--8<--" in block.text:
            continue
        if block.language == "json":
            check_json(block)
        elif block.language == "toml":
            folder = tmp_path / str(number)
            folder.mkdir()
            check_tables_of(block.text, folder)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)


def check_json(block: Block) -> None:
    lines = block.text.splitlines()
    if all(line.startswith("{") and line.endswith("}") for line in lines):
        assert all(map(json.loads, lines))
        return
    data = json.loads(block.text if block.text.startswith("{") else f"{{{block.text}}}")
    if "test_cases" in data:
        parse_suite(block.text, "page.tooleval.json")
    elif not block.title:
        parts = (FORMAT, FORMAT["$defs"]["TestCase"], FORMAT["$defs"]["Tool"])
        part = next((part for part in parts if data.keys() <= part["properties"].keys()), None)
        assert part, f"neither fields of a suite nor of a case or tool:\n{block.text}"
        jsonschema.validate(data, {"$defs": FORMAT["$defs"], "properties": part["properties"]})


def check_tables_of(text: str, folder: Path) -> None:
    if "[" not in text.partition("=")[0]:  # some keys of a table
        text = f'[models.claude]\nmodel = "anthropic/claude-sonnet-5"\n{text}'
    file = "tooleval.toml" if "[models." in text else "pyproject.toml"
    (folder / file).write_text(text, encoding="utf-8")
    tables = read_tables(folder)
    assert tables.tables
    check_tables(tables)


def change(file: Path, diff: str) -> None:
    """What `-` lines of the file become by the `+` lines after them."""
    old = "".join(line[1:].strip() for line in diff.splitlines() if line.startswith("-"))
    new = "".join(line[1:].strip() for line in diff.splitlines() if line.startswith("+"))
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is not in {file} exactly once"
    file.write_text(text.replace(old, new), encoding="utf-8")


def run(words: list[str], pytester: pytest.Pytester) -> str:
    if words[0] == "pytest":
        result = pytester.runpytest_inprocess(*words[1:])
        output = result.stdout.str() + result.stderr.str()
        assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), f"{words}\n{output}"
        assert "INTERNALERROR" not in output
        assert not re.search(r"^ERROR ", output, re.MULTILINE), f"{words}\n{output}"
    elif words[0] == "tooleval":
        done = CliRunner().invoke(main, words[1:], catch_exceptions=False)
        output = done.output
        assert done.exit_code in (0, 1), f"{words}\n{output}"
    elif words[0] == "git":
        git(pytester.path, *words[1:])
        output = ""
    else:
        raise AssertionError(f"{words[0]}: say <!-- not run: REASON -->, or teach this test to run it")
    return output


def assert_shown(shown: str, printed: str) -> None:
    """Whether the lines are printed, in this order; `...` leaves some out."""
    rest = _VARYING.sub("~", re.sub(r"[ =_]+$", "", printed, flags=re.MULTILINE)).splitlines()
    for line in _VARYING.sub("~", re.sub(r"[ =_]+$", "", shown, flags=re.MULTILINE)).splitlines():
        if line.strip() in ("", "..."):
            continue
        start, dots, end = line.partition(" ...")
        found = [
            number
            for number, one in enumerate(rest)
            if one == line or (dots and one.startswith(start) and one.endswith(end))
        ]
        assert found, f"{line!r} is not printed (any more):\n{printed}"
        rest = rest[found[0] + 1 :]


def options_of(words: list[str], pytestconfig: pytest.Config) -> set[str]:
    """All options that the command of these words has."""
    if words[0] == "pytest":
        parser = pytestconfig._parser
        anonymous = [*parser._groups, parser._anonymous]
        return {name for group in anonymous for option in group.options for name in option.names()}
    command: click.Command = main
    for word in words[1:]:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        named = command.get_command(click.Context(command), word)
        command = named or command.commands.get("files", command)  # `tooleval import FILE`
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    # Such a command hands on options of pytest.
    passes_on = command.context_settings.get("ignore_unknown_options", False)
    return own | (options_of(["pytest"], pytestconfig) if passes_on else set())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_exist(page: Path, pytestconfig: pytest.Config) -> None:
    for block in blocks(page):
        if block.language != "bash":
            continue
        for words in commands(block.text):
            while words and "=" in words[0]:  # VARIABLE=value pytest ...
                del words[0]
            if words[:1] not in (["pytest"], ["tooleval"]):
                continue
            known = options_of(words, pytestconfig)
            for word in words[1:]:
                if word.startswith("--") and word != "--":
                    assert word.partition("=")[0] in known, f"{page.name}: {shlex.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_named_in_the_text_exist(page: Path, pytestconfig: pytest.Config) -> None:
    text = page.read_text(encoding="utf-8")
    known = options_of(["pytest"], pytestconfig)
    assert set(re.findall(r"--tooleval-[a-z]+(?:-[a-z]+)*", text)) <= known
    keys = set(re.findall(r"`(tooleval_[a-z_]+)`", text))
    assert keys <= set(pytestconfig._parser._inidict)


def test_each_page_says_what_it_is_about() -> None:
    """Search engines, social cards and llms.txt show the description."""
    heads = {
        page: page.read_text(encoding="utf-8").partition("\n---\n")[0] for page in DOCS.rglob("*.md")
    }
    assert [page.name for page, head in heads.items() if "\ndescription: " not in head] == []


def test_the_action_is_valid() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = set(re.findall(r"inputs\.(\w+)", json.dumps(action["runs"])))
    assert inputs == set(action["inputs"])


def test_actions_have_the_versions_of_our_own_workflows() -> None:
    ours = "".join(
        path.read_text(encoding="utf-8")
        for path in (*(ROOT / ".github/workflows").iterdir(), ROOT / "action.yml")
    )
    known = set(re.findall(r"(actions/[\w/-]+)@\w{40} # (v\d+)", ours))
    recipes = [*PAGES, *(ROOT / "examples").rglob("*.yml")]
    for file in recipes:
        used = set(re.findall(r"(actions/[\w/-]+)@(\S+)", file.read_text(encoding="utf-8")))
        assert used <= known, file.name


@pytest.mark.parametrize(("language", "columns"), [("text", 85), ("bash", 88)])
def test_commands_and_output_fit_the_site(language: str, columns: int) -> None:
    wide = [
        f"{page.relative_to(ROOT)}: {len(line)}: {line}"
        for page in PAGES
        for block in blocks(page)
        if block.language == language
        for line in block.text.splitlines()
        if len(line) > columns
    ]
    assert wide == []


def test_a_command_that_is_not_in_a_block_is_not_run() -> None:
    """Four spaces would hide a command from these tests; only the README's first two are written so."""
    for page in PAGES:
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        hidden = re.findall(r"^    (?:pytest|tooleval|pip|python) .*$", text, re.MULTILINE)
        assert hidden == [], page.name


_OWN_STATES = re.findall(
    r"^    ```python\n(.*?)^    ```",
    (DOCS / "guides/worlds.md").read_text(encoding="utf-8").partition("## Your own state")[2],
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("code", [each for each in _OWN_STATES if "Session(" not in each])
def test_a_world_that_says_what_its_state_is_judges_its_agents(tmp_path: Path, code: str) -> None:
    (tmp_path / "bank.py").write_text(textwrap.dedent(code), encoding="utf-8")
    pays = {"tool": "pay", "params": {"amount": 40}}
    case = {"id": "one", "turns": [{"prompt": "Pay 40.", "expected_calls": [pays]}], "match": "state"}
    data = {"name": "s", "world": "bank:Bank", "test_cases": [case]}
    suite = parse_suite(json.dumps(data), str(tmp_path / "s.tooleval.json"))

    def passes(*amounts: float) -> bool:
        calls = [{"name": "pay", "arguments": {"amount": amount}} for amount in amounts]
        return score_calls(suite, "one", calls).passed

    assert [passes(40), passes(), passes(41), passes(40, 40)] == [True, False, False, False]
