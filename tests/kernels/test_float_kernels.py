"""Float kernels for cores with an FPU: the bits of the portable ones, on a computer and on cores.

The portable kernels are compared with LiteRT in tests/ops/test_real_layers.py.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu import cores
from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from tests.ops.test_convolution import Case
from tests.ops.test_real_layers import convolution_model
from tests.support.check_model import random_inputs, write_bundle
from tests.support.float_layers import NO_VECTORS, VARIANTS
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import SANITIZED, compile_forced, variants_of
from tests.support.int8_weights import Int8Weights
from tests.support.one_unit import QUICK_LINK, write_unit

Array = npt.NDArray[Any]
#: It computes four floats at a time, and is to come to the same bits.
HELIUM = "cortex-m55"
CORES = ("cortex-m4", "cortex-m7", "cortex-m33", HELIUM)

ALL = [
    pytest.param(variant, name, id=f"{variant}, {name}")
    for variant, (_, cases) in VARIANTS.items()
    for name in cases
]


def builder_for(variant: str) -> type[ModelBuilder]:
    return Int8Weights if "w8" in variant else ModelBuilder


def layer_model(variant: str, kind: str, case: Case) -> bytes:
    return convolution_model(kind, case, True, builder_for(variant))


def dense_model(
    rows: int, depth: int, outputs: int, activation: str = "NONE",
    builder: type[ModelBuilder] = ModelBuilder,
) -> bytes:  # fmt: skip
    generator, model = np.random.default_rng(3), builder()
    x = model.input("x", (rows, depth), "float32")
    w = model.constant("w", generator.normal(size=(outputs, depth)).astype(np.float32))
    b = model.constant("b", generator.normal(size=outputs).astype(np.float32))
    y = model.tensor("y", (rows, outputs), "float32")
    model.op("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": activation})
    model.output(y)
    return model.finish()


def product_model(
    rows: int, depth: int, columns: int, transposed: bool, scale: float | None = None
) -> bytes:
    """The matrix is float, or int8 times `scale`."""
    generator, model = np.random.default_rng(3), ModelBuilder()
    shape = (columns, depth) if transposed else (depth, columns)
    x = model.input("x", (rows, depth), "float32")
    if scale is None:
        m = model.constant("m", generator.normal(size=shape).astype(np.float32))
    else:
        m = model.constant("m", generator.integers(-99, 100, shape).astype(np.int8), scale, 0)
    y = model.tensor("y", (rows, columns), "float32")
    model.op("BATCH_MATMUL", [x, m], [y], {"adj_x": False, "adj_y": transposed})
    model.output(y)
    return model.finish()


def computed_product_model(
    batch: int, rows: int, depth: int, columns: int, transposed: bool
) -> bytes:
    """Both matrices are computed; one right matrix is of all batch items but the first axis."""
    model = ModelBuilder()
    x = model.input("x", (2, batch, rows, depth), "float32")
    m = model.input("m", (1, batch, *((columns, depth) if transposed else (depth, columns))),
                    "float32")  # fmt: skip
    y = model.tensor("y", (2, batch, rows, columns), "float32")
    model.op("BATCH_MATMUL", [x, m], [y], {"adj_x": False, "adj_y": transposed})
    model.output(y)
    return model.finish()


def portable_of(variant: str) -> str:
    """The portable kernel; C of the variant where it keeps int8."""
    return variant if "w8" in variant else variant.partition(".")[0] + ".portable_f32"


def portable_result(data: bytes, variant: str, inputs: Sequence[Sequence[Array]], folder: Path) -> (
    list[Array]
):  # fmt: skip
    """What the portable kernel gives, on this computer."""
    name = portable_of(variant)
    compilation = compile_forced(data, name, "cortex-m3")
    assert variants_of(compilation) == {name}
    unit = write_unit(compilation, folder)
    return [done.outputs[0] for done in Host(QUICK_LINK).run(unit, inputs)]


def check(data: bytes, variant: str, folder: Path, cores: Sequence[str] = CORES[:1]) -> None:
    """The bits of the portable kernel: C here, sanitized, and assembly on cores."""
    compilation = compile_forced(data, variant, cores[0])
    assert variants_of(compilation) == {variant}
    inputs = random_inputs(compilation, 2)
    want = portable_result(data, variant, inputs, folder / "portable")
    unit = write_unit(compilation, folder / "unit")
    bundle = write_bundle(compilation, folder / "bundle")
    runs = [(executor, unit) for executor in (Host(QUICK_LINK), Host(SANITIZED))]
    runs += [(modelled_core(name, count=False), bundle) for name in cores]
    for executor, files in runs:
        for expected, done in zip(want, executor.run(files, inputs), strict=True):
            assert done.outputs[0].tobytes() == expected.tobytes(), executor.name
    for expected, arrays in zip(want, inputs, strict=True):
        (meaning,) = run_graph(compilation.imported, arrays)
        expect_near(expected, np.asarray(meaning))


def expect_near(computed: Array, meaning: Array) -> None:
    assert np.abs(computed - meaning).max() <= 1e-5 * np.abs(meaning).max()


class FloatLayers:
    """Layers that are checked as `check` does it, built at once."""

    def __init__(self, variant: str, models: Mapping[str, bytes]) -> None:
        self._layers = ForcedLayers(variant, models, bytes, CORES[0], count=2)
        self._portable = ForcedLayers(portable_of(variant), models, bytes, "cortex-m3", count=2)
        on_cores = (modelled_core(core, count=False) for core in (CORES[0], HELIUM))
        executors = (Host(QUICK_LINK), Host(SANITIZED), *on_cores)
        self._wanted = self._portable.run(executors[0])
        self._runs = {executor: self._layers.run(executor) for executor in executors}

    def check(self, name: str) -> None:
        wanted = self._portable.outputs(name, self._wanted)
        for executor, found in self._runs.items():
            for (want,), (got,) in zip(wanted, self._layers.outputs(name, found), strict=True):
                assert got.tobytes() == want.tobytes(), executor.name
        for (want,), (meaning,) in zip(wanted, self._layers.meaning(name), strict=True):
            expect_near(want, meaning)


@cache
def spatial_layers(variant: str) -> FloatLayers:
    kind, cases = VARIANTS[variant]
    models = {name: layer_model(variant, kind, case) for name, case in cases.items()}
    return FloatLayers(variant, models)


@pytest.mark.parametrize(("variant", "name"), ALL)
def test_every_layer_has_the_bits_of_the_portable_kernel(variant: str, name: str) -> None:
    spatial_layers(variant).check(name)


DENSE = [(1, 37, 11), (2, 4, 8), (1, 64, 12), (5, 7, 1), (3, 1, 4)]
DENSE_VARIANTS = {"fully_connected.packed_f32": DENSE, "fully_connected.w8_f32": DENSE[:-1]}
ACTIVATIONS = ("NONE", "RELU")


@cache
def dense_layers(variant: str) -> FloatLayers:
    models = {
        f"{shape} {activation}": dense_model(*shape, activation, builder_for(variant))
        for shape in DENSE_VARIANTS[variant]
        for activation in ACTIVATIONS
    }
    return FloatLayers(variant, models)


@pytest.mark.parametrize(
    ("variant", "shape"),
    [(variant, shape) for variant, shapes in DENSE_VARIANTS.items() for shape in shapes],
)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_fully_connected_layers(shape: tuple[int, int, int], activation: str, variant: str) -> None:
    dense_layers(variant).check(f"{shape} {activation}")


@pytest.mark.parametrize(
    ("variant", "scale"), [("fully_connected.packed_f32", None), ("fully_connected.w8_f32", 0.013)]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_a_constant_matrix(
    transposed: bool, variant: str, scale: float | None, tmp_path: Path
) -> None:
    check(product_model(3, 13, 10, transposed, scale), variant, tmp_path)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "size", [(3, 5, 7, 13), (1, 1, 1, 1), (2, 2, 4, 8), (1, 4, 6, 12)], ids=str
)
def test_products_of_computed_matrices(
    size: tuple[int, int, int, int], transposed: bool, tmp_path: Path
) -> None:
    data = computed_product_model(*size, transposed)
    check(data, "batch_matmul.staged_f32", tmp_path, [CORES[0], HELIUM])


@pytest.mark.parametrize("core", CORES[1:])
@pytest.mark.parametrize("variant", VARIANTS)
def test_other_cores_with_an_fpu(variant: str, core: str, tmp_path: Path) -> None:
    if core == HELIUM and variant in NO_VECTORS:
        pytest.skip("that core has a kernel with vectors")
    kind, cases = VARIANTS[variant]
    case = list(cases.values())[4]
    check(layer_model(variant, kind, case), variant, tmp_path, [core])


FLOAT_ABIS = {
    "soft": ("-mfloat-abi=soft",),
    "softfp": ("-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"),
    "hard": ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
}


@pytest.mark.parametrize("abi", FLOAT_ABIS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_float_abi_gives_the_same_bits(
    variant: str, abi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, cases = VARIANTS[variant]
    data = layer_model(variant, kind, list(cases.values())[3])
    known = cores.core("cortex-m4")
    flags = ("-mcpu=cortex-m4", "-mthumb", *FLOAT_ABIS[abi])
    monkeypatch.setitem(cores._BY_NAME, "cortex-m4", replace(known, flags=flags))
    check(data, variant, tmp_path)
    assert _uses_fpu(compile_forced(data, variant, "cortex-m4"), flags, tmp_path) == (abi != "soft")


def _uses_fpu(compilation: Compilation, flags: Sequence[str], folder: Path) -> bool:
    bundle = folder / "flags"
    bundle.mkdir()
    write_bundle(compilation, bundle)
    command = [toolchain.find_gcc(flags), *flags, "-std=c99", "-O2", "-S", f"-I{bundle}"]
    text = bundle / "m.s"
    subprocess.run([*map(str, command), str(bundle / "m.c"), "-o", str(text)], check=True)
    return "vmul.f32" in text.read_text(encoding="utf-8")


@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("flag", ["-std=gnu11", "-fstack-protector-all", "-ffixed-r9"])
def test_other_flags_build(level: str, flag: str, tmp_path: Path) -> None:
    """Loops that name all float registers leave enough of the others at every level."""
    for variant in VARIANTS:
        _build(variant, "cortex-m4", (level, flag), tmp_path / variant)


@pytest.mark.parametrize("level", ["-O0", "-Os", "-O2"])
def test_other_levels_build_with_helium(level: str, tmp_path: Path) -> None:
    """Loads that widen bytes take their address from a low register, whatever is left."""
    for variant in VARIANTS:
        if variant not in NO_VECTORS:
            _build(variant, HELIUM, (level,), tmp_path / variant)


def _build(variant: str, core: str, more_flags: Sequence[str], folder: Path) -> None:
    """CalledProcessError unless gcc makes code of the variant's second layer."""
    kind, cases = VARIANTS[variant]
    data = layer_model(variant, kind, list(cases.values())[1])
    folder.mkdir()
    write_bundle(compile_forced(data, variant, core), folder)
    flags = cores.core(core).flags
    command = [toolchain.find_gcc(flags), *flags, *more_flags, "-c", f"-I{folder}"]
    sources = str(folder / "m.c"), "-o", str(folder / "m.o")
    subprocess.run([*map(str, command), *sources], check=True)


SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, np.float32(3e38), np.float32(-3e38), -0.0, 1e-42)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_no_number_or_too_large_is_as_on_a_computer(
    variant: str, activation: str, tmp_path: Path
) -> None:
    kind, cases = VARIANTS[variant]
    case = replace(list(cases.values())[4], activation=activation)
    compilation = compile_forced(layer_model(variant, kind, case), variant, "cortex-m4")
    ((x,),) = random_inputs(compilation, 1)
    flat = x.reshape(-1).copy()
    flat[:: max(1, flat.size // 23)] = np.resize(np.array(SPECIAL, np.float32), flat.size)[
        : len(flat[:: max(1, flat.size // 23)])
    ]
    inputs = [[flat.reshape(x.shape)]]
    folder = write_bundle(compilation, tmp_path)
    (here,) = Host().run(folder, inputs)
    (there,) = CortexM("cortex-m4", count=False).run(folder, inputs)
    assert np.isnan(here.outputs[0]).any()
    np.testing.assert_array_equal(here.outputs[0], there.outputs[0])


@pytest.mark.parametrize("core", [CORES[0], HELIUM])
@pytest.mark.parametrize("what", ["sums overflow", "one infinite input"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_relu_leaves_infinite_results(variant: str, what: str, core: str, tmp_path: Path) -> None:
    if core == HELIUM and variant in NO_VECTORS:
        pytest.skip("that core has a kernel with vectors")
    kind, cases = VARIANTS[variant]
    case = replace(list(cases.values())[4], activation="RELU")
    compilation = compile_forced(layer_model(variant, kind, case), variant, core)
    ((x,),) = random_inputs(compilation, 1)
    x = np.abs(np.random.default_rng(7).normal(size=x.shape)).astype(np.float32)
    if what == "sums overflow":  # of int8 weights before they are scaled
        (meaning,) = run_graph(compilation.imported, [x])
        greatest = float(np.finfo(np.float32).max) / float(np.asarray(meaning).max())
        x = x * np.float32(greatest * (0.02 if "w8" in variant else 1.2))
    else:
        x.reshape(-1)[-1] = np.inf
    folder = write_bundle(compilation, tmp_path)
    (here,) = Host().run(folder, [[x]])
    (there,) = modelled_core(core, count=False).run(folder, [[x]])
    assert np.isposinf(here.outputs[0]).any()
    np.testing.assert_array_equal(there.outputs[0], here.outputs[0])


#: Cycles a MAC that a Cortex-M4 takes at most.
BOUNDS = {
    "1x1": (3.0, "CONV_2D", Case((1, 12, 12, 64), 64, (1, 1), activation="RELU")),
    "1x1, wide": (3.0, "CONV_2D", Case((1, 6, 6, 128), 128, (1, 1), activation="RELU")),
    "3x3": (3.0, "CONV_2D", Case((1, 16, 16, 16), 16, (3, 3), padding="SAME", activation="RELU")),
    "3x3, stride 2": (
        3.0,
        "CONV_2D",
        Case((1, 16, 16, 16), 32, (3, 3), (2, 2), padding="SAME", activation="RELU"),
    ),
}


FEW_INPUTS = {
    "1x1, 8 inputs": ("conv_2d.few_inputs_f32", Case((1, 12, 12, 8), 16, (1, 1))),
    "1x1, 16 inputs": ("conv_2d.matrix_fives_f32", Case((1, 12, 12, 16), 32, (1, 1))),
    "1x1, 32 inputs": ("conv_2d.matrix_fives_f32", Case((1, 12, 12, 32), 64, (1, 1))),
    "3x3, 1 input": ("conv_2d.few_inputs_f32", Case((1, 22, 22, 1), 16, (3, 3))),
    "3x3, 3 inputs": ("conv_2d.packed_fives_f32", Case((1, 32, 32, 3), 16, (3, 3))),
    "3x3, 3 inputs, stride 2": (
        "conv_2d.packed_fives_f32", Case((1, 32, 32, 3), 16, (3, 3), (2, 2), padding="SAME"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("variant", "case"), FEW_INPUTS.values(), ids=FEW_INPUTS)
def test_layers_of_few_inputs_take_three_cycles_a_product(
    variant: str, case: Case, tmp_path: Path
) -> None:
    data = layer_model(variant, "CONV_2D", replace(case, activation="RELU"))
    compilation = compile_model(data, "m.tflite", Options("m", core="cortex-m4"))
    assert variants_of(compilation) == {variant}
    inputs = random_inputs(compilation, 1)
    (done,) = CortexM("cortex-m4").run(write_bundle(compilation, tmp_path), inputs)
    assert done.cycles is not None
    assert done.cycles <= 3.0 * compilation.manifest.macs


#: What int8 weights cost more: two loads and three instructions a weight for two pixels.
INT8_WEIGHTS = 1.2


@pytest.mark.parametrize("keeps_int8", [False, True], ids=["float weights", "int8 weights"])
@pytest.mark.parametrize(("bound", "kind", "case"), BOUNDS.values(), ids=BOUNDS)
def test_cycles_a_product(
    bound: float, kind: str, case: Case, keeps_int8: bool, tmp_path: Path
) -> None:
    variant = "conv_2d.matrix_f32" if case.kernel == (1, 1) else "conv_2d.packed_f32"
    if keeps_int8:
        variant, bound = variant.replace("_f32", "_w8_f32"), bound + INT8_WEIGHTS
    compilation = compile_forced(layer_model(variant, kind, case), variant, "cortex-m4")
    inputs = random_inputs(compilation, 1)
    (done,) = CortexM("cortex-m4").run(write_bundle(compilation, tmp_path), inputs)
    assert done.cycles is not None
    assert done.cycles <= bound * compilation.manifest.macs
