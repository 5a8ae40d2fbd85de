"""Helium instructions one at a time: all that bundles have, and alike in QEMU and Renode.

Renode has computed some of them wrong in every version so far (docs/renode.md): where it still does
the comparison is an expected failure that names them; any other difference is a real one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.random_layers import ALL_FAMILIES, random_model
from glowmcu.board import find_board
from glowmcu.cores import core
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.verify.measurement import Array
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.renode import Renode
from glowmcu.verify.toolchain import DEFAULT_FLAGS
from tests.verify.helium_probe import (
    PROBES,
    differing,
    instruction_forms,
    probe_inputs,
    probe_names,
    write_probe_bundle,
)

NO_QEMU = Qemu().missing()
MISSING = Renode().missing()
#: What Renode is known to compute wrong: VMULL at all times, VSHRN before 11 May 2026.
KNOWN_WRONG = ("vmullb", "vmullt", "vshrnb", "vshrnt")
_LAYERS = range(12)


def forms_of_bundle(folder: Path) -> set[str]:
    """What the compiler makes of a bundle's C for the Cortex-M55, at the flags of executors.

    Vectors of the compiler's own making change with its version; the list has those of gcc 12.
    """
    command = ["arm-none-eabi-gcc", *core("cortex-m55").flags, *DEFAULT_FLAGS]
    command.append("-fno-tree-vectorize")
    found: set[str] = set()
    for source in sorted(folder.glob("*.c")):
        made = subprocess.run(
            [*command, "-S", str(source), "-o", "-"], capture_output=True, text=True, check=True
        )
        found |= instruction_forms(made.stdout)
    return found


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_every_helium_instruction_of_random_layers_is_probed(family: str, tmp_path: Path) -> None:
    model = tmp_path / "layers.tflite"
    model.write_bytes(random_model(family, 11, _LAYERS))
    bundle = glowmcu.compile(model, board="mps3-an547", output=tmp_path / "bundle")
    assert forms_of_bundle(bundle.path) - set(PROBES) == set()


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("goal", ["balanced", "ram"])
@pytest.mark.parametrize("name", ["kws", "ic", "ad", "vww"])
def test_every_helium_instruction_of_real_models_is_probed(
    name: str, goal: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / f"{name}_int8.tflite"
    bundle = glowmcu.compile(model, board="mps3-an547", output=tmp_path / "b", optimize=goal)
    found = forms_of_bundle(bundle.path)
    assert len(found) > 15, "Helium was not used"
    assert found - set(PROBES) == set()


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("name", ["kws", "ic"])
def test_every_helium_instruction_of_float_models_is_probed(
    name: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / f"{name}_float.tflite"
    found = forms_of_bundle(
        glowmcu.compile(model, board="mps3-an547", output=tmp_path / "bundle").path
    )
    assert {"vmul.f32 q, q, r", "vadd.f32 q, q, q"} <= found, "Helium was not used"
    assert found - set(PROBES) == set()


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("goal", ["size", "flash"])
def test_every_helium_instruction_of_weights_of_four_bits_is_probed(
    goal: str, tmp_path: Path
) -> None:
    bundle = glowmcu.compile(
        layers_of_four_bits(), "mps3-an547", tmp_path / "b", name="m", optimize=goal
    )
    kernels = {layer.kernel for layer in bundle.manifest.layers}
    assert len(kernels) > 2
    assert all("nibbles" in kernel for kernel in kernels)
    assert forms_of_bundle(bundle.path) - set(PROBES) == set()


def layers_of_four_bits() -> bytes:
    """Pairs of windows and single rows, with and without gathering, of weights from -8 to 7."""
    model, random = ModelBuilder(), np.random.default_rng(4)
    cases = (((64, 1, 1, 64), 1), ((20, 3, 3, 32), 1), ((32, 3, 3, 16), 2), ((24, 3, 3, 7), 2))
    for number, (shape, dilation) in enumerate(cases):
        x = model.input(f"x{number}", (1, 9, 9, shape[3]), "int8", 0.05, 3)
        w = model.constant(f"w{number}", random.integers(-8, 8, shape).astype(np.int8), 0.01)
        side = 9 - (shape[1] - 1) * dilation
        y = model.tensor(f"y{number}", (1, side, side, shape[0]), "int8", 0.5, -7)
        options = dict.fromkeys(("dilation_h_factor", "dilation_w_factor"), dilation)
        options |= {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        model.op("CONV_2D", [x, w, None], [y], options)
        model.output(y)
    x = model.input("x", (1, 256), "int8", 0.05, 3)
    w = model.constant("w", random.integers(-8, 8, (64, 256)).astype(np.int8), 0.01)
    y = model.tensor("y", (1, 64), "int8", 0.5, -7)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    model.output(y)
    return model.finish()


def test_forms_have_no_register_numbers_and_every_helium_instruction() -> None:
    text = """
