"""The head of the report: the verdict, what was run, and the gates."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from ...text import counted
from ..run_text import option_text
from .markup import Html
from .markup import join
from .markup import label
from .markup import named
from .markup import tag
from .numbers import count
from .numbers import known
from .numbers import moment
from .numbers import score
from .numbers import seconds
from .numbers import title
from .numbers import usd
from .verdict import problems
from .verdict import verdict

MARKS = {"passed": "✓", "failed": "✗", "missed": "○", "error": "!", "errors": "!", "skipped": "–"}
_COUNTED = ("passed", "failed", "missed", "errors", "skipped")
_VERDICT_MARKS = {"passed": "✓", "failed": "✗", "empty": "–"}
_HEADINGS = {"passed": "Passed", "failed": "Failed", "empty": "Nothing was evaluated"}
_SOURCES = {
    "replayed": "replayed from the cassette",
    "resumed": "taken over from the last run",
    "shared": "shared with a case that asks the same",
}


def verdict_section(document: Mapping[str, Any]) -> Html:
    found = verdict(document)
    total = document["run"]["total"]
    mark = tag("span", _VERDICT_MARKS[found], class_="mark", aria_hidden="true")
    lines = problems(document)
    if found == "passed":
        # What is wrong with a run that passed all the same, such as errors that were allowed.
        lines = [f"{total['passed']:,} of {counted(total['cases'], 'case')} passed", *lines]
    elif found == "empty":
        lines = [
            f"{counted(total['cases'], 'case')} skipped" if total["cases"] else "no case was collected"
        ]
    return tag(
        "section",
        tag("h1", mark, f" {_HEADINGS[found]}", id="verdict"),
        tag("p", " · ".join(lines), class_="problems"),
        _outcomes(total),
        _facts(document),
        class_=f"verdict {found}",
        aria_labelledby="verdict",
    )


def _outcomes(total: Mapping[str, Any]) -> Html:
    """A bar of the outcomes' shares, and the same in words below."""
    shown = [name for name in _COUNTED if total[name]]
    if not shown:
        return join([])
    parts, left = [], 0.0
    for name in shown:
        width = 100 * total[name] / total["cases"]
        parts.append(tag("rect", x=left, y=0, width=width, height=6, class_=f"fill-{name}"))
        left += width
    bar = tag("svg", *parts, viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true")
    items = [
        tag(
            "li",
            tag("span", MARKS[name], class_="mark", aria_hidden="true"),
            f" {total[name]:,} {_plain(name, total[name])}",
            class_=f"tone-{name}",
        )
        for name in shown
    ]
    return tag("div", bar, tag("ul", *items), class_="outcomes")


def _plain(name: str, number: int) -> str:
    return "error" if name == "errors" and number == 1 else name


def _facts(document: Mapping[str, Any]) -> Html:
    run = document["run"]
    facts = [
        ("Suites", _list(dict.fromkeys(row["suite"] for row in document["suites"]))),
        ("Models", _models(document)),
        ("Started", moment(run.get("started"))),
        ("Took", seconds(run.get("duration_s"))),
        ("Commit", tag("bdi", commit_text(run["git"])) if run.get("git") else ""),
        ("Answers", _answers(run)),
        ("Cost", _cost(run["total"])),
        ("Options", _options(run.get("options") or {})),
        ("Run", label(run["id"], 40) if run.get("id") else ""),
        ("Versions", _versions(run)),
    ]
    pairs = [join([tag("dt", term), tag("dd", fact)]) for term, fact in facts if fact]
    return tag("dl", *(tag("div", pair) for pair in pairs), class_="facts")


def _list(names: Iterable[str]) -> Html:
    """Names as a list; the many of a hostile run must not push everything else away."""
    known = list(names)
    shown = [join([", " if number else "", named(each)]) for number, each in enumerate(known[:20])]
    return join([*shown, f" and {len(known) - 20} more" if len(known) > 20 else ""])


def _models(document: Mapping[str, Any]) -> Html:
    calls = {model["model"]: model["calls"] for model in document["run"].get("models") or []}
    parts: list[str] = []
    for row in document["models"][:20]:
        model = row["model"]
        parts += [", "] if parts else []
        parts.append(named(model) if model else "no model named")
        if calls.get(model, model) != model:
            parts += [" (", named(calls[model]), ")"]
    return join(parts)


def commit_text(git: Mapping[str, Any] | None) -> str:
    """`3fa9c1d2 on main`, and whether there were changes not in it; empty when unknown."""
    if not git:
        return ""
    branch = f" on {label(git['branch'], 60)}" if git.get("branch") else ""
    return f"{git['commit'][:10]}{branch}{', with changes' if git.get('dirty') else ''}"


def _answers(run: Mapping[str, Any]) -> str:
    total = run["total"]
    if not total.get("cached"):
        return ""
    source = _SOURCES.get(run.get("answers", ""), "from a cassette")
    return f"{total['cached']:,} of {total['trials']:,} {source}"


def _cost(total: Mapping[str, Any]) -> str:
    if total.get("cost_usd") is None:
        return ""
    partly = ", as far as prices are known" if total["priced"] < total["trials"] else ""
    return f"{usd(total['cost_usd'])}, of which spent in this run {usd(total.get('spent_usd'))}{partly}"


def _options(options: Mapping[str, Any]) -> Html:
    parts: list[str] = []
    for option, value in options.items():
        parts += [" "] if parts else []
        parts.append(tag("code", label(option_text(option, value))))
    return join(parts)


def _versions(run: Mapping[str, Any]) -> str:
    names = {"pytest_tooleval": "pytest-tooleval", "pytest": "pytest", "python": "Python"}
    return ", ".join(f"{shown} {run[key]}" for key, shown in names.items() if run.get(key))


def gates_section(gates: Iterable[Mapping[str, Any]]) -> Html:
    rows = [_gate_row(gate) for gate in gates]
    if not rows:
        return join([])
    header = [
        tag("th", each, scope="col", class_="number" if each in ("Value", "Needed") else None)
        for each in ("Gate", "Result", "Value", "Needed", "Message")
    ]
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *rows), class_="gates")
    return section("gates", "Gates", scrolling("Gates", table))


