"""Errors in case ids, rows, tags and pass rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ...explain import show
from ...findings import Finding, Findings, Loc
from ...keys import texts_in
from ...record.thresholds import needed_of
from ..case import PromptMessage, TestCase
from ..fields import expected_at, wrong_value
from ..model import Suite
from ..moments import NOW, read_moment
from ..types import MAX_ID_LENGTH, MAX_TRIALS
from .scope import Scope

MANY_ROWS = 50
# Four braces are two in the prompt of a case with rows; a template language has dots and filters.
_PLACEHOLDER = re.compile(r"(?<!\{)\{\{\s*[A-Za-z_]\w*(?::[^{}]*)?\s*\}\}(?!\})")
_TAG = re.compile(r"[^\W_][\w.+-]*")
# pytest-timeout ends the whole run if its mark has no argument.
_RESERVED_TAGS = frozenset(
    ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tooleval", "timeout")
)
_EXPRESSION_WORDS = frozenset(("and", "or", "not"))
# Marks that widely used plugins interpret.
_PLUGIN_MARKS = frozenset(
    "anyio asyncio benchmark django_db flaky order trylast tryfirst xdist_group".split()
)


def id_errors(suite: Suite, line_of: Callable[[Loc], int]) -> Findings:
    """Ids that would break node ids, and duplicate ids; `line_of` gives the line of a path."""
    first: dict[str, Loc] = {}
    for index, case in enumerate(suite.test_cases):
        name, at = vars(case).get("id"), ("test_cases", index, "id")
        # An unreadable id is None. A row's name in an id needs no check.
        problem = None if name is None else _id_problem(case._base or name)
        if problem is not None:
            yield Finding(at, problem)
        elif name in first:
            other = f"already used by the case on line {line_of(first[name])}"
            yield Finding(at, f"the id {show(name)} is {other}; ids must be unique")
        elif name is not None:
            first[name] = at


def _id_problem(name: str) -> str | None:
    if not name:
        return "an empty id; write one, or remove id to get one from the prompt"
    if name != name.strip():
        return f"the id {show(name)} begins or ends with a space; remove it"
    for part in ("::", "[", "]"):
        if part in name:
            return f'the id {show(name)} contains "{part}", which pytest reserves; remove it'
    if not name.isprintable():
        return f"the id {show(name)} contains unprintable characters; remove them"
    if len(name) > MAX_ID_LENGTH:
        return f"the id has {len(name)} characters; use at most {MAX_ID_LENGTH}"
    return None


def row_warnings(suite: Suite) -> Findings:
    """Cases with so many rows that they outweigh the others."""
    counts = Counter(case._base for case in suite.test_cases if case._base is not None)
    for index, case in enumerate(suite.test_cases):
        count = counts.pop(case._base, 0) if case._base is not None else 0
        if count >= MANY_ROWS and case.weight == 1:
            message = (
                f"{count} rows of one case weigh as much as {count} other cases in each mean, though "
                f'they ask much the same; "weight": {1 / count:.2g} makes them weigh as one'
            )
            yield Finding(("test_cases", index, "parametrize"), message, at_key=True)


def now_errors(holder: Suite | TestCase, at: Loc) -> Findings:
    """A `now` that is no date."""
    if holder.now is not None and read_moment(holder.now) is None:
        yield Finding((*at, "now"), wrong_value(expected_at(Suite, "now"), holder.now))


def mark_errors(scope: Scope) -> Findings:
    """Tags that -m cannot use or that pytest reserves, and empty reasons."""
    case = scope.case
    for index, tag in enumerate(case.tags):
        problem = _tag_problem(tag)
        if problem is None and tag in case.tags[:index]:
            problem = "is listed twice; remove one"
        if problem is not None:
            yield Finding((*scope.at, "tags", index), f"the tag {show(tag)} {problem}")
    for field, reason in (("skip", case.skip), ("xfail", case.xfail)):
        if reason == "":
            message = f"an empty reason; write a reason or true, or remove {field}"
            yield Finding((*scope.at, field), message)


def _tag_problem(tag: str) -> str | None:
    if tag in _RESERVED_TAGS:
        hint = " (use the field with this name)" if tag in ("skip", "xfail") else ""
        return f"is a pytest mark with its own meaning{hint}; choose another"
    if tag in _EXPRESSION_WORDS:
        return "is an operator in -m and -k expressions; choose another"
    if not _TAG.fullmatch(tag):
        return (
            "cannot be used with -m; use letters, digits, _ - . and +, and begin with a letter or digit"
        )
    return None


def placeholder_warnings(scope: Scope) -> Findings:
    """Placeholders that go to the model as they are, since neither `now` nor rows fill them."""
    suite, case = scope.suite, scope.case
    if scope.turn is not None or case._base is not None or case.now or suite.now:
        return
    texts = [((*each.at, "prompt"), each.part.prompt) for each in scope.all]
    for at, prompt in [*texts, (("system_prompt",), suite.system_prompt)]:
        token = next((token for text in _texts(prompt) for token in _PLACEHOLDER.findall(text)), "")
        if token:
            wanted = "now" if token[2:-2].strip().partition(":")[0] == NOW else "parametrize"
            yield Finding(at, f'{token} goes to the model as text, because the case has no "{wanted}"')
            return


def _texts(prompt: str | Sequence[PromptMessage] | None) -> Iterator[str]:
    """The texts of a prompt."""
    if isinstance(prompt, str):
        yield prompt
    for message in () if prompt is None or isinstance(prompt, str) else prompt:
        yield from texts_in(message.model_dump(exclude_unset=True))


def reason_warnings(scope: Scope) -> Findings:
    """Reasons that look like a value."""
    for field, reason in (("skip", scope.case.skip), ("xfail", scope.case.xfail)):
        text = reason if isinstance(reason, str) else ""
        if text.casefold() in ("false", "no", "none", "null", "0"):
            message = f"{show(text)} is a reason, so the case has {field}; write false, without quotes"
            yield Finding((*scope.at, field), message)


def tag_warnings(scope: Scope) -> Findings:
    for index, tag in enumerate(scope.case.tags):
        if tag in _PLUGIN_MARKS:
            message = f"the tag {show(tag)} is also the mark of a widely used plugin"
            yield Finding((*scope.at, "tags", index), message)


def pass_rule_errors(holder: Suite | TestCase, suite: Suite, at: Loc) -> Findings:
    """A rule K/N that no result can meet, or `trials` that contradict it or the suite's rule."""
    rule = holder.pass_rule or suite.pass_rule or ""
    needed = needed_of(rule)
    if needed is None:
        return
    if holder.pass_rule and needed[0] > needed[1]:
        yield Finding(
            (*at, "pass"),
            f'"{needed[0]}/{needed[1]}" needs more passes than trials; use K/N with K up to N',
        )
    elif holder.pass_rule and needed[1] > MAX_TRIALS:
        yield Finding((*at, "pass"), f"expected at most {MAX_TRIALS} trials, got {needed[1]}")
    elif holder.trials is not None and holder.trials != needed[1]:
        message = (
            f'"pass": "{rule}" asks {needed[1]} times, which contradicts {holder.trials}; remove trials'
        )
        yield Finding((*at, "trials"), message, at_key=True)
