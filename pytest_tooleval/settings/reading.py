"""Reads the user's settings. Without gates and a baseline, nothing heavy is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, NoBaseline, ToolevalError
from ..verdicts.gating import Baseline, Gates, Gating
from .options import PRESETS, Option, options_text

if TYPE_CHECKING:
    from ..verdicts.sides import Side

_GATES = ("fail_under", "fail_over")


class UserOptions:
    """The user's settings by option key: texts, lists of texts, and True for flags.

    The command line takes precedence over the ini file, and both over their preset. A preset replaces an
    earlier one. Raises ConfigError for invalid values.
    """

    def __init__(
        self, options: Iterable[Option], typed: Mapping[str, Any], ini: Mapping[str, Any]
    ) -> None:
        self.options = {option.key: option for option in options}
        self.typed = dict(typed)
        self._typed_presets: list[str] = typed.get("preset", [])
        if self._typed_presets:
            self.typed["preset"] = self._typed_presets[-1]
        self._lost = _refused(ini, self.typed.get("preset"))
        kept = {key: _without(value, self._lost.get(key, ())) for key, value in ini.items()}
        self._own = {**{key: value for key, value in kept.items() if value}, **self.typed}
        presets = dict.fromkeys([*([ini["preset"]] if "preset" in ini else []), *self._typed_presets])
        self._replaced = [name for name in presets if name != self.preset]

    @property
    def preset(self) -> str:
        return str(self._own.get("preset", ""))

    @cached_property
    def sets(self) -> dict[str, Any]:
        """The options that the preset sets."""
        return self._sets_of(self.preset)

    def _sets_of(self, preset: str) -> dict[str, Any]:
        chosen = {*self._own, *([] if "cassette" in self._own else ["record"])}
        sets = PRESETS[preset].sets if preset in PRESETS else {}
        return {key: value for key, value in sets.items() if key in self.options and key not in chosen}

    @property
    def preset_text(self) -> str:
        """The preset's options as on the command line; empty if it sets none."""
        return f"--tooleval-preset={self.preset} sets {options_text(self.sets)}" if self.sets else ""

    @property
    def replaced_texts(self) -> list[str]:
        """What later values replaced: presets, with the options that went with them, and gates."""
        return [*filter(None, [self._replaced_presets]), *self._replaced_gates()]

    def _replaced_gates(self) -> Iterator[str]:
        for key in _GATES:
            texts = self._own.get(key) or self.sets.get(key) or ()
            held: dict[object, str] = {}
            for text, rule in zip(texts, self[key], strict=True):
                earlier = held.get(rule.subject)
                if earlier is not None and earlier != text:
                    yield f"{self.where(key)}={text} replaces {earlier}"
                held[rule.subject] = text

    @property
    def _replaced_presets(self) -> str:
        lost = {k: v for name in self._replaced for k, v in self._sets_of(name).items()}
        without = options_text({k: v for k, v in lost.items() if k not in self.sets})
        end = f": the run is without {without}" if without else ""
        lost_texts = (f"tooleval_{key}: {' '.join(texts)}" for key, texts in self._lost.items())
        names = " and ".join([*self._replaced, *lost_texts])
        return f"--tooleval-preset={self.preset} replaces {names}{end}" if names else ""

    def has(self, key: str) -> bool:
        return key in self._own or key in self.sets

    def is_typed(self, key: str) -> bool:
        """True if the command line or its preset sets it; the ini file is about all runs."""
        return key in self.typed or (key in self.sets and "preset" in self.typed)

    @property
    def cases_needed_by(self) -> str:
        """The preset or baseline, which needs at least one case; empty without."""
        keys = (key for key in ("preset", "baseline") if key in self._own)
        return next((f"{self.where(key)}={self._own[key]}" for key in keys), "")

    def where(self, key: str) -> str:
        """The start of a message about the value."""
        option = f"--tooleval-{self.options[key].name}"
        return f"tooleval_{key}" if key in self._own and key not in self.typed else option

    def __getitem__(self, key: str) -> Any:
        """The value; a list for a repeatable option."""
        option = self.options[key]
        raw = self._own.get(key)
        if raw is None and key != "preset":
            raw = self.sets.get(key)
        if option.is_flag:
            return raw in (True, "on")
        if option.repeatable:
            return [self._value(option, text) for text in raw or ()]
        raw = option.default if raw is None else raw
        return None if raw is None else self._value(option, raw)

    def _value(self, option: Option, text: str) -> Any:
        try:
            return option.value(text)
        except ValueError as error:
            where = self.where(option.key)
            sign = "=" if where.startswith("--") else ": "
            raise ConfigError(f"{where}{sign}{text}: {error}") from None

    def check(self) -> None:
        """Raise ConfigError for invalid values and for options that exclude each other."""
        for key in self._own:
            self[key]
        for preset in self._typed_presets:
            self._value(self.options["preset"], preset)
        for key in self.typed:
            for other, why in self.options[key].excludes.items():
                if other in self.typed:
                    raise ConfigError(
                        f"{self.where(key)}: cannot be combined with {self.where(other)}; {why}"
                    )
        for key, texts in _refused(self._own, self.preset).items():
            raise ConfigError(
                f"{self.where('preset')}={self.preset}: cannot be combined with "
                f"{self.where(key)}={texts[0]}: {PRESETS[self.preset].meaning}; omit one of them"
            )
        for key in self._own:
            needs = self.options[key].needs
            if needs and not self.has(needs):
                needed = self.options[needs]
                shown = f"--tooleval-{needed.name}={needed.metavar}"
                raise ConfigError(f"{self.where(key)}: needs {shown}")

    def record(self) -> dict[str, Any]:
        """The options by name, for a run's record."""
        values = {**self.sets, **self.typed}
        return {self.options[key].name: values[key] for key in sorted(values)}


