"""Tensors that were always 0 when a converter looked: it gives them a scale of about 8e-9."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.support.check_model import check_model, write_bundle
from tests.support.oracle import run_litert_reference, run_tflm

#: 2e-6 / 255 is what TensorFlow's converter writes.
SCALES = [7.84e-9, 5.92e-9, 1e-12, 1e-30]
#: Scale and zero point of the result; the result of 0.
FUNCTIONS = {"LOGISTIC": (1 / 256, -128, 0), "TANH": (1 / 128, 0, 0)}


def model(kind: str, shape: tuple[int, ...], scale: float, out: tuple[float, int]) -> bytes:
    builder = ModelBuilder()
    x = builder.input("x", shape, "int8", scale, 3)
    y = builder.tensor("y", shape, "int8", *out)
    builder.op(kind, [x], [y], {"beta": 1.0} if kind == "SOFTMAX" else {})
    builder.output(y)
    return builder.finish()


ALL = np.arange(-128, 128, dtype=np.int8).reshape(1, -1)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("scale", SCALES)
def test_a_function_of_nothing_is_that_of_zero(kind: str, scale: float) -> None:
    *out, zero = FUNCTIONS[kind]
    data = model(kind, ALL.shape, scale, (out[0], int(out[1])))
    check_model(data, [[ALL]])
    (got,) = run_graph(read_model(data, "m.tflite"), [ALL])
    assert (got == zero).all()
    oracles = [run_litert_reference, run_tflm]
    # TensorFlow Lite Micro keeps the ends of what is no 0 to it in 32 bits, and they are full.
    for oracle in oracles[: 2 if scale > 5e-9 else 1]:
        assert np.array_equal(oracle(data, [ALL])[0], got)


@pytest.mark.parametrize("variant", ["softmax.table", "softmax.portable"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 100, 300])
@pytest.mark.parametrize("scale", [1.4e-8, *SCALES])
def test_a_softmax_of_nothing_is_uniform(size: int, scale: float, variant: str) -> None:
    """TensorFlow Lite's reference kernels end the process, those of XNNPACK compute it."""
    litert: Any = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert")
    data = model("SOFTMAX", (2, size), scale, (1 / 256, -128))
    x = np.random.default_rng(size).integers(-128, 128, (2, size)).astype(np.int8)
    kernels = KernelChoices(forced_variant=variant)
    check_model(data, [[x]], options=Options("m", kernels=kernels, simplify=False))
    (got,) = run_graph(read_model(data, "m.tflite"), [x])
    interpreter = litert.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert np.array_equal(got, theirs)


@pytest.mark.parametrize("scale", [1.4e-8, *SCALES])
def test_a_log_softmax_of_nothing_is_that_of_a_small_scale(scale: float) -> None:
    x = np.random.default_rng(4).integers(-128, 128, (2, 10)).astype(np.int8)
    data, small = (model("LOG_SOFTMAX", x.shape, each, (16 / 256, 127)) for each in (scale, 1e-7))
    check_model(data, [[x]], oracle=lambda *_: run_tflm(small, [x]))


@pytest.mark.parametrize("kind", ["ADD", "SUB"])
@pytest.mark.parametrize("scale", [3e-8, *SCALES])
def test_a_sum_of_nothing_is_zero_or_far_from_it(kind: str, scale: float) -> None:
    """Keras asks by x - x whether a number is finite. TensorFlow Lite's kernels end the process."""
    builder = ModelBuilder()
    column, row = ALL.reshape(-1, 1), ALL
    operands = [builder.input(n, x.shape, "int8", 0.02, 3) for n, x in (("a", column), ("b", row))]
    y = builder.tensor("y", (256, 256), "int8", scale, 5)
    builder.op(kind, operands, [y], {})
    builder.output(y)
    data = builder.finish()
    check_model(data, [[column, row]])
    (got,) = run_graph(read_model(data, "m.tflite"), [column, row])
    a, b = column.astype(int) - 3, row.astype(int) - 3
    exact = a + b if kind == "ADD" else a - b
    assert np.array_equal(got, np.where(exact == 0, 5, np.where(exact > 0, 127, -128)))


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m33"])
def test_cores_compute_them_as_the_host_does(core: str, tmp_path: Path) -> None:
    builder = ModelBuilder()
    a, b = (builder.input(name, (1, 16), "int8", 0.02, 3) for name in "ab")
    nothing = builder.tensor("nothing", (1, 16), "int8", SCALES[0], 5)
    builder.op("SUB", [a, b], [nothing], {})
    for kind, scale, point in (("SOFTMAX", 1 / 256, -128), ("LOGISTIC", 1 / 256, -128)):
        y = builder.tensor(kind, (1, 16), "int8", scale, point)
        builder.op(kind, [nothing], [y], {"beta": 1.0} if kind == "SOFTMAX" else {})
        builder.output(y)
    builder.output(nothing)
    compilation = compile_model(builder.finish(), "m.tflite", Options("m", core=core))
    x = np.arange(-60, 60, 7, dtype=np.int8)[:16].reshape(1, 16)
    y = np.where(np.arange(16) % 3 == 0, x, x[:, ::-1]).astype(np.int8)
    (measured,) = CortexM(core, count=False).run(write_bundle(compilation, tmp_path), [[x, y]])
    for got, want in zip(measured.outputs, run_graph(compilation.imported, [x, y]), strict=True):
        np.testing.assert_array_equal(got, want)
