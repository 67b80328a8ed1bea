"""Which cases a shard has."""

from __future__ import annotations

from collections import Counter

from pytest_tooleval.run.shards import shard_of


def test_all_models_of_a_case_go_to_one_shard() -> None:
    first, second = (shard_of(f"w.tooleval.json::paris[{model}]", 7) for model in ("a", "b"))
    assert first == second == shard_of("w.tooleval.json::paris", 7)


def test_shards_are_about_alike() -> None:
    found = Counter(shard_of(f"w.tooleval.json::case-{n}[m]", 4) for n in range(4000))
    assert set(found) == {1, 2, 3, 4}
    assert max(found.values()) < 1.1 * min(found.values())
