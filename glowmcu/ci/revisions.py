"""Two revisions of the user's repository: the one that is checked out, and the one before it.

The earlier one is a second work tree, so that whatever options name (profiles, labels, the parts of
a pipeline) is found there as it was, and files that Git LFS keeps are there, too.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass

_NOTHING = re.compile(r"0*")


@dataclass(frozen=True)
class Repository:
    """`top` is its root, `prefix` where the job's folder lies in it (`""` or `firmware/`)."""

    top: Path
    prefix: str

    def git(self, *arguments: str) -> str | None:
        """Standard output, or None if git refused."""
        done = _git(self.top, *arguments)
        return done.stdout.strip() if done.returncode == 0 else None

    def base(self, asked: str) -> str:
        """The commit to compare with. `asked` is a commit, a branch, or "" for the commit before
        this one; "" if this is the first. It is fetched where the clone does not hold it. Raises
        GM179.
        """
        name = asked if not _NOTHING.fullmatch(asked) else self._parent()
        if not name:
            return ""
        found = self._commit(name)
        if not found:
            shallow = self.git("rev-parse", "--is-shallow-repository") == "true"
            depth = ["--depth=1"] if shallow else []
            done = _git(self.top, "fetch", "--no-tags", "--quiet", *depth, "origin", "--", name)
            if done.returncode == 0:
                found = self._commit(name) or self._commit("FETCH_HEAD")
            if not found:
                raise error(
                    "GM179",
                    f"commit {name} is not here and could not be fetched: {_reason(done.stderr)}",
                    hint="is the name of the base right, and may this job fetch from origin?",
                )
        return found

    def merged_into(self, merge: str) -> str:
        """The first parent of `merge`, if that is checked out and is a merge of two."""
        parents = self._parents()
        return parents[0] if len(parents) == 2 and self._commit("HEAD") == merge else ""

    def name_in(self, commit: str, path: str) -> str:
        """What `path` of this revision was called in `commit`; "" if it was not there."""
        full = self.prefix + path
        if self.git("cat-file", "-e", f"{commit}:{full}") is not None:
            return path
        return self._renamed(commit, full, new_to_old=True)

    def name_since(self, commit: str, path: str) -> str:
        """What `path` of `commit` is called now; "" if it is gone."""
        return self._renamed(commit, self.prefix + path, new_to_old=False)

    def holds(self, commit: str, path: str) -> bool:
        """Whether `commit` has this file or folder."""
        return self.git("cat-file", "-e", f"{commit}:{self.prefix}{path}") is not None

    @contextmanager
    def earlier(self, commit: str, folder: Path) -> Iterator[Path]:
        """`commit` in a work tree in `folder`, gone afterwards; gives what is the job's folder."""
        folder = folder / "base"
        done = _git(self.top, "worktree", "add", "--force", "--detach", str(folder), commit)
        if done.returncode != 0:
            raise error(
                "GM177", f"git cannot write the files of {commit[:12]}: {_reason(done.stderr)}"
            )
        try:
            yield folder / self.prefix
        finally:
            _git(self.top, "worktree", "remove", "--force", str(folder))

    def _commit(self, name: str) -> str:
        return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or ""

    def _parents(self) -> list[str]:
        """Of HEAD, as the commit itself says: a shallow clone hides them otherwise."""
        text = self.git("cat-file", "commit", "HEAD") or ""
        return re.findall(r"^parent ([0-9a-f]{40,64})$", text.partition("\n\n")[0], re.MULTILINE)

    def _parent(self) -> str:
        return next(iter(self._parents()), "")

    def _renamed(self, commit: str, full: str, new_to_old: bool) -> str:
        text = self.git("diff", "--name-status", "-z", "-M", "--diff-filter=R", commit, "HEAD")
        words = (text or "").split("\0")
        for _, old, new in zip(words[0::3], words[1::3], words[2::3], strict=False):
            source, found = (new, old) if new_to_old else (old, new)
            if source == full and found.startswith(self.prefix):
                return found[len(self.prefix) :]
        return ""


def repository() -> Repository:
    """The one around the current folder. Raises GM176."""
    done = _git(Path(), "rev-parse", "--show-toplevel", "--show-prefix")
    if done.returncode != 0:
        raise error(
            "GM176",
            f"this is no checkout of a git repository: {_reason(done.stderr)}",
            hint="check the repository out before this step, in a container with git installed",
        )
    top, _, prefix = done.stdout.partition("\n")
    return Repository(Path(top), prefix.strip())


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A container's user does not own the checkout, and that is meant so."""
    command = ["git", "-c", "safe.directory=*", "-c", "diff.renameLimit=10000", *arguments]
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError as cause:
        raise error("GM176", "git is not installed", hint="apt install git") from cause


def _reason(text: str) -> str:
    """Why git gave up, in its own words; advice may come after it."""
    lines = text.strip().splitlines() or ["git says nothing"]
    said = next((line for line in lines if line.startswith("fatal: ")), lines[-1])
    return said.removeprefix("fatal: ").rstrip(".")
