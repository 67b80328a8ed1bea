from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.engine.models.names import known_providers, resolve_models
from pytest_tooleval.engine.models.providers import PROVIDERS
from pytest_tooleval.engine.models.spec import (
    LEXICAL,
    Builtin,
    CallableModel,
    DeployedAgent,
    HttpModel,
    ModelSpec,
)
from pytest_tooleval.engine.models.tables import ModelTables, read_tables
from pytest_tooleval.errors import ConfigError
from pytest_tooleval.secrets import secret_values


def tables_of(tmp_path: Path, text: str, name: str = "tooleval.toml") -> ModelTables:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_tables(tmp_path)


def spec_of(tmp_path: Path, body: str, extra: str = "") -> ModelSpec:
    tables = tables_of(tmp_path, f"[models.mine]\n{body}\n{extra}")
    return resolve_models(["mine"], tables)[0]


def refusal(tmp_path: Path, body: str, extra: str = "") -> str:
    with pytest.raises(ConfigError) as raised:
        spec_of(tmp_path, body, extra)
    return str(raised.value)


def test_a_whole_table(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        """model = "anthropic/claude-sonnet-4-5"
        api_base = "https://example.org/v1"
        api_key_env = "MY_KEY"
        temperature = 1
        seed = 7
        reasoning_effort = "low"
        thinking = {type = "enabled", budget_tokens = 1024}
        omit = ["top_p"]
        timeout = 30
        max_concurrency = 4
        requests_per_minute = 60
        tokens_per_minute = 1000""",
        "[models.mine.extra]\ntop_k = 5",
    )
    assert (spec.label, spec.identity) == ("mine", "anthropic/claude-sonnet-4-5")
    assert spec.sampling == {
        "temperature": 1,
        "seed": 7,
        "reasoning_effort": "low",
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }
    assert spec.extra == {"top_k": 5}
    assert (spec.omit, spec.timeout, spec.max_concurrency) == (("top_p",), 30, 4)
    assert (spec.requests_per_minute, spec.tokens_per_minute) == (60, 1000)
    assert "tooleval.toml" in spec.place


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('model = "openai/x"', HttpModel),
        (f'model = "{LEXICAL}"\nstream = false', Builtin),
        ('callable = "a:b"\nstream = false', CallableModel),
        ('url = "https://h/ask"\nrequest = { text = "$prompt" }\nanswer = "chat"', DeployedAgent),
    ],
)
def test_what_a_table_names_is_the_kind_of_its_model(tmp_path: Path, body: str, kind: type) -> None:
    spec = spec_of(tmp_path, body)
    assert (type(spec), type(spec.with_share(2, 0))) == (kind, kind)
    for other in (key for key in ("api", "stream") if kind is not HttpModel):
        value = "true" if other == "stream" else '"openai"'
        changed = "\n".join(line for line in body.splitlines() if not line.startswith(other))
        assert f"{other}: " in refusal(tmp_path, f"{changed}\n{other} = {value}")


def test_pyproject_and_tooleval_toml_hold_the_same_tables(tmp_path: Path) -> None:
    for folder, name, prefix in (("a", "pyproject.toml", "tool.tooleval."), ("b", "tooleval.toml", "")):
        (tmp_path / folder).mkdir()
        text = f'[{prefix}models."claude-3"]\nmodel = "openai/x"\n'
        tables = tables_of(tmp_path / folder, text, name)
        (spec,) = resolve_models(["claude-3"], tables)
        assert spec.identity == "openai/x"
        assert spec.folder == tmp_path / folder


def test_both_at_once_are_refused(tmp_path: Path) -> None:
    tables_of(tmp_path, '[tool.tooleval.models.a]\nmodel = "openai/x"\n', "pyproject.toml")
    with pytest.raises(ConfigError, match="defined both here and in"):
        tables_of(tmp_path, '[models.a]\nmodel = "openai/x"\n')


def test_a_pyproject_without_us_is_fine(tmp_path: Path) -> None:
    assert read_tables(tmp_path).tables == {}
    for text in ("", "tool = 5", "[tool.other]\nx = 1", "[project]\nname = 'x'"):
        assert tables_of(tmp_path, text, "pyproject.toml").tables == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.a", "tooleval.toml: "),
        ("[model.a]", "tooleval.toml:1:1: unknown key 'model', did you mean models?"),
        ("fail-under = 1", "beside pytest's own, in its ini file: tooleval_fail_under"),
        ("models = 5", "expected tables [models.NAME], got 5; to choose models, set tooleval_model"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tables_of(tmp_path, text)
    assert str(tmp_path / "tooleval.toml") in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n[tooleval.models.a]", ":2:1: unknown table [tooleval], did you mean [tool.tooleval]?"),
        ("[tool.tooleval.model.a]", ":1:1: unknown key 'tool.tooleval.model', did you mean models?"),
        (
            "[project]\nx = 1\n[tool.tooleval]\nx = 1",
            ":3:1: unknown key 'tool.tooleval.x'; expected only",
        ),
    ],
)
def test_a_wrong_table_of_a_pyproject_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        tables_of(tmp_path, text, "pyproject.toml")


