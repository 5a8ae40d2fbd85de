"""Several models and several instances in one firmware: one arena in turns, or an arena each."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from glowmcu.board import find_board
from glowmcu.cores import core
from glowmcu.manifest import read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.elf import read_program
from glowmcu.verify.cortex_m.machine import Machine
from glowmcu.verify.firmware import SEMIHOSTING, firmware_view, write_firmware
from glowmcu.verify.host import Host
from glowmcu.verify.qemu import QEMU
from glowmcu.verify.verification import random_inputs
from tests.bundle.conftest import BundleOf
from tests.bundle.models import BUILT, SHARED_NAMES
from tests.bundle.test_use import build, run_program

PAIRS = [
    pytest.param(("digits", "float_borders"), id="digits and float_borders"),
    pytest.param(("kws", "ad"), id="kws and ad", marks=pytest.mark.slow),
]
EVERY = [*BUILT, *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED_NAMES)]

SHARED_ARENA = """{includes}
static GLOWMCU_SHARED_ARENA(arena, {first}_ARENA_BYTES, {second}_ARENA_BYTES);
GLOWMCU_STATIC_ASSERT(
    sizeof arena == GLOWMCU_LARGER({first}_ARENA_BYTES, {second}_ARENA_BYTES), no_byte_more);
"""
MAIN = """int main(void)
{{
    int32_t wrong = ((uintptr_t)arena % {first}_ARENA_ALIGN) != 0;

    {open}
    for (int turn = 0; turn < 3; ++turn) {{
        wrong += {one}_selftest(arena);
        wrong += {two}_selftest(arena);
    }}
    {close}
}}
"""


def program(names: Sequence[str], includes: str = "", opened: str = "", close: str = "") -> str:
    """Self tests of two models by turns in one arena."""
    one, two = names
    text = "".join(f'#include "{name}_selftest.h"\n' for name in names) + includes
    words = {"one": one, "two": two, "first": one.upper(), "second": two.upper()}
    words |= {"includes": text, "open": opened, "close": close or "return wrong == 0 ? 0 : 1;"}
    return (SHARED_ARENA + MAIN).format(**words)


def all_sources(bundles: Sequence[Path]) -> list[Path]:
    found = []
    for bundle in bundles:
        manifest = read_manifest(bundle)
        found += [bundle / source for source in manifest.sources]
        found.append(bundle / "selftest" / f"{manifest.name}_selftest.c")
    return found


@pytest.mark.parametrize("names", PAIRS)
def test_two_models_take_turns_in_one_arena(
    names: tuple[str, str], bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundles = [bundle_of(name) for name in names]
    done = build(tmp_path, program(names), bundles, ["-O1", "-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_an_arena_of_the_smaller_model_is_too_small_for_both(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    """The negative control: the sanitizer sees it."""
    names = ("digits", "float_borders")
    text = program(names).replace("GLOWMCU_LARGER(", "GLOWMCU_LEAST(")
    least = "#define GLOWMCU_LEAST(a, b) ((a) < (b) ? (a) : (b))\n"
    text = text.replace("static GLOWMCU_SHARED_ARENA", f"{least}#undef GLOWMCU_LARGER\n"
                        "#define GLOWMCU_LARGER(a, b) GLOWMCU_LEAST(a, b)\n"
                        "static GLOWMCU_SHARED_ARENA")  # fmt: skip
    bundles = [bundle_of(name) for name in names]
    done = build(tmp_path, text, bundles, ["-fsanitize=address"])
    assert done.returncode == 0, done.stderr
    assert b"AddressSanitizer" in run_program(tmp_path).stderr


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("names", PAIRS)
def test_two_models_take_turns_on_an_emulated_board(
    names: tuple[str, str], bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundles = [bundle_of(name) for name in names]
    board = find_board("mps2-an386")
    view = firmware_view(read_manifest(bundles[0]), board, core(board.core))
    support = write_firmware(view, SEMIHOSTING, tmp_path)
    (tmp_path / "main.c").write_text(
        program(names, '#include "port.h"\n#include "text.h"\nvoid systick_handler(void);\n'
                "void systick_handler(void)\n{\n}\n", "port_open();",
                'text_number("wrong ", (uint32_t)wrong);\n    port_print(" bytes\\n");\n'
                "    port_exit(wrong == 0 ? 0 : 1);")
    )  # fmt: skip
    (tmp_path / "inputs.bin").touch()
    includes = [tmp_path, *bundles, *(bundle / "selftest" for bundle in bundles)]
    sources = [source for source in support if "measure" not in source.name]
    elf = toolchain.build_elf(
        [*sources, *all_sources(bundles)], includes, core(board.core).flags, tmp_path / "two.elf",
        tmp_path / "link.ld",
    )  # fmt: skip
    done = subprocess.run(
        [QEMU, "-machine", "mps2-an386", "-kernel", str(elf), "-display", "none", "-monitor",
         "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "wrong 0 bytes" in done.stdout + done.stderr, done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.arm
def test_two_models_take_turns_on_a_modelled_core(bundle_of: BundleOf, tmp_path: Path) -> None:
    """Memory beside the arena faults there, and canaries are looked at after each run."""
    names = ("digits", "two_in_two_out")
    bundles = {name: bundle_of(name) for name in names}
    manifests = {name: read_manifest(bundle) for name, bundle in bundles.items()}
    calls = "".join(f"void {name}_run(void *arena);\n" for name in names)
    keep = "".join(f"{name}_run, " for name in names)
    (tmp_path / "both.c").write_text(
        f"{calls}void *const both[] = {{ (void *){keep.replace(', ', ', (void *)')}(void *)0 }};\n"
    )
    script = tmp_path / "both.ld"
    script.write_text(
        "SECTIONS { . = 0x08000000; .text : { *(.text .text.*) KEEP(*(.rodata.both)) "
        "*(.rodata .rodata.*) } }\nENTRY(digits_run)\n"
    )
    sources = [tmp_path / "both.c"]
    sources += [bundles[name] / s for name in names for s in manifests[name].sources]
    m4 = core("cortex-m4")
    elf = toolchain.build_elf(
        sources, [*bundles.values()], m4.flags, tmp_path / "both.elf", script, ["-Wno-pedantic"]
    )
    size = max(manifest.arena_bytes for manifest in manifests.values())
    machine = Machine(read_program(elf), m4, size, 16)
    machine.reset()
    for turn in range(2):
        for name in names:
            manifest = manifests[name]
            inputs = random_inputs(manifest, 1, turn)[0]
            for entry, array in zip(manifest.inputs, inputs, strict=True):
                machine.write_arena(entry.offset, array.tobytes())
            machine.call(f"{name}_run", [machine.arena_address], 10)
            (want,) = Host().run(bundles[name], [inputs])
            for entry, output in zip(manifest.outputs, want.outputs, strict=True):
                got = machine.read_arena(entry.offset, entry.bytes)
                assert got == output.tobytes(), f"{name}, turn {turn}"


THREADS = """#include "digits_selftest.h"
#include <pthread.h>

