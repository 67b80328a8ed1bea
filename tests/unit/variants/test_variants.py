"""Variants as functions: what each changes in a case, and where it does not apply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import git, tool

from pytest_tooleval.engine.model_under_test import model_request
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.errors import ConfigError
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.changes import changes_of
from pytest_tooleval.suite.load import load_suite, parse_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve
from pytest_tooleval.suite.types import MAX_TRIALS
from pytest_tooleval.variants.blame import variants_to_rerun
from pytest_tooleval.variants.builtin import add_built_in
from pytest_tooleval.variants.revisions import suite_at, undoable
from pytest_tooleval.variants.variant import Variants

DESCRIBED = {
    "type": "object",
    "description": "gone",
    "properties": {"description": {"type": "string", "description": "gone", "default": "kept"}},
}
TOOLS = [tool("get_weather", description="gone"), tool("get_time"), tool("note", DESCRIBED)]
FIND = {**tool("find", description="gone"), "namespace": "crm"}
CASE = {"id": "paris", "prompt": "Weather in Paris?", "expected_tool": "get_weather"}


def suite_of(*cases: dict[str, Any], tools: Sequence[Any] = TOOLS, **fields: Any) -> Suite:
    return parse_suite(json.dumps({"name": "s", "tools": tools, "test_cases": cases, **fields}))


def known() -> Variants:
    variants = Variants()
    add_built_in(variants.register)
    return variants


def vary(text: str, suite: Suite, others: Sequence[Suite] = ()) -> ResolvedCase | None:
    """The first case under the last variant of a name."""
    variant = known().select(text)[-1]
    return variant.of(resolve(suite, suite.test_cases[0]), suite, Path(), Path(), lambda: others)


def tools_of(case: ResolvedCase) -> Sequence[Any]:
    """The tools as a model gets them."""
    return model_request(case, HttpModel("m", ""), {}, case.messages, Toolbox(case)).tools


def names(case: ResolvedCase | None) -> list[str]:
    assert case is not None
    return [each.name for each in case.tools]


def test_shuffled_tools_are_the_same_in_each_run_and_never_in_the_old_order() -> None:
    suite = suite_of(CASE)
    shuffled = names(vary("shuffle", suite))
    assert shuffled == names(vary("shuffle", suite)) != ["get_weather", "get_time", "note"]
    assert sorted(shuffled) == ["get_time", "get_weather", "note"]
    assert vary("shuffle", suite_of(CASE, tools=TOOLS[:1])) is None


def test_bare_tools_have_no_descriptions_but_keep_properties_of_that_name() -> None:
    bare = vary("bare", suite_of(CASE))
    assert bare is not None
    assert "gone" not in json.dumps([each.wire for each in bare.tools])
    properties = bare.tools[2].wire["function"]["parameters"]["properties"]
    assert properties == {"description": {"type": "string", "default": "kept"}}


def test_bare_namespaces_and_custom_tools_have_no_descriptions() -> None:
    custom = {"type": "custom", "custom": {"name": "query", "description": "gone"}}
    suite = suite_of(CASE, tools=[*TOOLS, FIND, custom], namespaces={"crm": "Customers."})
    bare = vary("bare", suite)
    assert bare is not None
    assert "gone" not in json.dumps([each.wire for each in bare.tools])
    assert "Customers." not in json.dumps(tools_of(bare))
    changes = [change.what for change in changes_of(resolve(suite, suite.test_cases[0]), bare)]
    assert {"description of query", "description of namespace crm"} < set(changes)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("again", ["again"]),
        ("shuffle:1,2", ["shuffle:1", "shuffle:2"]),
        ("shuffle:0, 5:a,b.json", ["shuffle:0:a,b.json", "shuffle:5:a,b.json"]),
    ],
)
def test_commas_in_the_first_part_of_the_argument_make_a_series(text: str, labels: list[str]) -> None:
    assert [each.label for each in known().select(text)] == labels


def test_a_control_is_asked_as_well() -> None:
    variants = Variants()
    variants.register("new", lambda case, _: case, control=lambda case, _: case)
    control, new = variants.select("new:x")
    assert (control.label, control.against) == ("new-control:x", "")
    assert (new.label, new.against) == ("new:x", "new-control:x")


@pytest.mark.parametrize(
    ("name", "message"),
    [("shufle", "did you mean"), ("x", "expected one of again")],
)
def test_an_unknown_variant(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown variant {name}.*{message}"):
        known().select(name)


@pytest.mark.parametrize("text", ["again:a]", "again:[", "again::b", "again:\n"])
def test_a_variant_that_cannot_be_part_of_a_node_id(text: str) -> None:
    with pytest.raises(ConfigError, match="because it becomes part of node ids"):
        known().select(text)


def test_a_name_is_taken_once() -> None:
    variants = known()
    for name in ("again", "a b", ""):
        with pytest.raises(ConfigError, match="variant"):
            variants.register(name, lambda case, _: case)


POOL = [tool(f"tool_{n}", description=f"Does thing {n}.") for n in range(30)]
NEAR = tool("get_weather_forecast", description="Get the weather of a city for days.")


def test_fewer_distractors_are_among_more_and_the_cases_own_keep_their_order(tmp_path: Path) -> None:
    suite = suite_of(CASE)
    others = [suite, suite_of(tools=[*POOL, NEAR])]
    found = {n: names(vary(f"distractors:{n}", suite, others)) for n in (0, 2, 10, 31)}
    assert found[0] == ["get_weather", "get_time", "note"]
    assert "get_weather_forecast" in found[2]
    for few, many in ((0, 2), (2, 10), (10, 31)):
        assert [name for name in found[many] if name in found[few]] == found[few]
        assert len(found[many]) == many + 3


@pytest.mark.parametrize(
    "case",
    [
        {"id": "none", "prompt": "Hello", "expected_tool": None},
        {"id": "any", "prompt": "Hello", "expected_tool": "*"},
    ],
)
def test_distractors_do_not_apply_where_nothing_or_anything_may_be_called(case: dict[str, Any]) -> None:
    assert vary("distractors:1", suite_of(case), [suite_of(tools=POOL)]) is None


def test_distractors_bring_the_description_of_their_namespace(tmp_path: Path) -> None:
    content = {"namespaces": {"crm": "Customers."}, "tools": [FIND]}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(content))
    other = suite_of(tools=[FIND], namespaces={"crm": "Customers."})
    for varied in (
        vary("distractors:1", suite_of(CASE), [other]),
        vary(f"distractors:1:{file}", suite_of(CASE)),
    ):
        assert varied is not None
        assert {"name": "crm", "description": "Customers."} in [
            each.get("namespace") for each in tools_of(varied)
        ]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**content, "namespaces": ["crm"]}))
    with pytest.raises(ConfigError, match=r"wrong.json:1:16: namespaces: expected names and desc"):
        vary(f"distractors:1:{wrong}", suite_of(CASE))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"allowed_tools": ["Get_Weather"]}, "auto of Get_Weather, far"),
        ({"allowed_tools": ["get_time"], "mode": "required"}, "required of get_time, far"),
        ("auto", "auto"),
        ({"tool": "get_weather"}, None),
    ],
)
def test_distractors_may_be_called(choice: Any, expected: str | None) -> None:
    suite = suite_of({**CASE, "tool_choice": choice})
    varied = vary("distractors:1", suite, [suite_of(tools=[tool("far")])])
    assert (varied and str(varied.tool_choice)) == expected


@pytest.mark.parametrize(
    "content",
    [
        {"tools": [{"name": "far", "inputSchema": {"type": "object"}}, TOOLS[0]]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "far", "inputSchema": {}}]}},
        [tool("far")],
    ],
)
def test_distractors_come_from_a_suite_an_mcp_servers_list_or_a_list_of_tools(
    content: Any, tmp_path: Path
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(content))
    suite = suite_of(CASE)
    assert "far" in names(vary(f"distractors:1:{file}", suite))
    with pytest.raises(ConfigError, match="there are only 0 other tools in"):
        vary(f"distractors:1:{file}:-far", suite)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("x", "expected distractors:N"),
        ("3", "there are only 0 other tools in the suites that this run collects"),
        ("3", "name more suites, such as their folder, .* or name a file of tools: distractors:3:FILE"),
        ("3:none.json", "none.json cannot be read"),
    ],
)
def test_distractors_that_cannot_be(argument: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        vary(f"distractors:{argument}", suite_of(CASE))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A suite whose prompt and tools changed since `main~1`, and that did not exist at `main~2`."""
    old = {"get_weather": "Weather in a city.", "get_time": "The time."}
    new = {"get_weather": "Do not use.", "get_time": "The time.", "find": "New."}
    file = tmp_path / "s.tooleval.json"

    def write(texts: dict[str, str], prompt: str | None, *cases: dict[str, Any]) -> None:
        tools = [tool(name, description=text) for name, text in texts.items()]
        data = {"name": "s", "tools": tools, "test_cases": cases}
        file.write_text(json.dumps({**data, **({"system_prompt": prompt} if prompt else {})}))

    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "none")
    write(old, None, CASE)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "old")
    write(new, "Be brief.", CASE, {"id": "find", "prompt": "Find", "expected_tool": "find"})
    git(tmp_path, "commit", "-qam", "new")
    return file


