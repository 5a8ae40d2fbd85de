"""Fixtures and rules for every test: shared models, golden files, tools that may be missing."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

from glowmcu import host_compiler
from glowmcu.verify import toolchain

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared"
IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")

# Two busy cores make single examples slow; CI must not depend on the luck of the draw.
hypothesis.settings.register_profile("glowmcu", deadline=None)
hypothesis.settings.register_profile("glowmcu-ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("glowmcu-ci" if IN_CI else "glowmcu")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden from today's output"
    )
    parser.addoption(
        "--long", choices=("no", "also", "only"), default="no",
        help="tests of long_tests.txt: left out unless named, run as well, or nothing else",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    # Bundles of tests are small: compiling them costs more than running them does.
    # `tests/bundle/test_compilers.py` has all levels.
    host_compiler.LEVEL = "-O0"
    if config.getoption("--update-golden") and IN_CI:
        raise pytest.UsageError("--update-golden is refused in CI: golden files are reviewed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # What is imported stays: looking through it for garbage takes a quarter of the collection's
    # time, and then a twentieth of the tests'.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000, 20, 20)  # as seldom as memory allows: 700 objects come soon


# --- long tests ----------------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which = config.getoption("--long")
    if which == "also" or any("::" in argument for argument in config.args):
        return
    # Read here: this file is used without the rest of the repository, too.
    list_file = Path(__file__).with_name("long_tests.txt")
    listed = set(list_file.read_text(encoding="utf-8").splitlines()) if list_file.exists() else ()
    left_out = [item for item in items if (item.nodeid in listed) != (which == "only")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if (item.nodeid in listed) == (which == "only")]


# --- tools ---------------------------------------------------------------------------------------


def _missing_for_arm() -> str | None:
    lacking = toolchain.missing()
    return f"the Arm compiler: {lacking}" if lacking else None


def _missing_for_qemu() -> str | None:
    if shutil.which("qemu-system-arm") is None:
        return "qemu-system-arm (Debian package qemu-system-arm)"
    return _missing_for_arm()


def _missing_for_renode() -> str | None:
    if shutil.which("renode-test") is None:
        return "renode-test (Renode's portable package, on PATH)"
    return _missing_for_arm()


def _missing_for_riscv() -> str | None:
    wanted = {
        "qemu-system-riscv32": "qemu-system-misc",
        "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf",
    }
    for program, package in wanted.items():
        if shutil.which(program) is None:
            return f"{program} (Debian packages {package})"
    return None


MISSING = {
    "arm": _missing_for_arm,
    "qemu": _missing_for_qemu,
    "renode": _missing_for_renode,
    "riscv": _missing_for_riscv,
}
OPTIONAL_IN_CI = {"renode"}  # too large for every run; CI has a job of its own


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, missing in MISSING.items():
        if item.get_closest_marker(marker) is None:
            continue
        what = missing()
        if what is None:
            continue
        if IN_CI and marker not in OPTIONAL_IN_CI:
            pytest.fail(f"CI must have {what}", pytrace=False)
        pytest.skip(f"needs {what}")


# --- files beside the checkout -------------------------------------------------------------------


def _skip_without_shared(cause: BaseException | None) -> None:
    """Skip where `cause`, or what led to it, is a file of a folder of `shared` that is not there.

    A file that is missing from a folder that is there stays a failure.
    """
    while cause is not None:
        if isinstance(cause, FileNotFoundError) and isinstance(cause.filename, (str, Path)):
            folder = SHARED.joinpath(*Path(cause.filename).parts[len(SHARED.parts) :][:1])
            if Path(cause.filename).is_relative_to(SHARED) and not folder.is_dir():
                pytest.skip(f"needs the folder `shared/{folder.name}` beside the checkout")
        cause = cause.__cause__ or cause.__context__


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    try:
        return (yield)
    except Exception as cause:
        _skip_without_shared(cause)
        raise


pytest_fixture_setup = pytest_pyfunc_call  # fixtures read files, too


# --- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Folder of models and operator cases beside the checkout, too large to be part of it."""
    if not (SHARED / "models").is_dir():
        pytest.skip("needs the folder `shared` (models, cases) beside the checkout")
    return SHARED


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("kws.h", text)` compares with tests/golden/kws.h; `--update-golden` rewrites that."""
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        path = Path(__file__).resolve().parent / "golden" / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return
        assert path.is_file(), f"no tests/golden/{name}: run this test with --update-golden"
        assert text == path.read_bytes().decode(), f"differs from tests/golden/{name}"

    return check
