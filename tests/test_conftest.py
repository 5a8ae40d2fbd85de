"""The test rules themselves: run small suites with our conftest in a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parent / "conftest.py"
GOLDEN_TEST = 'def test_it(golden):\n    golden("a.txt", "new\\n")\n'
MARKED_TEST = "import pytest\n@pytest.mark.{marker}\ndef test_it():\n    pass\n"

RunSuite = Callable[..., tuple[int, str]]


@pytest.fixture
def run_suite(tmp_path: Path) -> RunSuite:
    """Runs one test file under our conftest, with no tool on PATH; gives exit code and output."""
    tests = tmp_path / "repo" / "tests"
    tests.mkdir(parents=True)
    shutil.copy(CONFTEST, tests)
    (tests / "pytest.ini").write_text("[pytest]\nmarkers =\n    arm\n    qemu\n    renode\n")

    def run(source: str, *options: str, ci: str = "") -> tuple[int, str]:
        (tests / "test_it.py").write_text(source)
        command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *options]
        environment = {**os.environ, "CI": ci, "PATH": str(tmp_path), "COLUMNS": "300"}
        done = subprocess.run(
            command, cwd=tests, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_golden_file_is_written_once_and_compared_afterwards(
    run_suite: RunSuite, tmp_path: Path
) -> None:
    code, output = run_suite(GOLDEN_TEST)
    assert code == 1
    assert "run this test with --update-golden" in output
    assert run_suite(GOLDEN_TEST, "--update-golden")[0] == 0
    assert run_suite(GOLDEN_TEST)[0] == 0
    (tmp_path / "repo/tests/golden/a.txt").write_text("old\n")
    code, output = run_suite(GOLDEN_TEST)
    assert code == 1
    assert "differs from tests/golden/a.txt" in output


def test_ci_refuses_to_rewrite_golden_files(run_suite: RunSuite, tmp_path: Path) -> None:
    code, output = run_suite(GOLDEN_TEST, "--update-golden", ci="true")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "refused in CI" in output
    assert not (tmp_path / "repo/tests/golden").exists()


@pytest.mark.parametrize(
    ("marker", "package"),
    [("arm", "gcc-arm-none-eabi"), ("qemu", "qemu-system-arm"), ("renode", "renode-test")],
)
def test_a_missing_tool_skips_and_names_what_to_install(
    run_suite: RunSuite, marker: str, package: str
) -> None:
    code, output = run_suite(MARKED_TEST.format(marker=marker))
    assert code == 0
    assert "1 skipped" in output
    assert package in output


@pytest.mark.parametrize(("marker", "expected"), [("arm", 1), ("qemu", 1), ("renode", 0)])
def test_in_ci_a_missing_tool_fails_unless_it_is_optional(
    run_suite: RunSuite, marker: str, expected: int
) -> None:
    code, output = run_suite(MARKED_TEST.format(marker=marker), ci="true")
    assert code == expected
    assert ("CI must have" in output) == bool(expected)


def test_absent_shared_models_skip_with_the_reason(run_suite: RunSuite) -> None:
    code, output = run_suite("def test_it(shared_dir):\n    pass\n")
    assert code == 0
    assert "needs the folder `shared`" in output


READING_TEST = """
import pathlib
import pytest
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"
@pytest.fixture
def data():
    return (SHARED / "models/a.tflite").read_bytes()
def test_a_fixture(data):
    pass
def test_a_function():
    try:
        (SHARED / "cases/a.tflite").read_bytes()
    except OSError as cause:
        raise ValueError("no model") from cause
def test_another_file():
    pathlib.Path("elsewhere").read_bytes()
"""


def test_what_is_not_beside_the_checkout_skips_its_tests_alone(
    run_suite: RunSuite, tmp_path: Path
) -> None:
    """A clone has no `shared`; where its folders are, a file that lacks is a failure."""
    code, output = run_suite(READING_TEST)
    assert code == 1
    assert "1 failed, 2 skipped" in output
    assert "needs the folder `shared/models` beside the checkout" in output
    assert "needs the folder `shared/cases` beside the checkout" in output
    for name in ("models", "cases"):
        (tmp_path / "shared" / name).mkdir(parents=True)
    assert "2 failed, 1 error" in run_suite(READING_TEST)[1]
