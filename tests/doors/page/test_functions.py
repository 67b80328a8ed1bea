"""Functions of the scripts that draw nothing, run by node: a browser takes ten times as long."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import reports, web
from pytest_tooleval.figures import limit_text, points_text, score_text, seconds_text, usd_text

from .documents import LONG

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]

_PROGRAM = """
import { readFileSync } from "node:fs";
const results = [];
for (const [file, name, ...values] of JSON.parse(readFileSync(0, "utf8"))) {
  results.push((await import(`./${file}`))[name](...values) ?? null);
}
console.log(JSON.stringify(results));
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the server has them, with a word for older versions of node."""
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(Path(web.__file__).parent / "static", folder, dirs_exist_ok=True)
    shutil.copytree(Path(reports.__file__).parent / "page", folder / "page")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "program.js").write_text(_PROGRAM)
    return folder


def results(scripts: Path, *calls: tuple[Any, ...]) -> list[Any]:
    """What functions return: of each call, the file, the function and its arguments."""
    done = subprocess.run(
        ["node", "program.js"],
        cwd=scripts,
        input=json.dumps(calls),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: list[Any] = json.loads(done.stdout)
    return found


def test_differences_are_found_word_by_word(scripts: Path) -> None:
    rows = [
        ('"2026-11-05"', '"2026-11-06"', (["05"], ["06"])),
        ('"Ada Lovelace"', '"Ada"', ([" Lovelace"], [])),
        ("a b c", "a x c", (["b"], ["x"])),
        ('"BA178"', '"Ada Lovelace"', None),
        ("", "anything", None),
        (LONG + " a", LONG + " b", (["a"], ["b"])),
    ]
    found = results(scripts, *(("page/difference.js", "difference", *pair) for *pair, _ in rows))
    for each, (left, _, expected) in zip(found, rows, strict=True):
        marked = each and tuple([part["text"] for part in side if not part["same"]] for side in each)
        assert marked == expected, left[:20]


def test_json_is_indented_as_text(scripts: Path) -> None:
    long = '{"text": "' + "x" * 80 + '", "list": []}'
    rows = {
        '{"n":123456789012345678901234567890,"a":[1,2]}': (
            '{"n": 123456789012345678901234567890, "a": [1, 2]}'
        ),
        long: '{\n  "text": "' + "x" * 80 + '",\n  "list": []\n}',
        '{"a": "{,:}\\""}': '{"a": "{,:}\\""}',
        "not { json": "not { json",
        "[" * 500 + "]" * 500: "[" * 500 + "]" * 500,
    }
    found = results(scripts, *(("page/json.js", "prettyJson", text) for text in rows))
    assert found == list(rows.values())


def test_numbers_are_shown_as_people_read_them(scripts: Path) -> None:
    rows: list[tuple[str, object, str]] = [
        ("scoreText", 0.9999, "0.9999"),
        ("scoreText", 1, "1.00"),
        ("scoreText", None, "–"),
        ("scoreText", True, "–"),
        ("pText", 0.00004, "<0.001"),
        ("countText", 12345, "12,345"),
        ("countText", 1e300, "–"),
        ("usdText", 0.00021, "$0.00021"),
        ("usdText", 1212.5, "$1,212.50"),
        ("usdText", 0, "$0"),
        ("secondsText", 0.85, "850 ms"),
        ("secondsText", 83.21, "83.2 s"),
        ("secondsText", 725, "12 min 5 s"),
        ("momentText", "2026-11-22T10:15:30Z", "22 Nov 2026, 10:15:30"),
        ("momentText", "soon", "–"),
    ]
    found = results(scripts, *(("page/numbers.js", *call) for *call, _ in rows))
    assert found == [text for *_, text in rows]


def test_the_scripts_format_as_python_does(scripts: Path) -> None:
    values = [0, 1, 0.125, 0.375, 0.005, 1 / 3, 2 / 3, 299 / 300, 1 / 300, 0.99999, 1e-4, 0.8974, -0.003]
    money = [0, 1e-9, 2.13e-5, 0.00099999, 0.001, 0.0015, 0.25, 12.5, 1234.5, *values[2:9]]
    times = [0, 0.0004, 0.0414, 0.82, 0.9994, 0.9996, 1.2, 9.999, 45, 119.96, 125.4, 4000.0]
    points = [(value, value - 0.1, value + 0.1) for value in values]
    limits = [0.9, 0.9966]
    calls = [
        *((("scoreText", value), score_text(value, limits)) for value in values),
        *((("limitText", value), limit_text(value)) for value in values if value >= 0.001),
        *((("pointsText", *each), points_text(*each)) for each in points),
        *((("usdText", value), usd_text(value)) for value in money),
        *((("secondsText", value), seconds_text(value)) for value in times),
    ]
    _, *found = results(
        scripts,
        ("page/numbers.js", "roundFor", limits),
        *(("page/numbers.js", *call) for call, _ in calls),
    )
    assert found == [text for _, text in calls]


def test_scales_and_quartiles_are_right(scripts: Path) -> None:
    dice = random.Random(1)
    spans = [(dice.uniform(-1e6, 1e6), 10 ** dice.uniform(-3, 9)) for _ in range(60)]
    calls = (("page/chart.js", "ticksFor", low, low + width) for low, width in spans)
    for (low, width), ticks in zip(spans, results(scripts, *calls), strict=True):
        assert ticks == sorted(set(ticks))
        assert ticks[0] <= low + width * 1e-6
        assert ticks[-1] >= (low + width) - width * 1e-6
        assert 2 <= len(ticks) <= 8
    values = sorted(dice.lognormvariate(0, 1) for _ in range(37))
    quartiles = results(
        scripts, *(("page/plots.js", "quantile", values, share) for share in (0.25, 0.5, 0.75))
    )
    assert quartiles == pytest.approx(statistics.quantiles(values, n=4, method="inclusive"))


_CHANGES: list[tuple[list[Any], str, str]] = [
    (["setRaw", ["a"], "2"], '{"a": 1}', '{"a": 2}'),
    (["setRaw", ["b"], "2"], '{"a": 1}', '{"a": 1, "b": 2}'),
    (["setRaw", ["b"], "2"], '{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"b": 2\n}\n'),
    (
        ["setRaw", ["b"], "[\n  1\n]"],
        '{\r\n "a": 1\r\n}',
        '{\r\n "a": 1,\r\n "b": [\r\n   1\r\n ]\r\n}',
    ),
    (["setRaw", ["a", "b"], "2"], '{"a": {}}', '{"a": {\n  "b": 2\n}}'),
    (["insertItem", ["a"], 1, "9"], '{"a": [1, 2]}', '{"a": [1, 9, 2]}'),
    (["insertItem", ["a"], 0, "9"], '{"a": []}', '{"a": [\n  9\n]}'),
    (["setRaw", ["b"], "2", 1], '{"a": 1, "c": 3}', '{"a": 1, "b": 2, "c": 3}'),
    (["setRaw", ["b"], "2", 1], "{}", '{\n  "b": 2\n}'),
    (["setRaw", ["a"], "3"], '{"a": 1, "a": 2}', '{"a": 1, "a": 3}'),
]


def test_changes_of_json_text(scripts: Path) -> None:
    calls = (("json-text.js", name, before, *rest) for (name, *rest), before, _ in _CHANGES)
    assert results(scripts, *calls) == [after for *_, after in _CHANGES]
