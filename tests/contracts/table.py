"""The tables of docs/reference/providers: `PYTHONPATH=tests:tools python -m contracts.table` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from generated import ROOT, part, table

from pytest_tooleval.engine.models.spec import HttpModel

from .contract import CHECKS, TARGETS, Contract, Target, script
from .server import StandIns

PART = "models"
_SELF_HOSTED = ("ollama", "ollama_chat")
# A column, and the checks that must be met for a yes in it. Every model meets the others, which the docs say once.
COLUMNS = {
    "`required`": ["forced"],
    "`none`": ["none"],
    "reasoning": ["reasoning", "reasoning chain"],
}


def page_of(target: Target) -> Path:
    prefix = target.model.partition("/")[0]
    return ROOT / f"docs/reference/providers/{'self-hosted' if prefix in _SELF_HOSTED else 'index'}.md"


def on_page(page: Path) -> list[Target]:
    return [target for target in TARGETS if page_of(target) == page]


def made_from(contract: Contract, targets: Sequence[Target]) -> str:
    """Models by outcome; a parameter is named where another one was sent."""
    models: dict[tuple[str, ...], list[str]] = {}
    for target in targets:
        cells = [_cell(contract, target, checks) for checks in COLUMNS.values()]
        outcome = (_library(target), *cells, _left_out(contract, target))
        models.setdefault(outcome, []).append(f"`{target.model}`")
    rows = [(", ".join(names), *outcome) for outcome, names in models.items()]
    return table(("models", "client", *COLUMNS, "left out"), rows)


def _library(target: Target) -> str:
    return (
        "built-in"
        if HttpModel("m", model=target.model, api=target.api, **target.table).protocol
        else "litellm"
    )


def _cell(contract: Contract, target: Target, names: list[str]) -> str:
    checks = [check for check in CHECKS if check.name in names and target.takes(check)]
    if not checks:
        return ""
    outcomes = [contract.outcome(target, check) for check in checks]
    if any(outcome.problem for outcome in outcomes):
        return "no"
    if any(
        check.failure is None and "tool_choice" in contract.outcome(target, check).fallbacks
        for check in checks
    ):
        return "with `auto`"
    return "yes"


def _left_out(contract: Contract, target: Target) -> str:
    """What is not sent at all, or not beside reasoning."""
    single, chain = (
        next(check for check in CHECKS if check.name == name) for name in ("single", "reasoning chain")
    )
    always = {name for name, sent in contract.outcome(target, single).fallbacks.items() if sent is None}
    texts = [f"`{name}`" for name in sorted(always)]
    if target.takes(chain):
        fallbacks = contract.outcome(target, chain).fallbacks
        beside = {name for name, sent in fallbacks.items() if sent is None} - always
        texts += [f"`{name}` with reasoning" for name in sorted(beside)]
    return ", ".join(texts)


def main() -> None:
    with StandIns(script()) as standins:
        os.environ.update(standins.environment())
        contract = Contract(standins)
        for page in sorted({page_of(target) for target in TARGETS}):
            text = page.read_text(encoding="utf-8")
            found = part(text, PART)
            made = made_from(contract, on_page(page))
            page.write_text(text[: found.start()] + made + text[found.end() :], encoding="utf-8")
        contract.close()


if __name__ == "__main__":
    main()
