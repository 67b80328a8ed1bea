"""Reading options: what they combine to, and what each mistake says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tooleval.plugin.settings import Settings
from pytest_tooleval.plugin.settings import read_settings
from pytest_tooleval.verdicts.options import OPTIONS


class FakeConfig:
    """As much of `pytest.Config` as options read."""

    def __init__(self, root: Path, ini: dict[str, Any], **options: Any) -> None:
        self.rootpath = root
        self.inipath = root / "pytest.ini"
        self.invocation_params = type("Params", (), {"dir": root / "started-here", "args": ()})
        self.option = SimpleNamespace(collectonly=False, **options)
        self.pluginmanager = SimpleNamespace(hasplugin=lambda name: False)
        self.stash = pytest.Stash()
        self._ini = ini

    def getoption(self, name: str, default: Any = None) -> Any:
        return getattr(self.option, name, default)

    def getini(self, name: str) -> Any:
        return self._ini.get(name)

    def _get_unknown_ini_keys(self) -> set[str]:
        known = {f"tooleval_{key}" for key, option in OPTIONS.items() if option.ini}
        return self._ini.keys() - known


def settings(root: Path, ini: dict[str, Any] | None = None, **options: Any) -> Settings:
    return read_settings(FakeConfig(root, ini or {}, **options))  # type: ignore[arg-type]


def test_defaults(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found.models == ()
    assert (found.concurrency, found.timeout_s) == (32, 120.0)
    assert (found.reports, found.cassette, found.record) == ((), None, "new")
    assert not found.gates
    assert found.baseline is None
    assert found.history
    assert set(found.overrides.values()) == {None}


def test_models_of_a_comma_list_and_repeated_options(tmp_path: Path) -> None:
    (tmp_path / "tooleval.toml").write_text(
        "".join(f'[models.{name}]\ncallable = "a:b"\n' for name in "abc")
    )
    found = settings(tmp_path, tooleval_model=["a, b", "c", "a"])
    assert [spec.label for spec in found.models] == ["a", "b", "c"]


def test_ini_models_may_hold_comma_lists(tmp_path: Path) -> None:
    (tmp_path / "tooleval.toml").write_text('[models.a]\ncallable = "a:b"\n')
    found = settings(tmp_path, {"tooleval_model": ["a,", "builtin/lexical"]})
    assert [spec.label for spec in found.models] == ["a", "builtin/lexical"]


def test_a_shard_has_its_part_of_the_limits(tmp_path: Path) -> None:
    limits = "requests_per_minute = 10\ntokens_per_minute = 1000\nmax_concurrency = 2\n"
    (tmp_path / "tooleval.toml").write_text(f'[models.a]\ncallable = "a:b"\n{limits}')
    found = settings(
        tmp_path,
        tooleval_model=["a"],
        tooleval_shard="3/3",
        tooleval_report=["a.json"],
        tooleval_judge="a",
    )
    assert found.concurrency == 10
    for model in (*found.models, found.judge):
        assert model is not None
        assert (model.requests_per_minute, model.tokens_per_minute) == (3, 333)
        assert model.max_concurrency == 1  # one at least


def test_thresholds_and_later_ones_win(tmp_path: Path) -> None:
    found = settings(tmp_path, tooleval_threshold=["0.5", "tool_selection = 1", "overall=0.75"])
    assert found.overrides["thresholds"] == {"overall": 0.75, "tool_selection": 1.0}


def test_paths_of_options_count_from_where_pytest_was_started(tmp_path: Path) -> None:
    (tmp_path / "started-here").mkdir()
    found = settings(tmp_path, tooleval_report=["a/out.json"], tooleval_cassette="tapes")
    assert [report.path for report in found.reports] == [tmp_path / "started-here" / "a" / "out.json"]
    assert found.cassette == tmp_path / "started-here" / "tapes"


def test_the_path_of_the_ini_file_counts_from_the_root(tmp_path: Path) -> None:
    found = settings(tmp_path, {"tooleval_cassette": "tapes", "tooleval_record": "none"})
    assert found.cassette == tmp_path / "tapes"
    assert found.record == "none"


def test_the_option_wins_over_the_ini_file(tmp_path: Path) -> None:
    ini = {"tooleval_cassette": "ini", "tooleval_record": "none"}
    found = settings(tmp_path, ini, tooleval_cassette="cli", tooleval_record="all")
    assert found.cassette is not None
    assert (found.cassette.name, found.record) == ("cli", "all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"tooleval_concurrency": "0"},
            "--tooleval-concurrency=0: expected a whole number of at least 1",
        ),
        ({"tooleval_concurrency": "1.5"}, "expected a whole number of at least 1"),
        ({"tooleval_timeout": "0"}, "--tooleval-timeout=0: expected seconds above 0"),
        ({"tooleval_timeout": "nan"}, "--tooleval-timeout=nan: expected"),
        ({"tooleval_trials": "-1"}, "--tooleval-trials=-1: expected 1 to 10000, auto, or auto:MAX"),
        (
            {"tooleval_trials": "auto:"},
            "--tooleval-trials=auto:: expected 1 to 10000, auto, or auto:MAX",
        ),
        ({"tooleval_trials": "some"}, "--tooleval-trials=some: expected 1 to 10000"),
        ({"tooleval_trials": "auto"}, "there is nothing to decide"),
        ({"tooleval_temperature": "2.5"}, "--tooleval-temperature=2.5: expected 0 to 2"),
        ({"tooleval_tool_choice": "nome"}, "expected required, auto, none, did you mean none"),
        ({"tooleval_max_cost": "0"}, "--tooleval-max-cost=0: expected US dollars above 0"),
        ({"tooleval_history": "of"}, "--tooleval-history=of: expected on, off, did you mean off"),
        ({"tooleval_threshold": ["high"]}, "--tooleval-threshold=high: expected"),
        ({"tooleval_model": [""]}, "--tooleval-model=: a name is empty"),
        ({"tooleval_model": ["a", ""]}, "a name is empty"),
        ({"tooleval_judge": " "}, "--tooleval-judge= : expected a model, got nothing"),
        ({"tooleval_max_drop": "0.1"}, "--tooleval-max-drop: needs --tooleval-baseline=FILE|RUN"),
        ({"tooleval_record": "none"}, "--tooleval-record: needs --tooleval-cassette=FOLDER"),
        (
            {"tooleval_model": ["a"], "tooleval_transcripts": ["b"]},
            "--tooleval-model: cannot be combined with --tooleval-transcripts",
        ),
        (
            {"tooleval_resume": True, "tooleval_cassette": "tapes"},
            "--tooleval-resume: this run has a cassette",
        ),
    ],
)
def test_mistakes(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(pytest.UsageError, match=message):
        settings(tmp_path, **options)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("tooleval_models", "pytest.ini:2:1: unknown key tooleval_models, did you mean tooleval_model?"),
        ("tooleval_fail_undr", "did you mean tooleval_fail_under or tooleval_fail_over?"),
        ("tooleval_threshold", "use --tooleval-threshold, on the command line or in addopts"),
        ("tooleval_colour", "expected one of tooleval_model, "),
    ],
)
def test_a_key_that_the_ini_file_does_not_have(tmp_path: Path, key: str, message: str) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{key} = x\n")
    with pytest.raises(pytest.UsageError, match=re.escape(message)):
        settings(tmp_path, {key: "x"})


def test_results_cannot_be_written_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "started-here" / "out").mkdir(parents=True)
    with pytest.raises(pytest.UsageError, match=r"--tooleval-report=json:out: .*file"):
        settings(tmp_path, tooleval_report=["json:out"])


def test_results_cannot_be_written_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "started-here").mkdir()
    (tmp_path / "started-here" / "file").write_text("")
    with pytest.raises(pytest.UsageError, match=r"--tooleval-report=file/out\.json: .*file"):
        settings(tmp_path, tooleval_report=["file/out.json"])
