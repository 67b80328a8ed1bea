"""What a pull request changed, in the checkout where its suites ran."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..checkout.ci import CiJob
from ..checkout.git import fetched, file_at, git_output, line_as_of, parents_of_head
from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..reports.pull_request import Changed, Place
from ..text import printable


@dataclass(frozen=True)
class Checkout:
    """The checkout of a job: `root` is pytest's root folder, `within` its path in the repository."""

    job: CiJob | None
    root: Path
    within: str
    files: Collection[str]  # of the run's suites, relative to the root

    @classmethod
    def of(cls, document: RowsDocument, job: CiJob | None) -> Checkout:
        """The one in which a run took place; the current folder if the run does not know it."""
        git = document.run.git
        within = git.root if git and git.root is not None else None
        top = git_output(Path(), "rev-parse", "--show-toplevel")
        files = {row.file for row in document.cases} | {each.file for each in document.run.unreadable}
        if within is None or top is None:
            return cls(job, Path(), git_output(Path(), "rev-parse", "--show-prefix") or "", files)
        return cls(job, Path(top, within), within, files)

    def path_of(self, file: str) -> str:
        """A file's path in the repository."""
        return f"{self.within.rstrip('/')}/{file}" if self.within else file

    def place(self, file: str, line: int) -> Place:
        """A line of a file in the head of the pull request, and where the forge shows it."""
        path, job = self.root / file, self.job
        is_there = path.is_file()
        if is_there and self._is_other_commit:
            line = line_as_of(job.commit, path, line) if job and fetched(self.root, job.commit) else 0
        name = self.path_of(file)
        text = f"{name}:{line}" if line else name
        if not (job and job.blobs and job.commit and is_there):
            return Place(text)
        return Place(text, f"{job.blobs}/{job.commit}/{quote(name)}" + (f"#L{line}" if line else ""))

    @cached_property
    def _is_other_commit(self) -> bool:
        """Whether the tested commit is not the head, but its merge with the base."""
        return self.job is not None and git_output(self.root, "rev-parse", "HEAD") != self.job.commit

    def base(self) -> str:
        """The commit to compare with; empty without a pull request. Raises ToolevalError.

        It is the first parent of the merge that the service tests, as the event's base may be older.
        """
        job = self.job
        if job is None or not job.base:
            return ""
        parents = parents_of_head(self.root)
        is_merge = len(parents) == 2 and (job.merge != "" or parents[1] == job.commit)
        base = parents[0] if is_merge and self._is_other_commit else job.base
        if not fetched(self.root, base):
            how = "`GIT_DEPTH: 0`" if job.service == "gitlab" else "`fetch-depth: 0` of actions/checkout"
            raise ToolevalError(f"the clone lacks the base commit {base[:10]}; fetch it with {how}")
        # Without a merge commit, the base branch may be ahead.
        return git_output(self.root, "merge-base", "HEAD", base) or base

    def changed(self, cassettes: Path | None) -> Changed:
        """What the pull request changed in the suites of the run, and in the recorded answers."""
        from ..variants.blame import changed_suites

        try:
            base = self.base()
            if not base:
                return Changed()
            answers = _changed_answers(cassettes, base) if cassettes is not None else 0
        except ToolevalError as error:  # also of a partial clone without a network
            return Changed(unknown=printable(str(error)))
        suites = {
            self.path_of(file): texts
            for file, texts in changed_suites(base, self.root).items()
            if texts and (file in self.files or not (self.root / file).is_file())
        }
        return Changed(suites, answers)


def _changed_answers(folder: Path, base: str) -> int:
    """How many recorded answers are new or different since `base`, without those that CI keeps."""
    given = ("diff", "--name-only", "--relative", "-z", base, "HEAD", "--", str(folder))
    changed = 0
    for name in filter(None, (git_output(Path(), *given) or "").split("\0")):
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
