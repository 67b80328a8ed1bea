"""The options for pytest, the ini file, `tooleval merge`, the web UI's run form and the docs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..text import near, read_number, read_share
from ..tiers import Tier, in_tiers

ReadText = Callable[[str], Any]


class Option(NamedTuple):
    """A command line option, named without its prefix. Without `metavar` and `choices`, it is a flag.

    `meanings` explain choices, `elsewhere` maps what other tools call them. `read` converts the text to
    a value; its ValueError says what was expected. The ini file can set the option under `key`, unless
    `only_typed` says why not; with `in_form`, the run form can, which remembers it for the next run if
    it `is_kept`. With `last_wins`, a later value replaces earlier ones, and the run says so. `needs` is
    another option's key; `excludes` has the keys of others, and why. `pytest --help` lists options by
    `tier`.
    """

    name: str
    help: str
    metavar: str = ""
    read: ReadText = str
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    meanings: Mapping[str, str] = {}
    elsewhere: Mapping[str, str] = {}
    default: str | None = None
    in_form: bool = False
    is_kept: bool = False
    last_wins: bool = False
    needs: str = ""
    excludes: Mapping[str, str] = {}
    tier: Tier = "advanced"
    only_typed: str = ""

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return not (self.metavar or self.choices)

    @property
    def repeats(self) -> bool:
        return self.repeatable or self.last_wins

    def arguments(self, text: str) -> list[str]:
        """pytest's arguments for a text from the run form. Spaces separate several values."""
        if self.is_flag:
            return [f"--tooleval-{self.name}"]
        values = text.split() if self.repeatable else [text]
        return [f"--tooleval-{self.name}={value}" for value in values]

    def value(self, text: str) -> Any:
        if self.choices and text not in self.choices:
            several = "," in text or " " in text
            which = "only one of " if several else ""
            meant = self.elsewhere.get(text)
            hint = f": {text} is {meant} here" if meant else "" if several else near(text, self.choices)
            raise ValueError(f"expected {which}{', '.join(self.choices)}{hint}")
        return self.read(text)


def number(
    expected: str, fits: Callable[[float], bool], reads: Callable[[str], float] = read_number
) -> ReadText:
    """Return a reader for numbers that pass `fits`."""

    def read(text: str) -> float:
        value = reads(text)
        if not fits(value):
            raise ValueError(f"expected {expected}")
        return value

    return read


def not_empty(expected: str) -> ReadText:
    """Return a reader for texts that must not be empty, as CI variables may be."""

    def read(text: str) -> str:
        if not text.strip():
            raise ValueError(f"expected {expected}, got nothing")
        return text.strip()

    return read


def _gate(*, over: bool) -> ReadText:
    def read(text: str) -> Any:
        from ..verdicts.rules import read_rule

        return read_rule(text, over=over)

    return read


def _pair(text: str) -> tuple[str, str]:
    # litellm's names contain no `=`.
    old, _, new = (part.strip() for part in text.partition("="))
    if not (old and new):
        raise ValueError("expected OLD=NEW, two models")
    return old, new


class ShardNumber(NamedTuple):
    """Shard `number` (from 1) of a run's `of` shards."""

    number: int
    of: int


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        # A gate must not pass because a CI variable is empty.
        raise ValueError("a name is empty")
    return names


def _shard(text: str) -> ShardNumber:
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text, re.ASCII)
    if not (match and 1 <= int(match[1]) <= int(match[2])):
        raise ValueError("expected K/N, the K-th of N shards, such as 2/4")
    return ShardNumber(int(match[1]), int(match[2]))


def _place(text: str) -> str:
    """Where runs are saved; empty if nowhere."""
    text = text.strip()
    if text == "off":
        return ""
    if text in ("", "on", "true", "false", "yes", "no"):
        raise ValueError("expected a folder, a URL such as s3://bucket/runs, or off")
    scheme, colon, rest = text.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    # In Azure URLs, the container comes before the @.
    if colon and (":" in user or "?" in rest or (at and scheme == "s3")):
        raise ConfigError(
            f"--tooleval-history={scheme}://...: the URL has credentials, which would be in every "
            "record; set them in the environment as the provider's own tools read them"
        )
    return text


def _trials(text: str) -> int:
    from ..suite.types import MAX_TRIALS

    if not (text.isdecimal() and 1 <= int(text) <= MAX_TRIALS):
        raise ValueError(f"expected 1 to {MAX_TRIALS}")
    return int(text)


def _rule(text: str) -> str:
    from ..suite.types import MAX_TRIALS

    if text in ("mean", "all", "any"):
        return text
    needed, _, total = text.partition("/")
    if not (needed.isdecimal() and total.isdecimal() and 1 <= int(needed) <= int(total) <= MAX_TRIALS):
        raise ValueError(f"expected mean, all, any, or K/N such as 4/5 (N up to {MAX_TRIALS})")
    return f"{int(needed)}/{int(total)}"


