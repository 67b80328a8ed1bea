"""`tooleval ci`: the steps of the action, for GitHub and GitLab."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import click

from ..checkout.ci import CiJob, ci_run
from ..errors import ToolevalError, os_reason
from ..project.child import RunExit, run_pytest
from ..record.document import RowsDocument
from ..record.encoding import read_document
from ..reports.github import append_step_summary
from ..reports.pull_request import CommitState, comment_text, commit_state, headline, no_results_text
from ..text import plural, printable
from .changes import Checkout
from .forges import Forge, GitHub, GitLab, NoPermission
from .shared import Group

RESULTS, REPORT = "tooleval-results.json", "tooleval-report.html"
# Why pytest wrote no results, from one step to the next.
_PROBLEM = "tooleval-problem.txt"
_NAME = re.compile(r"[\w .-]{1,60}")
_QUEUE = "merge_group"  # its status counts, without a pull request to comment on
_UNFINISHED = (2, 3, 4)  # pytest's exit statuses
_FAILED = 1


def _job() -> CiJob | None:
    """The CI service's job. Raises ToolevalError for one that gives secrets to a fork's code."""
    job = CiJob.now()
    if job and job.refusal:
        raise ToolevalError(job.refusal)
    return job


@click.group(cls=Group)
def ci() -> None:
    """For GitHub and GitLab jobs: run suites, and comment on pull requests.

    The GitHub Action and the GitLab component run these commands.
    """


# With -h, the h of pytest's -kweather would be ours.
@ci.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("arguments", metavar="[--] [PYTEST ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> None:
    """Run pytest, and write tooleval-results.json and tooleval-report.html.

    Exits with pytest's status, or with 1 if there are no results or no cases in them. A pull request
    from a fork or by Dependabot gets no secrets, so its run only replays recorded answers, queries
    models that need no key, and saves no history. Its other cases are skipped.
    """
    job = _job()
    has_secrets = job is None or job.has_secrets
    options = [*arguments, f"--tooleval-report={RESULTS}", f"--tooleval-report={REPORT}"]
    options += [] if has_secrets else ["--tooleval-history=off"]
    for file in (RESULTS, REPORT, _PROBLEM):  # an earlier run must not decide this one
        Path(file).unlink(missing_ok=True)
    ended = run_pytest(options, has_secrets=has_secrets)
    is_without = not Path(RESULTS).is_file()
    if is_without or ended.exitstatus in _UNFINISHED:
        problem = _problem_of(ended)
        Path(_PROBLEM).write_text(problem + "\n", encoding="utf-8")
        if is_without:
            _fail_without_results(job, problem)
    elif not ended.exitstatus:
        document = read_document(Path(RESULTS), RowsDocument)
        if not (document.cases or document.run.shard):  # a shard may get none
            click.echo("no case was collected: name the folder of your suites or tests", err=True)
            raise SystemExit(_FAILED)
    raise SystemExit(ended.exitstatus or (_FAILED if is_without else 0))


def _problem_of(ended: RunExit) -> str:
    """What pytest says went wrong, from its first error on."""
    if not ended.exitstatus:
        return "pytest ended without running tests; leave out options that only list or show something"
    # After warnings, and after the usage in `pytest: error: unrecognized arguments: ...`.
    said = re.search(
        r"^(?:.*pytest: error: |ERROR: (?!usage: ))(.*)", ended.errors, re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"\n  (inifile|rootdir): .*", "", said[1] if said else ended.errors).strip()
    return text or f"pytest ended with exit status {ended.exitstatus}"


def _fail_without_results(job: CiJob | None, problem: str) -> None:
    if job and job.annotates:
        first = problem.splitlines()[0]
        click.echo(f"::error title=no results::{printable(first)}")
    if job and job.summary_file:
        _summarise(job, no_results_text(problem))
    else:
        click.echo(f"pytest wrote no results: {problem}", err=True)


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
    if job and job.is_cancelled:
        click.echo("not commented: the job was cancelled")
        return
    message = _message(results, job, cassette, link)
    if job is None or not (job.event or job.number):
        _summarise(job, message.text)
    elif not job.number and job.event != _QUEUE:
        click.echo("not commented: there is no pull request")
    else:
        _publish(job, name, message, link)


class _Message(NamedTuple):
    """The comment's text, and the status to set with its text, or None."""

    text: str
    state: CommitState | None
    headline: str


def _message(results: Path, job: CiJob | None, cassette: Path | None, link: str) -> _Message:
    problem = Path(_PROBLEM).read_text("utf-8", "replace").strip() if Path(_PROBLEM).is_file() else ""
    try:
        document = _read_own(results, job)
    except ToolevalError as error:
        reason = problem or str(error)
        first = reason.splitlines()[0]
        return _Message(no_results_text(reason, link), "failure", f"no results: {printable(first)}")
    checkout = Checkout.of(document, job)
    text = comment_text(
        document,
        changed=checkout.suite_changes(cassette),
        place=checkout.place,
        cause=checkout.cause,
        link=link,
        problem=problem,
        note=_left_out(document, job),
    )
    is_said = document.run.unreadable or not problem
    short = headline(document) if is_said else printable(problem.splitlines()[0])
    state = commit_state(document)
    if state == "success" and job and not job.has_secrets and document.run.total.skipped:
        state = "pending"  # nobody may take a part for the whole
    return _Message(text, state, short)


