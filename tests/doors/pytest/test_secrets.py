"""A key is in nothing that a run leaves behind, even when the server repeats it."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mock_server import MockServer, call_message
from nightly import at_night

from pytest_tooleval.cli import main

from .project import Project, case, right
from .test_resume import served_cases, with_server

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"


TALKATIVE = """
    import asyncio
    import logging
    import os
    import subprocess
    import sys
    import threading
    import warnings

    async def answer(messages, tools):
        for step in ("before", "after"):
            text = f"{step}\x1b[2J {os.environ['PLANTED_API_KEY']} of {messages[-1]['content']}"
            print(text)
            print(text, file=sys.stderr)
            logging.getLogger("mine").warning(text)
            warnings.warn(text)
            threading.Thread(target=print, args=[text]).start()
            await asyncio.sleep(0.005)
        if sys.platform != "win32" and "--capture=sys" not in sys.argv:  # which has no descriptor
            server = ["sh", "-c", r"printf 'printed \\033[2J\\n' >&2"]
            subprocess.run(server, stderr=sys.stderr)
        return "no"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [("-rA", "--log-cli-level=INFO"), ("--capture=sys",), ("-n", "2")], ids=str
)
def test_what_an_agent_prints_and_warns_of_is_safe(
    project: Project, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    """Also between tests, when pytest does not capture."""
    monkeypatch.setenv("PLANTED_API_KEY", KEY)
    project.write("my_agent.py", TALKATIVE)
    project.suite(*(right(f"c{i}") for i in range(40)))
    options = ("--junitxml=junit.xml", "-o", "junit_logging=all", "--tb=short")
    result = project.run_subprocess(*options, *args)
    result.assert_outcomes(failed=40)  # a warning between two tests may reach neither
    shown = result.stdout.str() + result.stderr.str()
    files = (project.path / "junit.xml").read_text(encoding="utf-8")
    assert "\\x1b[2J [secret] of What is the weather" in shown
    assert "\\x1b[2J [secret] of What is the weather" in files
    assert "printed \\x1b[2J" in shown or sys.platform == "win32" or "--capture=sys" in args
    assert "\x1b" not in shown + files
    assert "#x1B" not in files
    assert leaks(project, shown) == []


def test_the_output_of_other_tests_stays_as_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", KEY)
    project.suite(right("a"))
    project.write(
        "test_own.py",
        """
        import sys

        def test_own(capsys):
            print("\x1b[31mred")
            assert capsys.readouterr().out == "\x1b[31mred\\n"
            print("\x1b[31mred", file=sys.stderr)
            assert False
        """,
    )
    project.run("--color=no").stdout.fnmatch_lines(["*Captured stderr call*", "\x1b[[]31mred"])


HOSTILE_LOG = """
    import logging
    import os

    def answer(messages, tools):
        key = os.environ["PLANTED_LOGIN"]
        logging.getLogger("litellm").warning("sent %s\\x1b[2J\\n::error::owned", key)
        logging.getLogger("openai").debug("sent %s", {"api-key": key})
        try:
            raise ValueError(key)
        except ValueError:
            logging.getLogger("httpx").exception("failed")
        return "no"
    """


def test_the_variable_of_any_table_is_kept_out_of_logs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_LOGIN", KEY)
    project.write("my_agent.py", HOSTILE_LOG)
    project.write(
        "tooleval.toml",
        """
        [models.mine]
        callable = "my_agent:answer"
        [models.other]
        model = "openai/m"
        api_base = "http://127.0.0.1:1/v1"
        api_key_env = "PLANTED_LOGIN"
        """,
    )
    project.suite(right("a"))
    options = ("-rA", "--log-level=DEBUG", "--log-file=run.log", "--log-cli-level=DEBUG")
    result = project.run_subprocess(*options, model="mine")
    for text in (result.stdout.str(), (project.path / "run.log").read_text()):
        assert "sent [secret]\\x1b[2J" in text
        assert "sent {'api-key': '[secret]'}" in text
        assert "\x1b" not in text
        assert "\n::error" not in text
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["", "n2"])
@pytest.mark.parametrize("events", [(), ("--tooleval-events=events.jsonl",)], ids=["", "events"])
@pytest.mark.parametrize(
    "log",
    [
        ("--log-file=run.log", "--log-cli-level=INFO"),
        at_night(("--log-file=run.log",)),
        at_night(("--log-cli-level=INFO",)),
        at_night(("-o", "log_cli=true", "-o", "log_file=run.log", "-o", "log_level=DEBUG")),
        at_night(()),
    ],
    ids=str,
)
def test_no_log_shows_a_key_with_or_without_events(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    log: tuple[str, ...],
    events: tuple[str, ...],
    workers: tuple[str, ...],
) -> None:
    """With events, the session begins before the handlers exist."""
    monkeypatch.setenv("PLANTED_LOGIN_TOKEN", KEY)
    project.write("my_agent.py", HOSTILE_LOG.replace("PLANTED_LOGIN", "PLANTED_LOGIN_TOKEN"))
    project.write("tooleval.toml", '[models.mine]\ncallable = "my_agent:answer"\n')
    project.suite(right("a"), right("b"))
    result = project.run_subprocess("-rA", *log, *events, *workers, model="mine")
    shown = result.stdout.str() + result.stderr.str()
    files = [file.read_text() for file in project.path.glob("run.log")]
    for text in (shown, *files):
        assert "sent [secret]" in text
    assert len(files) == any("file" in each for each in log)
    assert leaks(project, shown) == []


