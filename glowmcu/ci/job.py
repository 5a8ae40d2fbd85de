"""The job: compile this revision and the one before it, verify, measure, compare, comment.

Every step is a `glowmcu` command that stands in the log, so that a developer can repeat it. The
first that fails gives the exit code, after the comment was written.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import field
from pathlib import Path

import click

from glowmcu.ci.comments import NotWritten
from glowmcu.ci.page import Findings, first_figures, mark, page
from glowmcu.ci.revisions import Repository, repository
from glowmcu.ci.service import Service
from glowmcu.ci.settings import Settings
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.report.bundle_diff import code_span

_BEFORE, _AFTER = "before", "after"


@dataclass
class Job:
    """One run. `exit_code` is that of the first step that failed."""

    settings: Settings
    service: Service
    found: Findings
    exit_code: int = 0
    files: dict[str, Path] = field(default_factory=dict)

    def run(self) -> int:
        """All of it. Raises GM176 to GM179 and GM198 for what no revision can mend."""
        where = repository()
        commit, lacking = self._base(where)
        path = self._head_path(where, commit)
        _empty(self.settings.output)
        if path:
            self._look_at(path, lacking or self._make_before(where, commit, path), commit)
        else:
            self.found.notes.append("It is gone in this revision: there is nothing to compile.")
        return self._tell()

    def _look_at(self, path: str, lacking: str, commit: str) -> None:
        """Compile what is checked out, and compare it with `commit` unless something is lacking."""
        after = self.settings.output / _AFTER
        if not self._make(Path(), path, after, must=True):
            return
        self._check(after)
        if lacking:
            self._first(lacking)
        else:
            self._compare(commit)
        self._report(after)

    def _base(self, where: Repository) -> tuple[str, str]:
        """The commit to compare with, and why there is none. Raises GM179 where limits of growth
        would not be checked for that reason.
        """
        try:
            asked = self.settings.base or self.service.base(where)
            commit = where.base(asked)
            return commit, "" if commit else "this is the first commit"
        except GlowmcuError as cause:
            if self.settings.max_growth:
                raise
            return "", cause.problems[0].message

    def _head_path(self, where: Repository, commit: str) -> str:
        """What is compiled of the checked out revision; "" for what it deletes. Raises GM178."""
        path = self.settings.path
        if Path(path).exists():
            return path
        later = where.name_since(commit, path) if commit else ""
        if later:
            self.found.notes.append(
                f"{code_span(path)} is called {code_span(later)} now: the settings still name "
                "it as it was."
            )
        elif not commit or not where.holds(commit, path):
            raise error(
                "GM178",
                f"there is no {path}, neither in this revision nor in the one before it",
                hint="is the path right as seen from the folder the job runs in? Files of Git LFS "
                "need `lfs: true` at the checkout",
            )
        return later

    def _make(self, folder: Path, path: str, output: Path, must: bool) -> bool:
        """A bundle in `output`; relative paths of options are those of `folder`."""
        if self.settings.bundle:
            try:
                shutil.copytree(folder / path, output)
            except OSError as cause:
                self._failed(f"copy {path}", str(cause), 2)
                return False
            return True
        board = ["--board", self.settings.board] if self.settings.board else []
        command = ["compile", path, *board, *self.settings.options, "-o", str(output.absolute())]
        done = self._glowmcu(*command, folder=folder)
        if done.returncode != 0 and must:
            self._failed(self._shown(command), done.stderr, done.returncode)
        return done.returncode == 0

    def _check(self, bundle: Path) -> None:
        """Verify and measure, and keep what was found out beside the bundle."""
        if self.settings.verify_on:
            command = ["verify", str(bundle), "--on", self.settings.verify_on]
            if self._step(command).returncode == 0:
                self.found.verified = ", ".join(self.settings.executors)
        if self.settings.can_bench:
            self._step(["bench", str(bundle), *self.settings.limits])

    def _make_before(self, where: Repository, commit: str, path: str) -> str:
        """The bundle of `commit`; returns why there is none. It comes first, so that whoever cannot
        have the files of that commit (GM177) need not wait for the rest.
        """
        old = where.name_in(commit, path)
        if not old:
            return f"{code_span(path)} is new"
        if old != path:
            self.found.notes.append(f"Before it was called {code_span(old)}.")
        before = self.settings.output / _BEFORE
        with tempfile.TemporaryDirectory() as root, where.earlier(commit, Path(root)) as earlier:
            made = self._make(earlier, old, before, must=False)
        return "" if made else f"{code_span(commit[:12])} does not compile, as the log says"

    def _compare(self, commit: str) -> None:
        before, after = (str(self.settings.output / side) for side in (_BEFORE, _AFTER))
        if self.settings.can_bench:
            self._glowmcu("bench", before)
        limits = [word for limit in self.settings.max_growth for word in ("--max-growth", limit)]
        done = self._step(["diff", before, after, "--markdown", *limits])
        self.found.diff = done.stdout
        self.found.notes.append(f"Compared with {commit[:12]}.")

    def _first(self, why: str) -> None:
        """There is nothing to compare with."""
        self.found.diff = first_figures(self.settings.output / _AFTER)
        self.found.notes.append(f"Compared with nothing: {why}.")
        if self.settings.max_growth:
            self.found.notes.append("The limits of growth were not checked.")

    def _report(self, bundle: Path) -> None:
        file = self.settings.output / "report.html"
        if self._step(["report", str(bundle), "-o", str(file)]).returncode == 0:
            self.files["report"] = file

    def _tell(self) -> int:
        """The comment, the summary, the outputs."""
        body = page(self.found, self.service.run_url())
        file = self.settings.output / "comment.md"
        file.write_text(body, encoding="utf-8")
        self.files["comment-file"] = file
        outputs = {
            "folder": self.settings.output, "artifact": _artifact(self.found.title), **self.files,
            "exit-code": self.exit_code,
        }  # fmt: skip
        self.service.finish(body, outputs)
        with self.service.section("the comment"):
            click.echo(body)
        for command, said in self.found.failures:
            self.service.fail(f"{command}\n{said.strip()}")
        comments = self.service.comments() if self.settings.comment else None
        if comments is not None:
            try:
                click.echo(f"commented: {comments.write(mark(self.found.title), body)}")
            except NotWritten as cause:
                self.service.warn(f"no comment was written: {cause}")
        return self.exit_code

    def _step(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        done = self._glowmcu(*command)
        if done.returncode != 0:
            self._failed(self._shown(command), done.stderr, done.returncode)
        return done

    def _failed(self, command: str, said: str, exit_code: int) -> None:
        self.found.failures.append((command, said))
        self.exit_code = self.exit_code or exit_code

    def _glowmcu(
        self, *command: str, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        with self.service.section(self._shown(command)):
            done = subprocess.run(
                [sys.executable, "-m", "glowmcu", *command],
                cwd=folder, capture_output=True, encoding="utf-8", errors="replace", check=False,
            )  # fmt: skip
            click.echo(done.stdout + done.stderr, nl=False)
        return done

    @staticmethod
    def _shown(command: list[str] | tuple[str, ...]) -> str:
        return shlex.join(["glowmcu", *command])


def run_job(settings: Settings, service: Service) -> int:
    """The exit code."""
    return Job(settings, service, Findings(settings.title)).run()


def _empty(folder: Path) -> None:
    """Make it anew. Raises GM198."""
    try:
        if os.path.lexists(folder):
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as cause:
        raise error(
            "GM198",
            f"cannot make the folder of the job anew: {cause.strerror or cause}",
            str(folder),
            "remove it, which may need root where a container made it, or choose another: "
            "GLOWMCU_OUTPUT=DIR",
        ) from cause


def _artifact(title: str) -> str:
    """A name that services take for an archive."""
    return f"glowmcu-{re.sub(r'[^A-Za-z0-9_.-]+', '-', title).strip('-')}"
