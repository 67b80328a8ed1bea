"""The whole HTML file: everything that belongs to it stands inside, and nothing else may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ... import __version__
from ..document import replacing
from .baseline import baseline_section
from .embed import CaseRows
from .embed import block
from .embed import case_rows
from .embed import index
from .embed import script_json
from .head import gates_section
from .head import outcome_text
from .head import section
from .head import verdict_section
from .markup import Html
from .markup import join
from .markup import label
from .markup import named
from .markup import tag
from .numbers import score
from .plots import plots
from .plots.trends import trends_section
from .scores import scores_section
from .verdict import verdict

# Later ones use what earlier ones define.
_SCRIPTS = ("render.js", "filters.js", "matrix.js", "report.js")
# Without scripts this many cases that did not pass are listed.
_LISTED = 200
_TITLES = {"passed": "passed", "failed": "failed", "empty": "nothing evaluated"}


def html_text(document: Mapping[str, Any], trends: Mapping[str, Any] | None = None) -> str:
    """A result document as one HTML page that needs no network.

    `trends` are lines from the history: `{"runs": [{"id", "started", "commit"}], "series":
    [{"model", "suite", "metric", "values": [number or None per run]}]}`. Everything textual in both
    is taken as hostile: it is shown, and never becomes markup or script.
    """
    cases = case_rows(document)
    style, script = asset("report.css"), "".join(map(asset, _SCRIPTS))
    drawn = plots(document)
    sections = {
        "gates": gates_section(document.get("gates") or []),
        "baseline": baseline_section(document.get("baseline")),
        "scores": scores_section(document),
        "cases": _cases_section(cases),
        "plots": section("plots", "Plots", tag("div", *drawn, class_="plots")) if drawn else join([]),
        "trends": trends_section(trends, [row["model"] for row in document["models"]]),
    }
    title = f"{_TITLES[verdict(document)]}: {_suites(document)}"
    return (
        "<!doctype html>\n"
        + tag(
            "html",
            tag(
                "head",
                tag("meta", charset="utf-8"),
                tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
                tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
                tag("meta", name="referrer", content="no-referrer"),
                tag("title", f"{title} - tooleval"),
                tag("style", Html(style)),
            ),
            tag(
                "body",
                tag(
                    "header",
                    _top(id for id, each in sections.items() if each),
                    verdict_section(document),
                ),
                tag("main", *sections.values(), id="content"),
                tag("footer", f"pytest-tooleval {__version__}"),
                *_data(document, cases),
                tag("script", Html(script)),
            ),
            lang="en",
        )
        + "\n"
    )


def write_html(path: Path, document: Mapping[str, Any], trends: Mapping[str, Any] | None = None) -> None:
    """Write the page; the file is whole or not there."""
    text = html_text(document, trends)
    with replacing(path) as file:
        file.write(text)


def asset(name: str) -> str:
    """The text of a style sheet or script of this package."""
    return files("pytest_tooleval.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Only these two texts may style and run; nothing is fetched, sent or turned into markup."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _suites(document: Mapping[str, Any]) -> str:
    names = list(dict.fromkeys(row["suite"] for row in document["suites"]))
    return label(", ".join(label(name, 40) for name in names[:5]), 100) if names else "no cases"


def _top(links: Iterable[str]) -> Html:
    return tag(
        "div",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("span", "tooleval", class_="brand"),
        tag(
            "nav",
            *(tag("a", link.capitalize(), href=f"#{link}") for link in links),
            aria_label="Sections",
        ),
        class_="top",
    )


def _cases_section(cases: Sequence[CaseRows]) -> Html:
    """Where the script puts the matrix; without scripts, a list of what did not pass."""
    if not cases:
        return join([])
    rows = [
        row
        for case in cases
        for row in case.rows.values()
        if row["outcome"] in ("failed", "missed", "error")
    ]
    lines = [
        tag(
            "tr",
            tag("th", named(row["case"]), scope="row"),
            tag("td", named(row["model"])),
            tag("td", outcome_text(row["outcome"])),
            tag("td", score(row["scores"].get("overall")), class_="number"),
            tag("td", row["reason"]),
        )
        for row in rows[:_LISTED]
    ]
    head = [tag("th", each, scope="col") for each in ("Case", "Model", "Outcome", "Overall", "Reason")]
    more = f" The first {_LISTED} of {len(rows):,} that did not pass:" if len(rows) > _LISTED else ""
    words = f"The matrix of {len(cases):,} cases needs JavaScript.{more}"
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *lines))
    without = tag("noscript", tag("p", words), tag("div", table, class_="scrolling"))
    return section("cases", "Cases", tag("div", id="matrix"), without)


def _data(document: Mapping[str, Any], cases: Sequence[CaseRows]) -> list[Html]:
    """The index, and a block per case on a line of its own."""
    parts = [_json_block("index", index(document, cases))]
    parts += [_json_block(f"case-{i}", block(case)) for i, case in enumerate(cases)]
    return parts


def _json_block(id: str, value: Any) -> Html:
    return join([Html("\n"), tag("script", Html(script_json(value)), type="application/json", id=id)])
