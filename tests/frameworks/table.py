"""What an agent may do, on each library and in one's own code, and what a run says of it.

`tests/data/agents.json` holds what was found, from which docs/reference/agents-tested.md is made.
`PYTHONPATH=tests:tools python -m frameworks.table` runs each cell whose library is installed, and writes
both anew.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from generated import ROOT, part, table
from mock_server import MockServer

from .agents import AGENTS, ENDINGS, FORMS, GUARDS, OTHERS, module
from .anthropic_server import respond_with
from .running import Names, Step, planned, play

FOUND = ROOT / "tests/data/agents.json"
PAGE, PART = ROOT / "docs/reference/agents-tested.md", "agents"
Case = dict[str, Any]

OWN, DEPLOYED = "your own loop", "a deployed agent"
TITLES = {
    "openai_agents": "OpenAI Agents SDK",
    "pydantic_ai": "Pydantic AI",
    "langgraph": "LangGraph",
    "google_adk": "Google ADK",
    "crewai": "CrewAI",
    "claude_agent": "Claude Agent SDK",
    OWN: OWN,
    DEPLOYED: DEPLOYED,
}

_LOOP = '''
import json, urllib.request

def ask(messages, tools):
    body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{URL}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]

def loop(messages, tools, run, agent=None):
    """Each reply, and the answers of `run`, which are a content and perhaps more."""
    made = []
    while not made or made[-1]["role"] == "tool":
        reply = ask([*messages, *made], tools)
        made.append(reply | ({"agent": agent} if agent else {}))
        for call in reply.get("tool_calls") or ():
            name, given = call["function"]["name"], json.loads(call["function"]["arguments"])
            made.append({"role": "tool", "tool_call_id": call["id"], **run(name, given)})
    return made

def answer(messages, tools, call_tool):
    return loop(messages, tools, lambda name, given: {"content": call_tool(name, given)})

def own_tool(name, given):
    try:
        return {"content": globals()[name](**given)}
    except Exception as error:
        return {"content": str(error), "status": "error"}

def real(messages, tools, before_tool):
    def run(name, given):
        refusal = before_tool(name, given)
        return own_tool(name, given) if refusal is None else {"content": refusal, "status": "refused"}

    return loop(messages, tools, run)

def answer_asking(messages, tools, call_tool, approvals):
    def run(name, given):
        if given["city"] == "Atlantis":
            return {"content": "no such city", "status": "refused"}
        if name != "get_weather":
            return {"content": call_tool(name, given)}
        if approvals.get(name) != "approve":
            return {"content": "rejected", "status": "refused"}
        return {"content": call_tool(name, given), "approved": True}

    return loop(messages, tools, run)

answer_too = answer

def answer_inner(messages, tools, call_tool):
    def run(name, given):
        return {"content": call_tool(name, given, agent="inner")}

    return loop(messages, tools, run, "inner")
'''
# Not in the other tests: forms of these, and delegation to an agent inside of a tool.
_FORMS = {
    **FORMS,
    "google_adk": 'agent = agent.clone(update={"output_schema": Forecast})',
    "claude_agent": (
        "from dataclasses import replace\n"
        "schema = {'type': 'object', 'properties': {'sky': {'type': 'string'}}, 'required': ['sky']}\n"
        "agent = replace(agent, output_format={'type': 'json_schema', 'schema': schema})"
    ),
}
_INSIDE_A_TOOL = """
inner = agent

async def ask_inner(prompt: str) -> str:
    "Ask the inner agent."
    return str((await inner.run(prompt)).output)

agent = Agent(model, instructions="Be right.", tools=[ask_inner])
"""
_A_CREW = """
from crewai import Crew, Task

