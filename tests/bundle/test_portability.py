"""The same bytes where `int` has 16 bits (AVR), where the high byte comes first (PowerPC), where
`char` has no sign and products and sums are fused (Arm64), and on Xtensa, which faults on a word
that is not aligned.

The self test of every model runs in an emulator: it holds the outputs of the Python reference.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest

from glowmcu.compilation import Options
from glowmcu.pipeline import compile_model
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.bundle.models import BUILT, SHARED_NAMES, model_bytes
from tests.hostile.operator_models import OPERATOR_MODELS
from tests.support.check_model import write_bundle

#: Kernels for DSP and Helium have a portable branch that must not depend on the size of int.
CORES = ("generic", "cortex-m4", "cortex-m55")
#: Models whose kernels for these cores pack constants.
PACKED = ("digits", "convolution", "matmul", "elementwise", "pooling", "strides_in_time")
REFUSAL = "glowmcu_little_endian.h"
MODELS: dict[str, Callable[[], bytes]] = {**BUILT, **OPERATOR_MODELS}
FOR_ALL = [*((name, "generic") for name in MODELS), *product(PACKED, CORES[1:])]

XTENSA = Path(__file__).resolve().parents[1] / "support" / "xtensa"
#: The headers of a C library, of which bundles take prototypes alone.
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/include")

XTENSA_MAIN = """#include "net_selftest.h"
static NET_ARENA(arena);
int main(void);
int main(void)
{
    return (int)net_selftest(arena);
}
"""
POSIX_MAIN = """#include <stdio.h>
#include "net_selftest.h"
static NET_ARENA(arena);
int main(void)
{
    printf("wrong bytes: %ld\\n", (long)net_selftest(arena));
    return 0;
}
"""
# simavr prints what goes to the UART and ends when the core sleeps for good.
AVR_MAIN = """#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include "net_selftest.h"
static NET_ARENA(arena);
static void text(const char *next)
{
    while (*next != '\\0') {
        while ((UCSR0A & (1 << UDRE0)) == 0) {
        }
        UDR0 = (uint8_t)*next++;
    }
}
int main(void)
{
    UCSR0B = 1 << TXEN0;
    text(net_selftest(arena) == 0 ? "wrong bytes: 0" : "wrong bytes: some");
    text("\\n");
    cli();
    sleep_mode();
    for (;;) {
    }
}
"""


def bundle_of(model: bytes, core: str, tmp_path: Path) -> Path:
    return write_bundle(compile_model(model, "net.tflite", Options("net", core=core)), tmp_path)


def need(*programs: str) -> None:
    for program, package in zip(programs[::2], programs[1::2], strict=True):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (Debian package {package})")


def build(
    gcc: str, flags: list[str], bundle: Path, main: str, more: Sequence[str] = ()
) -> Path:  # fmt: skip
    """The self test as a program; not a warning is allowed."""
    (bundle / "main.c").write_text(main)
    sources = ["main.c", "net.c", "net_weights.c", "selftest/net_selftest.c", *more]
    command = [gcc, *flags, *STRICT_FLAGS, "-O2", "-I.", "-Iselftest", *sources, "-o", "program"]
    done = subprocess.run(command, cwd=bundle, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return bundle / "program"


def run_on_powerpc(bundle: Path) -> str:
    need("powerpc-linux-gnu-gcc", "gcc-powerpc-linux-gnu", "qemu-ppc", "qemu-user")
    program = build("powerpc-linux-gnu-gcc", ["-static"], bundle, POSIX_MAIN)
    done = subprocess.run(["qemu-ppc", program], capture_output=True, text=True, check=True)
    return done.stdout


def run_on_arm64(bundle: Path) -> str:
    """Fused as by a firmware's flags: -std=c99 alone forbids it."""
    need("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "qemu-aarch64", "qemu-user")
    flags = ["-static", "-ffp-contract=fast"]
    program = build("aarch64-linux-gnu-gcc", flags, bundle, POSIX_MAIN)
    done = subprocess.run(["qemu-aarch64", program], capture_output=True, text=True, check=True)
    return done.stdout


def run_on_avr(bundle: Path) -> str:
    need("avr-gcc", "gcc-avr", "simavr", "simavr")
    program = build("avr-gcc", ["-mmcu=atmega1284p"], bundle, AVR_MAIN)
    command = ["simavr", "-m", "atmega1284p", "-f", "20000000", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout + done.stderr


def run_on_xtensa(bundle: Path) -> int:
    """What the self test returns: the emulator ends with its lowest byte."""
    need("xtensa-lx106-elf-gcc", "gcc-xtensa-lx106", "qemu-system-xtensa", "qemu-system-misc")
    if not PICOLIBC.is_dir():
        pytest.skip("needs a C library's headers (Debian package picolibc-riscv64-unknown-elf)")
    flags = ["-ffreestanding", "-isystem", str(PICOLIBC)]
    command = ["xtensa-lx106-elf-gcc", "-O1", "-std=c99", *flags, "-c", XTENSA / "runtime.c"]
    subprocess.run(command, cwd=bundle, check=True)
    link = ["-nostdlib", "-ffunction-sections", "-Wl,--gc-sections", "-T", str(XTENSA / "sim.ld")]
    more = [str(XTENSA / "start.S"), "runtime.o", "-lgcc"]
    program = build("xtensa-lx106-elf-gcc", [*flags, *link], bundle, XTENSA_MAIN, more)
    done = subprocess.run(
        ["qemu-system-xtensa", "-M", "sim", "-cpu", "lx106", "-m", "64M", "-semihosting",
         "-display", "none", "-monitor", "none", "-serial", "none",
         "-device", f"loader,file={program},cpu-num=0"],
        check=False, timeout=300,
    )  # fmt: skip
    return done.returncode


@pytest.mark.parametrize("name", MODELS)
def test_big_endian_computes_the_reference_s_bytes(name: str, tmp_path: Path) -> None:
    bundle = bundle_of(MODELS[name](), "generic", tmp_path / "net")
    assert not (bundle / REFUSAL).exists()
    assert "wrong bytes: 0" in run_on_powerpc(bundle)


@pytest.mark.parametrize("core", CORES[1:])
@pytest.mark.parametrize("name", PACKED)
def test_kernels_for_little_endian_cores_are_right_or_refuse_to_compile(
    name: str, core: str, tmp_path: Path
) -> None:
    bundle = bundle_of(MODELS[name](), core, tmp_path / "net")
    if not (bundle / REFUSAL).exists():
        assert "wrong bytes: 0" in run_on_powerpc(bundle)
        return
    with pytest.raises(AssertionError, match=r"#error .*little-endian.* --board generic"):
        run_on_powerpc(bundle)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED_NAMES)
def test_big_endian_computes_real_models(name: str, tmp_path: Path) -> None:
    bundle = bundle_of(model_bytes(name), "generic", tmp_path / "net")
    assert "wrong bytes: 0" in run_on_powerpc(bundle)


@pytest.mark.parametrize(("name", "core"), FOR_ALL)
def test_arm64_computes_the_reference_s_bytes(name: str, core: str, tmp_path: Path) -> None:
    assert "wrong bytes: 0" in run_on_arm64(bundle_of(MODELS[name](), core, tmp_path / "net"))


# Without real numbers: Debian's libgcc for Xtensa has no sums and products of them.
@pytest.mark.parametrize("name", PACKED)
def test_xtensa_computes_the_reference_s_bytes(name: str, tmp_path: Path) -> None:
    assert run_on_xtensa(bundle_of(MODELS[name](), "generic", tmp_path / "net")) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED_NAMES)
def test_xtensa_computes_real_models(name: str, tmp_path: Path) -> None:
    assert run_on_xtensa(bundle_of(model_bytes(name), "generic", tmp_path / "net")) == 0


@pytest.mark.parametrize(("name", "core"), FOR_ALL)
def test_16_bit_int_computes_the_reference_s_bytes(name: str, core: str, tmp_path: Path) -> None:
    assert "wrong bytes: 0" in run_on_avr(bundle_of(MODELS[name](), core, tmp_path / "net"))


def test_a_program_that_is_wrong_is_found_by_all(tmp_path: Path) -> None:
    """The negative control: a bias that is not the model's."""
    bundle = bundle_of(MODELS["two_in_two_out"](), "generic", tmp_path / "net")
    weights = bundle / "net_weights.c"
    text = weights.read_text()
    assert text.count("100, ") == 1
    weights.write_text(text.replace("100, ", "900, "))
    assert "wrong bytes: 0" not in run_on_powerpc(bundle)
    assert "wrong bytes: 0" not in run_on_arm64(bundle)
    assert "wrong bytes: some" in run_on_avr(bundle)
    assert run_on_xtensa(bundle) != 0
