"""Reading options: what they combine to, and what each mistake says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tooleval.plugin.settings import read_settings
from pytest_tooleval.settings import options
from pytest_tooleval.settings.options import OPTIONS
from pytest_tooleval.settings.settings import Settings
from pytest_tooleval.suite.overrides import Overrides
from pytest_tooleval.verdicts.gating import Gating


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
        known = {f"tooleval_{key}" for key, option in OPTIONS.items() if not option.only_typed}
        return self._ini.keys() - known


def settings(root: Path, line: str = "", **ini: Any) -> Settings:
    """Those of a command line, without `--tooleval-` in front of each option, and of an ini file."""
    given_options: dict[str, Any] = {}
    for text in line.split(" --") if line else ():
        name, _, value = text.removeprefix("--").partition("=")
        option = OPTIONS[name.replace("-", "_")]
        key = f"tooleval_{option.key}"
        given_options[key] = (
            [*given_options.get(key, []), value] if option.repeats else option.is_flag or value
        )
    given = {f"tooleval_{key}": value for key, value in ini.items()}
    return read_settings(FakeConfig(root, given, **given_options))  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the models a, b and c, and one below it in which pytest was started."""
    tables = (f'[models.{name}]\ncallable = "a:b"\n' for name in "abc")
    (tmp_path / "tooleval.toml").write_text("".join(tables))
    (tmp_path / "started-here" / "folder").mkdir(parents=True)
    (tmp_path / "started-here" / "file").write_text("")
    return tmp_path


