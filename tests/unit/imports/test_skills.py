"""Suites made from folders of agent skills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.apply import Applied, apply
from pytest_tooleval.imports.door import found_in

FORMS = "---\nname: pdf-forms\ndescription: >-\n  Fill in PDF forms.\n  Also flatten them.\n---\n# How\n"


def skill(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    path = folder / "SKILL.md"
    path.write_text(text, encoding="utf-8")
    return path


def imported(folder: Path, before: dict[str, Any] | None = None) -> Applied:
    return apply(found_in([folder], None, has_tools=False)[0], "s", before)


def problems(folder: Path) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        imported(folder)
    return [str(each).replace(f"{folder}/", "") for each in caught.value.problems]


def test_each_skill_is_a_tool_with_a_draft_for_either_side(tmp_path: Path) -> None:
    skill(tmp_path / "skills" / "pdf-forms", FORMS)
    skill(tmp_path / "skills" / "pdf-forms" / "templates", "no skill")
    skill(tmp_path / "plugins" / "web" / "skills" / "page", "---\nname: page\ndescription: 'A: b'\n---")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "skills").symlink_to(tmp_path / "skills")

    suite, counts, *_ = imported(tmp_path)

    assert suite["tool_choice"] == "auto"
    assert {tool["function"]["name"]: tool["function"] for tool in suite["tools"]} == {
        "pdf-forms": {"name": "pdf-forms", "description": "Fill in PDF forms. Also flatten them."},
        "page": {"name": "page", "description": "A: b"},
    }
    assert counts == ["2 skills", "4 drafts to edit"]
    fires, quiet = (case for case in suite["test_cases"] if case["id"].endswith("pdf-forms"))
    assert (fires["expected_tool"], fires["tags"]) == ("pdf-forms", ["fires"])
    assert (quiet["expected_tool"], quiet["tags"]) == (None, ["does_not_fire"])
    assert fires["skip"] == quiet["skip"] == "draft"
    assert fires["prompt"].endswith("] Fill in PDF forms.")


def test_an_update_keeps_cases_and_takes_drafts_along(tmp_path: Path) -> None:
    path = skill(tmp_path / "pdf-forms", FORMS)
    skill(tmp_path / "same", FORMS.replace("pdf-forms", "same"))
    suite = imported(tmp_path).suite
    written = {"id": "mine", "prompt": "Fill in my tax form", "expected_tool": "same"}
    path.write_text(FORMS.replace("Fill in", "Complete"), encoding="utf-8")
    (tmp_path / "same" / "SKILL.md").unlink()

    before = {**suite, "test_cases": [*suite["test_cases"], written]}
    after, _, remarks, _, is_broken = imported(tmp_path, before)

    assert [case["id"] for case in after["test_cases"]] == ["pdf-forms", "not-pdf-forms", "mine"]
    assert all("Complete PDF forms" in case["prompt"] for case in after["test_cases"][:2])
    assert remarks == [
        'removed: "same"',
        'changed: "pdf-forms": description',
        'broken: the case "mine": the tool "same" no longer exists',
    ]
    assert is_broken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '1:1: expected "name" and "description" between two lines ---'),
        ("---\nname: a\n", '1:1: expected "name" and "description" between two lines ---'),
        ("---\n- a\n---\n", "2:1: expected lines such as name: my-skill"),
        (
            "---\nname: a\ndescription: Use when: asked\n---\n",
            "3:22: invalid YAML: mapping values are",
        ),
        ("---\nname: a\ndescription:\n---\n", "1:1: description: missing"),
        ("---\nname: [a]\ndescription: b\n---\n", "1:1: name: missing"),
        ("---\ndescription: b\nname: A_b\n---\n", "3:1: name: expected at most 64 lower-case letters"),
        (f"---\nname: a\ndescription: {'b' * 1025}\n---\n", "3:1: description: expected at most 1024"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    skill(tmp_path / "a", text)

    (problem,) = problems(tmp_path)

    assert problem.startswith(f"a/SKILL.md:{expected}")


def test_two_skills_of_one_name_and_none_at_all(tmp_path: Path) -> None:
    assert problems(tmp_path)[0].endswith("no *.json, *.jsonl, *.eval or SKILL.md in this folder")
    skill(tmp_path / "a", FORMS)
    skill(tmp_path / "b", FORMS)
    assert len(imported(tmp_path).suite["tools"]) == 1

    skill(tmp_path / "c", FORMS.replace("Fill", "Do not fill"))
    skill(tmp_path / "d", f"---\nname: long\ndescription: {'b' * 1025}\n---\n")

    made = imported(tmp_path)
    assert [tool["function"]["name"] for tool in made.suite["tools"]] == ["pdf-forms"]
    other, long = made.left_out
    assert other.message.startswith('the name "pdf-forms" is also used by "')
    assert (Path(long.path).parent.name, long.line) == ("d", 3)
