"""What a pull request changed, in the checkout where its suites ran."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec.structs import astuple

from ..checkout.ci import CiJob
from ..checkout.git import file_at, git_output, line_as_of, obtain, parents_of_head, path_within
from ..errors import ToolevalError
from ..record.comparison import LoosenedCase
from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..reports.pull_request import Cause, ForgePlace, PullRequestChanges
from ..text import printable
from ..verdicts.loosened import by_text, loosened_cases

if TYPE_CHECKING:
    from ..suite.model import Suite


@dataclass(frozen=True)
class Checkout:
    """The checkout of a job: `root` is pytest's root folder, `within` its path in the repository."""

    job: CiJob | None
    root: Path
    within: str
    files: Collection[str]  # of the run's suites, relative to the root
    loosened: Sequence[LoosenedCase] = ()  # by the comparison with the baseline, as by an option
    _read: dict[str, tuple[Suite, Suite] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, document: RowsDocument, job: CiJob | None) -> Checkout:
        """The one in which a run took place; the current folder if the run does not know it."""
        git = document.run.git
        within = git.root if git and git.root is not None else None
        top = git_output(Path(), "rev-parse", "--show-toplevel")
        files = {row.file for row in document.cases} | {each.file for each in document.run.unreadable}
        loosened: list[LoosenedCase] = []
        if baseline := document.baseline:  # git shows the removed cases of suites
            gone = (each for each in baseline.cases.removed if each.file.endswith(".py"))
            loosened += (LoosenedCase(*astuple(each), what="removed") for each in gone)
            loosened += baseline.loosened
        if within is None or top is None:
            return cls(job, Path(), path_within(Path()) or "", files, loosened)
        return cls(job, Path(top, within), within, files, loosened)

    def path_of(self, file: str) -> str:
        """A file's path in the repository."""
        return f"{self.within}/{file}" if self.within else file

    def place(self, file: str, line: int) -> ForgePlace:
        """A line of a file in the head of the pull request, and where the forge shows it."""
        path, job = self.root / file, self.job
        is_there = path.is_file()
        if is_there and self._is_other_commit:
            line = line_as_of(job.commit, path, line) if job and obtain(self.root, job.commit) else 0
        name = self.path_of(file)
        text = f"{name}:{line}" if line else name
        if not (job and job.blobs and job.commit and is_there):
            return ForgePlace(text)
        return ForgePlace(
            text, f"{job.blobs}/{job.commit}/{quote(name)}" + (f"#L{line}" if line else "")
        )

    @cached_property
    def _is_other_commit(self) -> bool:
        """Whether the tested commit is not the head, but its merge with the base."""
        return self.job is not None and git_output(self.root, "rev-parse", "HEAD") != self.job.commit

    @cached_property
    def _base(self) -> tuple[str, str]:
        """The commit to compare with, empty without a pull request; or why it is not there.

        It is the first parent of the merge that the service tests, as the event's base may be older.
        """
        job = self.job
        if job is None or not job.base:
            return "", ""
        parents = parents_of_head(self.root)
        is_merge = len(parents) == 2 and (job.merge != "" or parents[1] == job.commit)
        base = parents[0] if is_merge and self._is_other_commit else job.base
        if not obtain(self.root, base):
            how = "`GIT_DEPTH: 0`" if job.service == "gitlab" else "`fetch-depth: 0` of actions/checkout"
            return "", f"the clone lacks the base commit {base[:10]}; fetch it with {how}"
        # Without a merge commit, the base branch may be ahead.
        return git_output(self.root, "merge-base", "HEAD", base) or base, ""

    def suite_changes(self, cassettes: Path | None) -> PullRequestChanges:
        """What the pull request changed in the suites of the run, and in the recorded answers."""
        from ..variants.blame import changed_suites

        base, unknown = self._base
        if not base:
            return PullRequestChanges(unknown=unknown, loosened=self._loosened(()))
        try:
            answers = _changed_answers(cassettes, base) if cassettes is not None else 0
        except ToolevalError as error:  # also of a partial clone without a network
            return PullRequestChanges(unknown=printable(str(error)), loosened=self._loosened(()))
        versions_of = {
            file: texts
            for file, texts in changed_suites(base, self.root).items()
            if texts and (file in self.files or not (self.root / file).is_file())
        }
        suites = {self.path_of(file): texts for file, texts in versions_of.items()}
        return PullRequestChanges(suites, answers, "", self._loosened(versions_of))

    def _loosened(self, changed: Iterable[str]) -> dict[str, list[str]]:
        """What makes these suites, or cases of the baseline, easier to pass, by file."""
        by_file: dict[str, list[tuple[str, str]]] = {}
        for file in changed:
            if not (self.root / file).is_file():
                by_file[file] = [("the whole suite", "removed")]
            elif versions := self._versions(file, self._base[0]):
                by_file[file] = list(loosened_cases(*versions))
        for loosening in self.loosened:
            by_file.setdefault(loosening.file, []).append((loosening.case, loosening.what))
        return {self.path_of(file): by_text(cases) for file, cases in by_file.items() if cases}

    def _versions(self, file: str, base: str) -> tuple[Suite, Suite] | None:
        """A suite now and as of the base; None if it is new, or one of them cannot be read."""
        if file not in self._read:
            self._read[file] = _versions(self.root / file, base)
        return self._read[file]

    def cause(self, row: CaseRow) -> Cause:
        """The edits of this pull request that a case can see, and commands to reproduce its failure."""
        from ..variants.blame import edits_of

        base, _ = self._base
        edits: list[tuple[str, str, str]] = []
        if base and (both := self._versions(row.file, base)):
            suite, earlier = both
            case = next((each for each in suite.test_cases if each.id == row.case), None)
            edits = list(edits_of(case, suite, earlier)) if case else []
        arguments = [f"{row.file}::{row.case}", f"--tooleval-model={row.model}"]
        trials = [f"--tooleval-trials={len(row.trials)}"] if len(row.trials) > 1 else []
        commands = [shlex.join(["pytest", *arguments, *trials])]
        if edits:
            commands.append(shlex.join(["tooleval", "blame", base[:10], *arguments]))
        go = f"cd {shlex.quote(self.within)} && " if self.within else ""
        return Cause(edits, [go + command for command in commands])


def _versions(file: Path, base: str) -> tuple[Suite, Suite] | None:
    from ..suite.load import load_suite
    from ..variants.revisions import read_at

    try:
        earlier = read_at(base, file)
        return None if earlier is None else (load_suite(file, metrics=None), earlier)
    except ToolevalError:
        return None


def _changed_answers(folder: Path, base: str) -> int:
    """How many recorded answers are new or different since `base`, without those that CI keeps."""
    command = ("diff", "--name-only", "--relative", "-z", base, "HEAD", "--", str(folder))
    changed = 0
    for name in filter(None, (git_output(Path(), *command) or "").split("\0")):
        file = Path(name)
        if file.suffix == ".jsonl" and file.parent.is_dir():
            old, new = (
                dict(_answers((file_at(commit, file) or "").splitlines())) for commit in (base, "HEAD")
            )
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