static DIGITS_ARENA(first);
static DIGITS_ARENA(second);

static void *instance(void *arena)
{
    static const char failed = 1;
    int32_t wrong = 0;

    for (int turn = 0; turn < 20; ++turn) {
        wrong += digits_selftest(arena);
    }
    return (wrong == 0) ? NULL : (void *)(uintptr_t)&failed;
}

int main(void)
{
    pthread_t other;
    void *result = NULL;
    void *own;

    if (pthread_create(&other, NULL, instance, second) != 0) {
        return 2;
    }
    own = instance(first);
    if (pthread_join(other, &result) != 0) {
        return 3;
    }
    return (own == NULL && result == NULL) ? 0 : 1;
}
"""


def test_two_instances_run_at_once_in_two_threads(bundle_of: BundleOf, tmp_path: Path) -> None:
    flags = ["-O1", "-pthread", "-fsanitize=thread"]
    done = build(tmp_path, THREADS, [bundle_of("digits")], flags)
    assert done.returncode == 0, done.stderr
    ran = run_program(tmp_path)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_two_threads_in_one_arena_are_a_race(bundle_of: BundleOf, tmp_path: Path) -> None:
    """The negative control: the thread sanitizer sees it."""
    main = THREADS.replace("instance, second)", "instance, first)")
    main = main.replace("static DIGITS_ARENA(second);\n", "")
    done = build(tmp_path, main, [bundle_of("digits")], ["-O1", "-pthread", "-fsanitize=thread"])
    assert done.returncode == 0, done.stderr
    assert b"data race" in run_program(tmp_path).stderr


def variables(compiler: Sequence[str], bundle: Path, folder: Path) -> list[str]:
    """What of a bundle's objects is in RAM besides the arena."""
    found = []
    for source in read_manifest(bundle).sources:
        output = folder / f"{source}.o"
        subprocess.run(
            [*compiler, "-std=c99", "-O2", f"-I{bundle}", "-c", str(bundle / source), "-o",
             str(output)],
            check=True,
        )  # fmt: skip
        listed = subprocess.run(
            ["nm", "-f", "posix", str(output)], capture_output=True, text=True, check=True
        )
        rows = [line.split() for line in listed.stdout.splitlines()]
        found += [row[0] for row in rows if row[1] in "bBdDcCsS"]
    return found


@pytest.mark.arm
@pytest.mark.parametrize("name", EVERY)
def test_a_bundle_has_no_variable_of_its_own(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    """What two instances could share: everything that changes lies in the arena."""
    bundle = bundle_of(name)
    arm = [str(toolchain.find_gcc()), *core("cortex-m4").flags]
    assert variables(arm, bundle, tmp_path) == []
    assert variables(["gcc", "-fno-pic"], bundle, tmp_path) == []


def test_a_variable_would_be_found(bundle_of: BundleOf, tmp_path: Path) -> None:
    source = tmp_path / "bundle" / "m.c"
    source.parent.mkdir()
    source.write_text("static int calls;\nint f(void);\nint f(void) { return ++calls; }\n")
    text = (bundle_of("digits") / "manifest.json").read_text()
    manifest = text.replace('"digits.c"', '"m.c"').replace('"digits_weights.c",', "")
    (source.parent / "manifest.json").write_text(manifest.replace('"digits_model.c"', '"m.c"'))
    assert "calls" in variables(["gcc"], source.parent, tmp_path)