def test_a_file_that_is_no_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "tooleval.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"tooleval\.toml: .*utf-8"):
        read_tables(tmp_path)


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert tables_of(tmp_path, '\ufeff[models.a]\nmodel = "openai/x"').tables


GOOD = 'model = "openai/x"\n'


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (GOOD + 'base_url = "http://localhost"', 3, "unknown key 'base_url', did you mean api_base?"),
        (GOOD + "temprature = 0", 3, "unknown key 'temprature', did you mean temperature?"),
        (GOOD + 'temperature = "hot"', 3, "temperature: expected float, got str"),
        (GOOD + "temperature = true", 3, "temperature: expected float, got bool"),
        (GOOD + "temperature = nan", 3, "temperature: expected a JSON value"),
        (GOOD + "timeout = inf", 3, "timeout: expected a JSON value"),
        (GOOD + "max_concurrency = 0", 3, "max_concurrency: expected int >= 1"),
        (GOOD + "max_tokens = 1.5", 3, "max_tokens: expected int, got float"),
        (GOOD + "omit = [1]", 3, "omit: expected str, got int"),
        (GOOD + 'callable = "a:b"', 1, "expected one of model"),
        ("temperature = 0", 1, "expected one of model"),
        ('callable = "a.b"', 2, 'callable: expected "module:function"'),
        (GOOD + 'api_base = "localhost:8000"', 3, "api_base: expected a URL"),
        # With litellm, and without it.
        ('model = "opanai/gpt-4o"', 2, ", did you mean openai"),
        ('model = "gpt-400"', 2, "does not know its provider|no known model has this name"),
    ],
)
def test_a_wrong_key_is_named_with_its_place(tmp_path: Path, body: str, line: int, message: str) -> None:
    text = refusal(tmp_path, body)
    assert text.startswith(f"{tmp_path / 'tooleval.toml'}:{line}:1: [models.mine]: ")
    assert any(each in text for each in message.split("|"))


def test_a_table_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a table, got 5"):
        resolve_models(["mine"], tables_of(tmp_path, "[models]\nmine = 5"))


@pytest.mark.parametrize(
    ("body", "extra"),
    [
        ('api_key = "sk-planted-1"', ""),
        ('token = "sk-planted-1"', ""),
        ("", '[models.mine.extra]\napi_key = "sk-planted-1"'),
        ("", '[models.mine.extra]\nextra_headers = {Authorization = "Bearer sk-planted-1"}'),
        ("", '[models.mine.extra]\nx = [{y = {"x-api-key" = "sk-planted-1"}}]'),
        ('api_key_env = "sk-planted-1"', ""),
        ('api_base = "https://me:sk-planted-1@example.org/v1"', ""),
        ('api_base = "https://example.org/v1?code=sk-planted-1"', ""),
        ('api_base = "me:sk-planted-1@example.org/v1"', ""),
    ],
)
def test_secrets_are_refused_and_not_shown(tmp_path: Path, body: str, extra: str) -> None:
    assert "sk-planted-1" not in refusal(tmp_path, GOOD + body, extra)


def test_the_keys_of_all_tables_are_kept_out_of_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLEVAL_OTHER_LOGIN", "open sesame")
    tables_of(tmp_path, '[models.other]\nmodel = "openai/m"\napi_key_env = "TOOLEVAL_OTHER_LOGIN"\n')
    assert "open sesame" in secret_values()


@pytest.mark.parametrize(
    "key", ["messages", "tools", "tool_choice", "stream", "drop_params", "temperature", "thinking"]
)
def test_what_is_not_for_extra(tmp_path: Path, key: str) -> None:
    assert f"extra: {key}" in refusal(tmp_path, GOOD, f"[models.mine.extra]\n{key} = 1")


def test_extra_must_be_json(tmp_path: Path) -> None:
    for key in ("extra", "thinking"):
        error = refusal(tmp_path, GOOD, f"[models.mine.{key}]\nday = 2024-01-01")
        assert f"{key}: expected a JSON value" in error


def test_names_in_order_and_each_once() -> None:
    tables = ModelTables(tables={"mine": {"model": "openai/x"}})
    names = ["gpt-4o", "mine", LEXICAL, "mine", "openai/anything", "ollama_chat/llama3"]
    specs = resolve_models(names, tables)
    assert [spec.label for spec in specs] == [
        "gpt-4o",
        "mine",
        LEXICAL,
        "openai/anything",
        "ollama_chat/llama3",
    ]
    assert specs[1].identity == "openai/x"


