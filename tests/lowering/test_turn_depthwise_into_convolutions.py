"""Depthwise convolutions of one channel become ordinary ones, with every bit as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering import turn_depthwise_into_convolutions
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.ir.graphs import GraphBuilder, random_arrays
from tests.lowering.run_pass import names, run
from tests.ops.test_convolution import NUMBERS, SPATIAL, Case, conv_model
from tests.support.check_model import check_model, expect_close, write_bundle
from tests.support.oracle import run_tflm

PASS = turn_depthwise_into_convolutions.run
CASES = {
    **{f"one channel to {most}": Case((1, 6, 5, 1), most, (3, 3), (2, 2), padding="SAME")
       for most in (2, 3, 4, 5, 8, 17)},
    **{f"one channel, {name}": Case(**{**vars(case), "shape": (*case.shape[:3], 1)})
       for name, case in (SPATIAL | NUMBERS).items()},
}  # fmt: skip


def layer(channels: int, multiplier: int, element: ElementType, constant: bool = True) -> Graph:
    """One layer whose weights have a scale an output channel, unless it is of float32."""
    b, outputs, random = GraphBuilder(), channels * multiplier, np.random.default_rng(multiplier)
    shape, x_shape = (1, 3, 2, outputs), (2, 6, 5, channels)
    if element is ElementType.F32:
        x_type = out_type = TensorType(x_shape, element)
        taps, per_channel = random.standard_normal(shape).astype(np.float32), None
        bias = random.standard_normal(outputs).astype(np.float32)
    else:
        x_type = TensorType(x_shape, element, Quantization((0.5,), (0,)))
        out_type = TensorType((), element, Quantization((40.0,), (0,)))
        scales = tuple(0.1 * (1 + n) for n in range(outputs))
        per_channel = Quantization(scales, (0,) * outputs, 3)
        taps = random.integers(-127, 128, shape).astype(np.int8)
        is_wide = element is ElementType.I16
        bias = random.integers(-2000, 2000, outputs).astype(np.int64 if is_wide else np.int32)
    x = b.input(x_type)
    if constant:
        w = b.constant(taps, per_channel, "w")
    else:
        w = b.input(TensorType(shape, ElementType.F32), "w")
    op = DepthwiseConv2D((2, 1), (1, 2), (1, 0, 2, 1))
    return b.finish(b.add(op, x, w, b.constant(bias), like=out_type))


@pytest.mark.parametrize("element", [ElementType.I8, ElementType.I16, ElementType.F32])
def test_one_channel_with_a_multiplier_is_a_convolution(element: ElementType) -> None:
    before = layer(1, 5, element)
    after = PASS(before) if element.is_float else run(PASS, before)
    assert names(after)[-1] == "conv_2d"
    arrays = random_arrays(before.inputs)
    for want, got in zip(run_graph(before, arrays), run_graph(after, arrays), strict=True):
        expect_close(got, want, "a convolution of one channel", exact=not element.is_float)
    node, old = after.nodes[-1], before.nodes[-1]
    assert node.inputs[1].type.shape == (5, 3, 2, 1)
    assert vars(node.op) == vars(old.op)
    assert node.macs == old.macs
    quantization = node.inputs[1].type.quantization
    if quantization is not None:
        assert quantization.axis == Conv2D.channel_axis
        assert quantization.scales == old.inputs[1].type.quantization.scales


@pytest.mark.parametrize(
    "graph",
    [
        layer(2, 3, ElementType.I8),
        layer(1, 1, ElementType.I8),
        layer(1, 4, ElementType.F32, constant=False),
    ],
    ids=["two channels", "one channel to one", "weights that an input brings"],
)
def test_others_stay(graph: Graph) -> None:
    assert PASS(graph) is graph


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_its_results_are_those_of_tensorflow_lite_micro(case: Case) -> None:
    compilation = check_model(conv_model("DEPTHWISE_CONV_2D", case), oracle=run_tflm)
    assert "conv_2d" in names(compilation.graph)


@pytest.mark.arm
@pytest.mark.parametrize(("core", "most"), [("cortex-m4", 470_000), ("cortex-m0plus", 2_400_000)])
def test_yes_or_no_takes_few_cycles(core: str, most: int, shared_dir: Path, tmp_path: Path) -> None:
    """TensorFlow Lite Micro's first example: 3,922,275 cycles were taken on a Cortex-M4."""
    model = shared_dir / "streams/micro_speech_quantized.tflite"
    steps = np.load(model.with_suffix(".npz"))
    compilation = compile_model(model.read_bytes(), model.name, Options("m", core=core))
    folder = write_bundle(compilation, tmp_path)
    (found,) = CortexM(core).run(folder, [[steps["inputs"][0]]])
    assert found.outputs[0].tobytes() == steps["outputs"][0].tobytes()
    assert found.cycles is not None
    assert found.cycles < most
