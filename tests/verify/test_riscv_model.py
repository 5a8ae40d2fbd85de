"""The riscv executor: QEMU's counts and bytes, costs that add up, misbehaviour that is noticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.calibration_layers import model
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.riscv import RiscV
from glowmcu.verify.verification import seeded_inputs
from tests.verify.test_riscv import BOARDS
from tests.verify.tiny_bundle import expected_output, random_inputs, write_tiny_bundle

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
CORES = ("rv32imc", "rv32imac", "hazard3")
_ABSENT = RiscV("hazard3").missing()
pytestmark = [pytest.mark.riscv, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]
#: Entry and exit of the run are measured a little differently.
TOLERANCE = 4


def models(folder: Path) -> list[Path]:
    """A whole small network, and layers of kinds that it does not have."""
    files = [Path(shutil.copy(DIGITS, folder / "digits.tflite"))]
    for name, kind, samples in (
        ("depthwise", "DEPTHWISE_CONV_2D", [8, 14]),
        ("dense", "FULLY_CONNECTED", [8, 9]),
        ("sum", "ADD", [2, 3]),
    ):
        files.append(folder / f"{name}.tflite")
        files[-1].write_bytes(model(kind, samples))
    return files


@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_the_model_executes_what_qemu_executes(board: str, tmp_path: Path) -> None:
    for file in models(tmp_path):
        bundle = glowmcu.compile(file, board=board, output=tmp_path / file.stem, name="m")
        inputs = [seeded_inputs(bundle.manifest, 1)]
        (modelled,) = bundle.measure_all(inputs, on="riscv")
        (counted,) = Qemu().run(bundle.path, inputs)
        assert modelled.instructions is not None
        assert counted.instructions is not None
        assert modelled.instructions > 500 * TOLERANCE, "too little to tell anything"
        assert abs(modelled.instructions - counted.instructions) <= TOLERANCE, file.stem
        assert modelled.outputs[0].tobytes() == counted.outputs[0].tobytes()
        assert modelled.stack_bytes == counted.stack_bytes
        assert modelled.instructions < (modelled.cycles or 0) < 1.5 * modelled.instructions


@pytest.mark.parametrize("core_name", CORES)
def test_layers_and_what_is_outside_add_up_to_the_total(tmp_path: Path, core_name: str) -> None:
    inputs = random_inputs(2)
    _, found = RiscV(core_name).measure(write_tiny_bundle(tmp_path), inputs)
    np.testing.assert_array_equal(found.measurement.outputs[0], expected_output(inputs[1][0]))
    account, layers = found.account, found.measurement.layers
    assert account is not None
    assert [layer.name for layer in layers] == ["dense_0", "half", "dense_1"]
    for what in ("instructions", "cycles"):
        parts = [getattr(layer, what) for layer in layers]
        assert min(parts) > 0
        assert sum(parts) + getattr(account.outside, what) == getattr(account.total, what)
        assert sum(getattr(b.cost, what) for b in account.blocks) == getattr(account.total, what)


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("base[-1] = 0;", "GM652", "wrote to byte -1 of an arena of 40 bytes"),
        ("base[40] = 0;", "GM652", "wrote to byte 40 of an arena of 40 bytes"),
        ('__asm volatile("unimp");', "GM655", "exception 2"),
        ("{ volatile uint8_t deep[70000]; deep[0] = 1; }", "GM653", "deeper than 65536"),
    ],
    ids=["in front", "behind", "illegal instruction", "stack"],
)
def test_misbehaviour_is_named_with_its_step(
    tmp_path: Path, fault: str, code: str, message: str
) -> None:
    bundle = write_tiny_bundle(tmp_path, fault)
    with pytest.raises(GlowmcuError) as caught:
        RiscV("hazard3").run(bundle, random_inputs(1))
    assert caught.value.code == code
    assert message in str(caught.value)
    assert "step " in str(caught.value)


def test_bit_manipulation_is_an_illegal_instruction_where_the_core_has_none(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path, '__asm volatile(".4byte 0x20a54533" : : : "a0");')
    assert RiscV("hazard3").run(bundle, random_inputs(1))
    with pytest.raises(GlowmcuError, match="rv32imac does not have") as caught:
        RiscV("rv32imac").run(bundle, random_inputs(1))
    assert caught.value.code == "GM655"


@pytest.mark.parametrize("core_name", ["rv32imc", "hazard3"])
def test_unaligned_accesses_are_found_when_asked_for(tmp_path: Path, core_name: str) -> None:
    fault = '__asm volatile("lw a5, 0(%0)" : : "r"(base + 17) : "a5", "memory");'
    bundle, inputs = write_tiny_bundle(tmp_path, fault), random_inputs(1)
    assert RiscV(core_name).run(bundle, inputs)
    with pytest.raises(GlowmcuError) as caught:
        RiscV(core_name, check_alignment=True).run(bundle, inputs)
    assert caught.value.code == "GM656"


def test_an_arm_bundle_is_sent_to_its_own_model(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="riscv executor cannot emulate cortex-m4") as caught:
        RiscV("cortex-m4").run(write_tiny_bundle(tmp_path), random_inputs(1))
    assert caught.value.code == "GM650"
    assert "--on cortex-m" in caught.value.problems[0].hint
    assert caught.value.exit_code is ExitCode.USAGE
    assert modelled_core("cortex-m4").name == "cortex-m"
    assert modelled_core("hazard3").name == "riscv"


@pytest.mark.parametrize("board", ["esp32c3", "rp2350-riscv"])
def test_bench_shows_cycles_and_hot_blocks_as_on_arm(board: str, tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board=board, output=tmp_path / "out", name="m")
    found = glowmcu.bench(bundle, hot=3)
    assert found.on == "riscv"
    assert len(found.measured.layers) == len(bundle.manifest.layers)
    assert all((layer.cycles or 0) > 0 for layer in found.measured.layers)
    assert [block.cycles for block in found.hot] == sorted(
        (block.cycles for block in found.hot), reverse=True
    )
    assert any(code.text.startswith("mul ") for block in found.hot for code in block.code)
    assert any(code.line for block in found.hot for code in block.code)
    assert "on" not in found.json()
    slower = glowmcu.bench(bundle, wait_states=2)
    assert (slower.measured.cycles or 0) > (found.measured.cycles or 0)