def test_a_table_wins_over_litellms_name() -> None:
    tables = ModelTables(tables={"gpt-4o": {"model": "openai/other"}})
    assert resolve_models(["gpt-4o"], tables)[0].identity == "openai/other"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("my-alis", "did you mean my-alias"),
        ("builtin/lexcal", "did you mean builtin/lexical"),
        ("gpt4o", "did you mean gpt-4o"),
        ("opanai/gpt-4o", "openai/gpt-4o"),
        ("claude-3", "did you mean claude"),
    ],
)
def test_an_unknown_name_comes_with_near_ones_and_the_table_to_add(name: str, near: str) -> None:
    tables = ModelTables(tables={"my-alias": {"model": "openai/x"}})
    with pytest.raises(ConfigError) as raised:
        resolve_models([name], tables)
    text = str(raised.value)
    assert text.startswith(f"unknown model {name!r}")
    assert near in text
    header = name if "/" not in name else f'"{name}"'
    assert f"write [tool.tooleval.models.{header}] with model = " in text
    assert text.count("\n") < 4


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("agents:good", '[models.good] with callable = "agents:good" in tooleval.toml'),
        ("agents.py:good", '[models.good] with callable = "agents:good" in tooleval.toml'),
        ("kit/shop.py:main", '[models.main] with callable = "kit.shop:main" in tooleval.toml'),
        ("http://x.test/v1", 'and api_base = "http://x.test/v1" in tooleval.toml'),
        ("mistral:latest", 'with model = "PROVIDER/NAME" in tooleval.toml'),
    ],
)
def test_a_function_or_an_address_comes_with_its_own_table(
    tmp_path: Path, name: str, table: str
) -> None:
    (tmp_path / "kit").mkdir()
    for file in ("agents.py", "kit/shop.py"):
        (tmp_path / file).touch()
    tables = tables_of(tmp_path, '[models.mine]\ncallable = "shop:main"')
    with pytest.raises(ConfigError) as raised:
        resolve_models([name], tables)
    assert table in str(raised.value)
    with pytest.raises(ConfigError, match="did you mean mine"):
        resolve_models(["shop:main"], tables)


def test_the_table_to_add_fits_the_file_there_is(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, '[models.a]\nmodel = "openai/x"')
    with pytest.raises(ConfigError, match=r"\[models\.claude-3\] with .* in tooleval\.toml"):
        resolve_models(["claude-3"], tables)


def test_a_provider_alone_is_no_model() -> None:
    with pytest.raises(ConfigError, match="'openai/': the name is missing after the provider"):
        resolve_models(["openai/"], ModelTables())


@pytest.mark.parametrize("name", ["", " x", "a[b]", "a::b", "a\nb", "a\x1b[31m"])
def test_a_label_must_fit_into_a_node_id(name: str) -> None:
    with pytest.raises(ConfigError, match="expected a name without brackets") as raised:
        resolve_models([name], ModelTables())
    assert raised.value.args[0].isprintable()


@pytest.mark.parametrize("header", ['[models."my model"]', "[ models . 'my model' ]"])
def test_headers_are_found_as_people_write_them(tmp_path: Path, header: str) -> None:
    tables = tables_of(tmp_path, f'# first\n{header}\nmodel = "openai/x"\n  max_tokens = 0\n')
    with pytest.raises(ConfigError, match=r"toml:4:3: "):
        resolve_models(["my model"], tables)


def test_litellm_is_not_imported_to_know_its_names() -> None:
    code = (
        "import sys\nfrom pytest_tooleval.engine.models.names import *\n"
        "from pytest_tooleval.errors import *\n"
        "for name in ('gpt-4o', 'anthropic/x', 'ollama_chat/x', 'nothing'):\n"
        "    try: resolve_models([name], ModelTables())\n"
        "    except ConfigError: pass\n"
        "assert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_identity_is_what_is_asked() -> None:
    fields: dict[str, Any] = {"label": "a", "source": "x", "timeout": 5.0}
    assert HttpModel(model="openai/x", **fields).identity == "openai/x"
    assert CallableModel(callable="a:b", **fields).identity == "callable:a:b"


def test_a_callable_is_known_by_its_code_whatever_its_line_ends(tmp_path: Path) -> None:
    found = []
    for code in (b"def answer(): ...\n", b"def answer(): ...\r\n", b"def answer(): return 1\n"):
        (tmp_path / "my_agent.py").write_bytes(code)
        found.append(CallableModel("a", callable="my_agent:answer", folder=tmp_path).identity)
    assert found[0] == found[1] != found[2]


def test_a_row_of_the_table_of_providers_is_enough() -> None:
    assert set(PROVIDERS) <= set(known_providers())
