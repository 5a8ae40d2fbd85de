"""docs/renode.md and the CI job: their YAML, the files and inputs that they name, their boards."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from glowmcu.board import board_names, find_board
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.verify.renode import renode_board
from tests.conftest import REPO

PAGE = (REPO / "docs" / "renode.md").read_text(encoding="utf-8")
#: Inputs of antmicro/renode-test-action v5.0.0, by its action.yml.
ACTION = "antmicro/renode-test-action@v5.0.0"
INPUTS = {
    "artifacts-path", "gather-execution-metrics", "renode-arguments", "renode-repository",
    "renode-revision", "tests-to-run",
}  # fmt: skip
#: The oldest Renode for boards without Helium, and the one that facts here are of.
REVISION = "v1.16.1"
#: Renode's development of August 2026, with the Helium instructions that bundles use.
DEVELOPMENT = "06854d4d1def596a9a88aa841030c600df2249d3"


def documented_workflow() -> dict[str, Any]:
    found = re.search(r"<!-- workflow -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    workflow: dict[str, Any] = yaml.safe_load(found[1])
    return workflow


def own_job() -> dict[str, Any]:
    text = (REPO / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    job: dict[str, Any] = yaml.safe_load(text)["jobs"]["renode"]
    return job


def steps_with(job: dict[str, Any], key: str) -> list[str]:
    return [step[key] for step in job["steps"] if key in step]


@pytest.mark.parametrize("job", ["documented", "own"])
def test_a_job_uses_the_action_with_inputs_that_it_has(job: str) -> None:
    body = own_job() if job == "own" else documented_workflow()["jobs"]["renode"]
    assert set(body) <= {"runs-on", "timeout-minutes", "continue-on-error", "steps"}
    for step in body["steps"]:
        assert ("uses" in step) != ("run" in step)
    [action] = [step for step in body["steps"] if step.get("uses") == ACTION]
    assert set(action["with"]) <= INPUTS
    assert action["with"]["renode-revision"] == (DEVELOPMENT if job == "own" else REVISION)
    python = next(i for i, s in enumerate(body["steps"]) if "setup-python" in s.get("uses", ""))
    assert python < body["steps"].index(action), "the action installs into the Python it finds"


def test_our_own_job_runs_tests_that_exist() -> None:
    commands = [shlex.split(line) for line in steps_with(own_job(), "run")]
    assert ["scripts/test", "-m", "renode"] in commands
    for command in commands:
        assert (REPO / command[0]).is_file()
        assert all((REPO / word).is_file() for word in command[1:] if word.startswith("tests/"))


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
def test_the_commands_make_the_files_that_the_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = REPO / "examples" / "digits" / "digits_int8.tflite"
    shutil.copy(digits, tmp_path / "kws.tflite")
    monkeypatch.chdir(tmp_path)
    [compile_line] = re.findall(r"^glowmcu (compile .*)$", PAGE, re.MULTILINE)
    assert main(shlex.split(compile_line)) == 0
    kit = tmp_path / "kws" / "renode"
    table = PAGE.partition("| file | what it is |")[2].partition("\n\n")[0]
    names = [name for line in table.splitlines() for name in line.split("|")[1:2]]
    files = [name for cell in names for name in re.findall(r"`([^`]+)`", cell)]
    assert files == [
        "kws.repl", "kws.resc", "kws.robot", "inputs.hex", "Makefile", "link.ld", "*.c", "*.h",
    ]  # fmt: skip
    there = {path for name in files for path in kit.glob(name)}
    assert {path.name for path in set(kit.iterdir()) - there} == {".gitignore"}
    assert all(list(kit.glob(name)) for name in files)
    job = documented_workflow()["jobs"]["renode"]
    [action] = [step for step in job["steps"] if step.get("uses") == ACTION]
    assert (tmp_path / action["with"]["tests-to-run"]).is_file()
    makes = [line.split()[2] for line in steps_with(job, "run") if line.startswith("make -C")]
    assert makes == ["kws/renode"]
    assert (tmp_path / makes[0] / "Makefile").is_file()
    for path in re.findall(r"kws/renode/[\w.]+\w", PAGE):
        assert (tmp_path / path).is_file(), path
    assert action["with"]["artifacts-path"] in [
        step["with"]["path"] for step in job["steps"] if "upload-artifact" in step.get("uses", "")
    ]


def test_the_table_of_boards_is_complete_and_true() -> None:
    section = PAGE.partition("## Boards")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    told: dict[str, tuple[str, str]] = {}
    for names, cores, platform, _ in rows:
        boards = re.findall(r"`([^`]+)`", names)
        words = re.findall(r"M\d+\+?", cores)
        assert len(words) in (1, len(boards)), names
        for index, board in enumerate(boards):
            told[board] = (words[index % len(words)], platform)
    known = {name for name in board_names() if find_board(name).renode} | {"generic"}
    assert set(told) == known
    for name, (core, platform) in told.items():
        board = find_board(name)
        word = "m0plus" if name == "generic" else board.core.removeprefix("cortex-")
        assert word.replace("plus", "+").upper() == core, name
        _, target = renode_board(board)
        if target.platform:
            assert f"Renode's `{Path(target.platform).name}`" in platform
        else:
            assert platform.strip().startswith("ours")


def runs_in_renode(name: str) -> bool:
    try:
        renode_board(find_board(name))
    except GlowmcuError:
        return False
    return True


def test_the_page_names_the_boards_that_run_on_the_machine_of_qemu() -> None:
    [listed] = re.findall(r"Other boards \(([^)]*)\) run on the machine", PAGE)
    others = [name for name in board_names() if find_board(name).renode is None]
    assert re.findall(r"`([^`]+)`", listed) == sorted(
        name for name in others if name != "generic" and runs_in_renode(name)
    )


def test_the_version_is_one_everywhere() -> None:
    versions = set(re.findall(r"Renode (1\.\d+\.\d+)|renode-(1\.\d+\.\d+)\.", PAGE))
    assert {a or b for a, b in versions} == {REVISION.removeprefix("v")}
