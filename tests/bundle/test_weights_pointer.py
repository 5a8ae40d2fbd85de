"""`--weights pointer`: another model's weights with the code of this one, and what is refused."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.stack_bounds import outside_bounds
from glowmcu.board import PlacementRequest, find_board
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.check_model import random_inputs, write_bundle

Array = npt.NDArray[Any]
POINTER = InterfaceOptions(weights=Weights.POINTER)
BAD_WEIGHTS = -4


def network(seed: int, out_scale: float = 0.07, channels: int = 8) -> bytes:
    """A convolution, a depthwise one, a dense layer and a softmax; weights by `seed`."""
    generator, model = np.random.default_rng(seed), ModelBuilder()

    def weights(name: str, *shape: int) -> Any:
        data = generator.integers(-126, 127, shape).astype(np.int8)
        data.reshape(-1)[:2] = -127, 127
        return model.constant(name, data, 0.004, 0)

    def bias(name: str, count: int) -> Any:
        return model.constant(name, generator.integers(-900, 900, count).astype(np.int32))

    x = model.input("x", (1, 9, 8, 2), "int8", 0.05, 3)
    first = model.tensor("first", (1, 9, 8, channels), "int8", 0.06, -128)
    same = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "RELU"}
    operands = [x, weights("w0", channels, 3, 3, 2), bias("b0", channels)]
    model.op("CONV_2D", operands, [first], same)
    second = model.tensor("second", (1, 9, 8, channels), "int8", 0.05, -128)
    operands = [first, weights("w1", 1, 3, 3, channels), bias("b1", channels)]
    model.op("DEPTHWISE_CONV_2D", operands, [second], {**same, "depth_multiplier": 1})
    flat = model.tensor("flat", (1, 72 * channels), "int8", 0.05, -128)
    shape = model.constant("shape", np.array([1, 72 * channels], np.int32))
    model.op("RESHAPE", [second, shape], [flat])
    logits = model.tensor("logits", (1, 5), "int8", out_scale * 3, 4)
    model.op("FULLY_CONNECTED", [flat, weights("w2", 5, 72 * channels), bias("b2", 5)], [logits])
    y = model.tensor("y", (1, 5), "int8", 1 / 256, -128)
    model.op("SOFTMAX", [logits], [y], {"beta": 1.0})
    model.output(y)
    return model.finish()


@cache
def compiled(seed: int, core: str = "generic", out_scale: float = 0.07) -> Compilation:
    data = network(seed, out_scale)
    return compile_model(data, "m.tflite", Options("m", core=core, interface=POINTER))


def blob(compilation: Compilation) -> bytes:
    """What `m_weights.hex` says, read as a flashing tool would."""
    image, upper = bytearray(), 0
    for line in compilation.files["m_weights.hex"].splitlines():
        record = bytes.fromhex(line.removeprefix(":"))
        assert sum(record) & 0xFF == 0
        size, address, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        if kind == 4:
            upper = int.from_bytes(record[4:6], "big") << 16
        if kind == 0:
            assert len(image) == upper + address
            image += record[4 : 4 + size]
    return bytes(image)


class Firmware:
    """A compiled bundle as a library."""

    def __init__(self, compilation: Compilation, folder: Path, *flags: str) -> None:
        bundle = write_bundle(compilation, folder / "bundle")
        compiler = host_compiler() or pytest.skip("needs a C compiler")
        library, sources = folder / "m.so", [bundle / "m.c", bundle / "m_weights.c"]
        command = [compiler, *STRICT_FLAGS, "-O1", "-fPIC", "-shared", f"-I{bundle}", *flags]
        subprocess.run([*map(str, (*command, *sources)), "-o", str(library)], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.m_set_weights.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        size = compilation.manifest.arena_bytes
        self._memory = np.zeros(size + 16, np.uint8)
        start = -self._memory.ctypes.data % 16
        self._arena = self._memory[start : start + size]
        self._blobs: list[Array] = []

    def set_weights(self, data: bytes, shift: int = 0, size: int | None = None) -> int:
        memory = np.zeros(len(data) + 16, np.uint8)
        start = -memory.ctypes.data % 8 + shift
        memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
        self._blobs.append(memory)  # it must stay
        length = len(data) if size is None else size
        return int(self._library.m_set_weights(memory.ctypes.data + start, length))

    def damage(self, offset: int, bit: int = 0) -> None:
        """Flip a bit of the blob that was set last."""
        memory = self._blobs[-1]
        memory[-memory.ctypes.data % 8 + offset] ^= 1 << bit

    def check(self) -> int:
        return int(self._library.m_check())

    def infer(self, x: Array) -> tuple[int, Array]:
        y = np.zeros((1, 5), np.int8)
        arena = ctypes.c_void_p(self._arena.ctypes.data)
        pointers = (ctypes.c_void_p(item.ctypes.data) for item in (x, y))
        return int(self._library.m_infer(arena, *pointers)), y


@pytest.mark.parametrize("core", ["generic", "cortex-m0plus", "cortex-m4"])
def test_a_blob_of_the_same_layout_makes_one_model_the_other(core: str, tmp_path: Path) -> None:
    first, second = compiled(1, core), compiled(2, core)
    assert blob(first) != blob(second)
    firmware, other = Firmware(first, tmp_path), write_bundle(second, tmp_path / "other")
    inputs = random_inputs(first, 5)
    own = [done.outputs[0] for done in Host().run(tmp_path / "bundle", inputs)]
    wanted = [done.outputs[0] for done in Host().run(other, inputs)]
    assert any((a != b).any() for a, b in zip(own, wanted, strict=True))
    for weights, expected in ((blob(second), wanted), (blob(first), own), (blob(second), wanted)):
        assert firmware.set_weights(weights) == 0
        assert firmware.check() == 0
        for (x,), y in zip(inputs, expected, strict=True):
            status, got = firmware.infer(x)
            assert status == 0
            np.testing.assert_array_equal(got, y)


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_a_bundle_reads_its_own_weights_until_others_are_set(core: str, tmp_path: Path) -> None:
    compilation = compiled(1, core)
    linked = compile_model(network(1), "m.tflite", Options("m", core=core))
    inputs = random_inputs(compilation, 3)
    want = Host().run(write_bundle(linked, tmp_path / "linked"), inputs)
    got = CortexM(core, count=False).run(write_bundle(compilation, tmp_path / "m"), inputs)
    for expected, done in zip(want, got, strict=True):
        assert done.outputs[0].tobytes() == expected.outputs[0].tobytes()


def test_what_is_damaged_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    compilation = compiled(1)
    firmware, good = Firmware(compilation, tmp_path), blob(compiled(2))
    (x,) = random_inputs(compilation, 1)[0]
    assert firmware.set_weights(good) == 0
    _, before = firmware.infer(x)
    for offset in (0, 4, 8, 12, 16, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[offset] ^= 4
        is_padding = offset == len(good) - 1 and firmware.set_weights(bytes(bad)) == 0
        assert is_padding or firmware.set_weights(bytes(bad)) == BAD_WEIGHTS, offset
    assert firmware.set_weights(good[:-8]) == BAD_WEIGHTS
    assert firmware.set_weights(b"") == BAD_WEIGHTS
    assert firmware.set_weights(good, shift=2) == BAD_WEIGHTS
    assert firmware.set_weights(good, size=len(good) - 1) == BAD_WEIGHTS
    status, after = firmware.infer(x)
    assert status == 0
    np.testing.assert_array_equal(after, before)


def test_other_scales_and_other_shapes_are_another_layout() -> None:
    layouts = {blob(compiled(seed))[4:8] for seed in (1, 2, 3)}
    assert len(layouts) == 1
    options = Options("m", core="generic", interface=POINTER)
    for data in (network(1, channels=12), network(1).replace(b"first", b"other")):
        other = compile_model(data, "m.tflite", options)
        is_same = blob(other)[4:8] in layouts
        assert is_same == (b"other" in data)  # names are no part of it
    renamed = compile_model(network(1), "m.tflite", Options("n", core="generic", interface=POINTER))
    assert renamed.files["n_weights.hex"].splitlines()[1][17:25] not in {
        layout.hex().upper() for layout in layouts
    }


def test_a_check_finds_weights_and_parameters_that_changed_in_memory(tmp_path: Path) -> None:
    firmware = Firmware(compiled(1), tmp_path)
    assert firmware.set_weights(blob(compiled(2))) == 0
    assert firmware.check() == 0
    firmware.damage(100)
    assert firmware.check() == -1
    firmware.damage(100)
    assert firmware.check() == 0


def test_a_check_finds_each_bit_of_header_and_offsets_and_reads_nothing_else(
    tmp_path: Path,
) -> None:
    data = blob(compiled(2))
    firmware = Firmware(compiled(1), tmp_path)
    assert firmware.set_weights(data) == 0
    first_member = int.from_bytes(data[16:20], "little")
    for offset in (*range(first_member), *range(first_member, len(data) - 4, 97)):
        for bit in range(8):
            firmware.damage(offset, bit)
            assert firmware.check() == -1, (offset, bit)
            firmware.damage(offset, bit)
    assert firmware.check() == 0


def test_the_header_counts_all_ram_beside_the_arena() -> None:
    header = compiled(1, "cortex-m4").files["m.h"]
    (said,) = re.findall(r"can change: ([\d ]+) B beside", header)
    fills = compiled(1, "cortex-m4").files["m.c"].split("parameters[", 1)[1].split("};", 1)[0]
    sizes = [int(size) or 4 for size in re.findall(r"u, (\d+)u\n", fills)]
    assert int(said.replace(" ", "")) == sum(sizes) + 4  # and the pointer


def test_a_firmware_without_weights_runs_once_it_has_some(tmp_path: Path) -> None:
    compilation = compiled(1)
    firmware = Firmware(compilation, tmp_path, "-DM_NO_WEIGHTS")
    (x,) = random_inputs(compilation, 1)[0]
    assert firmware.infer(x)[0] == BAD_WEIGHTS
    assert firmware.check() == BAD_WEIGHTS
    assert firmware.set_weights(blob(compilation)) == 0
    status, got = firmware.infer(x)
    (want,) = Host().run(tmp_path / "bundle", [[x]])
    assert status == 0
    np.testing.assert_array_equal(got, want.outputs[0])


def test_the_text_says_how_many_bytes_are_checked_and_names_nothing_unused() -> None:
    compilation = compiled(1)
    size = len(blob(compilation))
    said = [
        int(found.replace(" ", ""))
        for file in ("m.h", "README.md")
        for found in re.findall(r"CRC-32 of ([\d ]+) B", compilation.files[file])
    ]
    assert len(said) == 2
    assert min(said) >= size
    code = compilation.files["m.c"]
    for name in re.findall(r"#define (m_w\w+) ", code):
        assert len(re.findall(rf"\b{name}\b", code)) > 1, name
    assert all(len(line) <= 100 for line in code.splitlines())


@pytest.mark.arm
@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.SIZE])
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m4"])
def test_the_bound_of_the_stack_holds_where_parameters_are_in_ram(
    core: str, goal: Goal, tmp_path: Path
) -> None:
    options = Options("m", core=core, goal=goal, interface=POINTER)
    made = compile_model(network(1), "m.tflite", options)
    assert outside_bounds(made, core, tmp_path / "m", slack=float("inf")) == []


def test_weights_that_are_no_single_blob_are_refused() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (1, 4), "int8", 0.1, 0), model.tensor("y", (4, 1), "int8", 0.1, 0)
    model.op("RESHAPE", [x, model.constant("shape", np.array([4, 1], np.int32))], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match=r"GM627.*no weights"):
        compile_model(model.finish(), "m.tflite", Options("m", interface=POINTER))
    board = find_board("stm32f746-discovery")
    placed = PlacementRequest(board, {"weights": "dtcm"})
    options = Options("m", board=board.name, core=board.core, interface=POINTER, placement=placed)
    with pytest.raises(GlowmcuError, match=r"GM627.*regions"):
        compile_model(network(1), "m.tflite", options)
