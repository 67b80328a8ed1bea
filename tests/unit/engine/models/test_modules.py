"""The modules on which an agent's answers depend."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.engine.models.modules import imported_modules


def test_all_modules_of_the_user_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "repo/evals/test_it.py": "from . import helpers\nimport main, json, pytest_tooleval",
        "repo/evals/__init__.py": "",
        "repo/evals/helpers.py": "",
        "repo/agent.py": "import registry",
        "repo/registry.py": "",
        "repo/main.py": "import handlers, agent, libs.prices, installed",
        "repo/handlers.py": "",
        "shared/libs/prices.py": "import libs.rates",
        "shared/libs/rates.py": "",
        "venv/site-packages/installed.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for place in ("venv/site-packages", "shared"):
        monkeypatch.syspath_prepend(tmp_path / place)
    root = tmp_path / "repo"
    found = imported_modules("agent:answer", root, [root / "evals" / "test_it.py"])
    assert sorted(found) == [
        "../shared/libs/prices.py",
        "../shared/libs/rates.py",
        "evals/__init__.py",
        "evals/helpers.py",
        "handlers.py",
        "main.py",
        "registry.py",
    ]
    assert [*imported_modules("agent:answer", root)] == ["registry.py"]