def _refused(values: Mapping[str, Any], preset: str | None) -> dict[str, list[str]]:
    """The values that contradict a preset, by option key."""
    refuses = PRESETS[preset].refuses if preset in PRESETS else {}
    texts_by_key = {
        key: [text for text in _texts(values.get(key)) if re.match(pattern, text)]
        for key, pattern in refuses.items()
    }
    return {key: texts for key, texts in texts_by_key.items() if texts}


def _texts(value: Any) -> list[str]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _without(value: Any, lost: Collection[str]) -> Any:
    """An option's value without these texts."""
    if isinstance(value, list):
        return [text for text in value if text not in lost]
    return None if value in lost else value


def read_gating(
    options: UserOptions, baseline: Baseline | None, *, excuses_unasked: bool = False
) -> Gating:
    """How a run is gated. The later one of two gates for the same thing holds. Raises ConfigError."""
    rules = {rule.subject: rule for key in _GATES for rule in options[key]}
    if "fail_over" in options.typed and not options.has("baseline"):
        from ..verdicts.rules import BROKEN

        if any(rule.metric == BROKEN for rule in rules.values()):
            raise ConfigError(f"--tooleval-fail-over={BROKEN}=...: needs --tooleval-baseline=FILE|RUN")
    return Gating(
        Gates(tuple(rules.values()), options["confidence"]),
        baseline,
        strict=options["fail_inconclusive"],
        excuses_unasked=excuses_unasked,
        cases_needed_by=options.cases_needed_by,
        is_typed=any(map(options.is_typed, ("preset", "baseline", *_GATES))),
    )


def read_trials(options: UserOptions) -> int | None:
    """The number of trials, as an option sets it."""
    trials: int | None = options["trials"]
    rule = options["pass"] or ""
    of_rule = int(rule.partition("/")[2] or 0)
    if of_rule and "trials" not in options.typed:  # presets and the ini file are for other runs too
        return None
    if trials and of_rule not in (0, trials):
        raise ConfigError(
            f"--tooleval-pass={rule} asks each case {of_rule} times, which contradicts "
            f"{options.where('trials')}={trials}; leave that out"
        )
    return trials


def read_history(options: UserOptions, here: Path, root: Path) -> str:
    """Where the run is saved, as an absolute path or a usable URL; empty if nowhere.

    A typed folder is relative to `here`; those of the ini file and the default are relative to `root`.
    """
    name: str = options["history"]
    if "://" in name:
        from ..history import place_of

        return place_of(name, root).name
    return name and os.path.abspath((here if "history" in options.typed else root) / name)


def read_baseline(options: UserOptions, folder: Path, history: str) -> Baseline | None:
    """The baseline; None without one.

    `folder` is the project's `.tooleval`, and `history` an absolute path or a URL, empty for none.
    """
    name, models = options["baseline"], options["baseline_model"]
    if name is None:
        return None
    if "baseline" not in options.typed and (folder.parent / name).is_file():
        name = str(folder.parent / name)

    @cache
    def load(name: str, holding: frozenset[tuple[str, str]]) -> Side:
        from ..history import load_side, place_of

        return load_side(name, folder, holding, place_of(history, folder) if history else None)

    try:
        run = load(name, frozenset())
        if models:  # the newest good run may lack a model that an older one has
            run = load(name, frozenset((row.file, old) for row in run.cases for old, _ in models))
    except NoBaseline as error:
        return Baseline(name, None, models, options["max_drop"] or 0.0, load, str(error))
    except ToolevalError as error:
        raise ConfigError(f"{options.where('baseline')}={name}: {error}") from None
    labels = dict.fromkeys(row.model for row in run.cases if row.model)
    for old, new in models:
        if old not in labels:
            raise ConfigError(
                f"--tooleval-baseline-model={old}={new}: {name} has no model {old}; it has: "
                + ", ".join(labels)
            )
    return Baseline(name, run, models, options["max_drop"] or 0.0, load)
