"""`tooleval ci`: the steps of the action, for GitHub and GitLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from ..checkout.ci import CiJob
from ..checkout.git import file_at, git_output, has_revision
from ..errors import ToolevalError, os_reason
from ..project.child import run_pytest
from ..record.document import RowsDocument
from ..record.encoding import read_document
from ..record.results import CaseRow
from ..reports.github import append_step_summary
from ..reports.pull_request import Changed, comment_text, headline
from ..text import counted, printable
from ..verdicts.gates import still_fail
from .forges import Forge, GitHub, GitLab, Refused
from .shared import Group

RESULTS, REPORT = "tooleval-results.json", "tooleval-report.html"
# Both would run a fork's code with the project's secrets.
_REFUSED = ("pull_request_target", "workflow_run")
_NAME = re.compile(r"[\w .-]{1,60}")
_FAILED = 1
_FETCH_S = 60.0


def _job() -> CiJob | None:
    """The CI service's job. Raises ToolevalError for events that expose secrets to forks."""
    job = CiJob.now()
    if job and job.event in _REFUSED:
        raise ToolevalError(
            f"the event {job.event} gives the secrets of this repository to a fork's code; run on "
            "pull_request, push or schedule"
        )
    return job


@click.group(cls=Group)
def ci() -> None:
    """For GitHub and GitLab jobs: run suites, and comment on pull requests.

    The GitHub Action and the GitLab component run these commands.
    """


@ci.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="[PYTEST ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> None:
    """Run pytest, and write tooleval-results.json and tooleval-report.html.

    Exits with pytest's status. A pull request from a fork gets no secrets, so its run only replays
    recorded answers and saves no history. Cases without a recorded answer then do not fail the job.
    """
    job = _job()
    is_fork = job is not None and job.is_fork
    given = [*arguments, f"--tooleval-report={RESULTS}", f"--tooleval-report={REPORT}"]
    if is_fork:
        given += ["--tooleval-history=off"]
        if any(text.startswith("--tooleval-cassette=") for text in arguments):
            given += ["--tooleval-record=none"]
    Path(RESULTS).unlink(missing_ok=True)  # an earlier run must not decide this one
    status = run_pytest(given)
    if is_fork and status == _FAILED:
        unasked = _only_unasked(_read(Path(RESULTS)))
        if unasked:
            cases = counted(unasked, "case")
            click.echo(f"{cases} not asked: a fork has no key, and no answer is recorded (not fatal)")
            status = 0
    raise SystemExit(status)


def _only_unasked(document: RowsDocument) -> int:
    """The number of cases without a recorded answer, if nothing else failed the run; else 0."""
    run, gates = document.run, document.gates
    unasked = [case for case in document.cases if _is_unasked(case)]
    excused = sum(case.fails_run for case in unasked) + sum(gate.failed for gate in gates)
    # More may fail: wrong answers, unreadable files, the baseline, and tests that are no cases.
    if run.tests_failed != excused or run.total.cases < run.selected:
        return 0
    strict = "fail-inconclusive" in run.options
    others = [case for case in document.cases if not _is_unasked(case)]
    return 0 if still_fail(gates, others, strict=strict) else len(unasked)


def _is_unasked(case: CaseRow) -> bool:
    kinds = {trial.error.kind if trial.error else "" for trial in case.trials}
    return kinds == {"replay"}


@ci.command()
@click.argument("results", default=RESULTS, type=click.Path(path_type=Path))
@click.option("--name", default="tooleval", show_default=True, help="Distinguishes several comments.")
@click.option("--cassette", type=click.Path(path_type=Path), help="The cassettes' folder.")
@click.option("--link", default="", help="The report's URL.")
def comment(results: Path, name: str, cassette: Path | None, link: str) -> None:
    """Post the verdict on a pull request: one comment, which later runs update.

    Also sets the commit status. GITHUB_TOKEN needs the permissions pull-requests: write and statuses:
    write. On GitLab, GITLAB_TOKEN must be a project access token with the api scope. Without
    permission, as in a fork, the comment goes to the job summary. Failing to post never fails the job.
    """
    if not _NAME.fullmatch(name):
        raise click.UsageError(
            f"--name: expected letters, digits, spaces, dots and hyphens, got {name!r}"
        )
    job = _job()
    if not results.is_file():
        click.echo(f"{printable(str(results))} does not exist: pytest wrote no results to comment on")
        return
    document = _read(results)
    text = comment_text(
        document,
        changed=_changed(cassette, job),
        address=_addresses(job),
        link=link,
        note=_left_out(document, job),
    )
    if job and job.event and not job.number:
        click.echo("not commented: there is no pull request")
        return
    if job is None or not job.number or job.is_fork:
        _summarise(job, text)
        return

    try:
        forge = _forge(job)
        click.echo(_post(forge, job, name, text))
        forge.set_status(job.commit, not document.run.exitstatus, name, headline(document), link)
    except Refused as error:
        _warn(job, f"{error}; the job needs the permissions pull-requests: write and statuses: write")
        _summarise(job, text)
    except ToolevalError as error:
        _warn(job, str(error))
        _summarise(job, text)