def at(file: Path, text: str, place: int = 0) -> ResolvedCase | None:
    suite = load_suite(file)
    variant = known().select(text)[-1]
    return variant.of(resolve(suite, suite.test_cases[place]), suite, file, file.parent, lambda: ())


def test_the_tools_and_the_prompt_of_a_revision(repository: Path) -> None:
    earlier = at(repository, "against:main~1")
    assert earlier is not None
    assert names(earlier) == ["get_weather", "get_time"]
    assert earlier.tools[0].definition.description == "Weather in a city."
    assert [message["role"] for message in earlier.messages] == ["user"]
    assert earlier.variant.is_earlier
    assert not earlier.variant.added
    # Of a case whose tool it did not have, and of a suite that was not there, nothing is known.
    assert at(repository, "against:main~1", 1) is None
    assert at(repository, "against:main~2") is None
    with pytest.raises(ConfigError, match="git knows no revision 'nowhere'"):
        at(repository, "against:nowhere")


def test_an_earlier_suite_that_git_cannot_read_is_not_left_out(repository: Path) -> None:
    # As in a partial clone without a network.
    blob = git(repository.parent, "rev-parse", f"main~1:{repository.name}").strip()
    (repository.parent / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(ConfigError, match=r"git cannot read s\.tooleval\.json as of main~1"):
        at(repository, "against:main~1")


def test_changes_are_taken_back_alone_and_together(repository: Path) -> None:
    now, before = load_suite(repository), suite_at("main~1", repository)
    assert before is not None
    parts = list(undoable(now.test_cases[0], now, before))
    assert parts == ["system_prompt", "get_weather.description", "find"]
    described = at(repository, "undo:main~1:get_weather.description")
    assert described is not None
    assert [each.definition.description for each in described.tools] == [
        "Weather in a city.",
        "The time.",
        "New.",
    ]
    assert described.messages[0]["content"] == "Be brief."
    undone = at(repository, f"undo:main~1:{'+'.join(parts)}")
    earlier = at(repository, "against:main~1")
    assert undone is not None
    assert earlier is not None
    assert (undone.tools, undone.messages) == (earlier.tools, earlier.messages)
    with pytest.raises(ConfigError, match="expected undo:REV:PART"):
        at(repository, "undo:main~1")


def test_broken_cases_are_run_again_in_new_trials(repository: Path) -> None:
    labels = variants_to_rerun(["system_prompt", "find"], "undo:main~1:")
    assert labels == ["again", *(f"undo:main~1:{part}" for part in ("*", "system_prompt", "find"))]
    for label in labels:
        varied = at(repository, label)
        assert varied is not None
        assert varied.first_trial == MAX_TRIALS


def since(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> Path:
    """A suite with these fields in `main`, and with new ones today."""
    file = folder / "s.tooleval.json"
    git(folder, "init", "-q", "-b", "main")
    for fields in (old, new):
        file.write_text(json.dumps({"name": "s", "test_cases": [CASE], **fields}))
        if fields is old:
            git(folder, "add", ".")
            git(folder, "commit", "-q", "-m", "old")
    return file


WEATHER = tool("get_weather")
OWN = {**CASE, "tools": [tool("get_weather", description="Its own.")]}
CUSTOM = {"type": "custom", "custom": {"name": "get_weather"}}


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (
            {"tools": [tool("get_weather", description="x")]},
            {"tools": [tool("get_weather", strict=True, input_examples=[{}], output_schema={})]},
            "description strict input_examples output_schema",
        ),
        ({"tools": [WEATHER]}, {"tools": [tool("get_weather", defer_loading=True)]}, "defer_loading"),
        ({"tools": [WEATHER]}, {"tools": [CUSTOM]}, ""),
        # The case has its own tool, of the same name; then that one changes.
        (
            {"tools": [WEATHER], "test_cases": [OWN]},
            {"tools": [tool("get_weather", description="x")], "test_cases": [OWN]},
            None,
        ),
        (
            {"tools": [WEATHER], "test_cases": [{**OWN, "tools": [WEATHER]}]},
            {"tools": [WEATHER], "test_cases": [OWN]},
            "description",
        ),
    ],
)
def test_each_changed_field_of_what_a_case_offers_can_be_reverted(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], parts: str | None
) -> None:
    file = since(tmp_path, old, new)
    now, before = load_suite(file), suite_at("main", file)
    assert before is not None
    fields = [] if parts is None else [f".{field}" for field in parts.split()] or [""]
    found = list(undoable(now.test_cases[0], now, before))
    assert sorted(found) == sorted(f"get_weather{field}" for field in fields)
    everything = at(file, "undo:main:*")
    earlier = at(file, "against:main")
    assert everything is not None
    assert earlier is not None
    assert tools_of(everything) == tools_of(earlier)
    assert everything.first_trial > earlier.first_trial == 0
    if found:
        together = at(file, f"undo:main:{'+'.join(found)}")
        assert together is not None
        assert tools_of(together) == tools_of(earlier)