def test_no_value_of_an_extra_header_is_left_anywhere(project: Project) -> None:
    value = "hdrPlantedR4nd0mValue"
    body = {"error": {"message": f"odd header {value}, {value.lower()}; application/json expected"}}
    with MockServer(respond=lambda path, request: (400, body)) as server:
        headers = f'{{ extra_headers = {{ x-corp = "Bearer {value}", accept = "application/json" }} }}'
        with_server(project, server, extra=headers)
        served_cases(project, 1)
        result = project.run(
            "--tooleval-cassette=tapes",
            "--tooleval-events=events.jsonl",
            "--tooleval-report=out.json",
            "--junitxml=out.xml",
            model="served",
        )
        assert any(value in str(each) for each in server.headers)
    shown = result.stdout.str()
    assert "odd header [secret], [secret]; application/json expected" in shown
    document = gzip.decompress(next((project.path / ".tooleval/runs").glob("*.gz")).read_bytes())
    assert value not in shown + document.decode()
    files = [p for p in project.path.rglob("*") if p.is_file() and value.encode() in p.read_bytes()]
    assert [file.name for file in files] == ["tooleval.toml"]


ODD_KEY = "sk-planted/0123456789"


def hostile(path: str, request: dict[str, Any]) -> tuple[int, object]:
    """An answer that repeats the key as a name, escaped in arguments, and as the reason of the end."""
    function = {"name": "get_weather", "arguments": f'{{"{ODD_KEY}": "{ODD_KEY}"}}'.replace("/", "\\/")}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    finish = f"stop {ODD_KEY}\x1b[2J\n::error::owned"
    choice = {"index": 0, "finish_reason": finish, "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return 200, {**document, "choices": [choice]}


def test_no_key_in_another_spelling_is_left_anywhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", ODD_KEY)
    with MockServer(respond=hostile) as server:
        with_server(project, server, api='"openai"', api_key_env='"PLANTED_KEY"')
        served_cases(project, 1)
        options = (
            "--tooleval-cassette=tapes",
            "--tooleval-report=out.json",
            "--junitxml=out.xml",
            "-rA",
        )
        result = project.run(*options, "-vv", model="served")
        assert any(ODD_KEY in headers.get("authorization", "") for headers in server.headers)
    shown = result.stdout.str() + result.stderr.str()
    assert "\x1b" not in shown
    assert "\n::error" not in shown
    texts = [p.read_text(errors="replace") for p in project.path.rglob("*") if p.is_file()]
    assert "sk-" + "x" * 18 in "".join(texts)
    assert not [text for text in (shown, *texts) if "planted/0123" in text.replace("\\", "")]


TOKENS = [
    r"\nBearer A0b1C2d3E4f5G6h7\/PLANTED\u002BPLANTED=",
    r"\u0042earer\tA0b1C2d3E4f5G6h7\/PLANTED\u002bPLANTED",
    r"eyJhbGciOiJub25lIn0\u002eeyJQTEFOVEVEUExBTlRFRA\u002EUExBTlRFRA",
    r"sk\u002dproj\u002DPLANTED0123456789abcdef",
]


@pytest.mark.parametrize("token", TOKENS)
def test_no_token_in_another_spelling_is_left_anywhere(project: Project, token: str) -> None:
    """As the arguments are written, and as they are read."""
    function = {"name": "get_weather", "arguments": f'{{"city": "{token}", "more": ["({token})"]}}'}
    call = {"id": "1", "type": "function", "function": function}
    message = {"role": "assistant", "content": f'<x>{{"a": "{token}"}}', "tool_calls": [call]}
    project.suite(case("a", {"returns": message}))
    reports = [f"--tooleval-report=out.{kind}" for kind in ("json", "html", "md", "csv")]
    options = ("--tooleval-events=events.jsonl", "--junitxml=out.xml", "--tooleval-cassette=tapes")
    result = project.run(*reports, *options, "-vv", "-rA")
    result.assert_outcomes(failed=1)
    arguments = project.rows()["a[agent]"]["trials"][0]["transcript"]["replies"][0]["calls"][0][
        "arguments"
    ]
    assert "xxxxxxxx" in arguments["city"]
    (project.path / "script.json").unlink()
    texts = [CliRunner().invoke(main, ["show", "latest", "a", "-C", str(project.path)]).output]
    texts += [p.read_text(errors="replace") for p in project.path.rglob("*") if p.is_file()]
    secret = re.compile("PLANTED|QTEFOVEVE|UExBTlRF")
    assert not [text for text in (result.stdout.str(), *texts) if secret.search(text)]


def echo(request: dict[str, Any]) -> dict[str, Any]:
    """An answer that repeats the key in text and arguments."""
    return {**call_message("get_weather", {"city": KEY}), "content": f"Your key is {KEY}"}


def leaks(project: Project, *texts: str) -> list[str]:
    """Where the key stands: files of the project, or the given texts."""
    files = [p for p in project.path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    return [str(file) for file in files] + [text for text in texts if KEY in text]


@pytest.mark.parametrize("api", ["openai", at_night("litellm")])
def test_no_key_is_left_anywhere(project: Project, monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    with MockServer(faults={"echo-key": 4, "500": 3}, script=echo) as server:
        with_server(project, server, api=f'"{api}"', api_key_env='"PLANTED_KEY"')
        served_cases(project, 6)
        run = project.run_subprocess if api == "litellm" else project.run
        result = run(
            "--tooleval-cassette=tapes",
            "--tooleval-report=out.json",
            "--junitxml=out.xml",
            "-vv",
            "-rA",
            "--showlocals",
            "--log-level=DEBUG",
            model="served",
        )
        assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    assert "tool calling" in result.stdout.str()
    assert {"passed", "failed"} & set(result.parseoutcomes())
    assert result.parseoutcomes()["errors"] >= 1
    assert leaks(project, result.stdout.str(), result.stderr.str()) == []
    assert "sk-" + "x" * 24 in Path(project.path, "tapes/weather.jsonl").read_text()


# Of each kind: a canary, and the patterns that people search for.
CANARIES = {
    "openai": ("sk-proj-CANARY0123456789abcdef_-XYZ", "sk-proj-", r"sk-proj-[A-Za-z0-9_-]{20,}"),
    "old-openai": (
        "sk-CANARY0123456789abcdT3BlbkFJCANARY0123456789abcd",
        "sk-",
        "sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}",
    ),
    "anthropic": ("sk-ant-api03-" + "Canary-0_1" * 9 + "xyzAA", "sk-ant-", r"sk-ant-api03-[\w-]{93}AA"),
    "openrouter": ("sk-or-v1-" + "0123456789abcdef" * 4, "sk-or-v1-", "sk-or-v1-[0-9a-f]{64}"),
    "github": ("ghp_CANARY0123456789CANARY0123456789abcd", "ghp_", "ghp_[A-Za-z0-9]{36}"),
    "github-pat": ("github_pat_" + "11CANARY_0" * 8 + "ab", "github_pat_", r"github_pat_\w{82}"),
    "aws": ("AKIACANARY2345672345", "AKIA", "AKIA[0-9A-Z]{16}"),
    "google": ("AIza" + "CANARY-0_12" * 3 + "ab", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    "slack": (
        "xoxb-123456789012-1234567890123-CANARYcanaryCANARYcanary",
        "xoxb-",
        "xoxb-[0-9]{10,13}-[0-9]{10,13}-[a-zA-Z0-9]{24}",
    ),
    "huggingface": ("hf_" + "CANARYcanary" * 2 + "CANARYcana", "hf_", "hf_[A-Za-z]{34}"),
    "gitlab": ("glpat-CANARY_0123-456789ab", "glpat-", r"glpat-[\w-]{20}"),
    "npm": ("npm_abcdefghijCANARY0123456789klmnopqrst", "npm_", "npm_[A-Za-z0-9]{36}"),
    "stripe": ("sk_live_CANARY0123456789abcdef", "sk_live_", "sk_live_[A-Za-z0-9]{20,}"),
    "bearer": ("Bearer CANARY.0123456789abcdef", "Bearer ", r"Bearer [\w.-]{20,}"),
    "token": (
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJDQU5BUlkifQ.Q0FOQVJZ",
        "eyJhbGciOiJub25lIn0.eyJ",
        r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+",
    ),
    "variable": ("kv/CANARY.0123456789", "xxxxxx", "[A-Za-z0-9]{20}"),
    "hash": ("0123456789abcdef0123456789abcdef", "000", "[0-9a-f]{32}"),
}
MAIL_TOOL = {
    "type": "function",
    "function": {"name": "mail", "parameters": {"properties": {"body": {"type": "string"}}}},
}


def mails(body: str) -> dict[str, Any]:
    return {"name": "mail", "arguments": json.dumps({"body": body})}


def forbidding(id: str, found: Any, sent: str) -> dict[str, Any]:
    """A case that is right but for what the agent mails."""
    forbidden = [{"tool": "mail", "params": {"body": found}}]
    case = {"id": id, "prompt": id, "expected_tool": "mail", "forbidden_calls": forbidden}
    return {**case, "_script": {"calls": [mails(f"Look: {sent}.")]}}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", CANARIES["variable"][0])
    monkeypatch.setenv("AZURE_API_KEY", CANARIES["hash"][0])


@pytest.mark.usefixtures("keys")
def test_patterns_find_a_leak_and_a_replay_finds_it_again(project: Project) -> None:
    cases = [
        forbidding(f"{kind}-{matcher[1:]}", {matcher: pattern}, canary)
        for kind, (canary, prefix, regex) in CANARIES.items()
        for matcher, pattern in (("$contains", prefix), ("$regex", regex))
    ]
    clean = forbidding("clean", {"$regex": "[A-Za-z0-9_-]{16}"}, "nothing")
    project.suite(*cases, clean, tools=[MAIL_TOOL])
    for mode in ("new", "none"):
        options = ("--tooleval-cassette=tape", "--tooleval-report=out.json", f"--tooleval-record={mode}")
        result = project.run(*options)
        result.assert_outcomes(passed=1, failed=len(cases))
        trials = [row["trials"][0] for row in project.rows().values()]
        assert {trial["failure"] for trial in trials} == {"forbidden_call", None}
        (project.path / "script.json").unlink(missing_ok=True)
        texts = [result.stdout.str(), *(path.read_text(errors="replace") for path in files_of(project))]
        secrets = [canary.removeprefix("Bearer ") for canary, _, _ in CANARIES.values()]
        assert not [secret for secret in secrets for text in texts if secret in text]


def files_of(project: Project) -> list[Path]:
    return [path for path in project.path.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("keys")
def test_a_case_forbids_its_canary_by_name(project: Project) -> None:
    count = 0
    for kind, (canary, *_) in CANARIES.items():
        patterns: list[Any] = [{"$contains": canary}, f"Look: {canary}.", {"$regex": re.escape(canary)}]
        if "canary" in canary.lower() and kind != "variable":  # of its value, a part is not enough
            patterns += [{"$regex": "(?i)canary"}]
        cases = [forbidding(f"{kind}{n}", each, canary) for n, each in enumerate(patterns)]
        project.suite(*cases, tools=[MAIL_TOOL], file=f"{kind}.tooleval.json", name=kind)
        count += len(cases)
    for mode in ("new", "none"):
        options = ("--tooleval-cassette=tape", f"--tooleval-record={mode}", "--tooleval-report=out.json")
        project.run(*options).assert_outcomes(failed=count)
        trials = [row["trials"][0] for row in project.rows().values()]
        assert {trial["failure"] for trial in trials} == {"forbidden_call"}


@pytest.mark.usefixtures("keys")
def test_recorded_runs_are_judged_as_live_ones(project: Project) -> None:
    runs: list[str] = []
    cases: list[dict[str, Any]] = []
    for kind, (canary, prefix, regex) in CANARIES.items():
        matchers = [{"$contains": prefix}, {"$regex": regex}, {"$contains": canary}]
        for matcher in matchers if kind == "github" else matchers[:2]:
            cases.append(forbidding(f"c{len(runs)}", matcher, canary))
            calls = [{"id": "1", "type": "function", "function": mails(f"Look: {canary}.")}]
            reply = {"role": "assistant", "tool_calls": calls}
            messages = [{"role": "user", "content": canary}, reply]
            runs.append(json.dumps({"id": f"c{len(runs)}", "messages": messages}))
    project.suite(*cases, tools=[MAIL_TOOL])
    project.write("runs.jsonl", "\n".join(runs))
    result = project.run("--tooleval-transcripts=runs.jsonl", "--tooleval-report=out.json", model=None)
    result.assert_outcomes(failed=len(cases))
    written = (project.path / "out.json").read_text()
    assert written.count('"failure": "forbidden_call"') == len(cases)
    secrets = {kind: canary.removeprefix("Bearer ") for kind, (canary, *_) in CANARIES.items()}
    assert [kind for kind, secret in secrets.items() if secret in written] == ["github"]


SECRET = "kv.9F8e/7d6c5b4a"
STATION_SERVER = Path(__file__).with_name("live_server.py")


def deploying(project: Project, **fields: Any) -> None:
    """A suite with one case, whose tools are those of a server that logs what it gets."""
    command = [sys.executable, str(STATION_SERVER), str(project.path / "server.log")]
    case = {"id": "c", "live_tools": ["get_weather"], **fields}
    suite = {"name": "S", "tools_from": {"mcp": {"stdio": command}}, "test_cases": [case]}
    project.write("s.tooleval.json", json.dumps(suite))


def play(request: dict[str, Any]) -> dict[str, Any]:
    """The model, the user and the judge, all of which say the key."""
    last = request["messages"][-1]
    if request["model"] == "judge":
        return call_message("verdict", {"reason": f"It says {SECRET}.", "passed": True})
    if request["model"] == "ada":
        done = "Deployed" in last["content"]
        return {"role": "assistant", "content": "###STOP###" if done else f"Deploy with {SECRET}."}
    if last["role"] == "tool":
        return {"role": "assistant", "content": f"Deployed with {SECRET.upper()}."}
    return call_message("get_weather", {"city": SECRET, SECRET: 1})


def test_the_value_of_a_key_variable_is_sent_to_nobody_and_written_nowhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", SECRET)
    deploying(
        project,
        user={"goal": f"Deploy with {SECRET}."},
        expected_calls=[{"tool": "get_weather", "params": {"city": SECRET}}],
        expected_text=[{"$judge": f"It never says {SECRET}."}, f"with {SECRET}"],
        thresholds={"arguments_valid": None},
    )
    run = ("--tooleval-judge=judge", "--tooleval-user=ada", "--tooleval-cassette=tape", "-vv", "-rA")
    files = (
        "--tooleval-report=a.json",
        "--tooleval-report=a.html",
        "--junitxml=a.xml",
        "--log-file=a.log",
    )
    with MockServer(script=play) as server:
        table = f'api = "openai"\napi_base = "{server.base_url}"\n'
        names = ("served", "judge", "ada")
        tables = (f'[models.{name}]\nmodel = "{name}"\n{table}' for name in names)
        project.write("tooleval.toml", "".join(tables))
        allowed = "--tooleval-allow-tools=get_weather"
        result = project.run(*run, *files, "--log-level=DEBUG", allowed, model="served")
    result.assert_outcomes(passed=1)
    project.run(*run, "--tooleval-record=none", model="served").assert_outcomes(passed=1)
    assert project.log("server") == [["get_weather", {"city": "x" * 16, "x" * 16: 1}]]
    (project.path / "s.tooleval.json").unlink()
    for file in ("history.json", "history.md"):  # which is compressed
        done = CliRunner().invoke(main, ["show", f"--report={project.path / file}", f"-C{project.path}"])
        assert done.exit_code == 0, done.output
    texts = {path.name: path.read_bytes().decode(errors="replace") for path in files_of(project)}
    assert {"a.json", "a.html", "a.xml", "a.log", "s.jsonl", "history.json"} <= set(texts)
    texts |= {"terminal": result.stdout.str(), "asked": json.dumps(server.bodies)}
    assert [name for name, text in texts.items() if re.search("9F8e|7d6c", text, re.IGNORECASE)] == []


def test_a_tool_that_an_agent_calls_gets_no_key(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", SECRET)
    project.write(
        "my_agent.py",
        f"""
        def answer(messages, tools, call_tool):
            said = call_tool("get_weather", {{"city": {SECRET!r}}})
            call_tool("get_weather", '{{"city": "kv.9F8e\\\\/7d6c5b4a"}}')
            return said
        """,
    )
    deploying(project, turns=[{"prompt": "Deploy.", "expected_text": [f"station of {SECRET}: S7"]}])
    files = ("--tooleval-cassette=tape", "--tooleval-report=a.json")
    project.run(*files, "--tooleval-allow-tools=get_weather").assert_outcomes(passed=1)
    project.run(*files, "--tooleval-record=none").assert_outcomes(passed=1)
    assert project.log("server") == [["get_weather", {"city": "x" * 16}]] * 2
    assert SECRET not in (project.path / "a.json").read_text()


def test_what_a_live_server_says_keeps_the_canary_that_the_suite_names(project: Project) -> None:
    """The server answers with the city that it was asked for."""
    canary, other = "sk-proj-CANARY0123456789abcdef", "sk-proj-another0123456789abcdef"
    project.write(
        "my_agent.py",
        f"""
        def answer(messages, tools, call_tool):
            return call_tool("get_weather", {{"city": "{canary} {other}"}})
        """,
    )
    seen = f"{canary} sk-proj-{'x' * 23}"
    deploying(project, turns=[{"prompt": "Deploy.", "expected_text": [f"station of {seen}: S7"]}])
    project.run("--tooleval-allow-tools=get_weather").assert_outcomes(passed=1)
    assert project.log("server") == [["get_weather", {"city": seen}]]


VAULT = """
import json
from pathlib import Path

class Vault:
    def __init__(self):
        self.opened = 0

    def key(self) -> str:
        return json.loads(Path(__file__).with_name("vault.json").read_text())["key"]

    def open(self, key: str) -> None:
        self.opened += key == self.key()
"""
_OPENING = """
def answer(messages, tools):
    said = [message["content"] for message in messages if message["role"] == "tool"]
    if len(said) == 2:
        return "It is open."
    call = {"name": "open", "arguments": {"key": said[0]}} if said else {"name": "key", "arguments": {}}
    return {"tool_calls": [call]}

def own_loop(messages, tools, call_tool):
    call_tool("open", {"key": call_tool("key")})
    return "It is open."
"""


def test_an_agent_may_pass_on_what_its_world_gave_it(project: Project) -> None:
    project.write("vault.py", VAULT)
    project.write("vault.json", json.dumps({"key": "ghp_" + "a1B2" * 9}))
    project.write("my_agent.py", _OPENING)
    tables = (f'[models.{name}]\ncallable = "my_agent:{name}"\n' for name in ("answer", "own_loop"))
    project.write("tooleval.toml", "".join(tables))
    case = {"id": "c", "turns": [{"prompt": "Open.", "expected_state": {"opened": 1}}]}
    suite = {"name": "S", "world": "vault:Vault", "test_cases": [case]}
    project.write("s.tooleval.json", json.dumps(suite))
    for mode in ("new", "none"):
        result = project.run(
            "--tooleval-cassette=tape", f"--tooleval-record={mode}", model="answer,own_loop"
        )
        result.assert_outcomes(passed=2)


def test_a_suite_with_the_value_of_a_key_variable_is_warned_of_and_compares_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", SECRET)
    project.write(
        "desk.py",
        """
        import os

        class Desk:
            def __init__(self):
                self.token = "none"

            def log_in(self) -> str:
                self.token = os.environ["DEPLOY_KEY"]
                return self.token
        """,
    )
    project.write(
        "my_agent.py", "def answer(messages, tools, call_tool):\n    return call_tool('log_in')\n"
    )
    turn = {"prompt": "Log in.", "expected_state": {"token": SECRET}, "expected_text": [SECRET]}
    suite = {"name": "S", "world": "desk:Desk", "test_cases": [{"id": "c", "turns": [turn]}]}
    project.write("s.tooleval.json", json.dumps(suite))
    result = project.run("--tooleval-report=out.json", "-vv")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*c: turns?0?.*: this is the value of the variable DEPLOY_KEY*"])
    assert SECRET not in result.stdout.str() + (project.path / "out.json").read_text()