def test_defaults(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found.asking.models == ()
    assert (found.asking.concurrency, found.asking.timeout_s) == (32, 120.0)
    assert (found.outputs.reports, found.asking.cassette_path, found.asking.record) == ((), None, "new")
    assert not found.gating.gates
    assert found.gating.baseline is None
    assert found.outputs.history
    assert found.asking.overrides == Overrides()


def test_models(root: Path) -> None:
    def labels(line: str, **ini: Any) -> list[str]:
        return [spec.label for spec in settings(root, line, **ini).asking.models]

    assert labels("model=a, b --model=c --model=a") == ["a", "b", "c"]
    assert labels("", model=["a,", "builtin/lexical"]) == ["a", "builtin/lexical"]
    assert labels("model=b", model=["a"]) == ["b"]


def test_a_shard_has_its_part_of_the_limits_and_leaves_verdicts_to_the_merge(root: Path) -> None:
    limits = "requests_per_minute = 10\ntokens_per_minute = 1000\nmax_concurrency = 2\n"
    (root / "tooleval.toml").write_text(f'[models.a]\ncallable = "a:b"\n{limits}')
    line = "model=a --shard=3/3 --report=a.json --judge=a"
    ini = {"preset": "nightly", "fail_under": ["1"], "fail_inconclusive": True, "trials": "5"}
    found = settings(root, line, **ini, history="off")
    assert found.asking.concurrency == 10
    for model in (*found.asking.models, found.asking.judge):
        assert model is not None
        assert (model.requests_per_minute, model.tokens_per_minute) == (3, 333)
        assert model.max_concurrency == 1  # one at least
    assert (found.outputs.history, found.outputs.github) == ("", "never")
    assert found.gating == Gating()
    assert found.left_to_merge == {
        "preset": "nightly",
        "fail-under": ["1"],
        "fail-inconclusive": "on",
        "history": "off",
    }
    assert settings(root, f"{line} --github=always").outputs.github == "always"


def test_thresholds_and_later_ones_win(tmp_path: Path) -> None:
    line = (
        "threshold=0.5 --threshold=tool_selection = 1 --threshold=overall=0.75 --threshold=max_calls=3"
    )
    found = settings(tmp_path, f"{line} --threshold=state=null").asking.overrides.thresholds
    assert found == {"overall": 0.75, "tool_selection": 1.0, "max_calls": 3.0, "state": None}


def test_paths_of_options_count_from_where_pytest_was_started_and_those_of_the_ini_file_from_the_root(
    root: Path,
) -> None:
    ini = {"cassette": "ini", "record": "none"}
    found = settings(root, "report=a/out.json --cassette=tapes --record=all", **ini)
    assert [report.path for report in found.outputs.reports] == [
        root / "started-here" / "a" / "out.json"
    ]
    assert (found.asking.cassette_path, found.asking.record) == (root / "started-here" / "tapes", "all")
    found = settings(root, **ini)
    assert (found.asking.cassette_path, found.asking.record) == (root / "ini", "none")


PRESETS = {
    "preset=pr": "--tooleval-preset=pr sets --tooleval-fail-under=0.9 --tooleval-baseline=good",
    "preset=pr --fail-under=0.5": "--tooleval-preset=pr sets --tooleval-baseline=good",
    "preset=strict": "--tooleval-preset=strict sets --tooleval-pass=all --tooleval-fail-inconclusive",
    "preset=strict --pass=all --fail-inconclusive": "",
    "preset=nightly --cassette=tapes --trials=2": "--tooleval-preset=nightly sets --tooleval-record=all "
    "--tooleval-fail-under=0.9 --tooleval-fail-over=errors=2% --tooleval-baseline=good",
}


def test_a_preset_says_what_it_sets_and_your_own_options_win(tmp_path: Path) -> None:
    texts = {line: settings(tmp_path, line).preset_text for line in PRESETS}
    assert texts == PRESETS
    found = settings(tmp_path, "preset=nightly --cassette=tapes --trials=2")
    assert (found.asking.record, found.asking.overrides.trials) == ("all", 2)
    assert found.options["fail-under"] == ["0.9"]
    strict = settings(tmp_path, "preset=strict")
    assert (strict.gating.strict, strict.asking.overrides.pass_rule) == (True, "all")
    assert found.gating.baseline is not None
    assert (found.gating.baseline.name, found.gating.baseline.run) == (
        "good",
        None,
    )  # which may not exist yet


REPLACED = {
    ("preset=pr", ""): "",
    ("preset=pr --preset=pr", "pr"): "",
    ("", "pr"): "",
    ("preset=nightly --preset=strict", ""): "strict replaces nightly: the run is without "
    "--tooleval-trials=5 --tooleval-fail-under=0.9 --tooleval-fail-over=errors=2% "
    "--tooleval-baseline=good",
    ("preset=strict", "pr"): "strict replaces pr: the run is without --tooleval-fail-under=0.9 "
    "--tooleval-baseline=good",
    ("preset=pr --fail-inconclusive --pass=any", "strict"): "pr replaces strict",
    ("preset=strict --preset=pr --fail-under=0.5 --baseline-model=a=a", "nightly"): "pr replaces "
    "nightly and strict: the run is without --tooleval-trials=5 "
    "--tooleval-fail-over=errors=2% --tooleval-pass=all --tooleval-fail-inconclusive",
}


@pytest.mark.parametrize(("line", "ini"), REPLACED, ids=str)
def test_a_preset_says_which_it_replaced_and_what_that_took_away(
    tmp_path: Path, line: str, ini: str
) -> None:
    texts = settings(tmp_path, line, **{"preset": ini} if ini else {}).replaced
    assert "".join(texts).removeprefix("--tooleval-preset=") == REPLACED[line, ini]


def test_strict_on_the_command_line_replaces_what_is_looser_in_the_ini_file(tmp_path: Path) -> None:
    ini: dict[str, Any] = {"fail_under": ["0.8", "suite:1"], "pass": "any", "confidence": "0.95"}
    ini["fail_over"] = ["errors=50%", "suite=a:errors=3", "cost_usd=0.5", "recovered=0"]
    found = settings(tmp_path, "preset=strict", **ini)
    assert [rule.metric for rule in found.gating.gates.rules] == ["cost_usd", "recovered"]
    assert found.asking.overrides.pass_rule == "all"
    assert found.replaced == (
        "--tooleval-preset=strict replaces tooleval_pass: any and tooleval_fail_under: 0.8 suite:1 and "
        "tooleval_fail_over: errors=50% suite=a:errors=3 and tooleval_confidence: 0.95",
    )
    assert settings(tmp_path, "preset=strict", **{"pass": "all"}).replaced == ()


LOOSER = """
fail-under=0.8  fail-over=errors=2%  fail-over=model=x:errors=1  pass=4/5
threshold=0  threshold=0.0  threshold=overall=0%  threshold=no_extra_calls=null
"""


@pytest.mark.parametrize("looser", LOOSER.split())
def test_strict_cannot_be_combined_with_what_tolerates_failures(tmp_path: Path, looser: str) -> None:
    key, _, value = looser.partition("=")
    ini: dict[str, Any] = {key.replace("-", "_"): value if key == "pass" else [value]}
    expected = f"preset=strict: cannot be combined with --tooleval-{looser}: every trial of"
    with pytest.raises(pytest.UsageError, match=expected) as caught:
        settings(tmp_path, f"preset=strict --{looser}")
    assert "take precedence" not in str(caught.value)
    with pytest.raises(pytest.UsageError, match=f"tooleval_preset=strict: cannot .* tooleval_{key[:4]}"):
        settings(tmp_path, preset="strict", **ini)
    with pytest.raises(pytest.UsageError, match=f"tooleval_preset=strict: cannot .* --tooleval-{key}"):
        settings(tmp_path, looser, preset="strict")
    settings(tmp_path, f"preset=pr --{looser}", preset="strict")
    settings(tmp_path, "preset=strict", **ini)


def test_strict_takes_thresholds_that_require_something(tmp_path: Path) -> None:
    for threshold in ("0.05", "overall=.5", "max_calls=0", "redundancy_penalty=0", "tool_selection=1"):
        settings(tmp_path, f"preset=strict --threshold={threshold}")


def test_newly_broken_cases_need_a_baseline(tmp_path: Path) -> None:
    settings(tmp_path, fail_over=["broken=0"])  # which some runs may not have
    settings(tmp_path, "fail-over=broken=0 --baseline=good")
    with pytest.raises(pytest.UsageError, match=r"fail-over=broken=.*: needs --tooleval-base"):
        settings(tmp_path, "fail-over=errors=1 --fail-over=suite:broken=0")


def test_the_ini_file_takes_what_presets_set(tmp_path: Path) -> None:
    presets = options.PRESETS
    sets = {key for preset in presets.values() for key in preset.sets}
    assert not [key for key in sets if OPTIONS[key].only_typed]
    ini: dict[str, Any] = {"pass": "all", "confidence": "0.9", "fail_under": ["0.5"]}
    found = settings(tmp_path, **ini)
    assert (found.asking.overrides.pass_rule, found.gating.gates.confidence) == ("all", 0.9)


def test_paths_of_the_ini_file_begin_at_its_folder(
    tmp_path: Path,
) -> None:
    found = settings(tmp_path, report=["out.json"])
    assert [report.path for report in found.outputs.reports] == [tmp_path / "out.json"]


def test_of_two_gates_for_the_same_the_later_one_holds(tmp_path: Path) -> None:
    line = "fail-under=0.9 --fail-under=suite=a:0.8 --fail-under=0.5"
    line += " --fail-over=errors=2% --fail-over=errors=3"
    found = settings(tmp_path, line)
    assert [rule.needed for rule in found.gating.gates.rules] == [0.5, 0.8, 0.02, 3]
    assert found.replaced == ("--tooleval-fail-under=0.5 replaces 0.9",)


def test_gates_of_the_command_line_are_asked_for(tmp_path: Path) -> None:
    """And those of the ini file are about all runs, also of other tests."""
    for line, ini, by_line in (
        ("fail-under=0.9", {}, True),
        ("preset=pr", {}, True),
        ("", {"fail_under": ["0.9"]}, False),
        ("", {"preset": "pr"}, False),
        ("preset=strict", {"fail_over": ["calls=1"]}, True),
        ("fail-over=errors=1", {"fail_under": ["0.9"]}, True),
    ):
        found = settings(tmp_path, line, **ini).gating
        assert found.gates
        assert found.is_typed is by_line
    merged = settings(tmp_path, "fail-under=0.5", fail_under=["overall=0.9", "tool_selection=1"])
    assert [rule.needed for rule in merged.gating.gates.rules] == [0.5]


GATE = "fail-under=pass^1=0.5 --confidence=0.9"


@pytest.mark.parametrize(
    ("line", "ini", "trials"),
    [
        ("trials=3", None, 3),
        ("", "3", 3),
        ("pass=4/5 --trials=5", None, 5),
        # A rule sets the number of trials; the ini file and presets are about all other runs.
        ("pass=1/2", "5", None),
        ("pass=1/2 --preset=nightly", None, None),
    ],
)
def test_the_number_of_trials(tmp_path: Path, line: str, ini: str | None, trials: int | None) -> None:
    found = settings(tmp_path, line, **({} if ini is None else {"trials": ini}))
    assert found.asking.overrides.trials == trials


_THRESHOLD = "expected [METRIC=]VALUE with a value from 0 to 1"
_TRIALS = "expected 1 to 10000"
_PASS = "expected mean, all, any, or K/N such as 4/5 (N up to 10000)"
_SHARD = "expected K/N, the K-th of N shards, such as 2/4"
_SHARD_1 = "shard=1/2 --report=a.json --"
MISTAKES = {
    # A value that is none.
    "concurrency=0": "--tooleval-concurrency=0: expected a whole number of at least 1",
    "concurrency=1.5": "expected a whole number of at least 1",
    "concurrency=many": "expected a whole number of at least 1",
    "timeout=0": "--tooleval-timeout=0: expected seconds above 0",
    "timeout=nan": "--tooleval-timeout=nan: expected",
    "trials=0": _TRIALS,
    "trials=-1": _TRIALS,
    "trials=auto": _TRIALS,
    "trials=some": _TRIALS,
    "trials=99999999": f"--tooleval-trials=99999999: {_TRIALS}",
    "temperature=2.5": "--tooleval-temperature=2.5: expected 0 to 2",
    "temperature=nan": "expected 0 to 2",
    "temperature=warm": "expected 0 to 2",
    "tool-choice=nome": "expected required, auto, none, did you mean none",
    "cassette=t --record=sometimes": "--tooleval-record=sometimes: expected none, new, all",
    "max-cost=0": "--tooleval-max-cost=0: expected US dollars above 0",
    "history=on": "--tooleval-history=on: expected a folder, a URL such as s3://bucket/runs, or off",
    "history=gs://b/runs?token=x": "--tooleval-history=gs://...: the URL has credentials",
    "history=nope://b": "nope://b: cannot be used: ValueError: Protocol not known: nope",
    "judge= ": "--tooleval-judge= : expected a model, got nothing",
    "preset=hard": "--tooleval-preset=hard: expected strict, pr, nightly",
    "preset=pr,strict": "--tooleval-preset=pr,strict: expected only one of strict, pr, nightly",
    "preset=hard --preset=pr": "--tooleval-preset=hard: expected strict, pr, nightly",
    "pass=most": f"--tooleval-pass=most: {_PASS}",
    "pass=6/5": _PASS,
    "pass=0/5": _PASS,
    "pass=4/10001": _PASS,
    **{
        f"threshold={value}": f"--tooleval-threshold={value}: {_THRESHOLD}"
        for value in (
            "",
            "high",
            "1.5",
            "-0.1",
            "nan",
            "inf",
            "=0.5",
            "overall=",
            "a=b",
            "max_calls=inf",
        )
    },
    "fail-under=90": "--tooleval-fail-under=90: a share is at most 1, did you mean 90%?",
    "fail-over=errors=-1": "--tooleval-fail-over=errors=-1: expected [SCOPE:]NAME=VALUE",
    "fail-under=0.5 --confidence=95": (
        "--tooleval-confidence=95: expected 0.5 to 0.9999, or 50% to 99.99%"
    ),
    **{
        f"model={names}": f"--tooleval-model={names}: a name is empty"
        for names in ("", ",", "a,", "a,,b")
    },
    "model=a --model=": "--tooleval-model=: a name is empty",
    "model=agnet": "unknown model 'agnet'",
    "shard=3/2": f"--tooleval-shard=3/2: {_SHARD}",
    "shard=0/2": _SHARD,
    "shard=2": _SHARD,
    "baseline=": "--tooleval-baseline=: expected a file or the name of a run",
    "baseline=nowhere.json": "--tooleval-baseline=nowhere.json: nowhere.json: there is no such file",
    "baseline=2031": "--tooleval-baseline=2031: ",
    "preset=pr --baseline-model=a": "--tooleval-baseline-model=a: expected OLD=NEW, two models",
    "preset=pr --max-drop=5": "--tooleval-max-drop=5: expected 0 to 1, or 0% to 100%",
    # Options that do not go together.
    "max-drop=0.1": "--tooleval-max-drop: needs --tooleval-baseline=FILE|RUN",
    "baseline-model=a=b": "--tooleval-baseline-model: needs --tooleval-baseline=FILE|RUN",
    "confidence=0.9": "--tooleval-confidence: needs --tooleval-fail-under=[SCOPE:][METRIC=]VALUE",
    "record=none": "--tooleval-record: needs --tooleval-cassette=FOLDER",
    "model=a --transcripts=b": "--tooleval-model: cannot be combined with --tooleval-transcripts",
    "resume --cassette=tapes": "--tooleval-resume: this run has a cassette, which already keeps",
    "pass=4/5 --trials=3": "which contradicts --tooleval-trials=3; leave that out",
    "shard=1/2": "--tooleval-shard: needs a JSON report",
    "shard=1/2 --report=a.csv": "add --tooleval-report=FILE.json",
    **{
        f"{_SHARD_1}{option}": f"--tooleval-{name}; pass --{name} to `tooleval merge` instead"
        for option, name in (
            ("fail-under=1", "fail-under"),
            ("preset=strict", "preset"),
            ("baseline=good", "baseline"),
        )
    },
    "report=json:one --report=csv:one": "--tooleval-report=json:one and --tooleval-report=csv:one name",
    "report=json:folder": "--tooleval-report=json:folder: expected the name of a file, got a folder",
    "report=file/out.json": "--tooleval-report=file/out.json: cannot write to",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(root: Path, line: str) -> None:
    with pytest.raises(pytest.UsageError, match=re.escape(MISTAKES[line])):
        settings(root, line)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("preset", "hard", "tooleval_preset: hard: expected strict, pr, nightly"),
        ("fail_under", ["x"], "tooleval_fail_under: x: expected [SCOPE:]"),
        ("fail_over", ["errors=5x"], "tooleval_fail_over: errors=5x: expected"),
        ("record", "sometimes", "tooleval_record: sometimes: expected none, new, all"),
    ],
)
def test_a_wrong_value_of_the_ini_file_is_named_as_such(
    tmp_path: Path, key: str, value: Any, message: str
) -> None:
    with pytest.raises(pytest.UsageError, match=re.escape(message)):
        settings(tmp_path, **{key: value})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("tooleval_models", "pytest.ini:2:1: unknown key tooleval_models, did you mean tooleval_model?"),
        ("tooleval_fail_undr", "did you mean tooleval_fail_under or tooleval_fail_over?"),
        ("tooleval_shard", "each job has its own: use --tooleval-shard on the command line"),
        ("tooleval_colour", "expected one of tooleval_model, "),
    ],
)
def test_a_key_that_the_ini_file_does_not_have(tmp_path: Path, key: str, message: str) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{key} = x\n")
    with pytest.raises(pytest.UsageError, match=re.escape(message)):
        settings(tmp_path, **{key.removeprefix("tooleval_"): "x"})