def _threshold(text: str) -> tuple[str, float | None]:
    from ..record.metrics import LIMITS

    name, equals, bound = text.rpartition("=")
    name = name.strip() if equals else "overall"
    reads, most = (read_number, sys.float_info.max) if name in LIMITS else (read_share, 1.0)
    value = None if bound.strip() == "null" else reads(bound.strip())
    if not name or (value is not None and not 0.0 <= value <= most):
        raise ValueError(
            "expected [METRIC=]VALUE with a value from 0 to 1, such as 0.8, 80% or tool_selection=1; a "
            "limit such as max_calls=3; or null for none, such as no_extra_calls=null"
        )
    return name, value


Setting = str | bool | list[str]


class Preset(NamedTuple):
    """A preset's meaning, and the options that it sets unless the user does.

    `refuses` has patterns for values of other options that contradict it. On the command line, it
    replaces such values of the ini file.
    """

    meaning: str
    sets: Mapping[str, Setting]
    refuses: Mapping[str, str] = {}


PRESETS = {
    "strict": Preset(
        "every trial of every case must pass, and inconclusive verdicts fail",
        {"pass": "all", "fail_inconclusive": True},
        refuses={
            "pass": "(?!all$)",
            "fail_under": "",
            "fail_over": r"(.*:)?\s*errors\s*=",
            "confidence": "",
            # 0 is the strictest limit, and the strictest penalty.
            "threshold": r"(.*=)?\s*null\s*$|((?!max_|.*_penalty).*=)?\s*0*\.?0*%?\s*$",
        },
    ),
    "pr": Preset(
        "most cases pass, and no significant drop from the last good run",
        {"fail_under": ["0.9"], "baseline": "good"},
    ),
    "nightly": Preset(
        "every case queried five times, and judged as by pr; few outages are tolerated",
        {
            "trials": "5",
            "record": "all",
            "fail_under": ["0.9"],
            "fail_over": ["errors=2%"],
            "baseline": "good",
        },
        refuses={"record": "(?!all$)", "trials": "1$"},
    ),
}


def options_text(sets: Mapping[str, Setting]) -> str:
    """Options as they are written on the command line."""
    typed = []
    for name, value in sets.items():
        option = f"--tooleval-{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        typed += [option if each is True else f"{option}={each}" for each in values]
    return " ".join(typed)


