"""The cross compiler wrapper: what it finds, what it says when something is wrong, code sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu import compile, installation
from glowmcu.cores import core, core_names
from glowmcu.errors import GlowmcuError
from glowmcu.verify import toolchain
from tests.bundle.models import digits
from tests.verify.tiny_bundle import write_tiny_bundle

needs_gcc = pytest.mark.skipif(toolchain.missing() is not None, reason=str(toolchain.missing()))
pytestmark = pytest.mark.arm
M4 = core("cortex-m4").flags
SCRIPT = "SECTIONS { . = 0x08000000; .text : { *(.text .text.*) } }\nENTRY(f)\n"


def build(folder: Path, text: str) -> Path:
    source, script = folder / "f.c", folder / "f.ld"
    source.write_text(text, encoding="utf-8")
    script.write_text(SCRIPT, encoding="utf-8")
    return toolchain.build_elf([source], (), M4, folder / "f.elf", script)


def program(folder: Path, text: str) -> Path:
    """A shell script in the place of a compiler."""
    path = folder / "fake-gcc"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def sizes_of(bundle: Path, core_name: str = "cortex-m4") -> toolchain.CodeSize:
    sources = [bundle / "tiny.c", bundle / "tiny_weights.c"]
    return toolchain.code_size(sources, [bundle], core(core_name).flags, "tiny_run")


def test_a_missing_compiler_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(toolchain.GCC_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installation.ARM_COMPILER.advice in (toolchain.missing() or "")
    with pytest.raises(GlowmcuError) as caught:
        build(tmp_path, "void f(void) {}")
    assert caught.value.code == "GM610"
    assert installation.ARM_COMPILER.advice in str(caught.value)


def test_the_environment_names_another_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program(tmp_path, "echo other")
    monkeypatch.setenv(toolchain.GCC_VARIABLE, str(other))
    assert toolchain.missing() is None
    assert toolchain.find_gcc() == other
    assert toolchain.run_gcc(["--version"], ()) == "other\n"


def test_a_compiler_that_the_environment_names_wrongly_is_not_replaced_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(toolchain.GCC_VARIABLE, "/nowhere/gcc")
    assert toolchain.missing() == (
        "GLOWMCU_ARM_GCC names /nowhere/gcc, which is not a program that can be run"
    )


def compiler_with(folder: Path, *files: str) -> Path:
    """One that finds these files of a C library; asked for others it says the bare name."""
    found = " ".join(f"-print-file-name={file}) echo /library/{file};;" for file in files)
    rest = "-print-file-name=*) echo ${1#-print-file-name=};;"
    return program(
        folder,
        f"case $1 in {found} {rest} -E) exit 0;; *) echo 'string.h: error' >&2; exit 1;; esac",
    )


def test_a_compiler_without_a_c_library_is_missing_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Homebrew's formula of that name is, or Debian's package alone."""
    monkeypatch.setenv(toolchain.GCC_VARIABLE, str(compiler_with(tmp_path)))
    advice = installation.ARM_COMPILER.advice
    said = f"fake-gcc has no C library (newlib or picolibc): {advice}"
    assert toolchain.missing(M4) == said
    with pytest.raises(GlowmcuError) as caught:
        build(tmp_path, "void f(void) {}")
    assert caught.value.code == "GM611"
    assert caught.value.problems[0].hint == said