def _read_own(file: Path, job: CiJob | None) -> RowsDocument:
    """The results, if this run of the CI service wrote them. Raises ToolevalError."""
    name = printable(str(file))
    if not file.is_file():
        raise ToolevalError(f"{name} does not exist: pytest did not run, or was stopped")
    document = read_document(file, RowsDocument)
    now = ci_run()
    if job is not None and document.run.ci != now:
        whose = document.run.ci or "no CI job that it knew of"
        raise ToolevalError(f"{name} was written by {whose}, not by a job of this run, {now}")
    return document


def _left_out(document: RowsDocument, job: CiJob | None) -> str:
    if job and not job.has_secrets:
        who, total = "A fork" if job.is_fork else "Dependabot", document.run.total
        count = f"{total.skipped} of {plural(total.cases, 'case')}"
        end = f" {count} could not be evaluated." if total.skipped else ""
        return f"{who} gets no secrets: only recorded answers were replayed.{end}"
    if document.run.partial:
        return "Only some cases of the suites ran."
    return ""


class _NewerRun(ToolevalError):
    """A newer run has the comment and the status."""


def _publish(job: CiJob, name: str, message: _Message, link: str) -> None:
    """Post the comment and set the status, each whether or not the other succeeds."""
    try:
        forge = _forge(job)
    except ToolevalError as error:
        _warn(job, str(error))
        _summarise(job, message.text)
        return
    try:
        if job.is_fork:
            _summarise(job, message.text)
        elif job.number:
            click.echo(_post(forge, job, name, message.text))
    except _NewerRun as why:
        click.echo(f"not commented: {why}")
        return
    except ToolevalError as error:
        _warn(job, _with_permissions(job, error))
        _summarise(job, message.text)
    if message.state is None or (job.is_fork and job.service == "gitlab"):
        return
    try:
        if job.is_fork:
            _require_newest_commit(forge, job)
        forge.set_status(job.commit, message.state, name, message.headline, link)
    except _NewerRun as why:
        click.echo(f"no status set: {why}")
    except NoPermission as error:
        if job.has_secrets:
            _warn(job, _with_permissions(job, error))
        else:
            click.echo(f"no status set: {error}")
    except ToolevalError as error:
        _warn(job, str(error))


def _with_permissions(job: CiJob, error: ToolevalError) -> str:
    if not isinstance(error, NoPermission):
        return str(error)
    if job.service == "gitlab":
        return f"{error}; GITLAB_TOKEN must be a project access token with the scope api"
    return f"{error}; the job needs the permissions pull-requests: write and statuses: write"


def _post(forge: Forge, job: CiJob, name: str, text: str) -> str:
    """Add or edit the comment, and return what was done. Raises _Outdated for an older run."""
    marked = f"<!-- tooleval: {name}; run {job.run_number} -->\n{text}"
    _require_newest_commit(forge, job)
    there = _comments(forge, name)
    if there and there[-1][0] > job.run_number:
        raise _NewerRun(f"run {there[-1][0]} is newer")
    if there:
        forge.edit_comment(there[-1][1], marked)
    else:
        forge.add_comment(marked)
        there = _comments(forge, name)  # another run may have added one at the same time
    for _, id in there[:-1]:
        forge.delete_comment(id)
    return f"commented on #{job.number}"


def _require_newest_commit(forge: Forge, job: CiJob) -> None:
    if (newest := forge.head()) != job.commit:
        raise _NewerRun(f"the pull request has a newer commit, {printable(newest[:10])}")


def _comments(forge: Forge, name: str) -> list[tuple[int, int]]:
    """The run and id of each of our comments with this name, newest run last."""
    mark = re.compile(rf"<!-- tooleval: {re.escape(name)}; run (\d+) -->")
    marked = ((mark.match(each.text), each) for each in forge.comments() if each.is_own)
    return sorted((int(marker[1]), each.id) for marker, each in marked if marker)


def _forge(job: CiJob) -> Forge:
    token = job.token()
    if not token:
        raise ToolevalError(f"{job.token_variable} is not set")
    forge = GitLab if job.service == "gitlab" else GitHub
    return forge(job, token)


def _summarise(job: CiJob | None, text: str) -> None:
    """Write the text to the job summary, or print it."""
    if job and job.summary_file:
        try:
            append_step_summary(job.summary_file, text)
            return
        except OSError as error:
            _warn(job, f"{job.summary_file}: cannot be written: {os_reason(error)}")
    click.echo(text)


def _warn(job: CiJob, text: str) -> None:
    click.echo(f"::warning::{printable(text)}" if job.annotates else printable(text))