JUDGING = (
    Option(
        "preset",
        "apply a gate preset",
        choices=tuple(PRESETS),
        meanings={name: preset.meaning for name, preset in PRESETS.items()},
        in_form=True,
        last_wins=True,
        tier="everyday",
    ),
    Option(
        "fail-under",
        "fail if the pass rate, or the mean of a metric, is lower; repeatable",
        "[SCOPE:][METRIC=]VALUE",
        read=_gate(over=False),
        repeatable=True,
        tier="everyday",
    ),
    Option(
        "fail-over",
        "fail if the error rate, or the mean cost_usd, latency_s, calls or tokens, exceeds VALUE; "
        "repeatable",
        "[SCOPE:]NAME=VALUE",
        read=_gate(over=True),
        repeatable=True,
    ),
    Option(
        "confidence",
        "apply --tooleval-fail-under to the interval at this confidence, such as 0.95",
        "C",
        read=number("0.5 to 0.9999, or 50% to 99.99%", lambda share: 0.5 <= share <= 0.9999, read_share),
        needs="fail_under",
    ),
    Option("fail-inconclusive", "fail on inconclusive verdicts"),
    Option(
        "baseline",
        "fail on a significant drop from an earlier run: a JSON report; good, the newest run that "
        "passed; @TAG; or auto, by git",
        "FILE|RUN|auto[:BRANCH]",
        read=not_empty("a file or the name of a run"),
        tier="everyday",
    ),
    Option(
        "baseline-model",
        "compare the baseline's model OLD with this run's model NEW; repeatable",
        "OLD=NEW",
        read=_pair,
        repeatable=True,
        needs="baseline",
    ),
    Option(
        "max-drop",
        "allow drops from the baseline of up to X (default: 0)",
        "X",
        read=number("0 to 1, or 0% to 100%", lambda share: 0 <= share <= 1, read_share),
        needs="baseline",
    ),
)
HISTORY = Option(
    "history",
    "keep runs in a folder or a bucket such as s3://bucket/runs; off: nowhere (default: .tooleval)",
    "FOLDER|URL",
    read=_place,
    default=".tooleval",
)
OUTPUTS = (
    Option(
        "report",
        "write a report, formatted by its ending (.json, .html, .md, .csv) or FORMAT; repeatable",
        "[FORMAT:]FILE",
        repeatable=True,
        tier="everyday",
    ),
    Option(
        "github",
        "GitHub Actions annotations and summary (default: auto)",
        choices=("auto", "always", "never"),
        default="auto",
    ),
    HISTORY,
)
_NO_MODEL = {"transcripts": "transcripts are scored without a model"}
_MODELS = (
    Option(
        "model",
        "models to evaluate: a config table, PROVIDER/NAME, or builtin/lexical; repeatable",
        "NAME[,NAME...]",
        read=_names,
        repeatable=True,
        excludes=_NO_MODEL,
        tier="everyday",
    ),
    Option(
        "transcripts",
        "score transcripts (chat messages, traces) without a model; repeatable",
        "FILE|FOLDER",
        read=not_empty("the name of a file or folder"),
        repeatable=True,
        tier="agents",
    ),
    Option(
        "judge",
        "the model that evaluates rubrics ($judge)",
        "NAME",
        not_empty("a model"),
        tier="agents",
    ),
    Option("user", "the model that plays users", "NAME", not_empty("a model"), tier="agents"),
    Option(
        "allow-tools",
        "tools that may act: live_tools, agents' and providers' own; * allows read-only live_tools",
        "NAME[,NAME...]",
        read=_names,
        repeatable=True,
        tier="agents",
        only_typed="what may act is allowed for one run",
    ),
    Option(
        "shard",
        "run shard K of N of the cases, for `tooleval merge`; needs a JSON report",
        "K/N",
        read=_shard,
        excludes={each.key: f"pass --{each.name} to `tooleval merge` instead" for each in JUDGING},
        only_typed="each job has its own",
    ),
)
_ASKING = (
    Option(
        "trials",
        "trials of each case (default: the suite's, else 1)",
        "N",
        read=_trials,
        in_form=True,
        is_kept=True,
        tier="everyday",
    ),
    Option(
        "temperature",
        "temperature of every case (default: the suite's, else 0)",
        "T",
        read=number("0 to 2", lambda degree: 0 <= degree <= 2),
        in_form=True,
        is_kept=True,
    ),
    Option(
        "tool-choice",
        "tool_choice of every case (default: the suite's, else required)",
        choices=("required", "auto", "none"),
        in_form=True,
        is_kept=True,
    ),
    Option(
        "variant",
        "run each case under a condition too, such as again or distractors:50; repeatable",
        "NAME[:ARGS]",
        read=not_empty("the name of a variant"),
        repeatable=True,
        excludes=_NO_MODEL,
        in_form=True,
    ),
    Option(
        "concurrency",
        "concurrent requests, over all models (default: 32)",
        "N",
        read=number("a whole number of at least 1", lambda count: count >= 1 and count.is_integer()),
        default="32",
    ),
    Option(
        "timeout",
        "seconds to wait for one answer (default: 120)",
        "SECONDS",
        read=number("seconds above 0", lambda seconds: seconds > 0),
        default="120",
    ),
)
_VERDICT = (
    Option(
        "threshold",
        "minimum score of a metric, or a limit; null removes one; repeatable",
        "[METRIC=]VALUE",
        read=_threshold,
        repeatable=True,
        in_form=True,
        tier="everyday",
    ),
    Option(
        "pass",
        "how trials decide: mean, all, any, or K/N, such as 4/5 (default: the suite's, else mean)",
        "RULE",
        _rule,
    ),
    *JUDGING,
)
_ANSWERS = (
    Option(
        "cassette",
        "record answers in FOLDER, and replay them from there",
        "FOLDER",
        read=not_empty("the name of a folder"),
        in_form=True,
        tier="everyday",
    ),
    Option(
        "record",
        "new: query missing answers; none: only replay; all: query everything (default: new)",
        choices=("none", "new", "all"),
        # VCR's words, and its pytest plugins'.
        elsewhere={"once": "new", "new_episodes": "new", "rewrite": "all"},
        default="new",
        needs="cassette",
        in_form=True,
        tier="everyday",
    ),
    Option(
        "resume",
        "reuse the last run's answers, and query only missing ones",
        excludes=_NO_MODEL,
        only_typed="reuse is a choice for one run",
    ),
    Option(
        "max-cost",
        "spend at most this much; cases beyond it become errors",
        "USD",
        read=number("US dollars above 0", lambda usd: usd > 0),
        in_form=True,
        tier="everyday",
    ),
    Option(
        "estimate",
        "print calls, tokens and a price range, and send no request",
        excludes=_NO_MODEL,
        only_typed="with it, nothing runs",
    ),
)
# For programs that start pytest.
_EVENTS = Option(
    "events",
    "write a line of JSON for each event, as it happens",
    "FILE|FD",
    only_typed="the program that starts pytest reads them",
)

_TITLES: Mapping[Tier, str] = {
    "everyday": "what most runs need",
    "agents": "agents, tools and judges",
    "advanced": "advanced",
}
_ALL = (*_MODELS, *_ASKING, *_VERDICT, *_ANSWERS, *OUTPUTS, _EVENTS)
# The groups of `pytest --help`: titles and options.
OPTION_GROUPS = {
    tier: (_TITLES[tier], options)
    for tier, options in in_tiers((option.tier, option) for option in _ALL).items()
}
OPTIONS = {option.key: option for _, options in OPTION_GROUPS.values() for option in options}
# The run form's options by name.
IN_FORM = {option.name: option for option in OPTIONS.values() if option.in_form}
