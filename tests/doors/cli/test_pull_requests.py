"""What happens around a pull request: bad options, forks, other events, forges that refuse."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from builders import tool
from nightly import at_night

from .stand_in import BOT, TOKEN, Job

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("sys.platform == 'win32'", reason="needs a POSIX shell"),
]

GREEN = "<!-- tooleval: tooleval; run 11 -->\n### Tool calling: passed"
RESULTS = "tooleval-results.json"


def wrote(job: Job, **run: Any) -> None:
    """Leave the results of a finished job: it is the run 12, in which Oslo failed."""
    document = json.loads((job.folder.parent / "baseline.json").read_text())
    document["run"] |= {"ci": "github 12", **run}
    if "shard" in run:
        document["cases"] = [case for case in document["cases"] if case["outcome"] == "passed"]
        document["run"]["total"] |= {"failing": 0, "failed": 0}
    (job.folder / RESULTS).write_text(json.dumps(document))


def suite(*cases: str, name: str = "Weather") -> str:
    asked = [{"prompt": f"Weather in {each}?", "expected_tool": "get_weather"} for each in cases]
    return json.dumps({"name": name, "tools": [tool("get_weather")], "test_cases": asked})


@pytest.mark.parametrize(
    "options",
    [
        "-mnot heavy",
        "--help",
        *map(at_night, ("-kweather", "-pno:cacheprovider", "--collect-only", "-h")),
    ],
)
def test_no_option_lets_a_job_pass_without_a_run(job: Job, options: str) -> None:
    status = job.step("run", OPTIONS=options)
    assert status, job.output
    assert "Usage: tooleval" not in job.output
    if not (job.folder / RESULTS).exists():
        assert "::error title=no results::pytest ended without running tests" in job.output


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        (
            {"OPTIONS": "--tooleval-fail-undr=0.9"},
            "unknown option --tooleval-fail-undr, did you mean --tooleval-fail-under",
        ),
        ({"BASELINE": "gone/results.json"}, "gone/results.json: there is no such file"),
        (
            {"HISTORY": "http://127.0.0.1:1/runs", "BASELINE": "auto"},
            "cannot be read: Connect call failed",
        ),
    ],
)
def test_a_job_without_results_takes_the_earlier_verdict_away(
    job: Job, variables: dict[str, str], why: str
) -> None:
    job.github.add(GREEN)
    job.git("commit", "-q", "--allow-empty", "-m", "feature")
    assert job.run(**variables) == 4
    assert job.comment.startswith(
        "<!-- tooleval: tooleval; run 12 -->\n### Tool calling: **NO RESULTS**"
    )
    assert job.status[0] == "failure"
    for text in (job.comment, job.status[1], job.summary, job.ran):
        assert why in text


@pytest.mark.parametrize("run", [{"ci": "github 11"}, {"ci": ""}, None])
def test_results_that_no_job_of_this_run_wrote_are_never_posted(
    job: Job, run: dict[str, Any] | None
) -> None:
    job.github.add(GREEN)
    if run is not None:
        wrote(job, exitstatus=0, **run)
    assert job.step("comment") == 0
    assert "### Tool calling: **NO RESULTS**" in job.comment
    reason = (
        "does not exist: pytest did not run" if run is None else "not by a job of this run, github 12"
    )
    assert reason in job.comment
    assert job.status[0] == "failure"


def test_a_suite_that_cannot_be_read_is_named_with_the_reason(job: Job) -> None:
    (job.folder / "bad.tooleval.json").write_text('{"name": "Bad", "tools": []')
    assert job.run() == 2
    for text in (job.comment, job.summary):
        assert "- `bad.tooleval.json`: `bad.tooleval.json:1:28: the file ends before" in text
    assert "::error file=bad.tooleval.json,title=cannot be read::bad.tooleval.json:1:28: the" in job.ran
    assert job.status == ("failure", "bad.tooleval.json cannot be read")


@pytest.mark.parametrize("refused", ["^(PATCH|POST .*comments)", "^DELETE", "^GET .*(pulls|comments)"])
@pytest.mark.parametrize("code", [403, at_night(401), at_night(422)])
def test_the_status_is_set_whatever_happens_to_the_comment(job: Job, refused: str, code: int) -> None:
    wrote(job)
    job.github.add(GREEN)
    job.github.add(GREEN)
    job.github.instead = {refused: [code]}
    assert job.step("comment") == 0
    assert job.status == ("failure", "pass rate 0.50 over 2 cases")
    assert f": answered {code}" in job.output
    assert "1 of 2 cases failed." in job.summary


def test_a_comment_that_another_run_deleted_is_no_problem(job: Job) -> None:
    wrote(job)
    job.github.add(GREEN)
    job.github.add(GREEN)
    job.github.instead = {"^DELETE": [404]}
    assert job.step("comment") == 0
    assert job.output == "commented on #7\n"
    assert not job.summary
    assert job.status[0] == "failure"


def test_a_missing_key_stands_in_the_status(job: Job) -> None:
    assert job.run(MODEL="openai/gpt-4o", CASSETTE="", OPENAI_API_KEY="") == 4
    assert job.status[1].startswith("the environment variable OPENAI_API_KEY is not set; set it to")
    assert "- `the environment variable OPENAI_API_KEY is not set" in job.comment


def test_the_status_of_a_merge_queue_and_none_on_push(job: Job) -> None:
    wrote(job)
    merged: dict[str, Any] = {
        "GITHUB_SHA": "c" * 40,
        "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7",
    }
    assert job.step("comment", event="merge_group", **merged) == 0
    assert job.status[0] == "failure"
    assert job.github.statuses[0]["commit"] == "c" * 40
    job.github.statuses.clear()
    assert job.step("comment", event="push", **merged) == 0
    assert job.github.statuses == job.github.comments == []


@pytest.mark.parametrize(
    ("run", "state"),
    [
        ({}, ("failure", "pass rate 0.50 over 2 cases")),
        ({"exitstatus": None}, ("failure", "pass rate 0.50 over 2 cases")),
        (
            {
                "exitstatus": 0,
                "shard": {"number": 1, "of": 4, "cases": 8, "split_fingerprint": "", "judging": {}},
            },
            ("pending", "shard 1/4, not judged"),
        ),
        ({"exitstatus": 2}, None),  # interrupted, as by a cancelled job
    ],
)
def test_the_status_of_a_run(job: Job, run: dict[str, Any], state: tuple[str, str] | None) -> None:
    wrote(job, **run)
    assert job.step("comment") == 0
    assert [(each["state"], each["description"]) for each in job.github.statuses] == [state] * bool(
        state
    )


def test_the_status_names_the_model_that_failed(job: Job) -> None:
    (job.folder / "tooleval.toml").write_text(
        '[models.good]\ncallable = "good:answer"\n[models.agent]\ncallable = "agent:answer"\n'
    )
    agent = (job.folder / "agent.py").read_text()
    (job.folder / "good.py").write_text(
        agent.replace("city = ", "city = messages[-1]['content'][11:-1] #")
    )
    assert job.run(MODEL="good,agent") == 1
    assert job.status == ("failure", "agent: pass rate 0.50 over 2 cases")


def test_an_older_run_and_a_cancelled_job_set_no_status(job: Job) -> None:
    wrote(job)
    job.github.add("<!-- tooleval: tooleval; run 13 -->\nnewer")
    assert job.step("comment") == 0
    assert "not commented: run 13 is newer" in job.output
    job.github.comments.clear()
    job.github.head = "f" * 40
    assert job.step("comment") == 0
    assert "not commented: the pull request has a newer commit" in job.output
    assert job.step("comment", GITLAB_CI="true", CI_JOB_STATUS="canceled") == 0
    assert job.github.statuses == job.github.comments == []


@pytest.mark.parametrize("cassette", ["addopts", at_night("two arguments"), at_night("environment")])
def test_a_run_without_secrets_replays_strictly_however_the_cassette_is_named(
    job: Job, cassette: str
) -> None:
    (job.folder / "more.tooleval.json").write_text(suite("Rome", name="More"))
    option = "--tooleval-cassette\ntapes"
    variables: dict[str, Any] = {"CASSETTE": "", "MODEL": "agent,builtin/lexical", "OPENAI_API_KEY": ""}
    if cassette == "addopts":
        words = " ".join(option.split())
        (job.folder / "pytest.ini").write_text(f"[pytest]\naddopts = {words}\n")
    elif cassette == "environment":
        variables["PYTEST_ADDOPTS"] = f"{os.environ['PYTEST_ADDOPTS']} {option}"
    else:
        variables["OPTIONS"] = option
    who: dict[str, Any] = (
        {"GITHUB_ACTOR": "dependabot[bot]"} if cassette == "addopts" else {"fork": True}
    )
    assert job.step("run", **variables, **who) == 1, job.output  # Oslo is recorded, and wrong
    assert "more.tooleval.json s." in job.output
    assert not (job.folder / ".tooleval" / "heads").exists()


def test_models_without_a_key_run_in_a_fork_without_a_cassette(job: Job) -> None:
    with (job.folder / "tooleval.toml").open("a") as file:
        file.write('[models.keyed]\ncallable = "keyed:answer"\napi_key_env = "KEYED_KEY"\n')
    (job.folder / "keyed.py").write_text("import os\nkey = os.environ['KEYED_KEY']\n")
    variables = {"CASSETTE": "", "OPENAI_API_KEY": "", "OPTIONS": "--tooleval-fail-under=0.9"}
    both = "openai/gpt-4o,keyed"
    assert job.run(fork=True, MODEL=both, BASELINE="../baseline.json", **variables) == 0, job.ran
    assert "NOT EVALUATED: 0 of 4" in job.summary
    assert "- `not asked: the environment variable KEYED_KEY is not set" in job.summary
    assert job.status[0] == "pending"
    assert job.run(fork=True, MODEL="openai/gpt-4o,agent", **variables) == 1
    assert "2 of 4 cases could not be evaluated." in job.summary
    assert job.status == ("failure", "agent: pass rate 0.50 over 2 cases")


@pytest.mark.parametrize(
    "odd",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n[null]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"hello there\r\n\r\n",
        b"",
    ],
)
@pytest.mark.parametrize("where", [".", at_night("POST|PATCH"), at_night("comments")])
def test_an_odd_answer_is_one_line_and_fails_no_job(job: Job, odd: bytes, where: str) -> None:
    wrote(job)
    job.github.instead = {where: odd}
    assert job.step("comment") == 0
    lines = job.output.splitlines()
    assert all(line.startswith(("::warning::", "commented on #7")) for line in lines)
    assert len(lines) <= 2


def test_a_busy_forge_is_asked_again(job: Job) -> None:
    wrote(job)
    job.github.instead = {"comments": [429, 503, 0], "statuses": [502, 0]}
    assert job.step("comment") == 0
    assert job.output == "commented on #7\n"
    assert job.status[0] == "failure"
    assert {each["user"]["login"] for each in job.github.comments} == {BOT}


def merged(job: Job) -> dict[str, Any]:
    """Check out the merge of `feature` with main that GitHub tests; the variables that name it."""
    job.head = job.github.head = job.git("rev-parse", "feature")
    job.git("checkout", "-q", "--detach", "main")
    job.git("merge", "-q", "--no-ff", "-m", "merge", "feature")
    return {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": job.git("rev-parse", "HEAD")}


def commit(job: Job, file: str, text: str) -> None:
    path = job.folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    job.git("add", ".")
    job.git("commit", "-q", "-m", f"change {file}")


def edited(job: Job, old: str, new: str) -> None:
    text = (job.folder / "weather.tooleval.json").read_text()
    assert old in text
    commit(job, "weather.tooleval.json", text.replace(old, new))


def test_only_the_pull_request_is_blamed_for_what_it_changed(job: Job) -> None:
    """main has moved on since the event, and its edit moved the lines of the suite."""
    job.base = job.git("rev-parse", "main")
    job.git("checkout", "-q", "main")
    edited(job, '"test_cases": [', '"test_cases": [\n')
    edited(job, '{"id": "Oslo"', '\n{"id": "Oslo"')
    job.git("checkout", "-q", "-B", "feature")
    commit(job, "new.tooleval.json", suite("Rome", name="New"))
    edited(job, '{"id": "Oslo"', '\n{"id": "Oslo"')
    job.git("checkout", "-q", "main")
    edited(job, '"tools": [', '"description": "By main.",\n\n\n"tools": [')
    variables = merged(job)
    # Restored from a cache, it is no recording of the pull request.
    (job.folder / "tapes" / "other.jsonl").write_text('{"key": "1", "answer": {}}\n')
    assert job.run(**variables) == 1
    head = job.git("show", "feature:weather.tooleval.json").splitlines()
    line = 1 + next(n for n, text in enumerate(head) if '"Oslo"' in text)
    place = f"blob/{job.github.head}/weather.tooleval.json#L{line}"
    assert f"[`weather.tooleval.json:{line}`](https://github.com/me/project/{place})" in job.comment
    changes = job.comment.partition("**Changed by this pull request**\n\n")[2].partition("\n\n")[0]
    assert changes == "- `new.tooleval.json`: `a new suite with 1 case`"


def test_projects_of_one_repository_share_a_history_and_no_runs(job: Job) -> None:
    """In svc/b, all answers are wrong. The pull request adds a suite to svc/a."""
    job.git("checkout", "-q", "main")
    agent = (job.folder / "agent.py").read_text()
    for name, city in {"a": "messages[-1]['content'][11:-1]", "b": "'Nowhere'"}.items():
        (job.folder / "svc" / name / "evals").mkdir(parents=True)
        (job.folder / "svc" / name / "agent.py").write_text(agent.replace("city = ", f"city = {city} #"))
        (job.folder / "svc" / name / "pytest.ini").write_text("[pytest]\n")
        table = (job.folder / "tooleval.toml").read_text()
        (job.folder / "svc" / name / "tooleval.toml").write_text(table)
        weather = (job.folder / "weather.tooleval.json").read_text()
        commit(job, f"svc/{name}/evals/weather.tooleval.json", weather)
    shared: dict[str, Any] = {
        "HISTORY": str(job.folder.parent / "shared"),
        "CASSETTE": "",
        "BASELINE": "auto",
    }
    assert job.step("run", event="push", PATHS="svc/a/evals", **shared) == 0
    assert job.step("run", event="push", PATHS="svc/b/evals", **shared) == 1
    job.git("checkout", "-q", "-B", "feature")
    new = suite("Rome", name="New").replace('"Weather in', '"Now in')
    commit(job, "svc/a/evals/new.tooleval.json", new)
    variables = merged(job)
    for name, status in {"a": 0, "b": 1}.items():
        job.github.comments.clear()
        given = {**shared, "PATHS": f"svc/{name}/evals", "NAME": name, **variables}
        assert job.run(**given) == status, job.ran
        assert "Newly" not in job.comment
        assert "(1 run, 0 hours old)" in job.comment
        assert ("svc/a/evals/new.tooleval.json" in job.comment) == (name == "a")
    path = "svc/b/evals/weather.tooleval.json"
    address = f"https://github.com/me/project/blob/{job.github.head}/{path}#L1"
    assert f"[`{path}:1`]({address})" in job.comment


def test_the_comment_is_that_of_the_tokens_own_login(job: Job) -> None:
    wrote(job)
    job.github.login = "evals[bot]"
    for login in (BOT, "mallory"):  # neither edited nor deleted, and not believed to be newer
        job.github.add("<!-- tooleval: tooleval; run 99 -->\nnot ours", login=login)
    for unknown in ([], [403]):
        job.github.instead = {"graphql": unknown} if unknown else {}
        assert job.step("comment", GITHUB_RUN_ID="12") == 0
        own = [each["body"] for each in job.github.comments if each["user"]["login"] == "evals[bot]"]
        assert len(own) == 1
    assert [each["body"][-8:] for each in job.github.comments[:2]] == ["not ours"] * 2


def test_the_number_of_a_renamed_workflow_begins_again(job: Job) -> None:
    job.github.add("<!-- tooleval: tooleval; run 500 -->\nof the workflow's old name")
    wrote(job, ci="github 9001")
    assert job.step("comment", GITHUB_RUN_NUMBER="1", GITHUB_RUN_ID="9001") == 0
    assert job.comment.startswith("<!-- tooleval: tooleval; run 9001 -->")


@pytest.mark.parametrize("reachable", [True, False])
def test_a_shallow_clone_is_deepened_to_a_base_with_a_run_or_says_so(job: Job, reachable: bool) -> None:
    shared: dict[str, Any] = {"HISTORY": str(job.folder.parent / "shared"), "BASELINE": "auto"}
    job.git("checkout", "-q", "main")
    commit(job, "more.md", "the first commit has no baseline")
    assert job.step("run", event="push", **shared) == 1
    commit(job, "docs.md", "no run of this one")
    job.base = job.git("rev-parse", "HEAD")
    job.git("checkout", "-q", "-B", "feature")
    commit(job, "new.md", "feature")
    variables = merged(job)
    job.git("push", "-q", "origin", "HEAD:refs/heads/merge")
    source = (job.folder.parent / "origin").as_uri()
    shallow = Job(job.folder.parent / "shallow", job.github)
    command = ["git", "clone", "-q", "--depth=1", "-b", "merge", source, str(shallow.folder)]
    subprocess.run(command, check=True)
    shallow.head, shallow.base = job.head, job.base
    shallow.git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
    if not reachable:
        shallow.git("remote", "set-url", "origin", "file:///nowhere")
    assert shallow.run(**shared, **variables) == 1
    if reachable:
        assert "compared with `" in shallow.comment
        assert "(1 commit before the base, 1 run, 0 hours old)" in shallow.comment
    else:
        assert "not compared, as there is no baseline: `" in shallow.comment
        assert "the clone is shallow: fetch all commits (GitHub: fetch-depth: 0" in shallow.comment


def test_a_first_commit_has_no_baseline_yet(job: Job) -> None:
    job.git("checkout", "-q", "main")
    assert job.run(HISTORY="shared", BASELINE="auto") == 1
    assert "is the first commit, so there is no baseline yet`" in job.comment


def test_a_merged_results_pipeline_has_the_comment_of_its_branch(job: Job) -> None:
    commit(job, "new.md", "feature")
    variables = merged(job)
    iid = {"CI_MERGE_REQUEST_IID": "7", "CI_PIPELINE_IID": "12", "CI_PROJECT_ID": "1"}
    given = {
        **iid,
        "GITLAB_CI": "true",
        "GITLAB_TOKEN": TOKEN,
        "CI_API_V4_URL": job.github.url,
        "CI_COMMIT_SHA": variables["GITHUB_SHA"],
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": job.github.head,
        "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1",
    }
    shard = {"number": 1, "of": 4, "cases": 8, "split_fingerprint": "", "judging": {}}
    for run in ({}, {"exitstatus": 0, "shard": shard}):
        wrote(job, **{"ci": "gitlab 12", **run})
        # GitLab refuses to set a pending status that is pending already.
        job.github.instead = {"statuses": [400]} if run else {}
        assert job.step("comment", **given) == 0
        assert job.output == "commented on #7\n"
    assert [each["commit"] for each in job.github.statuses] == [job.github.head]


def test_a_removed_test_in_python_is_loosened(job: Job) -> None:
    shared: dict[str, Any] = {"HISTORY": str(job.folder.parent / "shared"), "BASELINE": "auto"}
    agent = "def agent(messages, tools):\n    return 'No'\n\n"
    test = "def test_{0}(tooleval):\n    assert tooleval('{0}?', agent=agent).text == 'No'\n\n"
    job.git("checkout", "-q", "main")
    commit(job, "test_it.py", agent + test.format("one") + test.format("two"))
    assert job.step("run", event="push", **shared, PATHS="test_it.py") == 0, job.output
    job.git("checkout", "-q", "-B", "feature")
    commit(job, "test_it.py", agent + test.format("one"))
    assert job.run(**shared, **merged(job), PATHS="test_it.py") == 0, job.output
    loosened = "**Loosened** (reported, not judged)\n\n- `test_it.py`: `removed: test_two`\n"
    assert loosened in job.comment


@pytest.mark.nightly
def test_what_a_pull_request_loosens_removes_and_breaks_comes_first(job: Job) -> None:
    shared: dict[str, Any] = {"HISTORY": str(job.folder.parent / "shared"), "BASELINE": "auto"}
    gate = "--tooleval-fail-under={}\n--tooleval-fail-over=broken=0"
    job.git("checkout", "-q", "main")
    assert job.step("run", event="push", **shared, OPTIONS=gate.format(0.9)) == 1
    job.git("checkout", "-q", "-B", "feature")
    written = json.loads((job.folder / "weather.tooleval.json").read_text())
    written["tools"][0]["function"]["description"] = "The new text of the tool."
    written["thresholds"] = {"overall": 0.9}
    written["test_cases"] = [case for case in written["test_cases"] if case["id"] != "Oslo"]
    commit(job, "weather.tooleval.json", json.dumps(written))
    job.answers(Paris="Rome")
    (job.folder / "agent.py").write_text((job.folder / "agent.py").read_text() + "# asked again\n")
    variables = merged(job)
    options = gate.format(0.5) + "\n--tooleval-threshold=arguments_valid=0.8"
    assert job.run(**shared, **variables, OPTIONS=options) == 1
    parts = [
        "### Tool calling: **FAILED**\n\nThe job fails: ",
        "- gate **FAILED**: `pass_rate of agent: 0.00 < 0.50, over 1 case`\n",
        "- gate **FAILED**: `broken of agent: 1 of 1 case newly broken, 0 allowed`\n",
        "**Loosened** (reported, not judged)\n\n",
        "- `gate pass_rate of agent: at least 0.9 -> 0.5`\n",
        "- `weather.tooleval.json`: `threshold of overall 1 -> 0.9: Paris`, `removed: Oslo`, "
        "`threshold of arguments_valid 1 -> 0.8: Paris`\n",
        "**Newly broken (1)**\n\n- `Paris`",
        "    - asks: `Weather in Paris?`\n",
        "→ `The new text of the tool.`\n",
        "    - try: `pytest weather.tooleval.json::Paris --tooleval-model=agent`, or `tooleval blame ",
        "<details><summary>Statistics</summary>",
    ]
    places = [job.comment.find(part) for part in parts]
    assert -1 not in places, job.comment
    assert places == sorted(places)