@pytest.mark.parametrize(
    ("files", "flags"),
    [(("libc.a",), []), (("picolibc.specs",), ["--specs=picolibc.specs"])],
)
def test_picolibc_is_taken_where_it_is_the_only_library(
    files: tuple[str, ...], flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(toolchain.GCC_VARIABLE, str(compiler_with(tmp_path, *files)))
    assert toolchain.missing(M4) is None
    assert toolchain.compile_flags((), M4) == [*M4, *flags, *toolchain.DEFAULT_FLAGS]


def test_a_compiler_that_is_older_than_the_core_is_missing_for_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ubuntu 20.04's is for a Cortex-M55: a bundle needs none, and was refused."""
    said = "gcc: error: unrecognized -mcpu target: cortex-m55"
    old = program(tmp_path, f"case $* in *m55*) echo '{said}' >&2; exit 1;; esac; echo /a/libc.a")
    monkeypatch.setenv(toolchain.GCC_VARIABLE, str(old))
    assert toolchain.missing(M4) is None
    assert said in (toolchain.missing(core("cortex-m55").flags) or "")
    bundle = compile(digits(), board="mps3-an547", output=tmp_path / "bundle")
    assert bundle.report.code_bytes is None
    assert said in (bundle.missing_compiler or "")


def test_a_compiler_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(toolchain.GCC_VARIABLE, str(program(tmp_path, "exec sleep 20")))
    monkeypatch.setattr(toolchain, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(GlowmcuError, match="ran longer than") as caught:
        toolchain.run_gcc([], ["kws.c"])
    assert caught.value.code == "GM613"


@needs_gcc
def test_a_source_that_does_not_compile_shows_the_first_error_lines(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        build(tmp_path, "void f(void) { missing_name = 1; }")
    assert caught.value.code == "GM611"
    assert "'missing_name' undeclared" in str(caught.value)
    assert caught.value.problems[0].where == "f.c"


@needs_gcc
def test_a_program_that_does_not_link_names_the_symbol(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        build(tmp_path, "void g(void); void f(void) { g(); }")
    assert caught.value.code == "GM612"
    assert "undefined reference to `g'" in str(caught.value)


@needs_gcc
def test_an_include_that_is_forced_reaches_the_source(tmp_path: Path) -> None:
    header = tmp_path / "forced.h"
    header.write_text("#define ANSWER 42\n", encoding="utf-8")
    source, script = tmp_path / "f.c", tmp_path / "f.ld"
    source.write_text("int f(void) { return ANSWER; }\n", encoding="utf-8")
    script.write_text(SCRIPT, encoding="utf-8")
    elf = toolchain.build_elf([source], (), M4, tmp_path / "f.elf", script, force_include=[header])
    assert elf.read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize("core_name", core_names())
def test_every_core_compiles_a_bundle(tmp_path: Path, core_name: str) -> None:
    lacking = toolchain.missing(core(core_name).flags)
    if lacking is not None:
        pytest.skip(lacking)
    sizes = sizes_of(write_tiny_bundle(tmp_path), core_name)
    assert 100 < sizes.text_bytes < 400
    assert sizes.constant_bytes == 464
    assert sizes.data_bytes == 0


@needs_gcc
def test_code_size_counts_only_what_the_run_function_reaches(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path)
    before = sizes_of(bundle)
    with (bundle / "tiny.c").open("a", encoding="utf-8") as stream:
        stream.write("int tiny_unused(int a); int tiny_unused(int a) { return a / 3 + a % 7; }\n")
    assert sizes_of(bundle) == before
    assert [name for name, _ in before.functions] == ["tiny_run"]
    assert before.text_bytes == sum(size for _, size in before.functions)


@needs_gcc
def test_code_size_shows_statics_and_the_c_library_apart(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(
        tmp_path,
        fault="memcpy(base, copy, (size_t)base[0]);",
        helpers="static int8_t copy[24] = {1};",
    )
    plain = sizes_of(write_tiny_bundle(tmp_path / "plain"))
    sizes = sizes_of(bundle)
    assert plain.library_bytes == 0 < sizes.library_bytes
    assert sizes.text_bytes - plain.text_bytes < 40
    written = sizes_of(
        write_tiny_bundle(
            tmp_path / "written",
            fault="copy[base[0]] = base[1]; base[2] = copy[base[3]];",
            helpers="static int8_t copy[24] = {1};",
        )
    )
    assert written.data_bytes == 24
