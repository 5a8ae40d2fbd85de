"""Files of two compilations never build into one program: every mix ends in `#error`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glowmcu import compiler_digest as digest_module
from glowmcu.compilation import Options
from glowmcu.compiler_digest import compiler_digest
from glowmcu.emit_c import bundle_files, contract
from glowmcu.instrument import Instrument
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.resources import find_resource
from tests.bundle.conftest import BundleOf
from tests.bundle.models import model_bytes
from tests.bundle.test_use import build, selftest_program
from tests.support.check_model import write_bundle
from tests.support.kernel_files import header_paths

HEADERS = list(header_paths())


def with_model(program: str, name: str) -> str:
    """The program, which now knows the bundle as data, too."""
    return f'#include "{name}_model.h"\n{program}'


def is_only_for_arm(name: str) -> bool:
    """Whether this computer's compiler does not include the header."""
    return "armv6m" in name or "armv7m" in name


def preprocess(bundle: Path, folder: Path, program: str) -> str:
    """What gcc says to a program and to all sources of the bundle, without compiling them."""
    (folder / "main.c").write_text(program, encoding="utf-8")
    files = [str(folder / "main.c"), *map(str, sorted(bundle.rglob("*.c")))]
    includes = [f"-I{bundle}", f"-I{bundle / 'selftest'}"]
    command = ["gcc", "-std=c99", "-E", *includes, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def newer_digits(folder: Path, monkeypatch: pytest.MonkeyPatch, board: str) -> Path:
    """The bundle of a compiler whose libjit has one more line of code in every header."""

    def newer_closure(headers: tuple[str, ...]) -> dict[str, str]:
        return {
            file: text.replace("\n#endif", "\n#define GLOWMCU_NEWER 1\n#endif")
            for file, text in closure(headers).items()
        }

    closure = bundle_files.libjit_closure
    with monkeypatch.context() as patch:
        patch.setattr(bundle_files, "libjit_closure", newer_closure)
        options = Options("digits", board, "cortex-m0" if board == "microbit" else "cortex-m4")
        return write_bundle(compile_model(model_bytes("digits"), "digits.tflite", options), folder)


@pytest.fixture(params=["nrf52", "microbit"])
def versions(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Bundles of one model by an older and a newer compiler."""
    board = request.param
    core = "cortex-m0" if board == "microbit" else "cortex-m4"
    made = compile_model(model_bytes("digits"), "digits.tflite", Options("digits", board, core))
    older = write_bundle(made, tmp_path / "older")
    return older, newer_digits(tmp_path / "newer", monkeypatch, board)


def test_one_file_of_another_version_is_an_error_whichever_it_is(
    versions: tuple[Path, Path], tmp_path: Path
) -> None:
    older, newer = versions
    files = [path.relative_to(older) for path in sorted(older.rglob("*.[ch]"))]
    assert len(files) > 12
    program = with_model(selftest_program("digits", older), "digits")
    for number, file in enumerate(files):
        for base, other in ((older, newer), (newer, older)):
            mixed = tmp_path / f"mixed{number}{base.name}"
            shutil.copytree(base, mixed)
            assert (mixed / file).read_bytes() != (other / file).read_bytes(), file
            shutil.copy(other / file, mixed / file)
            said = preprocess(mixed, tmp_path, program)
            if is_only_for_arm(file.name):
                assert not said
                continue
            assert "error: #error" in said, f"{file} of {other.name}"
            assert "do not mix files of bundles" in said


@pytest.mark.arm
def test_headers_that_only_the_target_includes_are_checked_there(
    versions: tuple[Path, Path],
) -> None:
    older, newer = versions
    names = [path.name for path in older.glob("glowmcu_*armv6m.h")]
    if not names:
        return  # the kernels of this board have none
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-std=c99", "-c", "-o/dev/null"]
    for name in names:
        shutil.copy(newer / name, older / name)
        done = subprocess.run(
            [*compiler, str(older / "digits.c")], capture_output=True, text=True, check=False
        )
        assert "error: #error" in done.stderr, name


def test_a_header_from_before_guards_had_values_is_an_error(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("digits")
    program = with_model(selftest_program("digits", bundle), "digits")
    for path in sorted(bundle.glob("glowmcu_*.h")):
        mixed = tmp_path / path.stem
        shutil.copytree(bundle, mixed)
        shutil.copy(find_resource("libjit", path.name), mixed / path.name)
        said = preprocess(mixed, tmp_path, program)
        assert "error: #error" in said or is_only_for_arm(path.name), path.name


def test_files_of_two_models_with_one_name_do_not_mix(bundle_of: BundleOf, tmp_path: Path) -> None:
    """The same compiler and libjit, another model: the weights are not for this code."""
    other = compile_model(model_bytes("one_element"), "m.tflite", Options("digits"))
    files = [file for file in other.files if file.endswith((".c", ".h")) and "digits" in file]
    assert len(files) == 8
    for file in files:
        mixed = tmp_path / file.replace("/", "_")
        shutil.copytree(bundle_of("digits"), mixed)
        for header in other.files:
            if header.startswith("glowmcu_") and not (mixed / header).exists():
                (mixed / header).write_text(other.files[header], encoding="utf-8")
        (mixed / file).write_text(other.files[file], encoding="utf-8")
        program = with_model(selftest_program("digits", mixed), "digits")
        assert "error: #error" in preprocess(mixed, tmp_path, program), file


def test_bundles_of_one_version_share_one_set_of_headers(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    names = ["digits", "two_in_two_out", "float_borders"]
    for name in names:
        bundle = tmp_path / name
        shutil.copytree(bundle_of(name), bundle)
        for path in bundle.glob("glowmcu_*.h"):
            known = shared / path.name
            assert not known.exists() or known.read_bytes() == path.read_bytes()
            path.replace(known)
    program = "int main(void)\n{\n    return 0;\n}\n"
    program = "".join(f'#include "{name}_selftest.h"\n' for name in names) + program
    done = build(tmp_path, program, [tmp_path / name for name in names], [f"-I{shared}"])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", HEADERS)
def test_the_guard_of_every_libjit_header_can_carry_a_digest(file: str) -> None:
    text = header_paths()[file].read_text(encoding="utf-8")
    assert re.search(rf"^#ifndef {contract.header_guard(file)}\n#define ", text, re.MULTILINE)
    made = contract.stamped(file, text)
    assert len(made) - len(text) == len(" 0x12345678u")
    (check,) = contract.header_checks({file: text})
    assert f"#define {check.guard} {check.digest}\n" in made


def test_comments_may_differ_between_headers_and_code_may_not() -> None:
    text = "/* a */\n#define A 1 /* b\n c */\n"
    assert contract.header_digest(text) == contract.header_digest("#define A 1\n")
    assert contract.header_digest(text) != contract.header_digest("#define A 2\n")


def test_the_bundle_says_which_compiler_made_it(
    bundle_of: BundleOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = bundle_of("digits")
    said = compiler_digest()
    assert read_manifest(bundle).compiler == said
    assert f"(sources {said})" in (bundle / "digits.h").read_text(encoding="utf-8")
    package = tmp_path / "glowmcu"
    package.mkdir()
    (package / "version.py").write_text("x = 1\n")
    monkeypatch.setattr(digest_module, "__file__", str(package / "compiler_digest.py"))
    first = compiler_digest.__wrapped__()
    (package / "other.py").write_text("x = 2\r\n", newline="")
    second = compiler_digest.__wrapped__()
    (package / "other.py").write_text("x = 2\n")
    assert said != first != second == compiler_digest.__wrapped__()
    (package / "other.py").write_text("x = 3\n")
    assert second != compiler_digest.__wrapped__()


def test_files_that_did_not_change_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    said = compiler_digest.__wrapped__()

    def read(_: Path) -> bytes:
        raise AssertionError("read again")

    monkeypatch.setattr(Path, "read_bytes", read)
    assert compiler_digest.__wrapped__() == said


def test_instrumented_bundles_check_the_headers_of_their_observer(tmp_path: Path) -> None:
    options = Options("digits", "nrf52", "cortex-m4", instrument=Instrument.TENSORS)
    made = compile_model(model_bytes("digits"), "digits.tflite", options)
    bundle = write_bundle(made, tmp_path / "digits")
    assert f"{contract.header_guard('glowmcu_observer.h')} + 0 != 0x" in made.files["digits.h"]
    done = build(tmp_path, selftest_program("digits", bundle), [bundle])
    assert done.returncode == 0, done.stderr
