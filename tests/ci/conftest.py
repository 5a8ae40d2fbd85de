"""A user's repository with a model, and the environment that a CI service gives a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.ci.fake_service import FakeService, serving
from tests.ci.here import run_here
from tests.conftest import REPO

DIGITS = REPO / "examples" / "digits"
INT8, FLOAT = DIGITS / "digits_int8.tflite", DIGITS / "digits_float.tflite"


@dataclass
class UserRepository:
    """A git repository; `runner` is a folder outside it."""

    path: Path
    runner: Path
    environment: dict[str, str] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=git_environment(), capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, **files: Path | str | None) -> str:
        """Write, take away (None), commit; `model_tflite` is model.tflite."""
        for key, content in files.items():
            file = self.path / key.replace("__", "/").replace("_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                file.unlink()
            elif isinstance(content, Path):
                file.write_bytes(content.read_bytes())
            else:
                file.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def job(
        self, *arguments: str, cwd: Path | None = None, is_apart: bool = False, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """`python -m glowmcu.ci` as a runner calls it; only where it `is_apart` are it and what it
        starts processes of their own.
        """
        variables = {f"GLOWMCU_{key.upper()}": value for key, value in settings.items()}
        command = [sys.executable, "-m", "glowmcu.ci", *arguments]
        run = subprocess.run if is_apart else run_here
        return run(
            command, cwd=cwd or self.path, env={**self.environment, **variables},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def event(self, **body: object) -> None:
        """What GitHub says happened."""
        (self.runner / "event.json").write_text(json.dumps(body))

    @property
    def summary(self) -> str:
        return (self.runner / "summary.md").read_text()

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.runner / "outputs").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


def git_environment() -> dict[str, str]:
    """No settings of whoever runs the tests."""
    names = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER")
             for what in ("NAME", "EMAIL")}  # fmt: skip
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return {**kept, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving() as running:
        yield running


def plain_environment() -> dict[str, str]:
    """Of a job without a service around it."""
    taken = ("GITHUB_", "CI_", "GITLAB_", "GLOWMCU_")
    kept = {k: v for k, v in git_environment().items() if not k.startswith(taken)}
    kept.pop("CI", None)
    return {**kept, "PYTHONPATH": str(REPO), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    """Two commits: an int8 model, then the same network in float, which takes more of all."""
    made = UserRepository(tmp_path / "user", tmp_path / "runner", plain_environment())
    made.path.mkdir()
    made.runner.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit(models__model_tflite=INT8)
    made.commit(models__model_tflite=FLOAT)
    return made


@pytest.fixture
def pull(user: UserRepository, service: FakeService) -> UserRepository:
    """The second commit as a pull request on GitHub."""
    user.environment |= {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_REPOSITORY": "someone/firmware", "GITHUB_API_URL": service.url,
        "GITHUB_SERVER_URL": "https://github.example", "GITHUB_RUN_ID": "5",
        "GITHUB_EVENT_PATH": str(user.runner / "event.json"),
        "GITHUB_STEP_SUMMARY": str(user.runner / "summary.md"),
        "GITHUB_OUTPUT": str(user.runner / "outputs"), "GITHUB_SHA": user.git("rev-parse", "HEAD"),
        "GLOWMCU_TOKEN": "secret", "GLOWMCU_MODEL": "models/model.tflite",
        "GLOWMCU_BOARD": "nrf52", "GLOWMCU_VERIFY_ON": "host",
    }  # fmt: skip
    user.event(pull_request={"number": 3, "base": {"sha": user.git("rev-parse", "HEAD~1")}})
    return user