def _read(file: Path) -> RowsDocument:
    return read_document(file, RowsDocument)


def _left_out(document: RowsDocument, job: CiJob | None) -> str:
    if job and job.is_fork:
        return "A fork gets no secrets: only recorded answers were replayed."
    if document.run.partial:
        return "Only some cases of the suites ran."
    return ""


def _post(forge: Forge, job: CiJob, name: str, text: str) -> str:
    """Add or edit the comment, and return what was done. Older runs never overwrite newer ones."""
    marked = f"<!-- tooleval: {name}; run {job.run} -->\n{text}"
    if (newest := forge.head()) != job.commit:
        return f"not commented: the pull request has a newer commit, {newest[:10]}"
    there = _own(forge, name)
    if there and there[-1][0] > job.run:
        return f"not commented: run {there[-1][0]} is newer"
    if there:
        forge.edit_comment(there[-1][1], marked)
    else:
        forge.add_comment(marked)
        there = _own(forge, name)  # another run may have added one at the same time
    for _, id in there[:-1]:
        forge.delete_comment(id)
    return f"commented on #{job.number}"


def _own(forge: Forge, name: str) -> list[tuple[int, int]]:
    """The run and id of each of our comments with this name, newest run last."""
    mark = re.compile(rf"<!-- tooleval: {re.escape(name)}; run (\d+) -->")
    found = ((mark.match(each.text), each) for each in forge.comments() if each.is_own)
    return sorted((int(marker[1]), each.id) for marker, each in found if marker)


def _forge(job: CiJob) -> Forge:
    token = job.token()
    if not token:
        raise ToolevalError(f"{job.token_variable} is not set")
    forge = GitLab if job.service == "gitlab" else GitHub
    return forge(job.api, job.project, job.number, token)


def _summarise(job: CiJob | None, text: str) -> None:
    """Write the text to the job summary, or print it."""
    if job and job.summary:
        try:
            append_step_summary(job.summary, text)
            return
        except OSError as error:
            _warn(job, f"{job.summary}: cannot be written: {os_reason(error)}")
    click.echo(text)


def _warn(job: CiJob, text: str) -> None:
    click.echo(f"::warning::{printable(text)}" if job.annotates else printable(text))


def _addresses(job: CiJob | None) -> Callable[[str, int], str]:
    """Where the forge shows a line of a file of this folder; nowhere outside of CI."""
    commits = f"{job.blobs}/{job.commit}" if job and job.blobs and job.commit else ""
    within = git_output(Path(), "rev-parse", "--show-prefix")

    def address(file: str, line: int) -> str:
        if not commits or within is None or not Path(file).is_file():
            return ""
        place = f"#L{line}" if line else ""
        return f"{commits}/{quote(within + file)}{place}"

    return address


def _changed(cassettes: Path | None, job: CiJob | None) -> Changed:
    """What the pull request changed since its base."""
    from ..variants.blame import changed_suites

    if job is None or not job.base:
        return Changed()
    base = job.base
    if not has_revision(Path(), base):  # in a shallow clone
        fetch = ("fetch", "--quiet", "--no-tags", "--depth=1", "origin", base)
        git_output(Path(), *fetch, timeout_s=_FETCH_S)
    if not has_revision(Path(), base):
        depth = "`GIT_DEPTH: 0`" if job.service == "gitlab" else "`fetch-depth: 0` of actions/checkout"
        return Changed(unknown=f"the clone lacks the base commit {base[:10]}; fetch it with {depth}")
    # Without a merge commit, the base branch may be ahead.
    base = git_output(Path(), "merge-base", "HEAD", base) or base
    return Changed(
        changed_suites(base, Path()), _changed_answers(cassettes, base) if cassettes is not None else 0
    )


def _changed_answers(folder: Path, base: str) -> int:
    """How many recorded answers in a folder are new or different since the commit `base`."""
    changed = 0
    for file in sorted(folder.rglob("*.jsonl")):
        old = dict(_answers((file_at(base, file) or "").splitlines()))
        new = dict(_answers(file.read_text("utf-8", "replace").splitlines()))
        changed += sum(old.get(key) != answer for key, answer in new.items())
    return changed


def _answers(lines: list[str]) -> Iterator[tuple[str, Any]]:
    """The key and answer of each line of a cassette; a key's last answer counts."""
    for line in lines:
        try:
            entry = json.loads(line)
            yield entry["key"], entry["answer"]
        except (ValueError, KeyError, TypeError):
            continue  # pytest reports it