def _gate_row(gate: Mapping[str, Any]) -> Html:
    outcome = "passed" if gate["passed"] else "failed"
    low, high = known(gate.get("low")), known(gate.get("high"))
    interval = f" ({score(low)} to {score(high)})" if low is not None and high is not None else ""
    if gate.get("kind") == "errors":
        value, needed = count(gate.get("value")), f"at most {count(gate.get('needed'))}"
    else:
        value, needed = score(gate.get("value")) + interval, score(gate.get("needed"))
    name = gate.get("name") or title(gate.get("metric") or gate.get("kind") or "gate")
    return tag(
        "tr",
        tag("th", named(name), scope="row"),
        tag("td", outcome_text(outcome), class_="result"),
        tag("td", value, class_="number"),
        tag("td", needed, class_="number"),
        tag("td", gate.get("message") or "", class_="message"),
    )


def outcome_text(outcome: str, words: str | None = None) -> Html:
    """A mark with its word: colour is never the only sign."""
    return tag(
        "span",
        tag("span", MARKS[outcome], class_="mark", aria_hidden="true"),
        f" {words or outcome}",
        class_=f"tone-{outcome}",
    )


def section(id: str, heading: str, *children: str) -> Html:
    return tag(
        "section", tag("h2", heading, id=f"{id}-title"), *children, id=id, aria_labelledby=f"{id}-title"
    )


def scrolling(what: str, table: Html) -> Html:
    """A wide table scrolls within itself, by the keyboard too; the page never does sideways."""
    return tag("div", table, class_="scrolling", tabindex=0, role="region", aria_label=f"{what}, table")
