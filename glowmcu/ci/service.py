"""Where the job runs: GitHub Actions, GitLab CI or somebody's computer. What it is compared with,
where a comment goes, how the log is folded.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from glowmcu.ci.comments import GitHubComments, GitLabNotes
from glowmcu.ci.revisions import Repository
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Service:
    """A computer without any: what the others do differently is overridden."""

    environment: Mapping[str, str]

    def base(self, repository: Repository) -> str:
        """The commit to compare with, as far as the service says one."""
        return ""

    def comments(self) -> GitHubComments | GitLabNotes | None:
        """Of the pull request that this is about; None if it is about none."""
        return None

    def run_url(self) -> str:
        """The page that has the log and the report."""
        return ""

    def finish(self, body: str, outputs: Mapping[str, object]) -> None:
        """Leave the comment's text and the job's outputs where the service looks for them."""

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        """A part of the log."""
        click.echo(f"\n$ {title}")
        yield

    def warn(self, text: str) -> None:
        """Something that does not fail the job."""
        click.echo(f"warning: {text}", err=True)

    def fail(self, text: str) -> None:
        """Something that does."""
        click.echo(text, err=True)

    def _of(self, name: str) -> str:
        return self.environment.get(name, "")


class GitHub(Service):
    """GitHub Actions, and what speaks its protocol (Gitea, Forgejo)."""

    def base(self, repository: Repository) -> str:
        """What the pull request was merged into, or what was there before the push."""
        event = self._event()
        pull = event.get("pull_request")
        if isinstance(pull, dict):
            base = pull.get("base")
            named = str(base.get("sha", "")) if isinstance(base, dict) else ""
            if self._of("GITHUB_EVENT_NAME") == "pull_request":
                merged = repository.merged_into(self._of("GITHUB_SHA"))
                if merged:
                    return merged
            return repository.git("merge-base", named, "HEAD") or named
        return str(event.get("before") or "")

    def comments(self) -> GitHubComments | None:
        pull = self._event().get("pull_request")
        number = pull.get("number") if isinstance(pull, dict) else None
        if not isinstance(number, int):
            return None
        api = self._of("GITHUB_API_URL") or "https://api.github.com"
        return GitHubComments(
            f"{api}/repos/{self._of('GITHUB_REPOSITORY')}", number, self._of("GLOWMCU_TOKEN"), api
        )

    def run_url(self) -> str:
        server, name, run = (
            self._of(f"GITHUB_{key}") for key in ("SERVER_URL", "REPOSITORY", "RUN_ID")
        )
        return f"{server}/{name}/actions/runs/{run}" if server and run else ""

    def finish(self, body: str, outputs: Mapping[str, object]) -> None:
        _append(self._of("GITHUB_STEP_SUMMARY"), body)
        _append(self._of("GITHUB_OUTPUT"), "".join(f"{k}={v}\n" for k, v in outputs.items()))

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        """Folded; what stands in it (names out of a stranger's model, say) commands nothing."""
        end = secrets.token_hex(16)
        click.echo(f"::group::{_escaped(title)}\n::stop-commands::{end}")
        try:
            yield
        finally:
            click.echo(f"\n::{end}::\n::endgroup::")

    def warn(self, text: str) -> None:
        click.echo(f"::warning title=GlowMCU::{_escaped(text)}")

    def fail(self, text: str) -> None:
        click.echo(f"::error title=GlowMCU::{_escaped(text)}")

    def _event(self) -> dict[str, object]:
        try:
            body = json.loads(Path(self._of("GITHUB_EVENT_PATH")).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return body if isinstance(body, dict) else {}


class GitLab(Service):
    """GitLab CI. Its job token may not comment: that needs a token of its own."""

    def base(self, repository: Repository) -> str:
        """Where the branch of the merge request left the target, or what was before the push."""
        if self._of("CI_MERGE_REQUEST_EVENT_TYPE") in ("merged_result", "merge_train"):
            merged = repository.merged_into(self._of("CI_COMMIT_SHA"))
            if merged:
                return merged
        return self._of("CI_MERGE_REQUEST_DIFF_BASE_SHA") or self._of("CI_COMMIT_BEFORE_SHA")

    def comments(self) -> GitLabNotes | None:
        number = self._of("CI_MERGE_REQUEST_IID")
        if not number.isdecimal():
            return None
        project = self._of("CI_MERGE_REQUEST_PROJECT_ID") or self._of("CI_PROJECT_ID")
        return GitLabNotes(
            f"{self._of('CI_API_V4_URL')}/projects/{project}", int(number),
            self._of("GLOWMCU_TOKEN"), self._of("CI_API_V4_URL"),
        )  # fmt: skip

    def run_url(self) -> str:
        return self._of("CI_JOB_URL")


def service(environment: Mapping[str, str] = os.environ) -> Service:
    """The one that this job runs on."""
    if environment.get("GITHUB_ACTIONS") == "true":
        return GitHub(environment)
    return GitLab(environment) if environment.get("GITLAB_CI") == "true" else Service(environment)


def _append(file: str, text: str) -> None:
    if file:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(text)


def _escaped(text: str) -> str:
    """As text of a workflow command, which ends with its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