\tvmullb.s16\tq3, q0, q7 @ a comment
1: vldrb.8 q0, [r10], #16
\tletp\tlr, .L3
\tvctp.32\tip
\tadd\tr0, r1, r2
\tvmov\tq2[2], q2[0], r4, r5
\tvpush.64\t{d8, d9}
\tvadd.f32\ts0, s1, s2
"""
    assert instruction_forms(text) == {
        "vmullb.s16 q, q, q", "vldrb.8 q, [r], #", "vctp.32 r", "vmov q[2], q[0], r, r",
    }  # fmt: skip


def run_probes(
    executor: Qemu | Renode, folder: Path, probes: dict[str, tuple[str, ...]]
) -> list[Array]:
    results = executor.run(write_probe_bundle(folder, probes), probe_inputs())
    return [result.outputs[0] for result in results]


@pytest.fixture(scope="module")
def in_qemu(tmp_path_factory: pytest.TempPathFactory) -> list[Array]:
    qemu = Qemu(board=find_board("mps3-an547"))
    return run_probes(qemu, tmp_path_factory.mktemp("qemu"), PROBES)


@pytest.mark.qemu
@pytest.mark.skipif(NO_QEMU is not None, reason=str(NO_QEMU))
def test_every_probe_changes_what_is_compared(in_qemu: list[Array], tmp_path: Path) -> None:
    """A probe that does nothing would find nothing."""
    nothing = {form: ("nop",) * len(codes) for form, codes in PROBES.items()}
    idle = run_probes(Qemu(board=find_board("mps3-an547")), tmp_path, nothing)
    changed: set[str] = set()
    for got, want in zip(in_qemu, idle, strict=True):
        changed |= set(differing(got, want, PROBES))
    assert set(probe_names(PROBES)) - changed == set()


@pytest.mark.qemu
@pytest.mark.skipif(NO_QEMU is not None, reason=str(NO_QEMU))
def test_a_sign_that_is_read_inverted_is_found_and_named(
    in_qemu: list[Array], tmp_path: Path
) -> None:
    """What Renode does, played by QEMU: unsigned products where signed ones are meant."""
    wrong = {
        form: tuple(code.replace("vmullb.s16", "vmullb.u16") for code in codes)
        for form, codes in PROBES.items()
    }
    played = run_probes(Qemu(board=find_board("mps3-an547")), tmp_path, wrong)
    named: set[str] = set()
    for got, want in zip(played, in_qemu, strict=True):
        named |= set(differing(got, want, PROBES))
    assert named == {"vmullb.s16 q2, q0, q1"}


@pytest.mark.renode
@pytest.mark.skipif(MISSING is not None, reason=f"NOT RUN IN RENODE: {MISSING}")
@pytest.mark.parametrize("board", ["mps3-an547", "ek-ra8m1"])
def test_renode_executes_helium_as_qemu_does(
    board: str, in_qemu: list[Array], tmp_path: Path
) -> None:
    there = run_probes(Renode(board=find_board(board)), tmp_path, PROBES)
    named: set[str] = set()
    for got, want in zip(there, in_qemu, strict=True):
        named |= set(differing(got, want, PROBES))
    unknown = {code for code in named if not code.startswith(KNOWN_WRONG)}
    assert unknown == set()
    if named:
        pytest.xfail(f"this Renode computes {', '.join(sorted(named))} wrong (docs/renode.md)")
