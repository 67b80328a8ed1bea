"""What people call a run."""

from __future__ import annotations

import pytest
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.record.run import Git

from .conftest import Keep
from .runs import COMMIT, case_of, gate, kept, run_of


def on(branch: str) -> Git:
    return Git(COMMIT, branch, False)


def test_latest_counts_back(history: History, keep: Keep) -> None:
    ids = [keep(day) for day in (3, 1, 2)]
    assert history.find("latest") == history.find("latest~0") == ids[0]
    assert history.find("latest~1") == ids[2]
    assert history.find("latest~2") == ids[1]
    with pytest.raises(ToolevalError, match="3 runs finished, too few for latest~3"):
        history.find("latest~3")


def test_latest_of_a_branch(history: History, keep: Keep) -> None:
    old, new = keep(1, git=on("main")), keep(2, git=on("main"))
    keep(3, git=on("feature/x"))
    keep(4, git=None)
    assert history.find("latest:main") == new
    assert history.find("latest:main~1") == old
    with pytest.raises(ToolevalError, match="2 runs on the branch main finished, too few for lat"):
        history.find("latest:main~2")
    with pytest.raises(ToolevalError, match="branches with runs: feature/x, main"):
        history.find("latest:mian")


def test_a_good_run_has_answers(history: History, keep: Keep) -> None:
    whole = keep(1, case_of("a"), case_of("b", outcome="failed", counted=True))
    keep(2, case_of("a", outcome="error"), case_of("b"))
    keep(3, case_of("a", outcome="skipped"))
    keep(4, case_of("a", outcome="failed"), case_of("b"))
    assert history.find("good") == whole
    run = run_of("2026-11-04T10:00:00+00:00")
    writer = history.begin(run)
    writer.add(kept(case_of("a", outcome="error", counted=True), case_of("b")))
    allowed = structs.replace(
        gate(True), kind="fail_over", metric="errors", model="claude-3", of="claude-3"
    )
    writer.finish(run, [allowed])
    assert history.find("good") == writer.id


def test_a_good_run_to_compare_with_holds_what_is_compared(history: History, keep: Keep) -> None:
    both = [case_of(name, file=f"{name}.tooleval.json") for name in ("a", "b")]
    whole = keep(1, *both)
    one = keep(2, both[0])
    other = keep(3, case_of("a", file="a.tooleval.json", model="other"))
    a, b, new = (f"{name}.tooleval.json" for name in ("a", "b", "new"))
    assert history.find("good") == other
    assert history.find("good", {(a, "claude-3"), (b, "claude-3")}) == whole
    assert history.find("good", {(a, "claude-3"), (b, "claude-3"), (new, "claude-3")}) == whole
    assert history.find("good", {(a, "claude-3")}) == one
    assert history.find("good~1", {(a, "claude-3")}) == whole
    assert history.find("good", {(new, "claude-3")}) == other
    with pytest.raises(ToolevalError, match="too few for good~3"):
        history.find("good~3", {(a, "claude-3")})


def test_runs_of_one_second_are_told_apart_by_their_order(history: History, keep: Keep) -> None:
    first, second = keep(1), keep(1)
    assert history.find("latest") == second
    assert history.find("latest~1") == first


def test_an_id_or_its_beginning(history: History) -> None:
    for id in ("2026-a", "2026-b", "2027", "2027-c", "latest2"):
        history.begin(run_of(id=id)).finish(run_of(id=id))
    assert history.find("2026-b") == "2026-b"
    assert history.find("2027") == "2027"  # though another one begins with it
    assert history.find("2027-") == "2027-c"
    assert history.find("latest2") == "latest2"
    with pytest.raises(ToolevalError, match=r"2 runs begin with 2026: 2026-b \(.*, main\), 2026-a"):
        history.find("2026")


@pytest.mark.parametrize("name", ["nope", "", "latest~x", "latest~-1", "latest:", "%", "_", "\x1b"])
def test_no_such_run(history: History, keep: Keep, name: str) -> None:
    id = keep(1)
    with pytest.raises(ToolevalError) as caught:
        history.find(name)
    assert " not found" in str(caught.value)
    assert id in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_long_list_of_candidates_is_cut(history: History, keep: Keep) -> None:
    for day in range(1, 12):
        keep(day)
    with pytest.raises(ToolevalError, match=r"11 runs begin with 2026.* and 3 more"):
        history.find("2026")
