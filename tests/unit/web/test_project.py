"""The root folder of a project is pytest's."""

from __future__ import annotations

import pytest

from pytest_tooleval.web.project import pytest_root


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({}, "a/b"),
        ({"a/pytest.ini": ""}, "a"),
        ({"a/pytest.ini": "", "pytest.ini": ""}, "a"),
        ({"a/pyproject.toml": "", "pyproject.toml": "[tool.pytest.ini_options]"}, ""),
        ({"a/pyproject.toml": "", "setup.py": ""}, "a"),
        ({"a/tox.ini": "[tox]", "setup.cfg": "[tool:pytest]"}, ""),
        ({"a/setup.py": ""}, "a"),
    ],
)
def test_it_is_where_pytest_finds_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], root: str
) -> None:
    folder = pytester.path / "a" / "b"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    monkeypatch.chdir(folder)
    config = pytester.parseconfig()
    assert pytest_root(folder) == config.rootpath == pytester.path / root
