"""`--tooleval-preset`: options by a name; single options win, and a first run needs no baseline."""

from __future__ import annotations

from .project import Project, right, wrong


def test_pr_compares_with_the_last_good_run(project: Project) -> None:
    cases = [right(f"c{i}") for i in range(20)]
    project.suite(*cases)
    first = project.run("--tooleval-preset=pr")
    assert first.ret == 0
    first.stdout.fnmatch_lines(
        [
            "tooleval: --tooleval-preset=pr sets --tooleval-fail-under=0.9 --tooleval-baseline=good",
            "NOT COMPARED with a baseline: no whole run that passed is in the history yet; the next *",
        ]
    )
    other = project.run("--tooleval-preset=pr", model="other")
    assert other.ret == 0
    other.stdout.fnmatch_lines(
        ["*compared with good *: 0 cases in both; nothing to compare, no model is in both runs*"]
    )
    # Those of another preset are as good.
    assert project.run("--tooleval-preset=strict").ret == 0
    project.suite(*cases[1:], wrong("c0"))
    second = project.run("--tooleval-preset=pr")
    assert second.ret == 0
    second.stdout.fnmatch_lines(["agent INCONCLUSIVE (not fatal*): 19 of 20 cases passed, 1 tolerated"])
    # A single option wins, and the drop alone fails.
    project.suite(*cases[8:], *[wrong(f"c{i}") for i in range(8)])
    third = project.run("--tooleval-preset=pr", "--tooleval-fail-under=0.5")
    assert third.ret == 1
    third.stdout.fnmatch_lines(["agent FAILED: 12 of 20 *", "  worse than good: 8 cases newly broken*"])


def test_nightly_asks_anew_whatever_the_ini_file_records(project: Project) -> None:
    project.suite(*[right(f"c{i}") for i in range(30)])
    project.run("--tooleval-cassette=tapes")
    asked = ("--tooleval-preset=nightly", "--tooleval-cassette=tapes", "--tooleval-trials=2")
    result = project.run(*asked, "-otooleval_record=none")
    assert result.ret == 0
    passed = "pass_rate: 1.00 >= 0.90*no worse than good: drops above 0.05 ruled out*"
    result.stdout.fnmatch_lines(
        [
            "tooleval: --tooleval-preset=nightly replaces tooleval_record: none",
            f"agent passed: *; {passed}",
        ]
    )
    assert len(project.calls) == 30 + 60
    both = project.run(*asked, "--tooleval-record=none")
    both.stderr.fnmatch_lines(
        ["ERROR: --tooleval-preset=nightly: cannot be combined with --tooleval-record=none: *"]
    )
    project.suite(*[right(f"c{i}") for i in range(2)], wrong("w"))  # and few cases need no interval
    assert project.run("--tooleval-preset=nightly", "--tooleval-history=off").ret == 1