def test_the_description_of_a_namespace_is_a_change(tmp_path: Path) -> None:
    case = {"test_cases": [{**CASE, "expected_tool": "crm.find"}], "tools": [FIND]}
    file = since(
        tmp_path, {**case, "namespaces": {"crm": "Old."}}, {**case, "namespaces": {"crm": "New."}}
    )
    now, before = load_suite(file), suite_at("main", file)
    assert before is not None
    assert list(undoable(now.test_cases[0], now, before)) == ["crm.*"]
    for text in ("against:main", "undo:main:crm.*"):
        earlier = at(file, text)
        assert earlier is not None
        assert [each["namespace"]["description"] for each in tools_of(earlier)] == ["Old."]


NEW = [WEATHER, tool("new")]
CHAIN = {**CASE, "multi_turn": True}


@pytest.mark.parametrize(
    ("new", "choice"),
    [
        ({"tools": [FIND, WEATHER], "namespaces": {"crm": "x"}}, "required"),
        (
            {"tools": NEW, "tool_choice": {"allowed_tools": ["get_weather", "new"]}},
            "auto of get_weather",
        ),
        ({"tools": NEW, "tool_choice": {"allowed_tools": ["new"]}}, None),
        ({"tools": NEW, "tool_choice": {"tool": "new"}}, None),
        ({"tools": NEW, "test_cases": [{**CHAIN, "valid_prerequisites": ["new"]}]}, None),
        ({"tools": NEW, "test_cases": [{**CHAIN, "mock_responses": {"new": "x"}}]}, None),
    ],
)
def test_a_case_needs_the_tools_that_it_names(
    tmp_path: Path, new: dict[str, Any], choice: str | None
) -> None:
    earlier = at(since(tmp_path, {"tools": [WEATHER]}, new), "against:main")
    assert (earlier and str(earlier.tool_choice)) == choice


def test_an_earlier_suite_with_the_tools_of_a_server_is_left_out(tmp_path: Path) -> None:
    file = since(tmp_path, {"tools_from": {"mcp": {"stdio": "server"}}}, {"tools": [WEATHER]})
    assert at(file, "against:main") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{\n "tools": [\n  {"type": "function", "function": {"nme": "x"}}\n ]\n}',
            "tools.json:3:37: tools[0].function.nme: unknown field, did you mean name?",
        ),
        ("[1]", "tools.json:1:2: [0]: expected a tool, "),
        ('[{"name": "x", "input_schema": {}}]', "tools.json:1:2: [0]: a tool in Anthropic's format; "),
    ],
)
def test_a_wrong_file_of_distractors_is_told_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(message)):
        vary(f"distractors:1:{file}", suite_of(CASE))