task = Task(description="Weather?", expected_output="A word.", agent=agent)
agent = Crew(agents=[agent, agent.model_copy(update={"role": "inner"})], tasks=[task])
"""


class Cell(NamedTuple):
    """A run: its models in the module, its case, and the tools that really run."""

    models: Sequence[str]
    case: Case
    allow: Sequence[str] = ()
    source: Callable[[str, str], str] | None = None
    tools: Sequence[str] = ()
    really: str | None = None


class Column(NamedTuple):
    """What the agent does, the case that looks for it, and what a run must say of it."""

    does: str
    asks: str
    right: str
    cell: Callable[[str, Names], Cell]


def _case(names: Names, *steps: Step, expect: int | None = None, **more: Any) -> Case:
    """A case with this plan, which expects its first calls only."""
    made: Case = names.case("c", *steps, **more)
    if expect is not None:
        made["turns"][0]["expected_calls"] = made["turns"][0]["expected_calls"][:expect]
    return made


_PARIS, _S7 = [("find_station", "Paris")], [("get_weather", "S7")]


def _lying(_: str, names: Names) -> Cell:
    case = _case(names, _PARIS)
    case["turns"][0] |= {"prompt": planned([]), "expected_text": ["sunny"]}
    return Cell(["answer"], case)


def _ended(case: Case, status: str) -> Case:
    for call in case["turns"][0]["expected_calls"]:
        call["status"] = status
    return case


def _handoff(library: str, names: Names) -> Cell:
    """The inner agent is reached in the library's own way; the case expects it to call."""
    if library in (OWN, DEPLOYED):
        case = _case(names, _S7)
        case["turns"][0]["expected_calls"][0]["agent"] = "inner"
        return Cell(["answer_inner"], case)
    other = next((name for name in OTHERS if name.startswith(library) and "MCP" not in name), "")
    source = _INSIDE_A_TOOL
    before: Step = []
    agent: tuple[str, str, dict[str, str]] | None = ("ask_inner", "prompt", {})
    if library == "crewai":
        source, agent = _A_CREW, None
    elif other:
        _, source, before, agent = OTHERS[other]
    step: Step = _S7 if agent is None else [(agent[0], {agent[1]: planned([_S7]), **agent[2]})]
    steps = [before, step] if before else [step]
    expected = [{"tool": name} for name, _ in before] + ([{"tool": agent[0]}] if agent else [])
    expected.append({"tool": names.weather, "agent": "inner"})
    turn = {"prompt": planned(steps), "expected_calls": expected}
    more = [name for name, _ in before] + ([agent[0]] if agent else [])
    return Cell(
        ["real"],
        {"id": "c", "turns": [turn]},
        [names.weather, *more],
        lambda name, url: module(name, url, other=source),
        more,
    )


def _structured(library: str, names: Names) -> Cell:
    case = _case(names, _PARIS, _S7)
    case["turns"][0]["expected_text"] = [{"$regex": '"sky": ?"clear"'}]

    def source(name: str, url: str) -> str:
        return module(name, url, form=_FORMS[name])

    return Cell(["answer"], case, source=source if library in _FORMS else None)


