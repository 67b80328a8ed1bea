"""The root folder of a project is pytest's."""

from __future__ import annotations

import pytest

from pytest_tooleval.project.root import Project

pytestmark = pytest.mark.slow


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
    assert Project.around(folder).root == config.rootpath == pytester.path / root


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ntooleval_model = one,two\n  'a b'"),
        ("tox.ini", "[pytest]\ntooleval_model = one two 'a b'"),
        ("setup.cfg", "[tool:pytest]\ntooleval_model = one two 'a b'"),
        ("pyproject.toml", "[tool.pytest.ini_options]\ntooleval_model = ['one,two', 'a b']"),
        ("pyproject.toml", "[tool.pytest.ini_options]\ntooleval_model = \"one two 'a b'\""),
    ],
)
def test_the_models_of_the_ini_file(pytester: pytest.Pytester, name: str, text: str) -> None:
    (pytester.path / name).write_text(text)
    assert Project.around(pytester.path).models() == ["one", "two", "a b"]
    entries = pytester.parseconfig("-p", "tooleval").getini("tooleval_model")
    assert ",".join(entries) == "one,two,a b"


@pytest.mark.parametrize("text", ["[pytest", "[pytest]\nx = 1", "[pytest]\ntooleval_model = 'a"])
def test_a_broken_ini_file_has_no_models(pytester: pytest.Pytester, text: str) -> None:
    (pytester.path / "pytest.ini").write_text(text)
    assert Project.around(pytester.path).models() == []