COLUMNS = {
    "right": Column(
        "makes the right calls", "these calls", "passed",
        lambda _, names: Cell(["answer"], _case(names, _PARIS, _S7)),
    ),
    "extra": Column(
        "makes one call more", "the other calls", "surplus_call",
        lambda _, names: Cell(["answer"], _case(names, _PARIS, _S7, expect=1)),
    ),
    "forbidden": Column(
        "makes a forbidden call of a real tool", "the call not to run", "forbidden_call",
        lambda _, names: Cell(
            ["real"], _case(names, _PARIS, _S7, forbidden_calls=[names.weather]),
            [names.station, names.weather], really="Paris",
        ),
    ),
    "lying": Column("says that it is done, and calls nothing", "a call", "missing_call", _lying),
    "raising": Column(
        "goes on after its tool raised", 'the call with `"status": "ok"`', "wrong_end",
        lambda library, names: Cell(
            ["real" if library in (OWN, DEPLOYED) else "real_asking"],
            _ended(_case(names, [("get_weather", "Down")]), "ok"), [names.weather],
            lambda name, url: module(name, url, guards=ENDINGS[name]),
        ),
    ),
    "loop": Column(
        "calls for ever", "an end within `max_rounds`", "unfinished_turn",
        lambda _, names: Cell(["answer"], _case(names, _PARIS, forever=True, max_rounds=4)),
    ),
    "parallel": Column(
        "makes two calls at once", "a policy: one only after the other", "broken_policy",
        lambda _, names: Cell(
            ["answer"],
            _case(
                names, [*_PARIS, *_S7],
                policies=[{"tool": names.weather, "only_after": names.station}],
            ),
        ),
    ),
    "handoff": Column(
        "lets another agent call", 'the call with `"agent": "inner"`', "passed", _handoff
    ),
    "structured": Column("answers in a form", "the form's value", "passed", _structured),
    "guardrail": Column(
        "has a guard that stops a call", 'the call with `"status": "refused"`', "passed",
        lambda _, names: Cell(
            ["answer_asking"], _ended(_case(names, [("find_station", "Atlantis")]), "refused")
        ),
    ),
    "approval": Column(
        "asks before a call, which the case approves", "a policy: only after approval", "passed",
        lambda _, names: Cell(
            ["answer_asking"],
            _case(
                names, _S7, approvals={names.weather: "approve"},
                policies=[{"tool": names.weather, "after_approval": True}],
            ),
        ),
    ),
    "two agents": Column(
        "runs beside another one", "both to make the right calls", "passed",
        lambda _, names: Cell(["answer", "answer_too"], _case(names, _PARIS, _S7)),
    ),
    "run_tools": Column(
        "runs its own tools", "the right calls, which ran", "passed",
        lambda _, names: Cell(
            ["real"], _case(names, _PARIS, _S7), [names.station, names.weather], really="ParisS7"
        ),
    ),
}  # fmt: skip


def is_installed(library: str) -> bool:
    try:
        return library not in AGENTS or importlib.util.find_spec(AGENTS[library][0]) is not None
    except ModuleNotFoundError:
        return False


def fill_in(script: Callable[[Case], Case]) -> Callable[[Case], Case]:
    """The script, in a model that fills in a form where it would end."""

    def fills_in(request: Case) -> Case:
        said = script(request)
        if said.get("tool_calls"):
            return said
        text = '{"sky": "clear"}'
        names = [tool["function"]["name"] for tool in request.get("tools") or ()]
        form = next((name for name in names if name not in _TOOLS and "transfer" not in name), None)
        shown = json.dumps(request["messages"])
        if form is None or f'"{form}"' in shown or '"id": "form"' in shown:
            return {**said, "content": text}
        function = {"name": form, "arguments": text}
        call = {"id": "form", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return fills_in


_TOOLS = ("find_station", "get_weather", "ToolSearch")


def _deployed(script: Callable[[Case], Case]) -> Callable[[str, Case], tuple[int, object] | None]:
    """An agent at an address, with tools of its own."""

    def respond(path: str, request: Case) -> tuple[int, object] | None:
        if path != "/chat":
            return None
        messages: list[Case] = [{"role": "user", "content": request["message"]}]
        steps: list[Case] = []
        while calls := (said := script({"messages": messages})).get("tool_calls"):
            messages.append(said)
            for call in calls:
                given = json.loads(call["function"]["arguments"])
                step = _step(call["function"]["name"], given["city"])
                messages.append({"role": "tool", "content": step["result"]})
                steps.append(step)
            if len(steps) > 20:
                break
        return 200, {"reply": said.get("content") or "", "steps": steps}

    return respond


def _step(name: str, city: str) -> Case:
    status = {"Down": "error", "Atlantis": "refused"}.get(city, "ok")
    result = "503" if status != "ok" else "S7" if name == "find_station" else "rain"
    return {"tool": name, "input": {"city": city}, "result": result, "status": status}


_ANSWER = (
    'request = { message = "$prompt" }\n'
    'answer = { text = "/reply", calls = "/steps", name = "/tool", arguments = "/input", '
    'result = "/result", status = "/status" }\n'
)


def found(library: str, column: str) -> str:
    """What a run in this folder says: `passed`, a failure's category, or an error."""
    names = Names(library)
    cell = COLUMNS[column].cell(library, names)
    script = fill_in(play) if column == "structured" else play
    respond = respond_with(script) if library == "claude_agent" else None
    suite = names.suite(cell.case)
    suite["tools"] += [{"type": "function", "function": {"name": name}} for name in cell.tools]
    Path("s.tooleval.json").write_text(json.dumps(suite))
    with MockServer(
        script=script, respond=_deployed(script) if library == DEPLOYED else respond
    ) as server:
        url = server.base_url
        own = library not in AGENTS
        source = f"URL = {url!r}\n{_SOURCE}{_LOOP}" if own else _source(library, url, cell, column)
        Path("my_agent.py").write_text(source)
        address = f"url = {url.removesuffix('/v1') + '/chat'!r}\n{_ANSWER}"
        Path("tooleval.toml").write_text(
            "".join(
                f"[models.{name}]\n"
                + (address if library == DEPLOYED else f'callable = "my_agent:{name}"\n')
                + ("sequential = true\n" if library == DEPLOYED and column != "parallel" else "")
                for name in cell.models
            )
        )
        options = [f"--tooleval-model={','.join(cell.models)}", "--tooleval-report=out.json"]
        options += [f"--tooleval-allow-tools={','.join(cell.allow)}"] if cell.allow else []
        sys.modules.pop("my_agent", None)
        pytest.main([*options, "-p", "no:cacheprovider"])
    rows = json.loads(Path("out.json").read_text())["cases"]
    ran = Path("really.log").read_text() if Path("really.log").exists() else ""
    if library != DEPLOYED and ran != (cell.really or "") and column in ("forbidden", "run_tools"):
        return f"its tools ran: {ran}"
    return "; ".join(dict.fromkeys(map(_word, rows))) if rows else _refusal()


_SOURCE = module("openai_agents", "").partition("\nfrom agents")[0].partition("\n")[2]


def _source(library: str, url: str, cell: Cell, column: str) -> str:
    guards = GUARDS[library] if "answer_asking" in cell.models else ""
    made = module(library, url, guards=guards) if cell.source is None else cell.source(library, url)
    return made + (f"answer_too = {library}(agent)\n" if column == "two agents" else "")


def _refusal() -> str:
    """Why the module of an agent cannot be imported."""
    sys.modules.pop("my_agent", None)
    try:
        importlib.import_module("my_agent")
    except ValueError as error:
        return f"error: {error}"
    return "no result"


def _word(row: Case) -> str:
    trial = row["trials"][0]
    if row["outcome"] != "error":
        return str(trial["failure"] or "passed")
    return f"error: {trial['error']['message']}".replace(os.getcwd(), "")[:200]


def read() -> dict[str, dict[str, str]]:
    """What was found, by library and column."""
    found: dict[str, dict[str, str]] = json.loads(FOUND.read_text(encoding="utf-8"))
    return found


def made_from(found: dict[str, dict[str, str]]) -> str:
    """The table, and a line for each cell in which a run says something else."""
    header = ["the agent", "the case looks for", "a run says", *TITLES.values()]
    rows = [
        [
            column.does,
            column.asks,
            f"`{column.right}`",
            *("✓" if found[each][name] == column.right else "see below" for each in TITLES),
        ]
        for name, column in COLUMNS.items()
    ]
    others = [
        f"- {title}, {column.does}: {_shown(found[library][name])}"
        for name, column in COLUMNS.items()
        for library, title in TITLES.items()
        if found[library][name] != column.right
    ]
    return table(header, rows) + "".join(f"{line}\n" for line in ["", *others] if others)


def _shown(word: str) -> str:
    kind, _, text = word.partition(": ")
    return f"{kind} ({text})" if text else f"`{word}`"


def write(found: dict[str, dict[str, str]]) -> None:
    FOUND.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    place = part(text, PART)
    PAGE.write_text(text[: place.start()] + made_from(found) + text[place.end() :], encoding="utf-8")


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main() -> None:
    every = read()
    for library in sys.argv[1:] or TITLES:
        for column in COLUMNS if is_installed(library) else ():
            with _elsewhere(), contextlib.redirect_stdout(io.StringIO()):
                said = found(library, column)
            every.setdefault(library, {})[column] = said
            print(library, column, said, "" if said == COLUMNS[column].right else "<<<", sep="\t")
    write({library: every[library] for library in TITLES})


if __name__ == "__main__":
    main()
